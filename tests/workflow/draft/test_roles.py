"""Who: by name, by how values repeat, and the steward's word above both. When: by what begins, by name.

Ties are broken by what numbers rows.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sequester.datasets import trips
from sequester.errors import InputError
from sequester.workflow.config import Config
from sequester.workflow.draft.attributes import REGIONS_PER_TRIP
from sequester.workflow.draft.columns import Column
from sequester.workflow.draft.draft import make_draft
from sequester.workflow.draft.roles import find_coordinates, reason_to_drop
from sequester.workflow.init import init

PAGES = ["x", "y", "z", "x"] * 10


def person(columns, **options):
    return make_draft(pl.DataFrame({"at": ["2010-01-31"] * 40, **columns, "page": PAGES}), **options).person


@pytest.mark.parametrize(
    "name",
    [
        "case_id",
        "case:concept:name",
        "PATIENT",
        "userId",
        "DESYNPUF_ID",
        "subject_id",
        "Case no.",
        "PID",
        "Id",
        "nutzer",
    ],
)
def test_by_name(name):
    found = person({"ward": list("ab") * 20, name: [f"k{i % 13}" for i in range(40)]})
    assert found.column == name
    assert found.why == "named like persons; 13 distinct values, 3.1 rows each"


def test_keys_of_what_happens_are_no_persons():
    found = person({"CLM_ID": [str(i) for i in range(40)], "member": [f"m{i % 7}" for i in range(40)]})
    assert found.column == "member"


def test_a_sure_name_wins_over_a_plain_id():
    keys = {"id": [f"k{i % 13}" for i in range(40)], "patient": [f"p{i % 11}" for i in range(40)]}
    assert person(keys).column == "patient"


def test_where_two_could_be_it_both_are_named():
    keys = {"a_id": [f"k{i % 13}" for i in range(40)], "b_key": [f"p{i % 11}" for i in range(40)]}
    found = person(keys)
    assert found.column == "a_id"
    assert found.doubt == "it could also be 'b_key'"


def test_by_shape_where_rows_stand_together():
    found = person({"label": [f"k{i // 4}" for i in range(40)]})
    assert found.column == "label"
    assert found.doubt == "nothing in its name says that it is a person"
    scattered = person({"label": [f"k{i % 10}" for i in range(40)]})
    assert scattered.column == "row"
    assert scattered.doubt.startswith("no column repeats like persons")


def test_one_row_each_is_a_person_per_row_unless_something_says_when():
    frame = pl.DataFrame({"subject_id": [f"s{i}" for i in range(40)], "sex": ["f", "m"] * 20, "born": PAGES})
    draft = make_draft(frame)
    assert draft.person.column == "row"
    assert [each.column for each in draft.drop] == ["subject_id"]
    dated = frame.with_columns(at=pl.lit("2010-01-31"))
    assert make_draft(dated).person.column == "subject_id"


def test_one_person_is_a_person():
    frame = pl.DataFrame({"user": ["me"] * 4, "at": ["2010-01-31"] * 4, "activity": list("abca")})
    assert make_draft(frame).person.column == "user"


def test_what_is_only_called_id_is_what_happened_if_nothing_else_did():
    frame = pl.DataFrame({"Start time": [f"2010-01-{day:02}" for day in range(1, 29)], "ID": ["1", "2"] * 14})
    draft = make_draft(frame)
    assert (draft.person.column, draft.symbol.column) == ("all", "ID")


def test_the_word_of_the_steward():
    columns = {"user": [f"k{i % 13}" for i in range(40)], "ward": list("ab") * 20, "none": [None] * 40}
    found = person(columns, person="ward")
    assert (found.column, found.why) == ("ward", "as you say; 2 distinct values, 20.0 rows each")
    assert person(columns, person="row").column == "row"
    for wrong in ("nobody", "none"):
        with pytest.raises(InputError) as caught:
            person(columns, person=wrong)
        (line,) = caught.value.lines
        assert line.startswith("person must be 'row', 'all' or a column with values ('at', 'user', ")
        assert line.endswith(f"got '{wrong}'")


def test_a_second_name_of_persons_never_leaves():
    columns = {"user": [f"k{i % 13}" for i in range(40)], "client": [f"c{i % 13}" for i in range(40)]}
    draft = make_draft(pl.DataFrame({"at": ["2010-01-31"] * 40, **columns, "page": PAGES}), person="user")
    assert [each.column for each in draft.drop] == ["client"]


def test_a_column_called_row_is_a_column():
    frame = pl.DataFrame({"row": ["1", "2"] * 4, "sex": ["f", "m", "m", "f"] * 2, "age": list("12345678")})
    draft = make_draft(frame)
    assert draft.person.column == "row"
    assert "row" in {each.column for each in (*draft.quasi, *draft.drop)}


N = 40


def reason(name, values):
    return reason_to_drop(Column(name, pl.Series(values)))


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("contact", [f"p{i}@example.org" for i in range(N)], "look like e-mail addresses"),
        ("x", ["a@b.org", None, "c@d.org", None], "look like e-mail addresses"),
        ("x", ["999-47-2873", "999-86-8320"], "look like social security numbers"),
        ("x", ["+49 89 1234567", "(089) 123 45 67"], "look like phone numbers"),
        ("x", ["10.0.0.1", "192.168.1.20"], "look like network addresses"),
        ("x", ["https://a.org/p?u=1", "https://b.org"], "look like links"),
        ("x", ["4111 1111 1111 1111", "5500-0000-0000-0004"], "look like card numbers"),
        (
            "ENCOUNTER",
            ["a323b61e-796b-44f8-830c-bfc5b3fd40ca", "d5fc9f71-d3f2-40bb-8ca2-399934c30023"],
            "look like keys",
        ),
        ("Phone", ["1", "x"], "named like phone numbers"),
        ("SSN", ["x", "y"], "named like social security numbers"),
        ("e-mail", ["x", "y"], "named like e-mail addresses"),
        ("FIRST", ["Ann", "Bob"], "named like names of people"),
        ("patient name", ["Ann", "Bob"], "named like names of people"),
        ("hadm_id", [str(i % 120) for i in range(200)], "named like a key"),
        ("line", range(1, N + 1), "no value repeats, as in the key of a row"),
        ("note", [f"text {i}" for i in range(N)], "hardly any value repeats"),
        ("note", [f"{'word ' * 10}{i % 20}" for i in range(N)], "prose, in which anything may stand"),
        ("x", [None, None], "is always empty"),
        ("x", ["", ""], "is always empty"),
        ("lifecycle", ["complete", "complete"], "is always 'complete', which says nothing"),
        ("x", [[1], [2]], "holds List(Int64), which is not a single value"),
        ("group", ["a", "b"], "a release has a column 'group' of its own"),
    ],
)
def test_reasons(name, values, why):
    assert why in reason(name, values)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("concept:name", ["a", "b"]),
        ("page name", ["a", "b"]),
        ("drivers", [0, 1, 2, 1]),
        ("ward_id", ["1", "2", "1"]),
        ("amount", [i * 1.5 for i in range(N)]),
        ("steps", [i * i * 7 for i in range(N)]),
        ("block", ["9600-9699", "4700-4799"]),
        ("day", ["2010-01-31", "2010-02-01"]),
        ("flag", ["x", None]),
        ("lat", [40.1 + i / 1000 for i in range(N)]),
    ],
)
def test_what_may_leave(name, values):
    assert reason(name, values) is None


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"lat": [45.1, -3.5], "lng": [9.5, 120.5]}, ("lat", "lng")),
        ({"Latitude": [45.1, -3.5], "Longitude": [9.5, 120.5]}, ("Latitude", "Longitude")),
        ({"lat": [45.1, 91.5], "lon": [9.5, 120.5]}, None),
        ({"lat": [45.1, 3.5], "lon": [9.5, 180.5]}, None),
        ({"lat": ["north", "south"], "lon": [9.5, 10.5]}, None),
        ({"lat": [4, 5], "lon": [9, 10]}, None),
        ({"lat": [45.1, 3.5], "x": [9.5, 120.5]}, None),
        ({"lat_from": [45.1, 3.5], "lat_to": [5.1, 3.5], "lon": [9.5, 120.5]}, None),
    ],
)
def test_a_pair_of_coordinates_is_found_or_none(columns, expected):
    assert find_coordinates(Column(name, pl.Series(values)) for name, values in columns.items()) == expected


def test_coordinates_become_regions_with_trips(tmp_path):
    trips.make(persons=100).write_csv(tmp_path / "gps.csv")
    out = tmp_path / "release.toml"
    draft = init(tmp_path / "gps.csv", out).draft
    assert (draft.trip.column, draft.place.lat, draft.place.lon) == ("trip", "lat", "lon")
    assert draft.quasi == ()
    init(tmp_path / "gps.csv", out).write()
    table = Config.load(out).table()
    assert (table.n_owners, table.symbol) == (100, "region")
    crossed = int(np.median(np.diff(table.person_offsets)))
    assert crossed >= REGIONS_PER_TRIP
    assert f"half of the trips cross {crossed} regions or more" in draft.place.why
    outside = table.reading.outside / table.reading.rows
    assert f"{outside:.1%} lie in no region and are lost" in draft.place.why


USERS = ["a", "a", "a", "b", "b", "b"]
DAYS = ["2010-01-01", "2010-01-02", "2010-01-03"] * 2
VISITED = list("xyzyxz")


def ordered(columns):
    return make_draft(pl.DataFrame({"user": USERS, **columns, "page": VISITED}))


def test_what_begins_comes_before_what_ends():
    later = [day.replace("2010", "2011") for day in DAYS]
    for start, end in [
        ("START", "STOP"),
        ("date", "end_date"),
        ("CLM_FROM_DT", "CLM_THRU_DT"),
        ("admittime", "dischtime"),
    ]:
        found = ordered({end: later, start: DAYS})
        assert found.when_columns == (start,)
        assert end in {each.column for each in found.quasi}


def test_dates_of_a_life_are_no_times_of_events():
    found = ordered({"birthdate": DAYS, "n": [1, 2, 3] * 2})
    assert found.when_columns == ("n",)
    assert not found.when.is_time


def test_what_is_often_missing_comes_last():
    gaps = [DAYS[0], None, None, *DAYS[3:]]
    assert ordered({"date": gaps, "day_of_visit": DAYS}).when_columns == ("day_of_visit",)


def test_a_date_and_a_clock():
    days = ["13/04/2016", "13/04/2016", "14/04/2016"] * 2
    found = ordered({"ActivityDate": days, "ActivityTime": ["09:00:00", "10:00:00", "00:00:00"] * 2})
    assert found.when_columns == ("ActivityDate", "ActivityTime")
    assert found.when.time_format == "%d/%m/%Y %H:%M:%S"
    assert found.symbol.column == "page"
    iso = ordered({"date": DAYS, "time": ["9:09", "10:10", "11:11"] * 2})
    assert (iso.when_columns, iso.when.time_format) == (("date", "time"), None)


def test_a_named_order_wins_over_the_order_of_the_file():
    found = ordered({"version": [9, 9, 9, 9, 9, 10], "seq_num": [3, 1, 2, 2, 3, 1]})
    assert found.when_columns == ("seq_num",)
    assert found.when.why == "named like an order; the file has 50% of a person's rows in this order"
    assert found.doubts == ()


def test_without_a_name_it_is_the_column_that_changes_the_file_least_and_said_so():
    found = ordered({"trip": [1, 1, 2, 3, 3, 4], "hour": [9, 8, 7, 6, 9, 8]})
    assert found.when_columns == ("trip",)
    assert found.doubts == (
        "order: no column says which event comes first; 'trip' changes the file's order least",
    )
    assert "trip" in {each.column for each in found.quasi}


def test_ties_are_broken_by_what_numbers_rows():
    found = ordered({"date": [DAYS[0]] * 6, "activity_instance_id": range(10, 16), ".order": range(1, 7)})
    assert found.tie.column == ".order"
    assert found.tie.why == "6 rows have the time of another row of the person, and it tells them apart"
    assert found.doubts == ()


def test_ties_that_nothing_breaks_are_pointed_out():
    found = ordered({"date": [DAYS[0], DAYS[0], *DAYS[2:]]})
    assert found.tie is None
    assert found.doubts == (
        "time: 2 rows have the time of another row of the person; they stay in file order",
    )


def test_days_and_months_that_cannot_be_told_apart_are_pointed_out():
    found = ordered({"date": ["01/02/10", "02/02/10", "03/02/10"] * 2})
    assert found.when.time_format == "%d/%m/%y"
    assert [doubt.split(" ")[1] for doubt in found.doubts] == ["%m/%d/%y", "the"]


def test_the_time_can_be_released_where_it_is_one_column():
    assert (
        ordered({"date": DAYS}).released_time.levels == ["month"]
        if len({d[:7] for d in DAYS}) > 1
        else ["year"]
    )
    written = [f"{day[8:]}/{day[5:7]}/{day[:4]}" for day in ["2010-01-31", "2010-02-13", "2011-02-13"] * 2]
    found = ordered({"date": written})
    assert found.when.time_format == "%d/%m/%Y"
    assert found.released_time.levels == ["month", "quarter", "year"]
    assert ordered({"time": DAYS}).released_time is None
