"""Masked codes: equally long, nested, never the root, never somebody's value."""

from __future__ import annotations

import calendar
import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.errors import HierarchyError
from sequester.hierarchies import MISSING, Hierarchy


def paths(tree):
    return {tree.labels[leaf]: [tree.labels[n] for n in tree.ancestors(leaf)][1:] for leaf in tree.leaf_nodes}


def test_zip_codes():
    tree = Hierarchy.mask([3, 1]).build(["56001", "56002", "56100", "70000"], column="ZIP")
    assert paths(tree) == {
        "56001": ["560**", "5****", "*"],
        "56002": ["560**", "5****", "*"],
        "56100": ["561**", "5****", "*"],
        "70000": ["700**", "7****", "*"],
    }
    assert tree.leaves[tree.node("5****")] == 3


def test_one_level_may_be_a_number():
    assert Hierarchy.mask(2) == Hierarchy.mask([2])
    assert Hierarchy.mask(2).build(["56001"], column="ZIP").labels == ("*", "56***", "56001")


def test_codes_of_different_length_share_groups():
    tree = Hierarchy.mask([4, 3]).build(["428", "4280", "42821", "42"], column="ICD")
    assert paths(tree) == {
        "428": ["428**", "*"],
        "4280": ["4280*", "428**", "*"],
        "42821": ["4282*", "428**", "*"],
        "42": ["*"],
    }


def test_a_level_that_keeps_everything_is_no_level():
    tree = Hierarchy.mask([3, 1]).build(["5", "56"], column="code")
    assert paths(tree) == {"5": ["5*", "*"], "56": ["5*", "*"]}
    assert paths(Hierarchy.mask([3, 1]).build(["5", "6"], column="code")) == {"5": ["*"], "6": ["*"]}


@pytest.mark.parametrize("value", ["5*", "**"])
def test_a_value_that_looks_like_a_mask_is_refused(value):
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.mask(1).build([value, "56", "*7"], column="code")
    assert caught.value.lines == (
        f"column 'code': mask: 1 value is also the name of a group of values: {value!r}",
    )


def test_stars_in_values_are_fine_where_no_group_has_that_name():
    tree = Hierarchy.mask(1).build(["5*6", "*12"], column="code")
    assert paths(tree) == {"5*6": ["5**", "*"], "*12": ["***", "*"]}


def test_the_root_is_no_value():
    with pytest.raises(HierarchyError, match="column 'ZIP': the value '\\*' is reserved"):
        Hierarchy.mask(1).build(["*", "12"], column="ZIP")


def test_missing_values():
    tree = Hierarchy.mask(1).build(["12", MISSING], column="ZIP")
    assert paths(tree) == {"12": ["1*", "*"], MISSING: ["*"]}
    assert paths(Hierarchy.mask(1).build([], column="ZIP", missing=True)) == {MISSING: ["*"]}


def test_a_column_without_values_is_refused():
    with pytest.raises(HierarchyError, match="column 'ZIP': mask: the column has no values"):
        Hierarchy.mask(1).build([], column="ZIP")


def test_huge_cells_are_refused():
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.mask(1).build(["x" * 300, "ab"], column="ZIP")
    assert caught.value.lines == (
        f"column 'ZIP': mask: 1 value is longer than 256 characters: '{'x' * 39}…'",
    )
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.mask(1).build(["x" * 5000, "ab"], column="ZIP")
    assert caught.value.lines == (f"column 'ZIP': 1 value is longer than 4,096 characters: '{'x' * 39}…'",)


@pytest.mark.parametrize(
    ("levels", "lines"),
    [
        ([], ["mask: levels must be whole numbers of characters to keep, got []"]),
        (["3"], ["mask: levels must be whole numbers of characters to keep, got ['3']"]),
        ([True], ["mask: levels must be whole numbers of characters to keep, got [True]"]),
        (2.5, ["mask: levels must be whole numbers of characters to keep, got [2.5]"]),
        (
            [1, 3, 0],
            [
                "mask: a level must keep at least 1 character, got 0",
                "mask: levels must keep fewer and fewer characters, got 1 and then 3",
            ],
        ),
        ([2, 2], ["mask: levels must keep fewer and fewer characters, got 2 and then 2"]),
    ],
)
def test_levels_that_make_no_sense_are_refused(levels, lines):
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.mask(levels)
    assert list(caught.value.lines) == lines


codes = st.text("ab1", min_size=1, max_size=5)


@given(st.sets(codes, min_size=1), st.sets(st.integers(1, 6), min_size=1))
def test_masks_keep_what_they_say_and_nothing_more(values, keeps):
    levels = sorted(keeps, reverse=True)
    tree = Hierarchy.mask(levels).build(values, column="code")
    width = max(map(len, values))
    for value in values:
        above = [tree.labels[node] for node in tree.ancestors(tree.node(value))]
        expected = [value[:n] + "*" * (width - n) for n in levels if n <= len(value) and n < width]
        assert above == [value, *expected, "*"]
    assert {tree.labels[leaf] for leaf in tree.leaf_nodes} == values
    assert tree.leaves[0] == len(values)


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
def test_date_levels_that_make_no_sense_are_refused(levels, line):
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
