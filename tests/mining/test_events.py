"""Patterns of itemset events, and patterns with limited gaps and spans, are those of the definitions."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import mining as oracles
from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.engine import LocalEngine
from sequester.errors import ParameterError, SchemaError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.mining import frequent
from sequester.mining.frequent import EventPatterns, Itemsets, frequent_events

events = st.text("abc", min_size=1, max_size=3)
rows_of_events = st.lists(st.lists(events, max_size=3), max_size=5)
rows_of_text = st.lists(st.text("abc", max_size=5), max_size=6)
limits = st.none() | st.integers(0, 3)
spans = st.none() | st.integers(1, 4)


@given(rows_of_events, st.integers(1, 3), st.none() | st.integers(1, 4), limits, spans)
def test_frequent_events_equal_enumeration(rows, min_support, max_length, max_gap, max_span):
    found = frequent_events(
        Itemsets.from_rows(rows),
        min_support=min_support,
        max_length=max_length,
        max_gap=max_gap,
        max_span=max_span,
    )
    assert dict(found) == oracles.frequent_events(rows, min_support, max_length, max_gap, max_span)


@given(rows_of_text, st.integers(1, 3), limits, spans)
def test_gaps_and_spans_of_symbols_equal_enumeration(rows, min_support, max_gap, max_span):
    found = frequent(Sequences.from_rows(rows), min_support=min_support, max_gap=max_gap, max_span=max_span)
    expected = oracles.frequent_events(rows, min_support, None, max_gap, max_span)
    assert dict(found) == {tuple(item for (item,) in pattern): count for pattern, count in expected.items()}


@given(rows_of_events, st.integers(1, 3), st.none() | st.integers(1, 3), spans)
def test_closed_events_have_no_equal_above(rows, min_support, max_length, max_span):
    found = frequent_events(
        Itemsets.from_rows(rows),
        min_support=min_support,
        max_length=max_length,
        max_span=max_span,
        closed=True,
    )
    assert dict(found) == oracles.closed_events(rows, min_support, max_length, max_span)


@given(rows_of_events, st.integers(1, 12), st.integers(1, 2), limits)
def test_the_top_are_the_most_frequent(rows, top, min_length, max_gap):
    itemsets = Itemsets.from_rows(rows)
    every = frequent_events(itemsets, min_support=1, min_length=min_length, max_gap=max_gap)
    found = frequent_events(itemsets, top=top, min_length=min_length, max_gap=max_gap)
    assert len(found) == min(top, len(every))
    assert sorted(found.values()) == sorted(every.values())[len(every) - len(found) :]
    assert all(every[pattern] == count for pattern, count in found.items())
    # Among equals the first in order are taken.
    last = min(found.values(), default=0)
    equals = [pattern for pattern, count in every.items() if count == last]
    taken = [pattern for pattern, count in found.items() if count == last]
    assert taken == equals[: len(taken)]


@given(rows_of_events, limits, spans)
def test_supporters_are_the_persons_who_contain_it(rows, max_gap, max_span):
    found = frequent_events(
        Itemsets.from_rows(rows), min_support=1, max_gap=max_gap, max_span=max_span, supporters=True
    )
    for pattern in found:
        expected = [oracles.contains(pattern, row, max_gap, max_span) for row in rows]
        assert found.supporters(pattern).tolist() == expected
        assert found[pattern] == sum(expected)


@given(rows_of_text)
@settings(max_examples=20)
def test_events_of_one_item_are_symbols(rows):
    found = frequent_events(Itemsets.from_rows(rows), min_support=2)
    assert {tuple(item for (item,) in pattern): count for pattern, count in found.items()} == dict(
        frequent(Sequences.from_rows(rows), min_support=2)
    )


@given(rows_of_events, st.integers(2, 9))
@settings(max_examples=20)
def test_one_shard_equals_many(rows, shards):
    one, many = (
        frequent_events(
            Itemsets.from_rows(rows), min_support=1, engine=LocalEngine(threads=2, shards=n), supporters=True
        )
        for n in (1, shards)
    )
    assert list(one.items()) == list(many.items())
    assert all(np.array_equal(one.supporters(each), many.supporters(each)) for each in one)


def table(persons, orders, symbols):
    frame = pl.DataFrame({"who": persons, "n": orders, "code": symbols})
    return EventTable(frame, Schema(person="who", order="n", symbol="code"))


def test_rows_of_one_order_are_one_event():
    found = frequent_events(
        table(["x"] * 4 + ["y"] * 3, [10, 9, 9, 9, 1, 2, 2], ["c", "b", "a", "a", "a", "c", "b"]),
        min_support=1,
        min_length=2,
        max_length=2,
    )
    assert dict(found) == {
        (("a",), ("b",)): 1,
        (("a",), ("c",)): 2,
        (("a", "b"),): 1,
        (("b",), ("c",)): 1,
        (("b", "c"),): 1,
    }


def test_rows_of_one_time_are_one_event():
    frame = pl.DataFrame(
        {"who": ["x"] * 3, "at": ["2024-01-02", "2024-01-01", "2024-01-02"], "code": ["b", "a", "c"]}
    )
    itemsets = Itemsets.of(EventTable(frame, Schema(person="who", time="at", symbol="code")))
    assert itemsets.places.tolist() == [0, 1, 1]


def test_where_each_row_is_a_person_each_has_one_event():
    frame = pl.DataFrame({"code": ["b", "a"]})
    itemsets = Itemsets.of(EventTable(frame, Schema(person="row", symbol="code")))
    assert (itemsets.items.tolist(), itemsets.places.tolist()) == ([1, 0], [0, 0])
    assert itemsets.person_offsets.tolist() == [0, 1, 2]


def test_quasi_identifiers_are_refused():
    frame = pl.DataFrame({"who": ["x"], "n": [1], "ZIP": ["1"]})
    schema = Schema(person="who", order="n", quasi={"ZIP": Hierarchy.flat()})
    with pytest.raises(SchemaError, match="itemset events need one symbol per row"):
        frequent_events(EventTable(frame, schema), min_support=1)


@pytest.mark.parametrize(
    "rows", [[], [[]], [[], ["ab"]]], ids=["nobody", "no event", "somebody without events"]
)
def test_little_data_has_a_stated_answer(rows):
    found = frequent_events(Itemsets.from_rows(rows), min_support=1, min_length=2, supporters=True)
    assert dict(found) == ({(("a", "b"),): 1} if len(rows) == 2 else {})
    assert repr(found) == f"EventPatterns({len(found)} patterns)"


def test_persons_with_several_sequences_are_refused():
    frame = pl.DataFrame({"who": ["x", "x"], "trip": ["1", "2"], "n": [1, 2], "code": ["a", "b"]})
    trips = EventTable(frame, Schema(person="who", order="n", symbol="code", trip="trip"))
    with pytest.raises(SchemaError, match="itemset events need one sequence per person"):
        frequent_events(trips, min_support=1)


def test_wrong_parameters_are_refused():
    rows = Itemsets.from_rows([["ab"]])
    with pytest.raises(ParameterError, match="min_support or top must be given"):
        frequent_events(rows)
    with pytest.raises(ParameterError, match="max_gap must be at least 0, got -1"):
        frequent_events(rows, min_support=1, max_gap=-1)
    with pytest.raises(ParameterError, match="max_span must be at least 1, got 0"):
        frequent_events(rows, min_support=1, max_span=0)
    with pytest.raises(ParameterError, match="closed patterns are not defined with max_gap"):
        frequent_events(rows, min_support=1, max_gap=1, closed=True)
    with pytest.raises(ParameterError, match="top and closed cannot be combined for itemset events"):
        frequent_events(rows, top=1, closed=True)
    with pytest.raises(ParameterError, match="top, closed and max_span cannot be combined"):
        frequent(Sequences.from_rows(["ab"]), top=1, max_span=2, closed=True)
    with pytest.raises(ParameterError, match="more than 2 patterns have at least 1 supporters"):
        frequent_events(rows, min_support=1, max_patterns=2)
    with pytest.raises(ParameterError, match="supporters were not kept"):
        frequent_events(rows, min_support=1).supporters((("a",),))


def test_a_mapping_knows_its_patterns():
    found = frequent_events(Itemsets.from_rows([["ab"]]), min_support=1)
    assert isinstance(found, EventPatterns)
    assert found[("a", "b"),] == 1
    assert (("b",), ("a",)) not in found
