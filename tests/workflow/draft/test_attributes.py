"""Hierarchies are chosen by what values look like, and always fit all of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.hierarchies.lint import lint
from sequester.workflow.draft.attributes import Proposal, propose_hierarchy
from sequester.workflow.draft.columns import Column


def proposed(name, values):
    found = propose_hierarchy(Column(name, pl.Series(values)))
    return found if isinstance(found, str) else found.hierarchy.model_dump(exclude_unset=True)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("sex", ["f", "m"], {"kind": "flat"}),
        ("ZIP", [f"56{i:03}" for i in range(20)], {"kind": "mask", "levels": [3, 1]}),
        ("icd_code", [f"{i}" for i in range(400, 450)], {"kind": "mask", "levels": [2, 1]}),
        ("x", [f"{i:04}" for i in range(20)], {"kind": "mask", "levels": [3, 1]}),
        ("code", ["1", "2", "1"], {"kind": "flat"}),
        ("age", list(range(100)), {"kind": "intervals", "width": [5, 20]}),
        ("age", [f"{age}.0" for age in range(100)], {"kind": "intervals", "width": [5, 20]}),
        ("hour", list(range(24)), {"kind": "intervals", "width": [2, 10]}),
        ("lat", [40 + i / 1000 for i in range(300)], {"kind": "intervals", "width": [0.02, 0.1]}),
        ("pay", [1.07**i for i in range(200)], {"kind": "quantiles", "bins": [20, 5]}),
        ("steps", [0] * 900 + list(range(0, 1000, 10)), {"kind": "intervals", "width": [20, 100]}),
        ("admitted", ["2009-03-14", "2010-01-01"], {"kind": "dates", "levels": ["month", "quarter", "year"]}),
        ("admitted", ["20090314", "20090401"], {"kind": "dates", "levels": ["month"]}),
        ("at", ["2009-03-14 10:00", "2009-03-15T11:00:00Z"], {"kind": "dates", "levels": ["day"]}),
        ("birthdate", [f"{year}-03-14" for year in range(1930, 1960)], {"kind": "dates", "levels": ["year"]}),
        ("clock", ["02:53:04", "12:10:11"], {"kind": "mask", "levels": [5, 2]}),
        ("age", [*map(str, range(90)), "<1", "Pending"], {"kind": "flat"}),
        ("beat", [f"{i}E{i}" for i in range(10, 70)], {"kind": "mask", "levels": [3, 1]}),
        ("city", [f"New {i} Town" for i in range(60)], {"kind": "flat"}),
    ],
)
def test_choices(name, values, expected):
    assert proposed(name, values) == expected


def test_values_that_are_no_numbers_are_named():
    found = propose_hierarchy(Column("age", pl.Series([*map(str, range(90)), "<1", "Pending"])))
    assert found.why == "numbers but for '<1', 'Pending', so that no ranges can be made"


def test_what_cannot_be_released_is_said_in_words():
    assert "'*' is reserved" in proposed("x", ["*", "a"])
    assert "'(missing)' stands for a gap" in proposed("x", ["(missing)", None])
    assert proposed("x", ["31/12/2010", "01/02/2010"]) == "no hierarchy fits"


values = st.one_of(
    st.lists(st.text(max_size=6), min_size=1),
    st.lists(st.integers(-(10**20), 10**20).map(str), min_size=1, max_size=60),
    st.lists(st.floats(allow_nan=False, allow_infinity=False).map(str), min_size=1, max_size=60),
    st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str), min_size=1, max_size=60),
    st.lists(st.dates().map(str), min_size=1, max_size=60),
    st.lists(st.datetimes().map(str), min_size=1, max_size=60),
    st.lists(st.from_regex(r"\A[0-9]{1,5}\Z"), min_size=1, max_size=60),
)


@given(st.sampled_from(["x", "ZIP", "birthdate"]), values)
def test_what_is_proposed_fits_every_value(name, values):
    column = Column(name, pl.Series(values, dtype=pl.String))
    found = propose_hierarchy(column)
    if isinstance(found, Proposal):
        builder = found.hierarchy.builder(Path())
        assert not [each for each in lint(builder, column.counted_values, name) if each.severity == "error"]
        if column.n_distinct:
            assert builder.build(column.counted_values, column=name, missing=column.n_missing > 0)
