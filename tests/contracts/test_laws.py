"""Every method in the register obeys every law, on tables at which methods go wrong first."""

from __future__ import annotations

import warnings
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import kc, kcp, mutual_information, pattern_hiding
from oracles import l_diversity as oracle_l
from oracles import sequences as oracles
from sequester.errors import InputError, SequesterWarning, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods import (
    CBLDA,
    HALT,
    METHODS,
    PH,
    SBSH,
    Abul,
    BFP2kA,
    BottomUp,
    CBLDABaseline,
    GloGen,
    MergeSnapshots,
    PrefixPruning,
    Reposition,
    SuppressOnly,
    TopDown,
)
from sequester.testing import EDGES, LAWS, checks, history_table, record_table, symbol_table
from sequester.testing.checks import BrokenLawError, keeps_its_promise


def strict_by_the_oracle(release, table):
    rows = release.frame.group_by("person", maintain_order=True).agg("symbol")["symbol"].to_list()
    k = release.parameters["k"]
    return oracles.is_strictly_k_anonymous(rows, k) and by_definition_1(release, table)


def by_definition_1(release, table):
    rows = release.frame.group_by("person", maintain_order=True).agg("symbol")["symbol"].to_list()
    return oracles.satisfies_definition_1(rows, table.sequences.to_rows(), release.parameters["k"])


LETTERS = {"a": "early", "b": "early", "c": "late", "d": "late", "early": "*", "late": "*"}


def kcp_by_the_oracle(release, table):
    persons = [
        [({"letter": event["letter"]}, {"ill": {event["ill"]}}) for event in events.iter_rows(named=True)]
        for _, events in release.frame.group_by("person", maintain_order=True)
    ]
    asked = release.parameters
    released = kcp.Table(
        persons,
        {"letter": LETTERS},
        {"ill": {"yes"}},
        levels=asked["levels"],
        stars=asked.get("stars", "counted"),
    )
    return kcp.is_private(released, asked["k"], Fraction(asked["c"]), asked["p"])


def kc_by_the_oracle(release, table):
    persons = [
        [({"letter": event["letter"]}, {"ill": {event["ill"]}}) for event in events.iter_rows(named=True)]
        for _, events in release.frame.group_by("person", maintain_order=True)
    ]
    asked = release.parameters
    released = kcp.Table(persons, {"letter": LETTERS}, {"ill": {"yes"}})
    return kc.is_private(released, asked["k"], Fraction(asked["c"]), asked["reading"])


def with_a_pattern(rows):
    """Somebody has what the methods below hide."""
    return symbol_table([*rows, "aab"] if rows else [])


def hidden_by_the_oracle(release, table):
    rows = dict(release.frame.group_by("person", maintain_order=True).agg("symbol").iter_rows())
    names = dict(release.pseudonyms.iter_rows())
    released = [rows.get(names.get(person), []) for person in table.persons]
    asked = release.parameters
    thresholds = dict.fromkeys(asked["patterns"], asked["min_support"])
    thresholds |= {tuple(each["items"]): each["min_support"] for each in asked["pattern"]}
    original = table.sequences.to_rows()
    return pattern_hiding.is_hidden(thresholds, released, original, asked.get("forbidden", ()))


def diverse_by_the_oracle(release, table):
    level = Fraction(release.parameters["l"])
    records = release.frame
    if "values" in release.tables:
        places = oracle_l.by_place(
            (group, letter)
            for group, letter, count in release.tables["values"].iter_rows()
            for _ in range(count)
        )
        sizes = dict(records.group_by("group").len().iter_rows())
        if sizes != {group: len(values) for group, values in places.items()}:
            return False
    else:
        place = "group" if "group" in records.columns else "time"
        places = oracle_l.by_place(records.select(place, "letter").iter_rows())
    return not oracle_l.too_frequent(places, level)


def with_a_taxonomy(rows):
    """Somebody has what the methods below hide, and every letter lies below one of two nodes."""
    return symbol_table([*rows, "aab"] if rows else [], hierarchy=Hierarchy.from_edges(LETTERS.items()))


def private_by_the_oracle(release, table):
    rows = dict(release.frame.group_by("person", maintain_order=True).agg("symbol").iter_rows())
    names = dict(release.pseudonyms.iter_rows())
    asked = release.parameters
    bound = {"bits": asked["max_leakage_bits"], "share": asked["max_leakage"]}
    return all(
        mutual_information.is_private(
            before,
            tuple(rows[names[person]]),
            asked["patterns"],
            asked["window"],
            worst_case=asked["worst_case"],
            measure=asked["measure"],
            **bound,
        )
        for person, before in zip(table.persons, table.sequences.to_rows(), strict=True)
        if len(before) < 20  # the oracle takes long for long rows
    )


