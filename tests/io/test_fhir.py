"""Folders of FHIR bulk data: two tables out of resources, the rest counted, a broken line named."""

from __future__ import annotations

import gzip
import json

import polars as pl
import pytest

from sequester.datasets.hospital import make, make_fhir, make_persons
from sequester.errors import InputError
from sequester.io import read_frame
from sequester.io.clinical import Fhir, recognize

RESOURCES = [
    {
        "resourceType": "Patient",
        "id": "a",
        "gender": "female",
        "birthDate": "1950-02-03",
        "name": [{"text": "Ann"}],
    },
    {"resourceType": "Patient", "id": "b"},
    {
        "resourceType": "Encounter",
        "subject": {"reference": "Patient/a"},
        "class": {"code": "AMB"},
        "type": [{"coding": [{"code": "185349003", "display": "Check up"}]}],
        "period": {"start": "2020-01-02T09:00:00Z", "end": "2020-01-02T10:00:00Z"},
    },
    {
        "resourceType": "Condition",
        "subject": {"reference": "urn:uuid:a"},
        "code": {"text": "Flu", "coding": [{"display": "Influenza"}]},
        "recordedDate": "2020-01-02T08:00:00Z",
    },
    {
        "resourceType": "Procedure",
        "subject": {"reference": "https://example.org/fhir/Patient/b"},
        "code": {"coding": [{"code": "80146002"}]},
        "performedPeriod": {"start": "2019-05"},
    },
    {
        "resourceType": "MedicationRequest",
        "subject": {"reference": "Patient/b"},
        "medication": {"concept": {"text": "Aspirin"}},
        "authoredOn": "2020-03-01",
    },
    {"resourceType": "MedicationRequest", "medicationReference": {"display": "Ibuprofen"}},
    {"resourceType": "Observation", "id": "x"},
    {"resourceType": "Observation", "id": "y"},
    {"id": "z"},
]


@pytest.fixture
def folder(tmp_path):
    lines = [json.dumps(each) + "\n" for each in RESOURCES]
    (tmp_path / "1.ndjson").write_text("".join(lines[:5]) + "\n")
    (tmp_path / "2.ndjson.gz").write_bytes(gzip.compress("".join(lines[5:]).encode(), mtime=0))
    return tmp_path


def test_events_and_persons(folder):
    assert recognize(folder) == "fhir"
    opened = Fhir(folder)
    assert opened.events().rows() == [
        ("a", "2020-01-02", "Condition", "Flu"),
        ("a", "2020-01-02", "Encounter", "Check up"),
        ("b", "2019-05", "Procedure", "80146002"),
        ("b", "2020-03-01", "MedicationRequest", "Aspirin"),
        (None, None, "MedicationRequest", "Ibuprofen"),
    ]
    assert opened.persons().rows() == [("a", "1950", "female"), ("b", None, None)]


def test_other_resources_are_counted(folder):
    said = []
    read_frame(folder, format="fhir", warn=said.append)
    assert said == [
        f"{folder}: 1 resource of '' not read",
        f"{folder}: 2 resources of 'Observation' not read",
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [('{"resourceType": "Pat', "is no JSON"), ("[1]", "is not a resource"), ("[" * 100_000, "is no JSON")],
)
def test_a_broken_line_is_named(folder, line, reason):
    with (folder / "1.ndjson").open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(InputError, match=f"1.ndjson: line 7 {reason}"):
        Fhir(folder)


def test_a_folder_without_patients_or_events(folder):
    (folder / "1.ndjson").write_text(json.dumps(RESOURCES[0]))
    (folder / "2.ndjson.gz").unlink()
    with pytest.raises(InputError, match="has no resource of Encounter, Condition"):
        Fhir(folder)
    (folder / "1.ndjson").write_text(json.dumps(RESOURCES[3]))
    with pytest.raises(InputError, match="has no resource of Patient"):
        Fhir(folder)


def test_no_vocabulary(folder):
    with pytest.raises(InputError, match="has no vocabulary"):
        Fhir(folder).hierarchy()


def test_what_is_made_is_read_back(tmp_path):
    for name, content in make_fhir(persons=40, seed="forty persons").items():
        (tmp_path / name).write_bytes(content)
    opened = Fhir(tmp_path)
    visits, patients = make(persons=40, seed="forty persons"), make_persons(persons=40, seed="forty persons")
    diseases = opened.events().filter(pl.col("table") == "Condition")
    number = visits["PID"].str.extract(r"(\d+)$").cast(pl.Int64)
    assert sorted(zip(diseases["person_id"].cast(pl.Int64), diseases["concept"], strict=True)) == sorted(
        zip(number, visits["Disease"], strict=True)
    )
    assert opened.persons()["year_of_birth"].cast(pl.Int64).to_list() == patients["BirthYear"].to_list()
    assert opened.notes == ()
