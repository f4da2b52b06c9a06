"""Derived columns are what the definition says, event by event."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import events as oracles
from sequester.data.schema import Derivation, Schema
from sequester.data.table import EventTable
from sequester.errors import ParameterError, SchemaError
from sequester.hierarchies.hierarchy import Hierarchy

KINDS = list(Derivation.__args__)
moments = st.datetimes(*map(dt.datetime.fromisoformat, ("2008-11-01", "2012-03-01")))


@given(st.lists(st.tuples(st.sampled_from("ab"), moments), min_size=1, max_size=10))
def test_all_kinds_equal_the_definition(rows):
    frame = pl.DataFrame(
        {"u": [who for who, _ in rows], "at": [at.isoformat() for _, at in rows], "s": ["x"] * len(rows)}
    )
    flat = Hierarchy.flat()
    schema = Schema(
        person="u",
        time="at",
        quasi={"s": flat, **dict.fromkeys(KINDS, flat)},
        derive={kind: kind for kind in KINDS},
    )
    table = EventTable(frame, schema)
    for kind in KINDS:
        expected = []
        for person in oracles.persons([{"u": who} for who, _ in rows], "u"):
            expected += oracles.derive(kind, sorted(at for who, at in rows if who == person))
        assert table.frame[kind].to_list() == expected, kind
        assert set(table.labels[kind]) == {"(missing)" if text is None else text for text in expected}
    assert list(table.sequences.columns) == ["s", *KINDS]


def visits(**roles):
    frame = pl.DataFrame({"u": ["a", "a"], "n": [1, 2], "s": ["x", "y"]})
    return EventTable(
        frame, Schema(**{"person": "u", "order": "n", "quasi": {"s": Hierarchy.flat()}} | roles)
    )


def test_counting_events_needs_no_time():
    table = visits(
        derive={"visits": "event_count"}, quasi={"s": Hierarchy.flat(), "visits": Hierarchy.intervals([2])}
    )
    assert table.frame["visits"].to_list() == ["2", "2"]
    assert table.hierarchies["visits"].height == 2


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "event_count"])
def test_everything_else_needs_time(kind):
    with pytest.raises(SchemaError) as caught:
        visits(derive={"new": kind}, quasi={"s": Hierarchy.flat(), "new": Hierarchy.flat()})
    assert caught.value.lines == (f"derived column 'new' ({kind}) needs a time column",)


def test_unknown_kind():
    with pytest.raises(ParameterError, match=r"derive\.new must be one of year, month, .*, got 'decade'"):
        visits(derive={"new": "decade"})


def test_values_of_a_derived_column_outside_its_hierarchy_have_row_numbers():
    frame = pl.DataFrame(
        {"u": ["a", "b", "a"], "at": ["2011-01-01", "2009-01-01", "2010-01-01"], "s": ["x", "y", "z"]}
    )
    schema = Schema(
        person="u",
        time="at",
        quasi={"s": Hierarchy.flat(), "year": Hierarchy.from_paths([["2009"], ["2010"]])},
        derive={"year": "year"},
    )
    with pytest.raises(SchemaError) as caught:
        EventTable(frame, schema)
    assert caught.value.lines == (
        "column 'year': hierarchy: 1 value of the data is missing: '2011' (1 row: 1)",
    )


def test_a_person_without_previous_event_has_a_missing_gap_in_the_hierarchy():
    frame = pl.DataFrame({"u": ["a", "a"], "at": ["2010-01-01", "2010-01-09"], "s": ["x", "y"]})
    schema = Schema(
        person="u",
        time="at",
        quasi={"s": Hierarchy.flat(), "gap": Hierarchy.intervals([7])},
        derive={"gap": "days_since_previous"},
    )
    table = EventTable(frame, schema)
    tree = table.hierarchies["gap"]
    assert table.frame["gap"].to_list() == [None, "8"]
    assert tree.labels[tree.parent[tree.node("(missing)")]] == "*"
