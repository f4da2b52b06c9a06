"""OMOP folders: two tables out of many, and the names and hierarchy of concepts."""

from __future__ import annotations

import polars as pl
import pytest

from sequester.datasets.hospital import make, make_omop, make_persons
from sequester.errors import InputError
from sequester.io.clinical import Omop, open_clinical, recognize


@pytest.fixture
def folder(tmp_path):
    tables = {
        "person": [
            "person_id,year_of_birth,gender_concept_id,race_concept_id,ethnicity_concept_id",
            "1,1950,8507,0,7",
            "2,1960,8532,8527,8",
        ],
        "CONDITION_OCCURRENCE": [
            "PERSON_ID,CONDITION_CONCEPT_ID,CONDITION_START_DATE,CONDITION_START_DATETIME",
            "2,11,2020-02-01,2020-02-01 09:00:00",
            "1,10,2020-01-02,2020-01-02 08:00:00",
            "1,12,2020-01-02,2020-01-02 07:00:00",
            "1,99,2020-01-01,",
        ],
        "measurement": [
            "person_id,measurement_concept_id,measurement_date,value_as_number",
            "2,13,2020-01-01,7.50",
        ],
        "death": ["person_id,cause_concept_id,death_date"],
        "concept": [
            "concept_id,concept_name",
            "10,Flu",
            "11,Cold",
            "12,Cold",
            "13,Height",
            "20,Viral",
            "7,x",
        ],
        "concept_ancestor": [
            "ancestor_concept_id,descendant_concept_id,min_levels_of_separation",
            "20,10,1",
            "20,11,1",
            "21,20,1",
            "21,10,2",
            "10,10,0",
        ],
    }
    for name, lines in tables.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_events_have_names_and_are_in_order(folder):
    assert recognize(folder) == "omop"
    assert Omop(folder).events().rows() == [
        ("1", "2020-01-01", "condition_occurrence", "concept 99", None),
        ("1", "2020-01-02", "condition_occurrence", "Cold (12)", None),
        ("1", "2020-01-02", "condition_occurrence", "Flu", None),
        ("2", "2020-01-01", "measurement", "Height", "7.50"),
        ("2", "2020-02-01", "condition_occurrence", "Cold (11)", None),
    ]


def test_persons_have_names(folder):
    persons = Omop(folder).persons()
    assert persons.columns == ["person_id", "year_of_birth", "gender", "race", "ethnicity"]
    assert persons.rows() == [
        ("1", "1950", "MALE", "No matching concept", "x"),
        ("2", "1960", "FEMALE", "White", "concept 8"),
    ]


def test_tables_are_chosen(folder):
    events = Omop(folder, ["measurement"]).events()
    assert events["concept"].to_list() == ["Height"]
    # A name does not depend on the tables that are chosen, because the hierarchy has to know it.
    assert "Cold (11)" in Omop(folder, ["condition_occurrence"]).events()["concept"]
    assert "value" not in Omop(folder, ["condition_occurrence"]).events().columns


def test_the_hierarchy_is_that_of_the_vocabulary(folder):
    opened = Omop(folder)
    tree = opened.hierarchy().build(opened.events()["concept"], column="concept")
    assert tree.labels == ("*", "Cold (12)", "Height", "Viral", "Cold (11)", "Flu", "concept 99")


@pytest.mark.parametrize(
    ("gone", "line"),
    [
        ("person", "is no OMOP folder, it has no table person"),
        ("concept", "is no OMOP folder, it has no table concept"),
        ("measurement", "is no OMOP folder, it has no table measurement"),
    ],
)
def test_a_table_that_is_not_there(folder, gone, line):
    (folder / f"{gone}.csv").unlink()
    with pytest.raises(InputError, match=line):
        Omop(folder, ["measurement"])


def test_what_is_refused(folder):
    with pytest.raises(InputError, match=r"tables must be some of visit_occurrence, .*, got 'visits'"):
        Omop(folder, ["visits"])
    with pytest.raises(InputError, match="death has no rows"):
        Omop(folder, ["death"]).events()
    with pytest.raises(InputError, match="is a file, and omop is a folder"):
        open_clinical(folder / "person.csv", "omop")
    (folder / "concept_ancestor.csv").unlink()
    with pytest.raises(InputError, match="concept_ancestor has no rows; use hierarchy"):
        Omop(folder).hierarchy()
    (folder / "person.csv").write_text("person_id,year_of_birth\n1,1950\n")
    with pytest.raises(InputError, match="has no column 'gender_concept_id'"):
        Omop(folder).persons()


def test_what_is_made_is_read_back(tmp_path):
    for name, content in make_omop(persons=40, seed="forty persons").items():
        (tmp_path / name).write_bytes(content)
    opened = Omop(tmp_path)
    events = opened.events()
    visits = make(persons=40, seed="forty persons")
    diseases = events.filter(pl.col("table") == "condition_occurrence")
    assert diseases.height == events.height / 2 == visits.height
    number = visits["PID"].str.extract(r"(\d+)$").cast(pl.Int64)
    assert sorted(zip(diseases["person_id"].cast(pl.Int64), diseases["concept"], strict=True)) == sorted(
        zip(number, visits["Disease"], strict=True)
    )
    patients = make_persons(persons=40, seed="forty persons")
    assert opened.persons()["year_of_birth"].cast(pl.Int64).to_list() == patients["BirthYear"].to_list()
    assert "Infection" in opened.hierarchy().build(events["concept"], column="concept").labels


@pytest.mark.real
def test_synthea(shared_data):
    opened = Omop(shared_data / "omop_synthea27")
    events = opened.events()
    assert events.height == 1_791 + 470 + 883 + 1_649 + 10_040 + 8_099 + 3
    assert opened.persons().height == events["person_id"].n_unique() == 28
    assert not opened.has_hierarchy()
    assert not events["concept"].str.starts_with("concept ").any()
