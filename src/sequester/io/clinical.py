"""Read folders of clinical data (FHIR bulk data, MEDS, OMOP) as a table of events and one of persons."""

from __future__ import annotations

import json
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester.errors import InputError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import counted, listed, quoted
from sequester.io.contents import check_cells, check_path, read_contents
from sequester.io.csv import read_csv
from sequester.io.database import Database
from sequester.io.parquet import check_parquet, scan_parquet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sequester.hierarchies.builder import HierarchyBuilder


TABLES = {
    "visit_occurrence": ("visit_concept_id", "visit_start_date"),
    "condition_occurrence": ("condition_concept_id", "condition_start_date"),
    "drug_exposure": ("drug_concept_id", "drug_exposure_start_date"),
    "procedure_occurrence": ("procedure_concept_id", "procedure_date"),
    "measurement": ("measurement_concept_id", "measurement_date"),
    "observation": ("observation_concept_id", "observation_date"),
    "death": ("cause_concept_id", "death_date"),
}
"""Tables that become events, with their columns of what happened and when."""
PERSON = "person_id"
"""The column of keys."""
_TABLE_ENDINGS = (".parquet", ".csv", ".csv.gz")
_FIXED = {
    "0": "No matching concept",
    "8507": "MALE",
    "8532": "FEMALE",
    "8515": "Asian",
    "8516": "Black or African American",
    "8527": "White",
    "8557": "Native Hawaiian or Other Pacific Islander",
    "8657": "American Indian or Alaska Native",
}
"""Names that the model fixes, for folders whose table of concepts leaves them out."""


