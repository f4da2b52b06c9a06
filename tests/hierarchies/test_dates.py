"""Dates by month, quarter and year."""

from __future__ import annotations

import calendar
import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.errors import HierarchyError
from sequester.hierarchies import Hierarchy


def chain(tree, value):
    return [tree.labels[node] for node in tree.ancestors(tree.node(value))][1:-1]


def test_dates_are_shortened():
    tree = Hierarchy.dates(["month", "quarter", "year"]).build(
        ["2009-03-14", "2009-12-31", "0999-01-01"], column="d"
    )
    assert chain(tree, "2009-03-14") == ["2009-03", "2009-Q1", "2009"]
    assert chain(tree, "2009-12-31") == ["2009-12", "2009-Q4", "2009"]
    assert chain(tree, "0999-01-01") == ["0999-01", "0999-Q1", "0999"]


def test_plain_dates_count_days_whether_or_not_they_occur():
    tree = Hierarchy.dates(["day", "month", "quarter", "year"]).build(
        ["2008-02-29", "2009-04-01"], column="d", missing=True
    )
    assert {label: int(tree.leaves[tree.node(label)]) for label in tree} == {
        "*": 366 + 365 + 1,
        "(missing)": 1,
        "2008": 366,
        "2008-Q1": 91,
        "2008-02": 29,
        "2008-02-29": 1,
        "2009": 365,
        "2009-Q2": 91,
        "2009-04": 30,
        "2009-04-01": 1,
    }


def test_a_date_is_its_own_day():
    tree = Hierarchy.dates(["day", "year"]).build(["2009-03-14"], column="d")
    assert chain(tree, "2009-03-14") == ["2009"]


def test_times_of_day_lie_under_their_day():
    values = ["2009-03-14T23:30", "2009-03-14 08:00:01.5", "2009-03-15T00:30+02:00", "20090315T103000Z"]
    tree = Hierarchy.dates(["day", "month"]).build(values, column="t")
    assert [chain(tree, value)[0] for value in values] == [
        "2009-03-14",
        "2009-03-14",
        "2009-03-15",
        "2009-03-15",
    ]
    assert tree.leaves[tree.node("2009-03-14")] == 2
    assert tree.leaves[0] == 4


def test_short_spelling_of_a_date():
    tree = Hierarchy.dates(["month"]).build(["20090314", "2009-03-14"], column="d")
    assert chain(tree, "20090314") == chain(tree, "2009-03-14") == ["2009-03"]
    assert tree.leaves[tree.node("2009-03")] == 31  # days, however one of them is spelled


def test_days_and_times_mixed_are_refused_where_a_day_would_be_both():
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.dates(["day", "year"]).build(["2009-03-14", "2009-03-14T10:00"], column="d")
    assert caught.value.lines == (
        "column 'd': dates: 1 value is also the name of a group of values: '2009-03-14'",
    )


def test_values_that_are_no_dates_are_named():
    bad = [
        "14.03.2009",
        "2009-13-01",
        "2009-02-29",
        "2009-03",
        "2009-0314",
        "2009-03-14T25:00",
        "0000-01-01",
        "x",
    ]
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.dates("year").build(["2009-03-14", *bad], column="d")
    assert str(caught.value) == (
        "column 'd': dates: 8 values are not ISO dates (such as 2009-03-14): '0000-01-01', '14.03.2009', "
        "'2009-02-29', '2009-03', '2009-03-14T25:00' and 3 more"
    )


@pytest.mark.parametrize(
    ("levels", "line"),
    [
        (["week"], "dates: levels must be among day, month, quarter, year, got 'week'"),
        ([3], "dates: levels must be among day, month, quarter, year, got 3"),
        ([], "dates: levels must be among day, month, quarter, year, got none"),
        (["year", "month"], "dates: levels must become coarser, got 'year' and then 'month'"),
        (["year", "year"], "dates: levels must become coarser, got 'year' and then 'year'"),
    ],
)
def test_levels_that_make_no_sense_are_refused(levels, line):
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.dates(levels)
    assert caught.value.lines == (line,)


@given(st.sets(st.dates(min_value=dt.date(1890, 1, 1)), min_size=1, max_size=20))
def test_counts_are_those_of_the_calendar(days):
    tree = Hierarchy.dates(["month", "quarter", "year"]).build((day.isoformat() for day in days), column="d")
    for day in days:
        month, quarter, year = (tree.node(label) for label in chain(tree, day.isoformat()))
        every = [dt.date(day.year, 1, 1) + dt.timedelta(n) for n in range(365 + calendar.isleap(day.year))]
        assert tree.leaves[year] == len(every)
        assert tree.leaves[month] == sum(other.month == day.month for other in every)
        assert tree.leaves[quarter] == sum((other.month - 1) // 3 == (day.month - 1) // 3 for other in every)
    assert tree.leaves[0] == sum(365 + calendar.isleap(year) for year in {day.year for day in days})
