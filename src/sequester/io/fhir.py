"""Read a folder of FHIR bulk data (NDJSON) as a table of events and one of persons."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester.errors import InputError
from sequester.hierarchies.labels import counted, quoted
from sequester.io.contents import check_cells, read_contents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sequester.hierarchies.builder import HierarchyBuilder

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
_ENDINGS = (".ndjson", ".ndjson.gz")
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
            msg = f"{path}: line {number:,} is no resource: a JSON object is expected"
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
        path for path in folder.iterdir() if path.name.lower().endswith(_ENDINGS) and path.is_file()
    )
