"""The contents of a page: a release summarized in a few lines and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.hierarchies.labels import ROOT
from sequester.privacy.snapshots import GROUP, TIME
from sequester.release.files import unsupported_reason
from sequester.release.release import ORDER, PERSON
from sequester.report.plot import Tally, lengths_of, original_values, per_person, per_value, values_of
from sequester.report.text import LEVELS, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester._typing import Counts
    from sequester.data.table import EventTable
    from sequester.release.release import Release

_SAMPLE = 10
_CELL_WIDTH = 60
_PLOTTED_COLUMNS = 8


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
class Figure:
    """A plot with its title and its numbers."""

    title: str
    """What is counted."""
    unit: str
    """Persons, events or changes."""
    tally: Tally
    """The numbers."""


@dataclass(frozen=True, slots=True)
class Changes:
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
    achieved = release.verdict.achieved
    about = {name: text.replace("persons", release.unit) for name, text in LEVELS.items()}
    return [Level(name, claim.get(name), value, about.get(name, "")) for name, value in achieved.items()]


def data_files(release: Release) -> list[str]:
    """Return the names of the data files of the release."""
    tables = [f"{table}.{ending}" for table in release.tables for ending in ("csv", "parquet")]
    if release.event_log is not None and unsupported_reason(release.frame, release.event_log) is None:
        tables.append(f"events.{release.event_log}")
    return tables


@dataclass(frozen=True, slots=True)
class Released:
    """The released rows, counted once for everything a page says about them."""

    lengths: Counts | None
    """Events of each person; None where the release has no persons."""
    n_rows: int
    """Events, or records where there are no persons."""
    values: Mapping[str, pl.DataFrame]
    """Column to its values with their counts; without the person and the order."""

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Released:
        """Return the counts of the main table of a release."""
        return cls(
            lengths_of(frame[PERSON]) if PERSON in frame.columns else None,
            frame.height,
            {name: values_of(frame[name]) for name in frame.columns if name not in (PERSON, ORDER)},
        )

    @property
    def n_persons(self) -> int | None:
        """Persons, where the release has any notion of them."""
        return None if self.lengths is None else len(self.lengths)

    def n_values(self, column: str) -> int:
        """Return the number of different values of a column."""
        if self.lengths is not None and column in (PERSON, ORDER):
            return len(self.lengths) if column == PERSON else int(self.lengths.max(initial=0))
        return self.values[column].height

    @property
    def plotted(self) -> list[str]:
        """Columns worth a plot: those with a value that occurs twice; a few, for the size of the page."""
        return [name for name, each in self.values.items() if each.height < self.n_rows][:_PLOTTED_COLUMNS]


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
    for name in schema.quasi:
        meanings[name] = "what others may know about the person; may be coarser than the source"
    for name, attribute in schema.sensitive.items():
        for column in attribute.columns or (name,):
            known = meanings.get(column)
            meanings[column] = f"{known}; sensitive" if known else "sensitive; as in the source"
    for name in schema.keep:
        meanings[name] = "released as it was in the source"
    return [
        ColumnMeaning(name, meanings.get(name, ""), rows.n_values(name), release.about.columns.get(name, ""))
        for name in release.frame.columns
    ]


def released_figures(rows: Released, unit: str = "persons") -> list[Figure]:
    """Return plots of the released data: events per person or trip, and the values of each column."""
    figures = []
    if rows.lengths is not None:
        title = f"Events per {unit.removesuffix('s')}"
        figures.append(Figure(title, unit, per_person({"released": rows.lengths})))
    return figures + [
        Figure(f"Most frequent values of {name}", "events", per_value({"released": rows.values[name]}))
        for name in rows.plotted
    ]


def comparison_figures(rows: Released, original: EventTable) -> list[Figure]:
    """Return the same plots before and after."""
    figures = []
    if rows.lengths is not None:
        tally = per_person({"before": np.diff(original.person_offsets), "after": rows.lengths})
        unit = "persons" if original.owners is None else "trips"
        figures.append(Figure(f"Events per {unit.removesuffix('s')}", unit, tally))
    return figures + [
        Figure(
            f"Most frequent values of {name}",
            "events",
            per_value({"before": original_values(original, name), "after": rows.values[name]}),
        )
        for name in rows.plotted
        if name in original.sequences.columns
    ]


def method_figures(release: Release) -> list[Figure]:
    """Return the plots of the method itself."""
    return [Figure(each.title, each.unit, Tally(each.labels, each.series)) for each in release.plots]


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


def summarize_changes(release: Release) -> Changes:
    """Return the changes counted by the column ``what``, with the first of them as a sample."""
    frame = release.changes
    figures = []
    if "what" in frame.columns and frame.height:
        if "person" in frame.columns:
            figures.append(_persons_by_kind(frame, release.n_input_persons, release.unit))
        by_kind = per_value({"changes": values_of(frame["what"])})
        figures.append(Figure("Changes by kind", "cells or events", by_kind))
    head = frame.head(_SAMPLE)
    sample = tuple(tuple(_cell(value) for value in row) for row in head.iter_rows())
    return Changes(frame.height, tuple(figures), tuple(frame.columns), sample)


def _persons_by_kind(frame: pl.DataFrame, n_input_persons: int, unit: str) -> Figure:
    """Count the persons, or trips, affected by each kind of change, and those that are unchanged."""
    who = [name for name in ("person", "trip") if name in frame.columns]
    pairs = frame.select(*who, "what").unique()
    unchanged = pl.DataFrame(
        {"value": ["unchanged"], "count": [n_input_persons - pairs.select(who).unique().height]}
    )
    persons = pl.concat([values_of(pairs["what"]), unchanged])
    title = f"{unit.capitalize()} by what happened to their data"
    return Figure(title, unit, per_value({unit: persons}))


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return shown(text, _CELL_WIDTH)