EXAMPLES = {
    "halt": [
        (HALT(k=2, c=1, p=2), kcp_by_the_oracle, history_table),
        (HALT(k=3, c="1/2", p=1, search="full"), kcp_by_the_oracle, history_table),
        (HALT(k=2, c=0.5, p=2, stars="ignored", infeasible="drop"), kcp_by_the_oracle, history_table),
        (HALT(k=2, c=0.5, p=2, suppression="global", infeasible="drop"), kcp_by_the_oracle, history_table),
    ],
    "glogen": [(GloGen(k=2, c=0.5, p=2, infeasible="drop"), kcp_by_the_oracle, history_table)],
    "cblda": [
        (CBLDA(k=2, c=1), kc_by_the_oracle, history_table),
        (CBLDA(k=3, c="1/2", split=True, infeasible="drop"), kc_by_the_oracle, history_table),
        (CBLDA(k=2, c=0.5, reading="each", block=4, infeasible="drop"), kc_by_the_oracle, history_table),
    ],
    "cblda-baseline": [(CBLDABaseline(k=2, c=0.5, infeasible="drop"), kc_by_the_oracle, history_table)],
    "ph": [
        (
            PH(patterns=[["a", "b"], ["b", "c"]], min_support=2, forbidden="unseen"),
            hidden_by_the_oracle,
            with_a_pattern,
        ),
        (
            PH(
                pattern=[{"items": ["a", "b"], "min_support": 1}, {"items": ["a", "a"], "min_support": 3}],
                min_support=2,
                forbidden=[["b", "a"]],
                uncertainty="maximum",
            ),
            hidden_by_the_oracle,
            with_a_pattern,
        ),
    ],
    "sbsh": [(SBSH(patterns=[["a", "b"], ["b", "a"]], min_support=2), hidden_by_the_oracle, with_a_pattern)],
    "abul": [(Abul(patterns=[["a", "b"], ["b"]], min_support=2), hidden_by_the_oracle, with_a_pattern)],
    "p2ka": [
        (BFP2kA(k=2), strict_by_the_oracle, symbol_table),
        (BFP2kA(k=2, strict=False), by_definition_1, symbol_table),
        (BFP2kA(k=2, reconstruction="truthful"), strict_by_the_oracle, symbol_table),
    ],
    "top-down": [
        (TopDown(patterns=[["a", "b"]], window=2), private_by_the_oracle, with_a_taxonomy),
        (TopDown(patterns=[["a", "b"]], measure="paper"), private_by_the_oracle, with_a_taxonomy),
        (
            TopDown(
                patterns=[["a", "b"], ["b"], ["c", "c", "a"]],
                max_leakage_bits=0.2,
                worst_case=True,
                scope="local",
                search="improve",
            ),
            private_by_the_oracle,
            with_a_taxonomy,
        ),
    ],
    "bottom-up": [
        (BottomUp(patterns=[["a", "b"], ["a", "a"]], window=3), private_by_the_oracle, with_a_taxonomy),
    ],
    "prefix-pruning": [
        (PrefixPruning(k=2), strict_by_the_oracle, symbol_table),
        (PrefixPruning(k=3), strict_by_the_oracle, symbol_table),
    ],
    "reposition": [
        (Reposition(l=2, window=3, snapshot="order"), diverse_by_the_oracle, record_table),
        (
            Reposition(l="3/2", window=2, snapshot="order", then="generalize", randomize=True),
            diverse_by_the_oracle,
            record_table,
        ),
        (
            Reposition(l=2, window=3, snapshot="order", then="none", first_window="ilp"),
            diverse_by_the_oracle,
            record_table,
        ),
    ],
    "suppress-only": [(SuppressOnly(l=2, snapshot="order"), diverse_by_the_oracle, record_table)],
    "merge-snapshots": [
        (MergeSnapshots(l=2, window=2, snapshot="order", then="none"), diverse_by_the_oracle, record_table)
    ],
}
"""For each name in the register methods to try, who counts their releases without sequester, and tables."""
CASES = [pytest.param(*case, id=str(case[0])) for cases in EXAMPLES.values() for case in cases]


def fault(law, *arguments, **options):
    """What is wrong with the method by this law; None where it obeys."""
    try:
        law(*arguments, **options)
    except BrokenLawError as error:
        return str(error)
    return None


def test_every_method_in_the_register_has_examples():
    assert set(EXAMPLES) == set(METHODS)
    assert all(isinstance(method, METHODS[name]) for name, cases in EXAMPLES.items() for method, *_ in cases)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize(("method", "judge", "make"), CASES)
def test_laws_hold_at_the_edges(method, judge, make, law, edge, monkeypatch):
    monkeypatch.setattr(checks, "_run", partial(checks._run, evaluate=False))
    assert fault(law, method, make(EDGES[edge])) is None


MEASURED = "an item repeated"
"""The edge at which the quick profile also measures, which takes as long as the method itself."""


@pytest.mark.parametrize(
    "edge", [edge if edge == MEASURED else pytest.param(edge, marks=pytest.mark.thorough) for edge in EDGES]
)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize(("method", "judge", "make"), CASES)
def test_laws_hold_with_all_measures(method, judge, make, law, edge):
    assert fault(law, method, make(EDGES[edge])) is None


short_rows = st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=12)


@pytest.mark.parametrize(("method", "judge", "make"), CASES)
@given(rows=short_rows)
@settings(max_examples=20)
def test_the_promise_holds_by_the_oracles_count(method, judge, make, rows):
    assert fault(keeps_its_promise, method, make(rows), judge=judge) is None


@pytest.mark.parametrize(("method", "judge", "make"), CASES)
def test_an_empty_table_is_refused(method, judge, make):
    named = "|".join(method.parameters())
    with pytest.raises((UnattainableError, InputError), match=rf"no ({named})\b|none of them occurs"):
        method.apply(make([]))


@pytest.mark.parametrize(("method", "judge", "make"), CASES)
def test_progress_only_rises_and_ends_at_one(method, judge, make):
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        method.apply(
            make(["abab"] * 3 + ["ab", "abb", "ba"] * 2),
            progress=lambda fraction, phase: seen.append(fraction),
        )
    assert seen == sorted(seen)
    assert seen[0] >= 0
    assert seen[-1] == 1