class Omop:
    """The tables of a folder or database; what they hold is read when it is asked for.

    Parameters
    ----------
    folder
        One file per table, Parquet or CSV, called as the model calls them, in any case; or a database with
        such tables.
    tables
        Which of `TABLES` become events; without them, those that have rows.
    """

    concept = "concept"
    """The column of events that says what happened."""

    def __init__(self, folder: Path | Database, tables: Sequence[str] | None = None) -> None:
        self.folder = folder
        self.files: dict[str, Path | str] = (
            {name.lower(): name for name in folder.tables()}
            if isinstance(folder, Database)
            else {**table_files(folder)}
        )
        unknown = [name for name in tables or () if name not in TABLES]
        if unknown or tables == []:
            got = quoted(unknown[0]) if unknown else "none"
            msg = f"{folder}: tables must be some of {', '.join(TABLES)}, got {got}"
            raise InputError(msg)
        absent = [name for name in ("person", "concept", *(tables or ())) if name not in self.files]
        if absent:
            what = "database" if isinstance(folder, Database) else "folder"
            raise InputError(*(f"{folder}: is no OMOP {what}, it has no table {name}" for name in absent))
        self.notes: tuple[str, ...] = ()
        self.tables = tuple(name for name in TABLES if name in (tables or self.files))

    def events(self) -> pl.DataFrame:
        """Return one row per occurrence, with the name of its concept, by person and date."""
        labels = self._labels()
        parts = []
        for name in self.tables:
            concept, date = TABLES[name]
            time = date.removesuffix("date") + "datetime"
            rows = self._table(name, [PERSON, concept, date], also=(time, "value_as_number"))
            parts.append(
                rows.select(
                    PERSON,
                    pl.col(date).str.head(10).alias("date"),
                    pl.lit(name).alias("table"),
                    pl.col(concept).fill_null("0").alias(self.concept),
                    pl.col("value_as_number").alias("value"),
                    pl.col(time).alias("moment"),
                )
            )
        events = pl.concat(parts)
        if not events.height:
            msg = f"{self.folder}: {', '.join(self.tables) or 'every table of events'} has no rows"
            raise InputError(msg)
        # A date is in every table, and a time of day only in some: it orders events of one day.
        events = events.sort(PERSON, "date", "moment", nulls_last=True, maintain_order=True).drop("moment")
        events = events.with_columns(pl.col(self.concept).replace_strict(labels))
        unused = [] if events["value"].count() else ["value"]
        return check_cells(events.drop(unused), str(self.folder))

    def persons(self) -> pl.DataFrame:
        """Return one row per person: sex, birth year, race and ethnicity."""
        concepts = ["gender_concept_id", "race_concept_id", "ethnicity_concept_id"]
        rows = self._table("person", [PERSON, "year_of_birth", *concepts])
        if not rows.height:
            msg = f"{self.folder}: person has no rows"
            raise InputError(msg)
        names = self._names(pl.concat([rows[each].alias("id") for each in concepts]))
        renamed = {each: each.removesuffix("_concept_id") for each in concepts}
        return rows.select(
            PERSON,
            "year_of_birth",
            *(pl.col(each).fill_null("0").replace_strict(names).alias(renamed[each]) for each in concepts),
        )

    def has_hierarchy(self) -> bool:
        """Return whether the vocabulary says which concept lies under which."""
        return "concept_ancestor" in self.files and bool(self._ancestors().height)

    def hierarchy(self) -> HierarchyBuilder:
        """Return what builds the hierarchy of concepts; one that lies directly above another is a parent."""
        if not self.has_hierarchy():
            msg = f'{self.folder}: concept_ancestor has no rows; use hierarchy = {{ kind = "flat" }}'
            raise InputError(msg)
        labels, rows = self._labels(), self._ancestors()
        ids = [*labels, *rows["parent"], *rows["child"]]
        others = self._names(pl.Series("id", ids, pl.String).unique())
        taken = {*labels.values()}
        others = {each: f"{name} ({each})" if name in taken else name for each, name in others.items()}
        parents: dict[str, list[str]] = {}
        for parent, child in rows.iter_rows():
            above, below = (labels.get(each) or others[each] for each in (parent, child))
            parents.setdefault(below, []).append(above)
        where = self.folder.name if isinstance(self.folder, Path) else str(self.folder)
        return Hierarchy.graph(parents, f"{where}/concept_ancestor")

    def _ancestors(self) -> pl.DataFrame:
        """Return pairs of concepts of which one lies directly above the other."""
        parent, child, levels = "ancestor_concept_id", "descendant_concept_id", "min_levels_of_separation"
        rows = self._table("concept_ancestor", [parent, child, levels])
        return rows.filter(pl.col(levels) == "1").select(
            pl.col(parent).alias("parent"), pl.col(child).alias("child")
        )

    def _labels(self) -> dict[str, str]:
        """Return the names of all concepts that occur, whatever tables are chosen; see `_names`."""
        parts = [
            self._table(name, [TABLES[name][0]])[TABLES[name][0]].alias("id")
            for name in TABLES
            if name in self.files
        ]
        return self._names(pl.concat(parts or [pl.Series("id", [], pl.String)]))

    def _names(self, ids: pl.Series) -> dict[str, str]:
        """Return the name of each concept; one that several have ends in the number of the concept."""
        wanted = ids.fill_null("0").unique()
        rows = self._table("concept", ["concept_id", "concept_name"]).drop_nulls()
        rows = rows.filter(pl.col("concept_id").is_in(wanted.implode())).unique("concept_id")
        is_shared = rows["concept_name"].is_duplicated()
        named = {
            each: f"{name} ({each})" if shared else name
            for (each, name), shared in zip(rows.iter_rows(), is_shared, strict=True)
        }
        return {each: named.get(each) or _FIXED.get(each, f"concept {each}") for each in sorted(wanted)}

    def _table(self, name: str, columns: Sequence[str], also: Sequence[str] = ()) -> pl.DataFrame:
        """Return columns of a table as text; `also` may be absent, and is then empty."""
        path = self.files[name]
        if isinstance(self.folder, Database) and isinstance(path, str):
            return self._from_database(self.folder, path, columns, also)
        path = Path(path)
        if path.name.lower().endswith(".parquet"):
            check_parquet([path])
            source = scan_parquet(path)
        else:
            contents = read_contents(path)
            # A table may be empty, and then has a header only.
            head, _, rest = contents.partition(b"\n")
            if rest.strip():
                source = read_csv(contents, str(path)).lazy()
            else:
                source = read_csv(head + b"\n" + head + b"\n", str(path)).clear().lazy()
        found = _find_columns(source.collect_schema().names(), columns, also, str(path))
        return source.select(_as_texts(found)).collect()

    def _from_database(
        self, database: Database, name: str, columns: Sequence[str], also: Sequence[str]
    ) -> pl.DataFrame:
        found = _find_columns(database.columns_of(name), columns, also, f"{database}: table {name}")
        frame = database.read_columns(name, [own for own in found.values() if own is not None])
        return frame.select(_as_texts(found))


