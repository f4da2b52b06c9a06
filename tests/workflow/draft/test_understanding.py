"""What a draft makes of data as it is found: gaps, codes, families, staff, trips, one log, many columns."""

from __future__ import annotations

import tomllib

import polars as pl
import pytest

from sequester.workflow.draft.attributes import propose_hierarchy
from sequester.workflow.draft.columns import Column, code_form, names_drug
from sequester.workflow.draft.draft import MOST_QUASI, as_setting, ask_about_sentinels, find_gaps, make_draft
from sequester.workflow.init import DataFile, to_toml

N = 60
EVENTS = {"user": [f"u{i // 3}" for i in range(N)], "n": [i % 3 for i in range(N)]}


def draft(**columns):
    return make_draft(pl.DataFrame({**EVENTS, **columns}))


def repeated(*values):
    return [values[i % len(values)] for i in range(N)]


def settings(made):
    return tomllib.loads(to_toml(made, DataFile("data.csv")))["data"]


@pytest.mark.parametrize("marker", ["?", "NULL", "-", ".", "unknown", "NA", "N/A", " ? "])
def test_markers_are_proposed(marker):
    made = draft(weight=repeated("70", "80", marker), ward=repeated("A", "B"))
    assert settings(made)["missing"] == [marker.strip()]
    assert "missing" in next(each.why for each in made.quasi if each.column == "weight")


def test_what_looks_like_a_marker_and_is_a_value():
    assert find_gaps(pl.DataFrame({"test": ["+", "-"], "land": ["DE", "NA"], "drug": ["None", "x"]})) == {}
    assert find_gaps(pl.DataFrame({"case_id": ["MA", "NA", "OA"]})) == {}
    assert find_gaps(pl.DataFrame({"x": ["?", "?"]})) == {}


def test_markers_are_by_column_where_a_key_is_called_like_one():
    frame = pl.DataFrame({"case_id": ["MA", "NA"], "age": ["NA", "70"]})
    assert as_setting(find_gaps(frame), frame) == {"age": ("NA",)}


@pytest.mark.parametrize(
    ("values", "asked"),
    [
        (["100", "250", "9999"], "9999"),
        (["-9", "0", "3"], "-9"),
        (["97", "98", "99"], None),
        (["-5", "-1", "3"], None),
        (["1000", "5000", "9999"], None),
    ],
)
def test_sentinels_are_asked_about(values, asked):
    questions = list(ask_about_sentinels([Column("income", pl.Series(values * 2))]))
    assert [f'missing = {{ income = ["{asked}"] }}' in each for each in questions] == [True] * (
        asked is not None
    )
    if asked:
        made = draft(income=repeated(*values, *map(str, range(10, 24))), ward=repeated("A", "B", "C"))
        text = to_toml(made, DataFile("data.csv"))
        assert "# LOOK: missing: does" in text
        assert "missing" not in settings(made)


@pytest.mark.parametrize(
    ("name", "values", "form"),
    [
        ("x", ["E11.9", "I10", "J45.901", "Z51"], "ICD-10 codes"),
        ("diag_1", ["250", "276", "648"], "ICD-9 codes"),
        ("x", ["042", "V51", "E885", "276.1"], "ICD-9 codes"),
        ("icd_code", ["5723", "K7290", "78959", "V1582"], "ICD codes"),
        ("x", ["C09AA05", "N02BE01", "A10BA"], "ATC codes"),
        ("x", ["4548-4", "2345-7", "718-7"], "LOINC codes"),
        ("x", ["44054006", "195662009", "38341003"], "SNOMED CT codes"),
        ("x", ["Simvastatin 10 MG", "Lisinopril", "Amoxicillin 250 MG"], "drug names"),
        ("room", ["250", "276", "648"], None),
        ("x", ["4548-5", "2345-8", "718-8"], None),
        ("x", ["44054007", "195662008", "38341004"], None),
        ("page", ["news", "guide", "inside"], None),
    ],
)
def test_codes_by_form(name, values, form):
    assert code_form(name, values) == form


def test_a_family_of_codes_is_one_attribute_before_what_names_suggest():
    codes = repeated("250.83", "V57", "648", "E885")
    made = draft(
        diag_1=codes,
        diag_2=codes[1:] + codes[:1],
        outcome=repeated("a", "b", "c"),
        num_procedures=repeated(1, 2),
        race=repeated("x", "y"),
    )
    assert [each.name for each in made.candidates] == ["diag", "outcome"]
    assert made.candidates[0].columns == ("diag_1", "diag_2")
    assert made.sensitive == ()


def test_columns_named_like_drugs_are_one_attribute():
    made = draft(metformin=repeated("No", "Up"), insulin=repeated("No", "Up"), ward=repeated("A", "B"))
    assert (made.candidates[0].name, made.candidates[0].columns) == ("drugs", ("metformin", "insulin"))
    assert not names_drug("suicide")


