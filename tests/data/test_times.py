"""Times are read as ISO 8601 or as the steward says, and what has an offset is taken to UTC."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.data.times import read_times
from sequester.errors import SchemaError
from sequester.hierarchies.hierarchy import Hierarchy


def utc(*parts):
    return dt.datetime(*parts, tzinfo=dt.UTC)


def read(*texts, time_format=None):
    times = read_times([pl.Series(texts, dtype=pl.String)], time_format)
    return times.values.to_list()


WRITTEN = [
    ("2014-10-22", utc(2014, 10, 22)),
    ("2014-10-22T11:15", utc(2014, 10, 22, 11, 15)),
    ("2014-10-22 11:15:41", utc(2014, 10, 22, 11, 15, 41)),
    ("2014-10-22T11:15:41.5", utc(2014, 10, 22, 11, 15, 41, 500_000)),
    ("2014-10-22 11:15:41+00:00", utc(2014, 10, 22, 11, 15, 41)),
    ("2014-10-22T00:15:41+02:00", utc(2014, 10, 21, 22, 15, 41)),
    ("2014-10-22T11:15Z", utc(2014, 10, 22, 11, 15)),
    ("2014-10-22T11:15:41.25-0130", utc(2014, 10, 22, 12, 45, 41, 250_000)),
    ("0800-12-25", utc(800, 12, 25)),
    ("2014-10-22T11", utc(2014, 10, 22, 11)),
    ("2014-10-22 11+02", utc(2014, 10, 22, 9)),
    ("2014-10-22T11:15:41,5Z", utc(2014, 10, 22, 11, 15, 41, 500_000)),
    ("20141022T111541Z", utc(2014, 10, 22, 11, 15, 41)),
    ("20141022T111541.25-0130", utc(2014, 10, 22, 12, 45, 41, 250_000)),
    ("20141022T1115", utc(2014, 10, 22, 11, 15)),
    ("20141022T11+0100", utc(2014, 10, 22, 10)),
    ("2014-2-3", None),
    ("2014-02-3", None),
    ("+2014-2-03", None),
    (" 2014-02-03", None),
    ("2014-02-03 ", None),
    ("2014-02-03  11:15", None),
    ("2014-02-03 9:15", None),
    ("2014-02-03T11:15:41 Z", None),
    ("+12014-01-01", None),
    ("-0001-01-01", None),
    ("12014-01-01", None),
    ("20141022T11154", None),
    ("20141022T11:15", None),
    ("2014-10-22T1115", None),
    ("20140230T1115", None),
    ("2014-02-30", None),
    ("2014-13-01", None),
    ("2014-10-22T25:00", None),
    ("20141022", None),
    ("22.10.2014", None),
    ("1413976541", None),
    ("yesterday", None),
]


@pytest.mark.parametrize(("text", "expected"), WRITTEN)
def test_iso(text, expected):
    assert read(text) == [expected]


def test_forms_may_be_mixed_in_a_column():
    texts, expected = zip(*WRITTEN, strict=True)
    assert read(*texts) == list(expected)


@given(
    st.lists(st.datetimes(min_value=dt.datetime.fromisoformat("0001-01-02")), min_size=1, max_size=5),
    st.integers(-1400, 1400),
)
def test_iso_round_trip_with_any_offset(times, minutes):
    zone = dt.timezone(dt.timedelta(minutes=minutes))
    aware = [time.replace(tzinfo=dt.UTC) for time in times if time.year < 9999]
    assert read(*(time.astimezone(zone).isoformat() for time in aware)) == aware


@pytest.mark.parametrize(
    ("text", "time_format", "expected"),
    [
        ("20101231", "%Y%m%d", utc(2010, 12, 31)),
        ("31/12/2010 23:59", "%d/%m/%Y %H:%M", utc(2010, 12, 31, 23, 59)),
        ("12/31/10 11:30 PM", "%m/%d/%y %I:%M %p", utc(2010, 12, 31, 23, 30)),
        ("2010-12", "%Y-%m", utc(2010, 12, 1)),
        ("2010", "%Y", utc(2010, 1, 1)),
        ("31.12.2010 23:59:58.25", "%d.%m.%Y %H:%M:%S.%f", utc(2010, 12, 31, 23, 59, 58, 250_000)),
        ("2010-12-31 01:00 +0200", "%Y-%m-%d %H:%M %z", utc(2010, 12, 30, 23)),
        ("2010-12-31", "%Y%m%d", None),
        ("20101231", "%Q", None),
    ],
)
def test_time_format(text, time_format, expected):
    assert read(text, time_format=time_format) == [expected]


def test_a_format_that_cannot_be_used_is_refused_beside_the_other_problems():
    with pytest.raises(SchemaError) as caught:
        events(["12/31/10 11"], time_format="%m/%d/%y %H", keep=["ward"])
    assert caught.value.lines[0] == "column 'ward' is named as keep, and the table has no such column"
    assert caught.value.lines[1].startswith("time_format '%m/%d/%y %H' cannot be used: Invalid format string")
    assert len(caught.value.lines) == 2


def events(at, **roles):
    frame = pl.DataFrame({"u": ["a"] * len(at), "at": at, "s": [str(place) for place in range(len(at))]})
    return EventTable(frame, Schema(**{"person": "u", "time": "at", "symbol": "s"} | roles))


def test_time_that_goes_backwards_is_sorted():
    table = events(["2010-01-03", "2010-01-01T12:00", "2010-01-01"])
    assert table.sequences.to_rows() == [("2", "1", "0")]
    assert table.times.dt.day().to_list() == [1, 1, 3]


def test_whole_numbers_are_read_by_their_format():
    assert events([20100201, 20100131], time_format="%Y%m%d").sequences.to_rows() == [("1", "0")]


def test_dates_and_zoned_times_come_as_they_are():
    assert events([dt.date(2010, 1, 2), dt.date(2010, 1, 1)]).sequences.to_rows() == [("1", "0")]
    zone = dt.timezone(dt.timedelta(hours=5))
    aware = pl.Series([dt.datetime(2010, 1, 2, 1, tzinfo=zone)]).dt.convert_time_zone("Asia/Kolkata")
    assert events(aware).times.to_list() == [dt.datetime(2010, 1, 1, 20, tzinfo=dt.UTC)]


def test_date_and_clock_in_two_columns():
    frame = pl.DataFrame(
        {
            "u": ["a", "a", "a"],
            "day": ["04-21-1991", "04-21-1991", "04-20-1991"],
            "clock": ["9:09", "17:08", "22:00"],
            "s": ["x", "y", "z"],
        }
    )
    schema = Schema(person="u", time=["day", "clock"], time_format="%m-%d-%Y %H:%M", symbol="s")
    assert EventTable(frame, schema).sequences.to_rows() == [("z", "x", "y")]
    with pytest.raises(SchemaError) as caught:
        EventTable(frame.with_columns(clock=pl.Series(["9:09", None, "188:00"])), schema)
    assert caught.value.lines == (
        "column 'day clock': time is missing (1 row: 2)",
        "column 'day clock': '04-20-1991 188:00' is not a time as in %m-%d-%Y %H:%M (1 row: 3)",
    )


def test_mixing_offsets_and_none_is_said():
    said = [str(problem) for problem in events(["2010-01-01T10:00Z", "2010-01-01T10:30"]).problems]
    assert said == ["column 'at': some times have an offset and others have none, which are taken as UTC"]
    assert events(["2010-01-01", "2010-01-02"]).problems == ()


def test_a_released_time_with_a_format_is_written_as_iso():
    quasi = {"at": Hierarchy.dates(["month", "year"])}
    table = events(["02/28/2010", "01/31/2010"], time_format="%m/%d/%Y", symbol=None, quasi=quasi, drop=["s"])
    assert table.sequences.to_rows("at") == [("2010-01-31", "2010-02-28")]
    assert "2010-02" in table.hierarchies["at"].labels


def test_a_released_iso_time_stays_as_it_is_written():
    table = events(
        ["2010-02-28T10:00", "2010-01-31"], symbol=None, quasi={"at": Hierarchy.flat()}, drop=["s"]
    )
    assert table.sequences.to_rows("at") == [("2010-01-31", "2010-02-28T10:00")]


def test_a_clock_in_a_column_of_its_own_may_have_one_digit():
    columns = [pl.Series(["2014-10-22", "2014-10-22"]), pl.Series(["9:15", "19:15:02"])]
    assert read_times(columns, None).values.to_list() == [
        utc(2014, 10, 22, 9, 15),
        utc(2014, 10, 22, 19, 15, 2),
    ]