def _find_columns(
    present: Sequence[str], columns: Sequence[str], also: Sequence[str], where: str
) -> dict[str, str | None]:
    """Return each column by the name that it has, in any case; None where one of `also` is absent."""
    found = {each.lower(): each for each in present}
    absent = [each for each in columns if each not in found]
    if absent:
        raise InputError(*(f"{where}: has no column {quoted(each)}" for each in absent))
    return {each: found.get(each) for each in (*columns, *also)}


def _as_texts(found: Mapping[str, str | None]) -> list[pl.Expr]:
    return [
        (pl.lit(None) if own is None else pl.col(own)).cast(pl.String).alias(each)
        for each, own in found.items()
    ]


def table_files(folder: Path) -> dict[str, Path]:
    """Return the tables of a folder by their names in lower case."""
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        for ending in _TABLE_ENDINGS:
            if path.name.lower().endswith(ending) and path.is_file():
                files.setdefault(path.name.lower().removesuffix(ending), path)
    return files


def is_omop(folder: Path) -> bool:
    """Return whether a folder has tables of events as the model calls them."""
    return not TABLES.keys().isdisjoint(table_files(folder))


EVENTS = {
    "Encounter": (("type", "class"), ("period",)),
    "Condition": (("code",), ("onsetDateTime", "onsetPeriod", "recordedDate")),
    "Procedure": (
        ("code",),
        ("performedDateTime", "performedPeriod", "occurrenceDateTime", "occurrencePeriod"),
    ),
    "MedicationRequest": (
        ("medicationCodeableConcept", "medicationReference", "medication"),
        ("authoredOn",),
    ),
}
"""Resources that become events, with their fields of what happened and when; the first one counts."""
_RESOURCE_ENDINGS = (".ndjson", ".ndjson.gz")
_EVENT_COLUMNS = ("person_id", "date", "moment", "table", "concept")
_PERSON_COLUMNS = ("person_id", "year_of_birth", "gender")


