"""Gaps and curves on real clocks: days since something, dates, orders; coarse values as means."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import utility as oracle
from sequester.data.schema import Quasi, Schema
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.data.text import Codebook
from sequester.errors import ParameterError
from sequester.hierarchies import Hierarchy
from sequester.testing import symbol_table
from sequester.utility import gap_distance, return_distance, time_to_event_distance, transitions
from sequester.utility.distributions import wasserstein_distance
from sequester.utility.times import Clock, clock_of

DATES = Hierarchy.dates(["month", "year"])
VISITS = {
    "who": ["a", "a", "a", "b", "b"],
    "day": ["2010-01-01", "2010-01-03", "2010-01-31", "2010-02-01", "2010-02-02"],
    "ill": ["no", "no", "yes", "no", "no"],
}


def visits(**more):
    schema = {"person": "who", "time": "day", "sensitive": {"ill": ["yes"]}, **more}
    return EventTable(pl.DataFrame(VISITS), Schema(**schema))


def released(original, columns):
    """The same persons and events, with other labels in some columns."""
    source = original.sequences
    books = {name: Codebook.of(labels) for name, labels in columns.items()}
    return replace(
        source,
        columns={**source.columns, **{name: books[name].encode(columns[name]) for name in columns}},
        codebooks={**source.codebooks, **books},
    )


def test_gaps_are_read_from_the_time_itself():
    original = visits(quasi={"day": DATES})
    clock = clock_of(original)
    assert (clock.name, clock.unit, clock.counts_gaps) == ("day", "days", False)
    assert gap_distance(original, original=original).value == 0
    coarse = released(original, {"day": ["2010-01", "2010-01", "2010-01", "2010-02-01", "2010-02-02"]})
    # Gaps of 1, 2 and 28 days, then 0, 0 and 1.
    assert gap_distance(coarse, original=original).value == pytest.approx((1 + 2 + 27) / 3)


def test_gaps_are_read_from_days_since_the_event_before():
    gaps = Hierarchy.intervals([7, 28], origin=0)
    original = visits(quasi={"wait": gaps}, derive={"wait": "days_since_previous"})
    clock = clock_of(original)
    assert (clock.name, clock.counts_gaps) == ("wait", True)
    tree = original.hierarchies["wait"]
    codes = tree.nodes(original.sequences.codebooks["wait"].labels)[original.sequences.columns["wait"]]
    assert clock.gaps(codes, original.person_offsets).tolist() == [2, 28, 1]


def test_gaps_are_read_from_days_since_the_first_event():
    original = visits(quasi={"since": Hierarchy.flat()}, derive={"since": "days_since_first"})
    tree = original.hierarchies["since"]
    codes = tree.nodes(original.sequences.codebooks["since"].labels)[original.sequences.columns["since"]]
    assert clock_of(original).gaps(codes, original.person_offsets).tolist() == [2, 28, 1]


@pytest.mark.parametrize(
    "more",
    [
        {"quasi": {"day": Quasi(DATES, weight=0.0)}},  # of no importance
        {"quasi": {"year": Hierarchy.flat()}, "derive": {"year": "year"}},
    ],
)
def test_nothing_tells_time(more):
    original = visits(**more)
    assert clock_of(original) is None
    with pytest.raises(ParameterError, match="gaps need a quasi-identifier that tells time"):
        gap_distance(original, original=original)


def test_orders_that_are_no_numbers_tell_no_time():
    frame = pl.DataFrame({"who": ["a", "a"], "n": ["first", "second"]})
    table = EventTable(frame, Schema(person="who", order="n", quasi={"n": Hierarchy.flat()}))
    assert clock_of(table) is None


def test_a_value_that_is_no_number_has_no_gap():
    clock = Clock("n", "steps", counts_gaps=False, values=np.array([2.0, np.nan, 5.0]))
    nodes, offsets = np.array([0, 2, 1, 2, 0, 0], np.int32), np.array([0, 4, 4, 6], np.int64)
    assert clock.gaps(nodes, offsets).tolist() == [3, 0]


@pytest.mark.parametrize(
    ("quasi", "derive"),
    [
        ({"day": DATES}, {}),
        ({"wait": Hierarchy.flat()}, {"wait": "days_since_previous"}),
        ({"since": Hierarchy.flat()}, {"since": "days_since_first"}),
    ],
)
def test_curves_run_over_days_where_these_are_told(quasi, derive):
    """One of two persons falls ill 30 days after the first event; the other left after a day."""
    original = visits(quasi=quasi, derive=derive)
    healthy = released(original, {"ill": ["no"] * 5})
    score = time_to_event_distance(healthy, original=original)
    # Before day 30 nobody, then the only one who is still there.
    assert score.value == 1
    assert "days since the first event" in score.means
    at_once = released(original, {"ill": ["yes", "no", "no", "no", "no"]})
    assert time_to_event_distance(at_once, original=original).value == pytest.approx(0.5)


def test_without_a_clock_time_is_the_number_of_the_event():
    original = visits(quasi={"year": Hierarchy.flat()}, derive={"year": "year"})
    assert "counted in events" in time_to_event_distance(original, original=original).means


def test_nobody_waits_where_nobody_is():
    empty = symbol_table([])
    assert time_to_event_distance(empty, original=empty).value == 0
    gone = time_to_event_distance(Sequences.from_rows(["", ""]), original=symbol_table(["a", "b"]))
    assert gone.value == pytest.approx(0.5)


@given(st.lists(st.integers(0, 5), max_size=6), st.lists(st.integers(0, 5), max_size=6))
def test_transport_is_the_area_between_distributions(left, right):
    found = wasserstein_distance(np.array(left, np.float64), np.array(right, np.float64))
    assert found == pytest.approx(float(oracle.transport(left, right)))
    assert wasserstein_distance(np.array(left, np.float64), np.array(left, np.float64)) == 0


def test_sides_without_returns_have_nothing_to_move():
    assert return_distance(Sequences.from_rows(["abc"]), original=Sequences.from_rows(["aa"])).value == 0


def test_rare_values_are_left_aside_where_there_are_too_many():
    tree = Hierarchy.from_tree({"A": ["a", "b"], "B": ["c", "d"]})
    original = symbol_table(["ababab", "cd"], hierarchy=tree)
    coarse = Sequences.from_rows([["A"] * 6, ["B", "B"]])
    whole = transitions(coarse, original=original)
    part = transitions(coarse, original=original, most_looks=2 * len(tree))
    assert "rarest" not in whole["transition_distance"].means
    assert "the 1 rarest values are left aside" in part["transition_distance"].means
    assert part["transition_distance"].value == 0.5  # a and b are half right each


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (partial(transitions, most_looks=0), "most_looks must be at least 1, got 0"),
        (partial(time_to_event_distance, most_items=0), "most_items must be at least 1, got 0"),
    ],
)
def test_parameters_are_at_least_one(measure, message):
    with pytest.raises(ParameterError, match=message):
        measure(symbol_table(["a"]), original=symbol_table(["a"]))


def test_nothing_follows_anything():
    original = symbol_table(["a", "b"])
    scores = transitions(original, original=original)
    assert scores["transition_distance"].value == 0
    assert scores["next_event_accuracy"].value == 1
    gone = transitions(Sequences.from_rows(["", ""]), original=symbol_table(["ab", "ba"]))
    assert gone["transition_distance"].value == 1
    assert gone["next_event_accuracy"].value == 0
