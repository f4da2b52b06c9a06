"""Columns that follow from others are found in every event, and nothing else is."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import dependence as oracles
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.mining.dependence import find_dependences


def found(columns, **schema):
    frame = pl.DataFrame(
        {"who": [str(i) for i in range(len(next(iter(columns.values()))))], "n": 1, **columns}
    )
    quasi = {name: Hierarchy.flat() for name in columns}
    return [
        each.columns
        for each in find_dependences(EventTable(frame, Schema("who", "n", quasi=quasi, **schema)))
    ]


small = st.one_of(st.integers(-1, 3), st.none())
tables = st.integers(1, 8).flatmap(
    lambda n: st.fixed_dictionaries({name: st.lists(small, min_size=n, max_size=n) for name in "xyz"})
)


def as_text(column):
    return [None if value is None else str(value) for value in column]


@given(tables)
def test_dependent_columns_equal_enumeration(columns):
    names = found({name: as_text(column) for name, column in columns.items()})
    assert len(names) == len(set(names))
    assert {each for each in names if len(each) == 2} == oracles.determined(columns)
    assert {each for each in names if len(each) == 3} == oracles.sums(columns)


@given(tables)
def test_a_planted_sum_is_found_and_a_broken_one_is_not(columns):
    x, y = ([0 if value is None else value for value in columns[name]] for name in "xy")
    whole = {"x": x, "y": y, "z": [a + b for a, b in zip(x, y, strict=True)]}
    assert (("x", "y", "z") in found(whole)) == (("x", "y", "z") in oracles.sums(whole))
    whole["z"][-1] += 1
    assert ("x", "y", "z") not in found(whole)


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y%m%d", "%Y-%m-%dT08:30:00"])
def test_length_of_stay_follows_from_admission_and_discharge(form):
    admitted = [date(2010, 1, 30), date(2010, 2, 27), date(2012, 2, 28), date(2010, 1, 30)]
    stays = [3, 5, 2, 0]
    columns = {
        "admission": [day.strftime(form) for day in admitted],
        "discharge": [
            (day + timedelta(stay)).strftime(form) for day, stay in zip(admitted, stays, strict=True)
        ],
        "LOS": stays,
    }
    assert ("admission", "LOS", "discharge") in found(columns)
    columns["LOS"] = [*stays[:-1], 1]
    assert ("admission", "LOS", "discharge") not in found(columns)


def test_a_late_exception_counts():
    n = 5_000
    columns = {
        "x": [i % 7 for i in range(n)],
        "y": [i % 7 % 2 for i in range(n)],
        "z": [i % 7 + i % 7 % 2 for i in range(n)],
    }
    assert {("x", "y"), ("x", "y", "z")} <= set(found(columns))
    columns["y"][-1] = 5
    assert not {("x", "y"), ("x", "y", "z")} & set(found(columns))


def test_decimals_add_up_as_people_add():
    prices = ["0.1", "0.7", "1.15"]
    taxes = ["0.2", "0.1", "2.05"]
    totals = [str(float(Fraction(a) + Fraction(b))) for a, b in zip(prices, taxes, strict=True)]
    assert ("price", "tax", "total") in found({"price": prices, "tax": taxes, "total": totals})


def test_numbers_beyond_all_counting_add_up_to_nothing():
    assert found({"x": ["1e999", "1"], "y": ["1e999", "2"], "z": ["1e999", "3"]}) == []


def test_a_key_determines_nothing_and_a_constant_is_not_determined():
    assert found({"key": ["1", "2", "3"], "constant": ["a", "a", "a"], "other": ["x", "x", "y"]}) == []


def test_derived_years_follow_from_dates():
    frame = pl.DataFrame({"who": list("abc"), "at": ["2010-01-30", "2011-01-30", "2010-01-30"]})
    quasi = {"at": Hierarchy.dates(["year"]), "year": Hierarchy.flat()}
    table = EventTable(frame, Schema("who", time="at", quasi=quasi, derive={"year": "year"}))
    assert [str(each) for each in find_dependences(table)] == [
        "'at' determines 'year'",
        "'year' determines 'at'",
    ]


def test_symbols_have_nothing_to_depend_on():
    frame = pl.DataFrame({"who": list("ab"), "n": [1, 1], "page": list("xy")})
    assert find_dependences(EventTable(frame, Schema("who", "n", symbol="page"))) == ()


@pytest.mark.real
def test_claims_of_medicare_show_how_their_columns_hang_together(shared_data):
    from sequester.datasets import desynpuf

    path = shared_data / "desynpuf" / "DE1_0_2008_to_2010_Inpatient_Claims_Sample_1.csv.gz"
    frame = desynpuf.table([path])
    dates = Hierarchy.dates(["month", "year"])
    quasi = {"admission": dates, "discharge": dates, "stay": Hierarchy.flat(), "year": Hierarchy.flat()}
    frame = frame.with_columns(stay=(pl.col("discharge") - pl.col("admission")).dt.total_days())
    drop = [name for name in frame.columns if name not in ("PID", *quasi)]
    schema = Schema("PID", time="admission", quasi=quasi, drop=drop, derive={"year": "year"})
    names = [each.columns for each in find_dependences(EventTable(frame, schema))]
    assert ("admission", "stay", "discharge") in names
    assert ("admission", "year") in names
    assert ("year", "admission") not in names
