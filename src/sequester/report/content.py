"""What stands on a page, taken from a release and brought down to a few lines and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.release.release import ORDER, PERSON
from sequester.report.counts import (
    Tally,
    lengths_of,
    original_values,
    per_person,
    per_value,
    values_of,
)
from sequester.report.wording import shown

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True)
class Column:
    """A released column and how to read it."""

    name: str
    """As in the files."""
    meaning: str
    """What the values are."""
    n_values: int
    """Different values in the release."""


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


def levels(release: Release) -> list[Level]:
    """Set what the data reaches beside what was promised."""
    claim = release.model.claim()
    return [Level(name, claim.get(name), value) for name, value in release.verdict.achieved.items()]


def files(release: Release) -> list[str]:
    """Name the data files of the release."""
    return [f"{table}.{ending}" for table in release.tables for ending in ("csv", "parquet")]


def columns(release: Release) -> list[Column]:
    """Explain the columns of the main table, in their order."""
    schema = release.schema
    meanings = {
        PERSON: "whose event it is: a random name, drawn anew for this release",
        ORDER: "the place of the event in the person's history, from 1; it is not a date",
    }
    if schema.symbol is not None:
        meanings[schema.symbol.column] = "what happened"
    for name in schema.quasi:
        meanings[name] = "what others may know about the person; may be coarser than the source"
    for name, attribute in schema.sensitive.items():
        for column in attribute.columns or (name,):
            known = meanings.get(column)
            meanings[column] = f"{known}; sensitive" if known else "sensitive; as in the source"
    for name in schema.keep:
        meanings[name] = "released as it was in the source"
    frame = release.frame
    return [Column(name, meanings.get(name, ""), frame[name].n_unique()) for name in frame.columns]


def released(release: Release) -> list[Figure]:
    """Count the released data: events per person, and the values of each column."""
    frame = release.frame
    figures = []
    if PERSON in frame.columns:
        figures.append(
            Figure("Events per person", "persons", per_person({"released": lengths_of(frame, PERSON)}))
        )
    figures += [
        Figure(f"Most frequent values of {name}", "events", per_value({"released": values_of(frame[name])}))
        for name in _plotted(release)
    ]
    return figures


def comparison(release: Release, original: EventTable) -> list[Figure]:
    """Count the same things before and after."""
    frame = release.frame
    figures = []
    if PERSON in frame.columns:
        before = np.diff(original.person_offsets)
        tally = per_person({"before": before, "after": lengths_of(frame, PERSON)})
        figures.append(Figure("Events per person", "persons", tally))
    figures += [
        Figure(
            f"Most frequent values of {name}",
            "events",
            per_value({"before": original_values(original, name), "after": values_of(frame[name])}),
        )
        for name in _plotted(release)
        if name in original.sequences.columns
    ]
    return figures


def _plotted(release: Release) -> list[str]:
    """Columns worth a plot: those with a value that occurs twice; the first few, for the size of the page."""
    frame = release.frame
    candidates = [name for name in frame.columns if name not in (PERSON, ORDER)]
    return [name for name in candidates if frame[name].n_unique() < frame.height][:_PLOTTED_COLUMNS]


def changes(release: Release) -> Changes:
    """Sum up the changes by the column ``what``, and take the first of them as a sample."""
    frame = release.changes
    figures = []
    if "what" in frame.columns and frame.height:
        if "person" in frame.columns:
            figures.append(_persons_by_kind(frame, release.n_input_persons))
        by_kind = per_value({"changes": values_of(frame["what"])})
        figures.append(Figure("Changes by kind", "cells or events", by_kind))
    head = frame.head(_SAMPLE)
    sample = tuple(tuple(_cell(value) for value in row) for row in head.iter_rows())
    return Changes(frame.height, tuple(figures), tuple(frame.columns), sample)


def _persons_by_kind(frame: pl.DataFrame, n_input_persons: int) -> Figure:
    """Count the persons that each kind of change befell, and those it left alone."""
    counted = frame.group_by("what").agg(pl.col("person").n_unique())
    persons = {str(what): int(number) for what, number in counted.iter_rows()}
    persons["unchanged"] = n_input_persons - frame["person"].n_unique()
    return Figure("Persons by what happened to their data", "persons", per_value({"persons": persons}))


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return shown(text, _CELL_WIDTH)
