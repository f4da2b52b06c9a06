"""The visits and patients of the hospital, written as clinical data models write them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl

from sequester.datasets import hospital
from sequester.io.parquet import write_parquet

if TYPE_CHECKING:
    from collections.abc import Callable

GROUPS = {
    "Infection": ("Flu", "HIV", "Pneumonia"),
    "Injury": ("Fracture", "Sprain"),
    "Mental disorder": ("Alcoholism", "Depression"),
    "Disease of organs": ("Asthma", "Cancer", "Gastritis", "Hypertension", "Migraine"),
    "Pregnancy": ("Abortion",),
}
"""Groups of diseases, as a vocabulary has them."""
_LOCAL = 2_000_000_001
"""Numbers from here on are for concepts of one's own."""
_INPATIENT, _FEMALE, _MALE, _NONE = 9201, 8532, 8507, 0


def make_omop(*, persons: int, seed: str) -> dict[str, bytes]:
    """Make an OMOP folder, file by file: a person, a visit and a condition for each visit of the hospital.

    Examples
    --------
    >>> sorted(make_omop(persons=5, seed="five persons"))[-2:]
    ['person.parquet', 'visit_occurrence.parquet']
    """
    visits, patients = _tables(persons, seed)
    names = [name for group, members in GROUPS.items() for name in (group, *members)]
    numbers = {name: _LOCAL + place for place, name in enumerate(names)}
    others = {_NONE: "No matching concept", _INPATIENT: "Inpatient Visit", _MALE: "MALE", _FEMALE: "FEMALE"}
    ids = [*others, *numbers.values()]
    links = [(numbers[group], numbers[name], 1) for group, members in GROUPS.items() for name in members]
    number = pl.int_range(1, pl.len() + 1)
    tables = {
        "person": patients.select(
            person_id="person",
            gender_concept_id=pl.col("Sex").replace_strict({"F": _FEMALE, "M": _MALE}),
            year_of_birth="BirthYear",
            race_concept_id=pl.lit(_NONE),
            ethnicity_concept_id=pl.lit(_NONE),
        ),
        "visit_occurrence": visits.select(
            visit_occurrence_id=number,
            person_id="person",
            visit_concept_id=pl.lit(_INPATIENT),
            visit_start_date="date",
            visit_end_date=pl.col("date") + pl.duration(days="LOS"),
        ),
        "condition_occurrence": visits.select(
            condition_occurrence_id=number,
            person_id="person",
            condition_concept_id=pl.col("Disease").replace_strict(numbers),
            condition_start_date="date",
            visit_occurrence_id=number,
        ),
        "concept": pl.DataFrame({"concept_id": ids, "concept_name": [*others.values(), *names]}),
        "concept_ancestor": pl.DataFrame(
            [(each, each, 0) for each in ids] + links,
            schema=["ancestor_concept_id", "descendant_concept_id", "min_levels_of_separation"],
            orient="row",
        ),
    }
    return {f"{name}.parquet": write_parquet(table) for name, table in tables.items()}


def make_fhir(*, persons: int, seed: str) -> dict[str, bytes]:
    """Make a folder of FHIR bulk data, file by file: a patient, and an encounter and a condition per visit.

    Examples
    --------
    >>> sorted(make_fhir(persons=5, seed="five persons"))
    ['Condition.ndjson', 'Encounter.ndjson', 'Patient.ndjson']
    """
    visits, patients = _tables(persons, seed)
    sexes = {"F": "female", "M": "male"}
    files: dict[str, list[dict[str, object]]] = {
        "Patient": [
            {"id": str(person), "gender": sexes[sex], "birthDate": str(year)}
            for person, sex, year in patients.select("person", "Sex", "BirthYear").iter_rows()
        ],
        "Encounter": [],
        "Condition": [],
    }
    for person, date, disease in visits.select("person", "date", "Disease").iter_rows():
        subject = {"reference": f"Patient/{person}"}
        inpatient = {"code": "IMP", "display": "inpatient encounter"}
        files["Encounter"].append({"subject": subject, "class": inpatient, "period": {"start": str(date)}})
        files["Condition"].append({"subject": subject, "code": {"text": disease}, "onsetDateTime": str(date)})
    return {
        f"{kind}.ndjson": "".join(
            json.dumps({"resourceType": kind, **resource}) + "\n" for resource in resources
        ).encode()
        for kind, resources in files.items()
    }


def make_meds(*, persons: int, seed: str) -> dict[str, bytes]:
    """Make a MEDS folder, file by file: sex and birth per person, an admission and a diagnosis per visit.

    Examples
    --------
    >>> sorted(make_meds(persons=5, seed="five persons"))
    ['data/0.parquet', 'metadata/codes.parquet', 'metadata/dataset.json']
    """
    visits, patients = _tables(persons, seed)
    static = patients.select("person", time=None, code="GENDER//" + pl.col("Sex"))
    births = patients.select("person", time=pl.datetime("BirthYear", 1, 1), code=pl.lit("MEDS_BIRTH"))
    start = pl.col("date").cast(pl.Datetime("us"))
    stays = visits.select("person", time=start, code=pl.lit("ADMISSION"), numeric_value="LOS")
    diagnoses = visits.select("person", time=start, code="DIAGNOSIS//" + pl.col("Disease"))
    data = pl.concat([static, births, stays, diagnoses], how="diagonal_relaxed").select(
        pl.col("person").cast(pl.Int64).alias("subject_id"),
        pl.col("time").cast(pl.Datetime("us")),
        "code",
        pl.col("numeric_value").cast(pl.Float32),
    )
    parents = {f"DIAGNOSIS//{name}": [f"GROUP//{group}"] for group, names in GROUPS.items() for name in names}
    parents |= {f"GROUP//{group}": ["DIAGNOSIS"] for group in GROUPS}
    codes = sorted({*data["code"], *parents})
    about = {"dataset_name": "hospital", "meds_version": "0.4.1"}
    return {
        "data/0.parquet": write_parquet(
            data.sort("subject_id", "time", nulls_last=False, maintain_order=True)
        ),
        "metadata/codes.parquet": write_parquet(
            pl.DataFrame(
                {
                    "code": codes,
                    "description": [code.rpartition("//")[2] for code in codes],
                    "parent_codes": [parents.get(code) for code in codes],
                }
            )
        ),
        "metadata/dataset.json": (json.dumps(about) + "\n").encode(),
    }


def _tables(persons: int, seed: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return visits with a date, and patients; both have a number for each person."""
    patients = hospital.make_persons(persons=persons, seed=seed).with_columns(
        person=pl.int_range(1, pl.len() + 1)
    )
    visits = hospital.make(persons=persons, seed=seed).join(
        patients.select("PID", "person"), on="PID", maintain_order="left"
    )
    first = pl.date(pl.col("AdmYr"), 1, 1)
    return visits.with_columns(date=first + pl.duration(days="DSFC")), patients


FORMS: dict[str, Callable[..., dict[str, bytes]]] = {"omop": make_omop, "fhir": make_fhir, "meds": make_meds}
"""How the hospital can be written as a folder: the files, by their paths in it."""
