"""Attributes that should not change within a person: found by name, and by how nearly all persons are."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.mining.dependence import find_changes
from sequester.workflow.inspect import inspect


def table(column, *rows):
    cells = [(f"p{person}", n, cell) for person, row in enumerate(rows) for n, cell in enumerate(row)]
    frame = pl.DataFrame(cells, schema=["who", "n", column], orient="row")
    return EventTable(frame, Schema("who", "n", quasi={column: Hierarchy.flat()}))


def found(column, *rows):
    return [str(problem) for problem in find_changes(table(column, *rows))]


def test_a_gender_that_changes_is_named_with_its_rows():
    rows = ["ff", "mm", "ff", "mm", "fm", "f"]
    line = "column 'gender' should not change within a person, and does for 1 of 5 persons (1 row: 10)"
    assert found("gender", *rows) == [line]
    assert found("ward", *rows) == []
    assert found("engender", *rows) == []
    assert found("patient_sex", "ff", "fm", "mf") == []


def test_a_column_that_is_the_same_for_nearly_all_is_found_without_its_name():
    rows = ["ab"[i % 2] * 3 for i in range(200)]
    assert found("x", *rows) == []
    assert "for 1 of 201 persons" in found("x", *rows, "aba")[0]
    assert found("x", *rows[:98], "ab", "ba") == []
    assert found("x", *["aa"] * 15, "ab") == []


def test_missing_values_are_no_change():
    assert found("sex", ["f", None, "f"], [None, "m"], ["m", "m"], ["f", "f"], ["f", "f"]) == []


@pytest.mark.parametrize("ages", [("50", "60", "40"), ("[50-60)", "[60-70)", "[40-50)")])
def test_an_age_that_runs_backwards_is_named(ages):
    young, old, back = ages
    lines = found("age", [young, old], [old, back], [young, young])
    assert lines == ["column 'age' runs backwards for 1 of 3 persons (1 row: 4)"]
    assert found("stage", [young, old], [old, back], [young, young]) == []


@given(st.lists(st.lists(st.sampled_from(["f", "m", None]), min_size=1, max_size=4), min_size=2, max_size=8))
def test_equals_the_definition(rows):
    known = [[cell for cell in row if cell is not None] for row in rows]
    several = [row for row in known if len(row) > 1]
    changed = [row for row in several if len(set(row)) > 1]
    should = 0 < len(changed) <= 0.2 * len(several) and len({c for row in known for c in row}) > 1
    lines = found("sex", *rows)
    assert bool(lines) == should
    if should:
        assert f"for {len(changed)} of {len(several)} person" in lines[0]


def test_inspect_says_so():
    rows = ["ff", "mm", "ff", "mm", "fm", "f"]
    assert "should not change within a person" in repr(inspect(table("gender", *rows)))