def test_columns_of_one_family_get_one_hierarchy():
    made = draft(
        lab_1=[i % 5 for i in range(N)], lab_2=[i * 7 % 59 for i in range(N)], ward=repeated("A", "B")
    )
    kinds = {each.column: each.hierarchy for each in made.quasi}
    assert kinds["lab_1"] == kinds["lab_2"]


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("discharge_disposition_id", [*range(1, 29)], "flat"),
        ("area", [1, 2, 3, 7, 11, 19, 40, 41, 55, 70, 71, 88, 90, 99], "flat"),
        ("SP_STATE_CODE", [*range(1, 54)], "flat"),
        ("county", [f"{i:03}" for i in range(80)], "flat"),
        ("icd9", [f"{i:03}" for i in range(80)], "mask"),
        ("age", [*range(20, 90)], "intervals"),
        ("price", [*range(10, 400, 10)], "intervals"),
    ],
)
def test_numbers_that_are_names_are_categories(name, values, kind):
    assert propose_hierarchy(Column(name, pl.Series(values * 25))).hierarchy.kind == kind


def test_those_who_do_something_are_dropped_and_asked_about():
    made = make_draft(
        pl.DataFrame(
            {
                "case:concept:name": EVENTS["user"],
                "time:timestamp": [f"2024-05-{1 + i % 3:02}" for i in range(N)],
                "concept:name": repeated("register", "check", "pay"),
                "org:resource": repeated("Ann", "Bob", "Cyd"),
                "cost": repeated(1, 2, 3, 4),
            }
        )
    )
    assert made.symbol.column == "concept:name"
    assert {each.column for each in made.drop} == {"org:resource", "cost"}
    assert made.doubts[-1].startswith("drop: 'org:resource' names people, too")
    said = made.with_sensitive(["cost"])
    assert (said.symbol, [each.column for each in said.quasi]) == (None, ["concept:name"])
    assert [each.column for each in said.drop] == ["org:resource"]


def test_a_trip_column_is_offered_where_events_are_symbols():
    made = draft(trip_id=[i // 2 for i in range(N)], stop=repeated("A", "B", "C"))
    assert (made.trip.column, made.symbol.column) == ("trip_id", "stop")
    assert settings(made)["trip"] == "trip_id"
    several = draft(trip_id=[i // 2 for i in range(N)], stop=repeated("A", "B", "C"), line=repeated("x", "y"))
    assert several.trip is None
    assert "trip_id" in {each.column for each in (*several.drop, *several.quasi)}


def test_one_log_is_one_person_and_never_gets_a_method_for_many():
    log = pl.DataFrame(
        {
            "start": [f"2024-05-01 {i // 60:02}:{i % 60:02}" for i in range(N)],
            "end": [f"2024-05-01 {i // 60:02}:{i % 60:02}:30" for i in range(N)],
            "activity": repeated("sleep", "eat", "work"),
        }
    )
    made = make_draft(log)
    assert (made.person.column, made.symbol.column) == ("all", "activity")
    text = to_toml(made, DataFile("data.csv"))
    assert '#name = "top-down"' in text
    assert "halt" not in text
    assert make_draft(log, person="row").person.column == "row"


def test_one_log_has_a_hierarchy_to_begin_with():
    log = pl.DataFrame(
        {"at": [f"2024-05-{i + 1:02}" for i in range(30)], "did": ["eat", "sleep", "work"] * 10}
    )
    assert settings(make_draft(log))["symbol"]["hierarchy"] == {"kind": "flat"}


def test_months_say_when_also_where_a_file_has_one():
    for months in (repeated("2010-01", "2010-02"), ["2010-01"] * N):
        made = make_draft(
            pl.DataFrame({"month": months, "ward": repeated("A", "B"), "ill": repeated("x", "y")})
        )
        assert (made.when.columns, made.when.time_format) == (("month",), "%Y-%m")
    made = draft(at=[f"2010-01-{i % 28 + 1:02}" for i in range(N)], month=repeated("2010-01", "2010-02"))
    assert "month" in {each.column for each in made.quasi}


def test_codes_that_look_alike_are_kept_apart_and_a_family_is_one_line():
    icd = {f"icd_{place}": repeated("4111", "04111", "V51") for place in (1, 2, 3)}
    made = draft(**icd, ward=repeated("A", "B"))
    (line,) = made.alike
    assert line.startswith("column 'icd_1' and 2 more of its name: 2 labels look alike as numbers")
    assert settings(made)["alike"] == "keep"
    assert "alike" not in settings(draft(**icd, ward=repeated("A", "a ")))


def test_at_most_twelve_quasi_identifiers_by_what_an_outsider_could_know():
    measures = {f"marker_{letter}": [i * 7 % 50 for i in range(N)] for letter in "abcdefghijklm"}
    made = draft(
        **measures, age=[20 + i % 50 for i in range(N)], sex=repeated("f", "m"), ward=repeated("A", "B")
    )
    names = [each.column for each in made.quasi]
    assert len(names) == MOST_QUASI
    assert {"age", "sex", "ward"} <= {*names}
    cut = [each for each in made.drop if each.column in measures]
    assert len(cut) == len(measures) - (MOST_QUASI - 3)
    assert all("not among the 12 that an outsider is likeliest to know" in each.why for each in cut)
    assert "age" in [each.column for each in made.with_sensitive([cut[0].column]).quasi]
