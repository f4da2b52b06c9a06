"""A release says why it is as it is, and what it says would have been kept is kept when it is tried."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explanation.cases import CASES, SEED, method_of, rows
from sequester.data.schema import Quasi, Schema
from sequester.data.table import EventTable
from sequester.errors import ParameterError, SequesterWarning, UnattainableError
from sequester.explanation import explain
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA, HALT, METHODS, PH, BFP2kA, BottomUp, PrefixPruning, Reposition
from sequester.methods.method import Method
from sequester.testing import history_table, record_table, symbol_table


def made(method, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return method.apply(table, seed=SEED)


def count_lost(method, table):
    """Count lost parts by the words of the page, slowly, from the list of changes."""
    lost = set()
    for change in made(method, table).changes.iter_rows(named=True):
        column = change.get("column", table.symbol)
        tree = table.hierarchies.get(column)
        if change["from"] is None or change["what"] == "published later":
            continue
        if change["what"] == "generalized":
            node = tree.node(change["to"])
            below = sum(node in tree.ancestors(leaf) for leaf in tree.leaf_nodes.tolist())
            if change["to"] != "*" and 2 * (below - 1) <= len(tree.leaf_nodes) - 1:
                continue
        lost.add((change["row"], column))
    return lost


def test_every_method_has_a_case():
    assert set(CASES) == set(METHODS)


@pytest.mark.parametrize("name", CASES)
def test_every_method_gives_reasons_and_relaxations(name):
    method, table = method_of(name), CASES[name][1]
    release = made(method, table)
    explanation = explain(release, original=table, method=method)
    assert explanation.reasons
    kinds = set(release.changes["what"].cast(pl.String))
    assert {reason.change for reason in explanation.reasons} == kinds
    for kind in kinds:
        touched = release.changes.filter(pl.col("what").cast(pl.String) == kind)
        told = [reason for reason in explanation.reasons if reason.change == kind]
        assert sum(reason.events for reason in told) >= touched["row"].n_unique()
        assert max(reason.persons for reason in told) <= touched["person"].n_unique()
    assert explanation.relaxations
    lost = count_lost(method, table)
    assert {each.of for each in explanation.relaxations} == {len(lost)}
    document = json.loads(json.dumps(explanation.to_json()))
    assert [each["text"] for each in document["relaxations"]] == [
        each.text for each in explanation.relaxations
    ]
    assert str(explanation).count("\n") >= 1
    assert explain(release, original=table, method=method) == explanation


@pytest.mark.parametrize("name", CASES)
def test_what_would_have_been_kept_is_kept_when_it_is_tried(name):
    method, table = method_of(name), CASES[name][1]
    relaxations = explain(made(method, table), original=table, method=method).relaxations
    before = count_lost(method, table)
    tried = [each for each in relaxations if each.parameter in method.parameters()]
    assert tried
    for each in tried:
        after = count_lost(method_of(name, **{each.parameter: each.relaxed}), table)
        assert (len(before - after), len(after - before)) == (each.kept, each.newly_lost)
        assert each.kept > each.newly_lost
        assert each.share == each.kept / each.of
        assert f"would have kept {each.kept:,} of {each.of:,}" in each.text


SMALL = st.lists(st.text("abc", min_size=1, max_size=4), min_size=4, max_size=12)


@settings(max_examples=25)
@given(SMALL, st.integers(3, 4))
def test_the_smallest_k_is_the_smallest(rows, k):
    table, method = symbol_table(rows), PrefixPruning(k=k)
    try:
        release = made(method, table)
    except UnattainableError:
        return
    explanation = explain(release, original=table, method=method)
    before = count_lost(method, table)
    gains = {step: len(before) - len(count_lost(PrefixPruning(k=step), table)) for step in range(2, k)}
    for goal in (1, -(-len(before) // 2), len(before)):
        best = max((step for step, gain in gains.items() if gain >= goal > 0), default=None)
        told = {each.relaxed for each in explanation.relaxations if each.parameter == "k"}
        assert best is None or best in told


def stays(**rules):
    """Stays of which one is rare, beside years that are common."""
    frame = pl.DataFrame(
        {
            "who": [f"p{n}" for n in range(12)],
            "n": [1] * 12,
            "stay": ["1", "1", "1", "1", "2", "2", "2", "30", "30", "31", "31", "90"],
            "year": ["2007", "2008"] * 6,
        }
    )
    tree = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30", "31", "90"]})
    quasi = {"stay": Quasi(tree, **rules), "year": Hierarchy.flat()}
    return EventTable(frame, Schema(person="who", order="n", quasi=quasi))


def test_a_hierarchy_that_begins_coarser_is_tried():
    table, method = stays(), HALT(k=3, c=1, p=1)
    explanation = explain(made(method, table), original=table, method=method)
    (coarse,) = [each for each in explanation.relaxations if each.parameter == "hierarchy of stay"]
    assert (coarse.asked, coarse.relaxed, coarse.kept, coarse.of) == (0, 1, 5, 5)
    assert "hierarchy of stay beginning at level 1 such as long instead of its own values" in coarse.text
    (reason,) = explanation.reasons
    assert (reason.constraint, reason.change, reason.events) == ("support below k", "suppressed", 5)
    assert "stay = 90: 1 person" in reason.examples
    assert not any(each.parameter == "c" for each in explanation.relaxations)


def test_a_larger_max_level_is_tried():
    table = history_table(rows(8, 3, seed=4))
    capped = {"letter": replace(table.schema.quasi["letter"], max_level=0)}
    table = table.replace(schema=replace(table.schema, quasi=table.schema.quasi | capped))
    method = CBLDA(k=2, c=1)
    explanation = explain(made(method, table), original=table, method=method)
    wider = next(each for each in explanation.relaxations if each.parameter == "max_level of letter")
    assert (wider.asked, wider.relaxed, wider.kept) == (0, 1, 2)


def test_never_suppress_is_tried():
    table = stays(never_suppress=("90",))
    method = CBLDA(k=3, c=1)
    explanation = explain(made(method, table), original=table, method=method)
    told = [*(each.text for each in explanation.relaxations), *explanation.notes]
    assert any("never_suppress of stay = nothing" in line for line in told)


def test_confidence_and_base_rate_have_reasons_of_their_own():
    method, table = method_of("halt", suppression="global"), CASES["halt"][1]
    told = {each.constraint for each in method.reasons(made(method, table), table)}
    assert {"support below k", "confidence above c"} <= told
    table = history_table(["a", "b", "b", "b", "a", "b", "b", "b"])
    method = HALT(k=2, c=0.2, p=1, infeasible="drop")
    told = [each.text for each in method.reasons(made(method, table), table)]
    line = "more than the share c = 0.2 of all persons had the same protected value"
    assert any(line in each for each in told)
    method = CBLDA(k=2, c=0.2, infeasible="drop")
    told = {each.constraint for each in method.reasons(made(method, table), table)}
    assert "share of all persons above c" in told


def test_single_cells_are_explained_by_what_too_few_persons_show():
    method, table = method_of("halt", suppression="local"), CASES["halt"][1]
    release = made(method, table)
    starred = release.changes.with_columns(pl.col("what", "constraint").cast(pl.String)).filter(
        pl.col("what") == "suppressed", pl.col("constraint") == "support below k"
    )
    assert 0 < starred.height < table.n_events
    for level, value, because in starred.select("level", "from", "because").iter_rows():
        channel, persons = because.rsplit(": ", 1)
        assert int(persons.split()[0]) < method.k
        assert level > 0 or f"= {value}" in channel
    explanation = explain(release, original=table, method=method)
    told = next(each for each in explanation.reasons if each.constraint == "support below k")
    assert set(told.examples) <= set(starred["because"])
    assert told.events == starred["row"].n_unique()
    assert {each.of for each in explanation.relaxations} == {len(count_lost(method, table))}


def test_patterns_with_a_threshold_of_their_own():
    table = symbol_table(rows(30, 6))
    own = {"items": ["a", "c"], "min_support": 3}
    method = METHODS["sbsh"](patterns=[["a", "b"]], min_support=4, pattern=[own])
    explanation = explain(made(method, table), original=table, method=method)
    named = {each.parameter for each in explanation.relaxations}
    assert {"min_support", "min_support of a → c"} <= named
    assert {each.examples[0] for each in explanation.reasons} == {"a → b", "a → c"}


def test_a_pattern_below_its_threshold_is_no_reason():
    table = symbol_table(["ab", "ab", "ab", "ba"])
    method = PH(patterns=[["a", "b"], ["b", "a"]], min_support=2)
    assert [each.examples for each in method.reasons(made(method, table), table)] == [("a → b",)]


def test_bits_are_relaxed_in_tenths_and_worst_cases_pattern_by_pattern():
    table = CASES["bottom-up"][1]
    method = BottomUp(patterns=[["a", "b"], ["c", "d"]], window=3, max_leakage_bits=0.05, worst_case=True)
    explanation = explain(made(method, table), original=table, method=method)
    assert {each.parameter for each in explanation.relaxations} == {"max_leakage_bits"}
    assert all(round(each.relaxed * 10) == each.relaxed * 10 for each in explanation.relaxations)
    assert any(each.text.startswith("a → b: revealed up to") for each in explanation.reasons)


def test_a_longer_window_is_tried():
    table = record_table(["aab", "aac", "abc", "acb", "ba", "ca"])
    method = Reposition(l=3, window=1, snapshot="order")
    explanation = explain(made(method, table), original=table, method=method)
    told = [*(each.parameter for each in explanation.relaxations), *explanation.notes]
    assert any(each.startswith("window") for each in told)


def test_trips_are_counted_as_trips():
    frame = pl.DataFrame(
        {
            "who": ["a"] * 4 + ["b"] * 2 + ["c"] * 3,
            "n": [1, 2, 3, 4, 1, 2, 1, 2, 3],
            "trip": [1, 1, 2, 2, 1, 1, 1, 1, 2],
            "stop": ["x", "y", "x", "z", "x", "y", "x", "y", "q"],
        }
    )
    table = EventTable(frame, Schema(person="who", order="n", trip="trip", symbol="stop"))
    method = BFP2kA(k=3)
    explanation = explain(made(method, table), original=table, method=method)
    assert sum(each.persons for each in explanation.reasons) == 2
    assert explanation.relaxations or explanation.notes


def test_nothing_lost_is_said():
    table, method = symbol_table(["ab"] * 4), BFP2kA(k=2)
    explanation = explain(made(method, table), original=table, method=method)
    assert explanation.reasons == explanation.relaxations == ()
    assert explanation.notes == ("no relaxation was tried: nothing is suppressed or heavily generalized",)


def test_nothing_to_relax_is_said():
    table, method = symbol_table(["ab", "ab", "c"]), PrefixPruning(k=2)
    explanation = explain(made(method, table), original=table, method=method)
    assert explanation.notes == ("no relaxation was tried: nothing can be asked less of",)


def test_without_time_nothing_is_tried():
    method, table = method_of("p2ka"), CASES["p2ka"][1]
    explanation = explain(made(method, table), original=table, method=method, seconds=0)
    assert explanation.relaxations == ()
    assert explanation.notes == ("no relaxation was tried: no time was left",)


def test_what_there_was_no_time_for_is_said(monkeypatch):
    ticks = iter(range(10_000))
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    method, table = method_of("sbsh"), CASES["sbsh"][1]
    release = made(method, table)
    explanation = explain(release, original=table, method=method, seconds=60)
    assert any("steps were tried in the time given" in note for note in explanation.notes)


def test_large_tables_are_tried_on_some_persons(monkeypatch):
    monkeypatch.setattr(Method, "trial_persons", 20)
    method, table = method_of("p2ka"), CASES["p2ka"][1]
    release = made(method, table)
    explanation = explain(release, original=table, method=method)
    assert explanation.notes[0].startswith("relaxations were tried with 20 of 30 persons, drawn at random")
    assert explain(release, original=table, method=method) == explanation
    monkeypatch.setattr(Method, "trial_persons", 3)
    refused = explain(release, original=table, method=method)
    assert refused.notes[0].startswith("no relaxation was tried: p2ka refuses 3 of 30 persons")


def test_a_sample_may_lose_nothing_or_take_too_long(monkeypatch):
    table, method = symbol_table(["ab"] * 30 + ["c"]), PrefixPruning(k=3)
    release = made(method, table)
    monkeypatch.setattr(Method, "trial_persons", 20)
    notes = explain(release, original=table, method=method).notes
    assert "nothing is lost with 20 of 31 persons" in notes[0]
    ticks = iter(range(10_000))
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    notes = explain(release, original=table, method=method, seconds=3).notes
    assert "takes longer than the time given" in notes[0]


def test_wrong_arguments_are_refused():
    method, table = method_of("p2ka"), CASES["p2ka"][1]
    release = made(method, table)
    with pytest.raises(ParameterError, match="seconds must be at least 0, got -1"):
        explain(release, original=table, method=method, seconds=-1)
    with pytest.raises(ParameterError, match="method must be the one that made the release, p2ka, got halt"):
        explain(release, original=table, method=HALT(k=2, c=1, p=1))


def test_a_method_that_says_nothing_counts_kinds():
    method, table = method_of("p2ka"), CASES["p2ka"][1]
    release = made(method, table)
    told = Method.reasons(method, release, table)
    assert {each.change for each in told} == set(release.changes["what"].cast(pl.String))
    assert Method.relaxations(method, table) == ()