class Fhir:
    """The resources of a folder, read once; only the fields of the two tables are kept.

    Parameters
    ----------
    folder
        Files with one resource per line, ``.ndjson`` or ``.ndjson.gz``, under any name.
    """

    concept = "concept"
    """The column of events that says what happened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        events: list[tuple[str | None, ...]] = []
        persons: list[tuple[str | None, ...]] = []
        others: Counter[str] = Counter()
        for path in resource_files(folder):
            for resource in _resources(path):
                kind = resource.get("resourceType")
                if kind == "Patient":
                    birth = _text(resource.get("birthDate"))
                    year = None if birth is None else birth[:4]
                    persons.append((_text(resource.get("id")), year, _text(resource.get("gender"))))
                elif kind in EVENTS:
                    events.append(_event(resource, kind))
                else:
                    others[kind if isinstance(kind, str) else ""] += 1
        for rows, what in ((persons, "Patient"), (events, ", ".join(EVENTS))):
            if not rows:
                msg = f"{folder}: is no FHIR folder, it has no resource of {what}"
                raise InputError(msg)
        self._events = pl.DataFrame(events, dict.fromkeys(_EVENT_COLUMNS, pl.String), orient="row")
        self._persons = pl.DataFrame(persons, dict.fromkeys(_PERSON_COLUMNS, pl.String), orient="row")
        self.notes = tuple(
            f"{folder}: {counted(n, 'resource', 'resources')} of {quoted(kind)} not read"
            for kind, n in sorted(others.items())
        )
        """Resources of other kinds, counted."""

    def events(self) -> pl.DataFrame:
        """Return one row per resource that is an event, by person and date."""
        rows = self._events.sort("person_id", "date", "moment", nulls_last=True, maintain_order=True)
        return check_cells(rows.drop("moment"), str(self.folder))

    def persons(self) -> pl.DataFrame:
        """Return one row per patient: birth year and sex."""
        return check_cells(self._persons, str(self.folder))

    def has_hierarchy(self) -> bool:
        """Return False: the resources have no vocabulary."""
        return False

    def hierarchy(self) -> HierarchyBuilder:
        """Refuse: the resources have no vocabulary."""
        msg = f'{self.folder}: has no vocabulary; use hierarchy = {{ kind = "flat" }}'
        raise InputError(msg)


def _resources(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(read_contents(path).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            resource = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", None) or type(error).__name__
            msg = f"{path}: line {number:,} is no JSON ({reason})"
            raise InputError(msg) from None
        if not isinstance(resource, dict):
            msg = f"{path}: line {number:,} is not a resource: a JSON object is expected"
            raise InputError(msg)
        yield resource


def _event(resource: dict[str, Any], kind: str) -> tuple[str | None, ...]:
    """Return person, date, moment, kind and name of a resource; what it does not have is missing."""
    what, when = EVENTS[kind]
    subject = resource.get("subject")
    reference = _text(subject.get("reference")) if isinstance(subject, dict) else None
    # References are Patient/7, urn:uuid:7 or a whole address.
    person = None if reference is None else reference.removeprefix("urn:uuid:").rsplit("/", 1)[-1]
    times = (resource.get(name) for name in when)
    starts = (_text(time.get("start") if isinstance(time, dict) else time) for time in times)
    moment = next((start for start in starts if start), None)
    name = next((found for each in what if (found := _name(resource.get(each)))), None)
    return person, None if moment is None else moment[:10], moment, kind, name


def _name(coded: object) -> str | None:
    """Return what people read of a coded value: its text, or the first name or code in it."""
    if isinstance(coded, list):
        return next((found for each in coded if (found := _name(each))), None)
    if not isinstance(coded, dict):
        return None
    own = (_text(coded.get(field)) for field in ("text", "display", "code"))
    return next((found for found in own if found), None) or _name(coded.get("coding") or coded.get("concept"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def resource_files(folder: Path) -> list[Path]:
    """Return the files of resources in a folder, by name."""
    return sorted(
        path for path in folder.iterdir() if path.name.lower().endswith(_RESOURCE_ENDINGS) and path.is_file()
    )


SUBJECT, WHEN, CODE, NUMBER, TEXT = "subject_id", "time", "code", "numeric_value", "text_value"
BIRTH = "MEDS_BIRTH"
"""The code of a person's birth."""
BIRTH_YEAR = "year_of_birth"
"""The attribute of persons that the time of their birth becomes."""
BETWEEN = "//"
"""Between the parts of a code: ``GENDER//F`` is the attribute GENDER with the value F."""
VERSIONS = ("0.3", "0.4")
"""Versions of the standard that are read; their columns are the same."""
_KINDS = {
    SUBJECT: (pl.Int64, "int64"),
    WHEN: (pl.Datetime, "timestamps"),
    CODE: (pl.String, "text"),
    NUMBER: (pl.Float32, "float32"),
    TEXT: (pl.String, "text"),
}
_REQUIRED = (SUBJECT, WHEN, CODE)
_PRESENT = "yes"
"""The value of an attribute whose code has none."""


