"""Formats of times are found by reading them, so what is proposed is what is read."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sequester.data.times import clock_format, find_time_form, is_clock, read_times

DATES = [
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%d-%m-%Y",
    "%Y/%m/%d",
    "%d-%b-%Y",
    "%d %b %Y",
    "%b %d, %Y",
    "%Y%m%d",
]
CLOCKS = ["", " %H:%M", " %H:%M:%S", " %I:%M %p"]
whole = st.integers(-600_000_000, 2_500_000_000).map(
    lambda seconds: dt.datetime.fromtimestamp(seconds, dt.UTC)
)


@given(st.lists(whole, min_size=1, max_size=20), st.sampled_from(DATES), st.sampled_from(CLOCKS))
def test_a_format_is_found_that_reads_every_value_as_it_was_written(times, date, clock):
    assume(not (date == "%Y%m%d" and clock))
    form = date + clock
    values = pl.Series([at.strftime(form) for at in times]).unique(maintain_order=True)
    found = find_time_form(values)
    assert found is not None
    assert found.share == 1.0
    assert found.has_clock == bool(clock)
    read = read_times([values], found.format).values
    assert read.null_count() == 0
    if found.also is None:
        expected = [dt.datetime.strptime(value, form).replace(tzinfo=dt.UTC) for value in values]
        assert read.to_list() == expected
    else:
        assert form in (found.format, found.also)


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S.%f+00:00"]
)
@given(times=st.lists(whole, min_size=1, max_size=5))
def test_iso_needs_no_format(form, times):
    found = find_time_form(pl.Series([at.strftime(form) for at in times]))
    assert (found.format, found.has_clock) == (None, "%H" in form)


def test_a_day_above_twelve_tells_days_from_months():
    assert find_time_form(pl.Series(["13/04/2016", "01/05/2016"])).format == "%d/%m/%Y"
    assert find_time_form(pl.Series(["04/13/2016", "05/01/2016"])).format == "%m/%d/%Y"
    assert find_time_form(pl.Series(["04/13/2016", "05/01/2016"])).also is None


def test_where_both_are_possible_the_one_that_keeps_the_file_in_order_is_taken_and_the_other_named():
    by_day = find_time_form(pl.Series(["01/02/2016", "02/02/2016", "01/03/2016", "02/03/2016"]))
    assert (by_day.format, by_day.also) == ("%d/%m/%Y", "%m/%d/%Y")
    by_month = find_time_form(pl.Series(["02/01/2016", "02/02/2016", "03/01/2016", "03/02/2016"]))
    assert (by_month.format, by_month.also) == ("%m/%d/%Y", "%d/%m/%Y")


def test_two_digit_years_are_told():
    assert find_time_form(pl.Series(["2/24/96 14:38"])).two_digit_years
    assert not find_time_form(pl.Series(["2/24/1996 14:38"])).two_digit_years


@pytest.mark.parametrize(
    "values",
    [
        [],
        ["soon"],
        ["10004235", "99999999"],
        ["1", "2"],
        ["12:30"],
        ["2010"],
        ["13/13/2010"],
        ["1.5.2"],
        ["999-47-2873"],
        ["0001-01-01"],
    ],
)
def test_what_is_no_time(values):
    assert find_time_form(pl.Series(values, dtype=pl.String)) is None


def test_a_few_rows_may_be_dirty():
    values, rows = pl.Series(["2010-01-31", "soon"]), pl.Series([99, 1])
    assert find_time_form(values, rows).share == 0.99
    assert find_time_form(values, pl.Series([9, 1])) is None


def test_clocks():
    assert is_clock(pl.Series(["9:09", "10:15"]))
    assert not is_clock(pl.Series(["9:09", "noon"]))
    assert clock_format(pl.Series(["09:30:00.5"])) == "%H:%M:%S.%f"
