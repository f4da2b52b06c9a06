"""Hospital visits with what a neighbour may know about them, and a disease that they must not learn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester._validation import in_range
from sequester.datasets import SEED
from sequester.datasets.draws import check_n_persons, generator, repeat_keys
from sequester.io.parquet import write_parquet
from sequester.ragged import offsets_of, owners_of, places_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester._typing import Counts, Mask

PROTECTED = ("Abortion", "Alcoholism", "Cancer", "Depression", "HIV")
"""Diseases that a steward would protect."""
ORDINARY = ("Asthma", "Flu", "Fracture", "Gastritis", "Hypertension", "Migraine", "Pneumonia", "Sprain")
"""Diseases that are no secret."""
YEARS = (2008, 2009, 2010)
"""Years of admission."""
_AREAS = 40


def make(
    *,
    persons: int = 1_000,
    seed: str = SEED,
    mean_events: float = 2.5,
    protected_share: float = 0.18,
) -> pl.DataFrame:
    """Make visits: ``PID``, ``VID``, ``AdmYr``, ``ZIP``, ``DSFC``, ``LOS``, ``Disease``, in order per person.

    ``DSFC`` counts days since the first visit of that year, so it grows with ``VID`` within a year. Nine
    in ten persons never move, so their ``ZIP`` is the same at every visit.

    Parameters
    ----------
    persons
        Number of persons, each with at least one visit.
    seed
        The same text gives the same visits.
    mean_events
        Visits per person, on average; at least 1.
    protected_share
        Share of persons with at least one disease of `PROTECTED`, 0 to 1; met to the nearest person.

    Examples
    --------
    >>> visits = make(persons=100, protected_share=0.2)
    >>> visits.filter(pl.col("Disease").is_in(PROTECTED))["PID"].n_unique()
    20
    """
    check_n_persons(persons)
    in_range("mean_events", mean_events, 1)
    in_range("protected_share", protected_share, 0, 1)
    chance = generator("hospital", seed)
    lengths = 1 + chance.poisson(mean_events - 1, persons)
    offsets = offsets_of(lengths)
    year, since_first = _admissions(chance, lengths)
    return pl.DataFrame(
        {
            "PID": repeat_keys("p", lengths),
            "VID": places_of(offsets) + 1,
            "AdmYr": year,
            "ZIP": _zips(chance, lengths),
            "DSFC": since_first,
            "LOS": np.minimum(chance.geometric(0.18, offsets[-1]) - 1, 60),
            "Disease": _diseases(chance, lengths, round(protected_share * persons)),
        }
    )


def make_persons(*, persons: int = 1_000, seed: str = SEED) -> pl.DataFrame:
    """Make the patients of the visits of the same `persons` and `seed`: ``PID``, ``Sex``, ``BirthYear``.

    Examples
    --------
    >>> patients = make_persons(persons=100)
    >>> patients.columns, make(persons=100)["PID"].unique().is_in(patients["PID"].implode()).all()
    (['PID', 'Sex', 'BirthYear'], True)
    """
    check_n_persons(persons)
    # Draws of its own, so that the visits are what they are without patients.
    chance = generator("hospital persons", seed)
    ages = np.clip(chance.normal(52, 20, persons), 0, 95).astype(np.int64)
    return pl.DataFrame(
        {
            "PID": repeat_keys("p", np.ones(persons, np.int64)),
            "Sex": pl.Series(["F", "M"]).gather(chance.integers(0, 2, persons)),
            "BirthYear": YEARS[0] - ages,
        }
    )


def _admissions(chance: np.random.Generator, lengths: Counts) -> tuple[Counts, Counts]:
    """Draw days of admission, sorted per person: their year, and days since the first one of that year."""
    person = np.repeat(np.arange(len(lengths)), lengths)
    day = chance.integers(0, 365 * len(YEARS), len(person))
    day = day[np.lexsort((day, person))]
    year, day_of_year = np.divmod(day, 365)
    is_first = np.ones(len(person), np.bool_)
    is_first[1:] = (person[1:] != person[:-1]) | (year[1:] != year[:-1])
    first = day_of_year[is_first][np.cumsum(is_first) - 1]
    return np.array(YEARS)[year], day_of_year - first


def _zips(chance: np.random.Generator, lengths: Counts) -> pl.Series:
    """Draw a home for each person, often in a few crowded areas; one in ten moves once."""
    offsets = offsets_of(lengths)
    areas = 10_000 + np.sort(chance.choice(90_000, _AREAS, replace=False))
    weights = 1 / np.arange(1, _AREAS + 1)
    homes = chance.choice(areas, (len(lengths), 2), p=weights / weights.sum())
    visit = places_of(offsets)
    moved_after = np.where(chance.random(len(lengths)) < 0.1, chance.integers(1, 1 + lengths), lengths)
    has_moved = visit >= np.repeat(moved_after, lengths)
    owner = owners_of(offsets)
    return pl.Series(homes[owner, has_moved.astype(np.int64)]).cast(pl.String)


def _diseases(chance: np.random.Generator, lengths: Counts, n_protected: int) -> pl.Series:
    """Draw exactly `n_protected` persons with a protected disease at one visit, or sometimes at several."""
    offsets = offsets_of(lengths)
    n_visits = int(offsets[-1])
    labels = pl.Series(ORDINARY + PROTECTED)
    codes = chance.integers(0, len(ORDINARY), n_visits)
    chosen: Mask = np.zeros(len(lengths), np.bool_)
    chosen[chance.choice(len(lengths), n_protected, replace=False)] = True
    is_protected = np.repeat(chosen, lengths) & (chance.random(n_visits) < 0.2)
    is_protected[offsets[:-1][chosen] + chance.integers(0, lengths[chosen])] = True
    own = len(ORDINARY) + chance.integers(0, len(PROTECTED), len(lengths))
    return labels.gather(np.where(is_protected, np.repeat(own, lengths), codes))


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
    patients = make_persons(persons=persons, seed=seed).with_columns(person=pl.int_range(1, pl.len() + 1))
    visits = make(persons=persons, seed=seed).join(
        patients.select("PID", "person"), on="PID", maintain_order="left"
    )
    first = pl.date(pl.col("AdmYr"), 1, 1)
    return visits.with_columns(date=first + pl.duration(days="DSFC")), patients


FORMS: dict[str, Callable[..., dict[str, bytes]]] = {"omop": make_omop, "fhir": make_fhir, "meds": make_meds}
"""How the hospital can be written as a folder: the files, by their paths in it."""
