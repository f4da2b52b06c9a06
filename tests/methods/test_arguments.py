"""What a method says about arguments that are of another kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
import pytest

from sequester import (
    CBLDA,
    HALT,
    PH,
    BFP2kA,
    EventTable,
    ParameterError,
    PrefixPruning,
    Schema,
    SchemaError,
)
from sequester.engine import LocalEngine
from sequester.methods import evaluate as measures
from sequester.testing import history_table, symbol_table

if TYPE_CHECKING:
    from sequester.engine import Progress

FRAME = pl.DataFrame({"user": list("ab"), "n": [1, 1], "page": list("xx")})


@pytest.mark.parametrize("method", [BFP2kA, PrefixPruning])
def test_whole_numbers_of_numpy_are_whole_numbers(method):
    made = method(k=np.int64(2))
    assert made == method(k=2)
    assert type(made.k) is int
    with pytest.raises(ParameterError, match=r"k must be a whole number, got 2\.0"):
        method(k=2.0)


@dataclass(frozen=True, kw_only=True)
class Declared(PrefixPruning):
    """A method of a user's own, whose fields say what they may be."""

    rounds: int = field(default=1, metadata={"least": 1})
    order: Literal["first", "last"] = "first"
    loud: bool = False


@dataclass(frozen=True, kw_only=True)
class Unresolved(PrefixPruning):
    """One whose types are known to type checkers only."""

    order: Progress | str = "first"


def test_parameters_are_checked_by_what_their_fields_declare():
    made = Declared(k=2, rounds=np.int64(3), order="last", loud=True)
    assert type(made.rounds) is int
    for given, rule in (
        ({"rounds": 0}, "rounds must be at least 1, got 0"),
        ({"order": "middle"}, 'order must be "first" or "last", got \'middle\''),
        ({"loud": 1}, "loud must be true or false, got 1"),
        ({"k": 1}, "k must be at least 2, got 1"),
    ):
        with pytest.raises(ParameterError) as refusal:
            Declared(**{"k": 2, **given})
        assert str(refusal.value) == rule
    assert Unresolved(k=2, order="anything").order == "anything"


def test_a_frame_is_no_table():
    with pytest.raises(SchemaError, match="table must be an EventTable, got DataFrame; make one"):
        BFP2kA(k=2).apply(FRAME)


def test_a_seed_is_text():
    table = EventTable(FRAME, Schema(person="user", order="n", symbol="page"))
    with pytest.raises(ParameterError, match="seed must be text, got 3"):
        BFP2kA(k=2).apply(table, seed=3)


SEED = "a sentence nobody guesses"
ROWS = ["abc", "abc", "abc", "ab", "ab", "b", "b"]
CASES = {
    "p2ka": (BFP2kA(k=2), symbol_table(ROWS)),
    "ph": (PH(patterns=[["a", "b"]], min_support=2), symbol_table(ROWS)),
    "halt": (HALT(k=2, c=1, p=1), history_table(ROWS)),
    "cblda": (CBLDA(k=2, c=1), history_table(ROWS)),
}


@pytest.mark.filterwarnings("ignore::sequester.SequesterWarning")
@pytest.mark.parametrize("name", CASES)
def test_without_evaluation_nothing_is_measured_and_the_release_is_the_same(name, monkeypatch):
    method, table = CASES[name]
    whole = method.apply(table, seed=SEED)
    assert "information_loss" in whole.utility

    def fail(*_, **__):
        pytest.fail("a measure was taken")

    monkeypatch.setattr(type(method), "evaluate", fail)
    monkeypatch.setattr(measures, "evaluate_release", fail)
    plain = method.apply(table, seed=SEED, evaluate=False)
    assert plain.utility == {}
    assert plain.frame.equals(whole.frame)
    assert plain.changes.equals(whole.changes)
    assert plain.pseudonyms.equals(whole.pseudonyms)
    assert (plain.verdict, plain.limits, plain.n_lost_events) == (
        whole.verdict,
        whole.limits,
        whole.n_lost_events,
    )


class CountingEngine:
    """Runs here, and counts the shards it was given."""

    def __init__(self):
        self.shards = 0

    def split(self, n_rows):
        return LocalEngine(threads=1, shards=1).split(n_rows)

    def map(self, task, shards, **keywords):
        self.shards += len(shards)
        return LocalEngine(threads=1, shards=1).map(task, shards, **keywords)


@pytest.mark.filterwarnings("ignore::sequester.SequesterWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_promise_is_checked_on_the_engine_that_is_given(name):
    method, table = CASES[name]
    release = method.apply(table, seed=SEED, evaluate=False)
    original = table if release.model.needs_original else None
    engine = CountingEngine()
    assert release.model.check(release.table, original=original, engine=engine) == release.verdict
    # The classes of cblda are counted by sorting, in one go.
    assert (engine.shards > 0) is (name != "cblda")


def test_apply_hands_its_engine_to_the_check(monkeypatch):
    method, table = CASES["halt"]
    given, check = [], type(method.model()).check

    def heard(self, released, *, original=None, engine=None):
        given.append(engine)
        return check(self, released, original=original, engine=engine)

    monkeypatch.setattr(type(method.model()), "check", heard)
    engine = CountingEngine()
    method.apply(table, seed=SEED, engine=engine, evaluate=False)
    assert given == [engine]
