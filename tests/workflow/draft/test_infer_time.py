"""When: times by what they begin, orders by name and by the file, ties by what numbers rows."""

from __future__ import annotations

import polars as pl

from sequester.workflow.draft.draft import make_draft

USERS = ["a", "a", "a", "b", "b", "b"]
DAYS = ["2010-01-01", "2010-01-02", "2010-01-03"] * 2
PAGES = list("xyzyxz")


def draft(columns):
    return make_draft(pl.DataFrame({"user": USERS, **columns, "page": PAGES}))


def test_what_begins_comes_before_what_ends():
    later = [day.replace("2010", "2011") for day in DAYS]
    for start, end in [
        ("START", "STOP"),
        ("date", "end_date"),
        ("CLM_FROM_DT", "CLM_THRU_DT"),
        ("admittime", "dischtime"),
    ]:
        found = draft({end: later, start: DAYS})
        assert found.when_columns == (start,)
        assert end in {each.column for each in found.quasi}


def test_dates_of_a_life_are_no_times_of_events():
    found = draft({"birthdate": DAYS, "n": [1, 2, 3] * 2})
    assert found.when_columns == ("n",)
    assert not found.when.is_time


def test_what_is_often_missing_comes_last():
    gaps = [DAYS[0], None, None, *DAYS[3:]]
    assert draft({"date": gaps, "day_of_visit": DAYS}).when_columns == ("day_of_visit",)


def test_a_date_and_a_clock():
    days = ["13/04/2016", "13/04/2016", "14/04/2016"] * 2
    found = draft({"ActivityDate": days, "ActivityTime": ["09:00:00", "10:00:00", "00:00:00"] * 2})
    assert found.when_columns == ("ActivityDate", "ActivityTime")
    assert found.when.time_format == "%d/%m/%Y %H:%M:%S"
    assert found.symbol.column == "page"
    iso = draft({"date": DAYS, "time": ["9:09", "10:10", "11:11"] * 2})
    assert (iso.when_columns, iso.when.time_format) == (("date", "time"), None)


def test_a_named_order_wins_over_the_order_of_the_file():
    found = draft({"version": [9, 9, 9, 9, 9, 10], "seq_num": [3, 1, 2, 2, 3, 1]})
    assert found.when_columns == ("seq_num",)
    assert found.when.why == "named like an order; the file has 50% of a person's rows in this order"
    assert found.doubts == ()


def test_without_a_name_it_is_the_column_that_changes_the_file_least_and_said_so():
    found = draft({"trip": [1, 1, 2, 3, 3, 4], "hour": [9, 8, 7, 6, 9, 8]})
    assert found.when_columns == ("trip",)
    assert found.doubts == (
        "order: no column says which event comes first; 'trip' changes the file's order least",
    )
    assert "trip" in {each.column for each in found.quasi}


def test_ties_are_broken_by_what_numbers_rows():
    found = draft({"date": [DAYS[0]] * 6, "activity_instance_id": range(10, 16), ".order": range(1, 7)})
    assert found.tie.column == ".order"
    assert found.tie.why == "6 rows have the time of another row of the person, and it tells them apart"
    assert found.doubts == ()


def test_ties_that_nothing_breaks_are_pointed_out():
    found = draft({"date": [DAYS[0], DAYS[0], *DAYS[2:]]})
    assert found.tie is None
    assert found.doubts == (
        "time: 2 rows have the time of another row of the person; they stay in file order",
    )


def test_days_and_months_that_cannot_be_told_apart_are_pointed_out():
    found = draft({"date": ["01/02/10", "02/02/10", "03/02/10"] * 2})
    assert found.when.time_format == "%d/%m/%y"
    assert [doubt.split(" ")[1] for doubt in found.doubts] == ["%m/%d/%y", "the"]


def test_the_time_can_be_released_where_it_is_one_column():
    assert (
        draft({"date": DAYS}).released_time.levels == ["month"]
        if len({d[:7] for d in DAYS}) > 1
        else ["year"]
    )
    written = [f"{day[8:]}/{day[5:7]}/{day[:4]}" for day in ["2010-01-31", "2010-02-13", "2011-02-13"] * 2]
    found = draft({"date": written})
    assert found.when.time_format == "%d/%m/%Y"
    assert found.released_time.levels == ["month", "quarter", "year"]
    assert draft({"time": DAYS}).released_time is None
