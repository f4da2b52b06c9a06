"""Every method in the register obeys every law, on tables at which methods go wrong first."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import sequences as oracles
from sequester.errors import SequesterWarning, UnattainableError
from sequester.methods import METHODS, BFP2kA, PrefixPruning
from sequester.testing import EDGES, LAWS, symbol_table
from sequester.testing.checks import keeps_its_promise


def strict_by_the_oracle(release, table):
    rows = release.frame.group_by("person", maintain_order=True).agg("symbol")["symbol"].to_list()
    k = release.parameters["k"]
    return oracles.is_strictly_k_anonymous(rows, k) and by_definition_1(release, table)


def by_definition_1(release, table):
    rows = release.frame.group_by("person", maintain_order=True).agg("symbol")["symbol"].to_list()
    return oracles.satisfies_definition_1(rows, table.sequences.to_rows(), release.parameters["k"])


EXAMPLES = {
    "p2ka": [(BFP2kA(k=2), strict_by_the_oracle), (BFP2kA(k=2, strict=False), by_definition_1)],
    "prefix-pruning": [
        (PrefixPruning(k=2), strict_by_the_oracle),
        (PrefixPruning(k=3), strict_by_the_oracle),
    ],
}
"""For each name in the register methods to try, and who counts their releases without sequester."""
CASES = [pytest.param(*case, id=str(case[0])) for cases in EXAMPLES.values() for case in cases]


def test_every_method_in_the_register_has_examples():
    assert set(EXAMPLES) == set(METHODS)
    assert all(isinstance(method, METHODS[name]) for name, cases in EXAMPLES.items() for method, _ in cases)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize(("method", "judge"), CASES)
def test_laws_hold_at_the_edges(method, judge, law, edge):
    law(method, symbol_table(EDGES[edge]))


short_rows = st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=12)


@pytest.mark.parametrize(("method", "judge"), CASES)
@given(rows=short_rows)
@settings(max_examples=20)
def test_the_promise_holds_by_the_oracles_count(method, judge, rows):
    keeps_its_promise(method, symbol_table(rows), judge=judge)


@pytest.mark.parametrize(("method", "judge"), CASES)
def test_an_empty_table_is_refused(method, judge):
    with pytest.raises(UnattainableError, match="no k of 2 or more releases anything"):
        method.apply(symbol_table([]))


@pytest.mark.parametrize(("method", "judge"), CASES)
def test_progress_only_rises_and_ends_at_one(method, judge):
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        method.apply(
            symbol_table(["abab"] * 3 + ["ab", "abb", "ba"] * 2),
            progress=lambda fraction, phase: seen.append(fraction),
        )
    assert seen == sorted(seen)
    assert seen[0] >= 0
    assert seen[-1] == 1
