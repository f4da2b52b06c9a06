"""The contents of a page: a release summarized in a few lines and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester._repr import shown
from sequester.hierarchies.labels import ROOT
from sequester.privacy.snapshots import GROUP, TIME
from sequester.release.files import unsupported_reason
from sequester.release.meds import MEDS_FILES
from sequester.release.plot import Figure, Released, change_figures
from sequester.release.release import ORDER, PERSON

if TYPE_CHECKING:
    from sequester.data.schema import Schema
    from sequester.release.release import Release

_SAMPLE = 10
_CELL_WIDTH = 60


@dataclass(frozen=True, slots=True)
class Level:
    """A parameter of the promise with what the data reaches."""

    name: str
    """The parameter, as its paper calls it."""
    promised: object
    """What the claim says; None where the model reports a level that is not in the claim."""
    achieved: float
    """The best value that holds on the released data."""
    means: str = ""
    """What the parameter counts."""


@dataclass(frozen=True, slots=True)
class ColumnMeaning:
    """A released column and how to read it."""

    name: str
    """As in the files."""
    meaning: str
    """What the values are."""
    n_values: int
    """Different values in the release."""
    description: str = ""
    """The steward's own words."""


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """What a method changed, summed up."""

    total: int
    """Changed cells or events."""
    figures: tuple[Figure, ...]
    """Persons and changes by kind, where the method tells kinds apart."""
    header: tuple[str, ...]
    """Columns of the sample."""
    sample: tuple[tuple[str, ...], ...]
    """The first changes, to see what they look like."""


def promised_levels(release: Release) -> list[Level]:
    """Return what was promised and what the data reaches, per parameter."""
    claim = release.model.claim()
    means = release.model.level_meanings
    return [
        Level(name, claim.get(name), value, means.get(name, "").replace("persons", release.unit))
        for name, value in release.verdict.achieved.items()
    ]


def data_files(release: Release) -> list[str]:
    """Return the names of the data files of the release."""
    tables = [f"{table}.{ending}" for table in release.tables for ending in ("csv", "parquet")]
    if release.event_log is not None and unsupported_reason(release.frame, release.event_log) is None:
        tables += MEDS_FILES if release.event_log == "meds" else [f"events.{release.event_log}"]
    return tables


@dataclass(frozen=True, slots=True)
class CoarseValue:
    """A released value that stands for several, to explain how to count with it."""

    attribute: str
    """Its column."""
    value: str
    """The value."""
    leaves: int
    """Values of the source that it covers."""
    cells: int
    """Released rows that have it."""


def coarse_example(release: Release, rows: Released) -> CoarseValue | None:
    """Return the most frequent generalized value; ``*`` where there is no other, None where there is none.

    It is a value of the released rows, and its leaves are in ``hierarchies/``.
    """
    found = [
        CoarseValue(name, value, leaves[value], count)
        for name, tree in release.hierarchies.items()
        if name in rows.values
        for leaves in [dict(tree.select("node", "leaves").iter_rows())]
        for value, count in rows.values[name].iter_rows()
        if leaves.get(value, 1) > 1
    ]
    return max(
        found, key=lambda each: (each.value != ROOT, each.cells, each.attribute, each.value), default=None
    )


def describe_persons(release: Release, rows: Released) -> list[ColumnMeaning]:
    """Return the meaning of each column of the table of persons, in order."""
    schema = release.persons_schema
    if schema is None or release.persons is None:
        return []
    meanings = {PERSON: "who it is: the same random name as in the events"}
    meanings |= _meanings(release, schema)
    return [
        ColumnMeaning(name, meanings.get(name, ""), rows.n_values(name), release.about.columns.get(name, ""))
        for name in release.persons.columns
    ]


def describe_columns(release: Release, rows: Released) -> list[ColumnMeaning]:
    """Return the meaning of each column of the main table, in order."""
    schema = release.schema
    meanings = {
        PERSON: "whose event it is: a random name, drawn anew for this release"
        if not release.trips
        else "the trip that it is an event of: a random name; trips of one person have different ones",
        ORDER: "the place of the event in the person's history, from 1; it is not a date",
    }
    if PERSON not in release.frame.columns:
        meanings = {
            TIME: "the snapshot in which the record is published",
            GROUP: "the group of records within a snapshot that the record belongs to",
        }
    if schema.symbol is not None:
        meanings[schema.symbol.column] = (
            "what happened" if release.regions is None else "where; outlines are in regions.geojson"
        )
    meanings |= _meanings(release, schema)
    return [
        ColumnMeaning(name, meanings.get(name, ""), rows.n_values(name), release.about.columns.get(name, ""))
        for name in release.frame.columns
    ]


def _meanings(release: Release, schema: Schema) -> dict[str, str]:
    meanings = {}
    stars = ", or * where it would tell others" if getattr(release.model, "sensitive_known", False) else ""
    for name in schema.quasi:
        meanings[name] = "what others may know about the person; may be coarser than the source"
    for name, attribute in schema.sensitive.items():
        for column in attribute.columns or (name,):
            known = meanings.get(column)
            meanings[column] = f"{known}; sensitive" if known else f"sensitive; as in the source{stars}"
    for name in schema.keep:
        meanings[name] = "released as it was in the source"
    return meanings


@dataclass(frozen=True, slots=True)
class EvidenceSample:
    """The first rows of a table about how the promise is kept."""

    name: str
    """Its file in ``internal/``, without ending."""
    total: int
    """Rows of the file."""
    header: tuple[str, ...]
    """Its columns."""
    sample: tuple[tuple[str, ...], ...]
    """The first rows."""


def evidence_samples(release: Release) -> list[EvidenceSample]:
    """Return the first rows of every table about how the promise is kept."""
    return [
        EvidenceSample(
            name,
            frame.height,
            tuple(frame.columns),
            tuple(tuple(_cell(value) for value in row) for row in frame.head(_SAMPLE).iter_rows()),
        )
        for name, frame in release.evidence.items()
    ]


def summarize_changes(release: Release) -> ChangeCounts:
    """Return the changes counted by the column ``what``, with the first of them as a sample."""
    frame = release.changes
    figures = change_figures(frame, release.n_input_persons, release.unit)
    head = frame.head(_SAMPLE)
    sample = tuple(tuple(_cell(value) for value in row) for row in head.iter_rows())
    return ChangeCounts(frame.height, tuple(figures), tuple(frame.columns), sample)


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return shown(text, _CELL_WIDTH)