class Meds:
    """The events of a folder; those without a time are attributes of persons.

    Parameters
    ----------
    folder
        Events in ``data/**/*.parquet``, and what codes mean in ``metadata/codes.parquet``.
    """

    concept = CODE
    """The column of events that says what happened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files = meds_data_files(folder)
        self._check_version()
        if not self._files:
            msg = f"{folder}: is no MEDS folder, it has no Parquet file under data"
            raise InputError(msg)

    @cached_property
    def _read(self) -> tuple[pl.DataFrame, tuple[str, ...]]:
        """The rows of all files, and what is said about columns that are not read."""
        check_parquet(self._files)
        others: dict[str, None] = {}
        parts = []
        for path in self._files:
            source = scan_parquet(path)
            schema = source.collect_schema()
            _check_columns(path, schema)
            others |= dict.fromkeys(name for name in schema if name not in _KINDS)
            parts.append(
                source.select(
                    (pl.col(name) if name in schema else pl.lit(None, kind)).alias(name)
                    for name, (kind, _) in _KINDS.items()
                ).collect()
            )
        rows = pl.concat(parts, how="vertical_relaxed")
        if not others:
            return rows, ()
        n_others = counted(len(others), "column", "columns")
        return rows, (f"{self.folder}: {n_others} beyond those of MEDS not read: {listed([*others])}",)

    @property
    def notes(self) -> tuple[str, ...]:
        """Columns that are not read."""
        return self._read[1]

    def events(self) -> pl.DataFrame:
        """Return one row per event that has a time, births aside, by person and time."""
        rows = self._read[0].filter(pl.col(WHEN).is_not_null() & pl.col(CODE).ne_missing(BIRTH))
        if not rows.height:
            msg = f"{self.folder}: no event has a time"
            raise InputError(msg)
        unused = [name for name in (NUMBER, TEXT) if not rows[name].count()]
        return check_cells(rows.drop(unused).sort(SUBJECT, WHEN, maintain_order=True), str(self.folder))

    def persons(self) -> pl.DataFrame:
        """Return one row per person: the events without a time, and the year of birth.

        A person with several values of one attribute has several rows.
        """
        rows, _ = self._read
        value = pl.coalesce(pl.col(NUMBER).cast(pl.String), TEXT, pl.lit(_PRESENT))
        code = pl.col(CODE).str.splitn(BETWEEN, 2).struct
        static = rows.filter(pl.col(WHEN).is_null()).select(
            SUBJECT,
            name=code[0],
            value=pl.coalesce(code[1], value),
        )
        birth = rows.filter((pl.col(CODE) == BIRTH) & pl.col(WHEN).is_not_null()).select(
            SUBJECT,
            name=pl.lit(BIRTH_YEAR),
            value=pl.col(WHEN).dt.year().cast(pl.String),
        )
        attributes = pl.concat([static, birth]).drop_nulls("name").unique(maintain_order=True)
        persons = rows.select(pl.col(SUBJECT).unique(maintain_order=True).drop_nulls())
        if not attributes.height:
            return persons
        place = pl.int_range(pl.len()).over(SUBJECT, "name")
        wide = attributes.with_columns(place=place).pivot("name", index=[SUBJECT, "place"], values="value")
        # What is said once is the same in every row of a person.
        first = wide.select(pl.exclude("place").first().over(SUBJECT))
        names = [name for name in wide.columns if name not in (SUBJECT, "place")]
        wide = wide.with_columns(wide[name].fill_null(first[name]) for name in names).drop("place")
        joined = persons.join(wide, on=SUBJECT, how="left", maintain_order="left_right")
        return check_cells(joined, str(self.folder))

    def has_hierarchy(self) -> bool:
        """Return whether the codes say which one lies under which."""
        return bool(self._parents())

    def hierarchy(self) -> HierarchyBuilder:
        """Return what builds the hierarchy of codes, out of ``parent_codes``."""
        parents = self._parents()
        if not parents:
            nothing = "metadata/codes.parquet has no parent_codes"
            msg = f'{self.folder}: {nothing}; use hierarchy = {{ kind = "flat" }}'
            raise InputError(msg)
        return Hierarchy.graph(parents, f"{self.folder.name}/metadata/codes.parquet")

    def _parents(self) -> dict[str, list[str]]:
        path = self.folder / "metadata" / "codes.parquet"
        if not path.is_file():
            return {}
        check_parquet([path])
        source = scan_parquet(path)
        schema = source.collect_schema()
        if "parent_codes" not in schema:
            return {}
        if schema.get(CODE) != pl.String or schema["parent_codes"] != pl.List(pl.String):
            msg = f"{path}: code must be text and parent_codes lists of text"
            raise InputError(msg)
        rows = source.select(CODE, "parent_codes").explode("parent_codes").drop_nulls().collect()
        parents: dict[str, list[str]] = {}
        for code, parent in rows.iter_rows():
            parents.setdefault(code, []).append(parent)
        return parents

    def _check_version(self) -> None:
        path = self.folder / "metadata" / "dataset.json"
        if not path.is_file():  # what it says is optional
            return
        try:
            about = json.loads(read_contents(path))
        except (ValueError, RecursionError):
            msg = f"{path}: is no JSON"
            raise InputError(msg) from None
        version = about.get("meds_version") if isinstance(about, dict) else None
        if version is not None and ".".join(str(version).split(".")[:2]) not in VERSIONS:
            msg = f"{path}: meds_version is {quoted(str(version))}; {' and '.join(VERSIONS)} can be read"
            raise InputError(msg)


def _check_columns(path: Path, schema: pl.Schema) -> None:
    """Refuse a file of events that does not have the columns of the versions that are read."""
    absent = [name for name in _REQUIRED if name not in schema]
    lines = [
        f"{path}: has no column {quoted(name)}, as MEDS {' and '.join(VERSIONS)} have"
        + ("; patient_id is of an earlier version" if name == SUBJECT and "patient_id" in schema else "")
        for name in absent
    ]
    lines += [
        f"{path}: column {quoted(name)} must be {text}, it is {schema[name]}"
        for name, (kind, text) in _KINDS.items()
        if name in schema and schema[name] != kind
    ]
    if lines:
        raise InputError(*lines)


def meds_data_files(folder: Path) -> list[Path]:
    """Return the files of events of a MEDS folder, by name."""
    return sorted(path for path in (folder / "data").rglob("*.parquet") if path.is_file())


def is_meds(folder: Path) -> bool:
    """Return whether a folder has events and metadata where MEDS has them."""
    return (folder / "metadata").is_dir() and bool(meds_data_files(folder))


CLINICAL = ("omop", "fhir", "meds")
"""Formats that are folders with events, persons and a vocabulary."""


ClinicalFolder = Omop | Fhir | Meds
"""Two tables out of a folder, and the hierarchy of what happened."""


def recognize(path: Path) -> str | None:
    """Return the model that a folder follows; None where it is a file or another folder."""
    if not path.is_dir():
        return None
    try:
        found = {"omop": is_omop(path), "fhir": bool(resource_files(path)), "meds": is_meds(path)}
    except OSError:  # reading it says why
        return None
    return next((form for form, fits in found.items() if fits), None)


def open_clinical(
    path: Path | Database,
    format: str,  # noqa: A002 - the name it has in the configuration
    tables: Sequence[str] | None = None,
) -> ClinicalFolder:
    """Open a folder in one of the formats of `CLINICAL`, or an OMOP database, or refuse it."""
    if isinstance(path, Database):
        return Omop(path, tables)
    check_path(path)
    if not path.is_dir():
        msg = f"{path}: is a file, and {format} is a folder"
        raise InputError(msg)
    if format == "omop":
        return Omop(path, tables)
    return Fhir(path) if format == "fhir" else Meds(path)
