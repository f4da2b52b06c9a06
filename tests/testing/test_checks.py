"""Each law meets a method that breaks it, and says so."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from sequester.errors import UnattainableError
from sequester.methods.p2ka.method import BFP2kA, PrefixPruning
from sequester.testing import BrokenLawError, check, symbol_table
from sequester.testing.checks import (
    cuts_shards_anywhere,
    keeps_its_promise,
    leaves_its_input_alone,
    renames_without_a_seed,
    repeats_with_its_seed,
)

ROWS = ["abc", "abc", "abc", "ab", "ab", "b", "b"]


@dataclass(frozen=True, kw_only=True)
class Loose(BFP2kA):
    """Promises k and reaches half of it."""

    def apply(self, table, **more):
        release = BFP2kA(k=self.k // 2).apply(table, **more)
        return replace(release, model=self.model())


@dataclass(frozen=True, kw_only=True)
class Meddler(BFP2kA):
    """Writes into the frame of its input."""

    def transform(self, table, **more):
        outcome = super().transform(table, **more)
        table.frame[0, "symbol"] = "z"
        return outcome


@dataclass(frozen=True, kw_only=True)
class Moody(BFP2kA):
    """Says something else each time."""

    said: list = field(default_factory=list)

    def transform(self, table, **more):
        self.said.append("once more")
        return replace(super().transform(table, **more), warnings=(" ".join(self.said),))


@dataclass(frozen=True, kw_only=True)
class Constant(BFP2kA):
    """Names persons the same way in every release."""

    def apply(self, table, *, seed=None, **more):
        return super().apply(table, seed="always the same sentence", **more)


@dataclass(frozen=True, kw_only=True)
class Counter(BFP2kA):
    """Lets slip how many shards there were."""

    def transform(self, table, *, engine, **more):
        outcome = super().transform(table, engine=engine, **more)
        return replace(outcome, limits=(*outcome.limits, f"made in {len(engine.split(100))} parts"))


@dataclass(frozen=True, kw_only=True)
class Silent(PrefixPruning):
    """Releases an empty table instead of refusing."""

    def apply(self, table, **more):
        release = PrefixPruning(k=self.k).apply(table, **more)
        return replace(release, tables={"events": release.frame.clear()})


@pytest.mark.parametrize(
    ("law", "method", "message"),
    [
        (keeps_its_promise, Loose(k=4), r"breaks its model: \(\('a', 'b', 'c'\),\)"),
        (keeps_its_promise, Silent(k=2), "released nothing"),
        (leaves_its_input_alone, Meddler(k=2), "changed its input"),
        (repeats_with_its_seed, Moody(k=2), "two answers for one seed"),
        (renames_without_a_seed, Constant(k=2), "the same pseudonym twice"),
        (cuts_shards_anywhere, Counter(k=2), "in 3 shards than in one"),
    ],
)
def test_a_broken_law_is_named(law, method, message):
    with pytest.raises(BrokenLawError, match=message):
        law(method, symbol_table(ROWS))
    with pytest.raises(BrokenLawError):
        check(method, symbol_table(ROWS))


def test_a_judge_can_disagree():
    with pytest.raises(BrokenLawError, match="the judge counts a violation"):
        keeps_its_promise(BFP2kA(k=2), symbol_table(ROWS), judge=lambda release, table: False)


def test_a_refusal_is_an_answer_that_must_repeat():
    table = symbol_table(["a", "b"])
    with pytest.raises(UnattainableError):
        BFP2kA(k=2).apply(table)
    check(BFP2kA(k=2), table)


def test_the_table_is_what_was_asked_for():
    table = symbol_table([["x y", "z"], ["x y"]], column="page")
    assert table.symbol == "page"
    assert table.sequences.to_rows() == [("x y", "z"), ("x y",)]
    assert np.array_equal(table.rows, [1, 2, 3])
