"""Expected counts equal those over all leaf worlds, and the thesis' example comes out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import query_error as oracle
from sequester.data.schema import Schema, Sensitive
from sequester.data.table import EventTable
from sequester.engine import LocalEngine
from sequester.errors import ParameterError
from sequester.hierarchies import Hierarchy
from sequester.utility import Query, QueryError, draw_queries

DEEP = {"a": "x", "b": "x", "c": "y", "x": "*", "y": "*"}
FLAT = {"1": "*", "2": "*"}
TREES = {"P": DEEP, "Q": FLAT}


def table_of(persons, *, released=False):
    rows = [
        {"who": f"p{number}", "n": place, **event}
        for number, person in enumerate(persons)
        for place, event in enumerate(person)
    ]
    schema = Schema(
        person="who",
        order="n",
        quasi={name: Hierarchy.from_edges(tree.items()) for name, tree in TREES.items()},
        sensitive={"D": ["s"]},
        released=released,
    )
    return EventTable(pl.DataFrame(rows), schema)


def events(labels):
    return st.fixed_dictionaries(
        {"P": st.sampled_from(labels[0]), "Q": st.sampled_from(labels[1]), "D": st.sampled_from("stu")}
    )


released_events = events((["a", "c", "x", "y", "*"], ["1", "2", "*"]))
asked_events = st.dictionaries(st.sampled_from(["P", "Q", "D"]), st.integers(0, 3), min_size=1)
ACCEPTED = {
    "P": [("a",), ("x",), ("a", "c"), ("x", "b")],
    "Q": [("1",), ("2",), ("1", "2"), ("*",)],
    "D": [("s",), ("t",), ("s", "t"), ("v",)],
}


@given(
    st.lists(st.lists(released_events, min_size=1, max_size=3), min_size=1, max_size=4),
    st.lists(asked_events, min_size=1, max_size=3),
)
def test_expected_counts_equal_those_over_all_leaf_worlds(persons, asked):
    original = table_of([[{"P": "a", "Q": "1", "D": "s"}] * 3] * len(persons))
    query = Query(tuple({name: ACCEPTED[name][place] for name, place in event.items()} for event in asked))
    leaves = [
        {
            name: {
                leaf for label in ACCEPTED[name][place] for leaf in oracle.leaves_below(TREES[name], label)
            }
            if name in TREES
            else {*ACCEPTED[name][place]}
            for name, place in event.items()
        }
        for event in asked
    ]
    found = QueryError(queries=[query]).expected(table_of(persons, released=True), original=original)
    assert found[0] == pytest.approx(float(oracle.expected(persons, TREES, leaves)))


def test_example_6_1():
    """Table 5.2: Diabetes and less than a week in hospital; the print cuts 1.1667 and 0.6111 off."""
    weeks = {"first": [str(day) for day in range(7)], "rest": [str(day) for day in range(7, 84)]}
    stay = Hierarchy.from_tree({"[0:12)": weeks, "later": [str(day) for day in range(84, 364)]})
    diseases = ["Diabetes", "Diabetes", "Diabetes", "Flu"]
    frame = pl.DataFrame(
        {"who": list("3458"), "n": [1] * 4, "LOS": ["1", "2", "3", "3"], "Disease": diseases}
    )
    original = EventTable(
        frame, Schema(person="who", order="n", quasi={"LOS": stay}, sensitive={"Disease": ["Diabetes"]})
    )
    coarse = frame.with_columns(LOS=pl.Series(["[0:12)", "[0:12)", "3", "[0:12)"]))
    released = EventTable(
        coarse,
        Schema(
            person="who", order="n", quasi={"LOS": stay}, sensitive={"Disease": ["Diabetes"]}, released=True
        ),
    )
    days = tuple(str(day) for day in range(7))
    measure = QueryError(queries=[Query(({"Disease": ("Diabetes",), "LOS": days},))])
    assert measure.expected(original, original=original)[0] == 3
    assert round(float(measure.expected(released, original=original)[0]), 4) == 1.1667
    score = measure.score(released, original=original)
    assert round(score.value, 4) == 0.6111
    assert score.value == pytest.approx(float(oracle.relative_error(3, 1 + 2 * Fraction(7, 84))))


def test_two_events_of_a_person_are_not_added_up():
    person = [{"P": "*", "Q": "1", "D": "t"}] * 2
    query = Query(({"P": ("a",)},))
    found = QueryError(queries=[query]).expected(
        table_of([person], released=True), original=table_of([[{"P": "a", "Q": "1", "D": "t"}] * 2])
    )
    assert found[0] == pytest.approx(1 - (2 / 3) ** 2)


def test_a_true_count_of_0_counts_as_1():
    original = table_of([[{"P": "a", "Q": "1", "D": "t"}]])
    released = table_of([[{"P": "x", "Q": "1", "D": "t"}]], released=True)
    assert QueryError(queries=[Query(({"P": ("b",)},))]).score(released, original=original).value == 0.5


def test_error_spread_and_bias():
    original = table_of([[{"P": "a", "Q": "1", "D": "t"}], [{"P": "c", "Q": "2", "D": "t"}]])
    released = table_of([[{"P": "x", "Q": "1", "D": "t"}]], released=True)
    asked = [Query(({"P": ("a",)},)), Query(({"P": ("c",)},))]
    scores = QueryError(queries=asked).scores(released, original=original)
    assert {name: score.value for name, score in scores.items()} == {
        "query_error": 0.75,
        "query_error_spread": 0.25,
        "query_bias": -0.75,
    }


def test_a_sensitive_attribute_of_several_columns_has_any_of_them():
    frame = pl.DataFrame(
        {"who": ["a", "b"], "n": [1, 1], "Q": ["1", "1"], "D1": ["s", "t"], "D2": ["t", "u"]}
    )
    schema = Schema(
        person="who",
        order="n",
        quasi={"Q": Hierarchy.flat()},
        sensitive={"D": Sensitive(columns=("D1", "D2"), protect=["s"])},
    )
    table = EventTable(frame, schema)
    asked = [Query(({"D": ("t",)},)), Query(({"D": ("s",)},)), Query(({"D": ("u", "s")},))]
    assert QueryError(queries=asked).expected(table, original=table).tolist() == [2, 1, 2]


@given(
    st.lists(st.lists(events((["a", "b", "c"], ["1", "2"])), min_size=1, max_size=4), min_size=1, max_size=5)
)
def test_drawn_queries_fit_somebody_and_the_original_answers_them_exactly(persons):
    table = table_of(persons)
    queries = draw_queries(table, 20)
    counts = QueryError(queries=queries).expected(table, original=table)
    assert (counts >= 1).all()
    assert (counts == np.round(counts)).all()
    assert all(1 <= len(query.events) <= 3 for query in queries)
    assert all(len(query.events) == 1 for query in queries[::2])
    assert queries == draw_queries(table, 20)


def test_shards_do_not_matter():
    table = table_of([[{"P": "a", "Q": "1", "D": "t"}], [{"P": "c", "Q": "2", "D": "t"}]])
    measure = QueryError(queries=draw_queries(table, 30))
    one = measure.expected(table, original=table, engine=LocalEngine(threads=1, shards=1))
    many = measure.expected(table, original=table, engine=LocalEngine(threads=2, shards=7))
    assert one.tolist() == many.tolist()


def test_what_cannot_be_asked_is_refused_by_name():
    table = table_of([[{"P": "a", "Q": "1", "D": "t"}]])
    with pytest.raises(ParameterError, match="queries must not be empty"):
        QueryError(queries=[])
    with pytest.raises(ParameterError, match="each must ask for something"):
        Query(({},))
    with pytest.raises(ParameterError, match="each must ask for something"):
        Query(())
    with pytest.raises(
        ParameterError, match="'R', which is no symbol, quasi-identifier or sensitive attribute: P, Q, D"
    ):
        QueryError(queries=[Query(({"R": ("a",)},))]).score(table, original=table)
    frame = pl.DataFrame({"who": ["a"], "n": [1], "P": ["a"]})
    tree = Hierarchy.from_edges(DEEP.items())
    other = EventTable(frame, Schema(person="who", order="n", quasi={"P": tree}))
    with pytest.raises(ParameterError, match="the release has no such column"):
        QueryError(queries=[Query(({"Q": ("1",)},))]).score(other, original=table)
    for wrong in ({"n": 0}, {"most_events": 0}, {"most_items": 0}):
        with pytest.raises(ParameterError, match="must be at least 1, got 0"):
            draw_queries(table, **wrong)
    empty = EventTable(frame.clear(), Schema(person="who", order="n", quasi={"P": tree}))
    with pytest.raises(ParameterError, match="the table has none"):
        draw_queries(empty)
