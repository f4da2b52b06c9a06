"""The contents of a page: the summary of a release, attacks, reasons, run time and memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester._repr import shown
from sequester.hierarchies.labels import ROOT
from sequester.privacy.snapshots import GROUP, TIME
from sequester.release.files import MEDS_FILES, unsupported_reason
from sequester.release.plot import Released, change_figures
from sequester.release.release import ORDER, PERSON

if TYPE_CHECKING:
    from sequester.attacks.risk import Risk
    from sequester.data.schema import Schema
    from sequester.explanation.explain import Explanation
    from sequester.release.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A part of the work and how long it took."""

    name: str
    """What was done."""
    seconds: float
    """How long that took."""

    def to_json(self) -> dict[str, Any]:
        """Return the part of the document about this phase."""
        return {"name": self.name, "seconds": round(self.seconds, 3)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """How long each part of the work took, and the most memory that was held at once.

    Examples
    --------
    >>> phases = (Phase(name="reading", seconds=0.5), Phase(name="protecting", seconds=2.0))
    >>> Timings(phases=phases, peak_bytes=300_000_000).seconds
    2.5
    >>> short = Phase(name="checked", seconds=0.001)
    >>> [each.name for each in Timings(phases=(*phases, short), peak_bytes=0).longest]
    ['reading', 'protecting', 'everything else']
    """

    phases: tuple[Phase, ...]
    """In the order they came."""
    peak_bytes: int
    """Largest resident memory of the process so far."""

    @property
    def seconds(self) -> float:
        """All phases together."""
        return sum(each.seconds for each in self.phases)

    @property
    def longest(self) -> tuple[Phase, ...]:
        """The phases that take at least a hundredth of the time, and the rest together."""
        least = self.seconds / 100
        shown = [each for each in self.phases if each.seconds >= least]
        rest = self.seconds - sum(each.seconds for each in shown)
        return (
            (*shown, Phase(name="everything else", seconds=rest))
            if len(shown) < len(self.phases)
            else (*shown,)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the part of the document about time and memory."""
        return {
            "phases": [each.to_json() for each in self.phases],
            "seconds": round(self.seconds, 3),
            "peak_bytes": self.peak_bytes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What the internal page says beside what is in the release itself; what is missing is left out."""

    risks: tuple[Risk, ...] = ()
    """What simulated adversaries achieved."""
    explanation: Explanation | None = None
    """What was changed and why, and what would have kept more."""
    timings: Timings | None = None
    """How long it took."""
    notes: tuple[str, ...] = ()
    """Why a result is missing."""


NO_FINDINGS = Findings()
"""No results."""


_SAMPLE = 10
_CELL_WIDTH = 60


def promised_levels(release: Release) -> list[dict[str, Any]]:
    """Return what was promised and what the data reaches, per parameter, and what the parameter counts."""
    claim = release.model.claim()
    means = release.model.level_meanings
    return [
        {
            "name": name,
            "promised": claim.get(name),
            "achieved": value,
            "means": means.get(name, "").replace("persons", release.unit),
        }
        for name, value in release.verdict.achieved.items()
    ]


def data_files(release: Release) -> list[str]:
    """Return the names of the data files of the release, or of the folders with their parts."""
    if release.n_parts is not None:
        return [f"{table}/" for table in release.tables]
    tables = [f"{table}.{ending}" for table in release.tables for ending in ("csv", "parquet")]
    if release.event_log is not None and unsupported_reason(release.frame, release.event_log) is None:
        tables += MEDS_FILES if release.event_log == "meds" else [f"events.{release.event_log}"]
    return tables


def coarse_example(release: Release, rows: Released) -> dict[str, Any] | None:
    """Return the most frequent generalized value; ``*`` where there is no other, None where there is none.

    It is a value of the released rows, and its leaves are in ``hierarchies/``.
    """
    found = [
        {"attribute": name, "value": value, "leaves": leaves[value], "cells": count}
        for name, tree in release.hierarchies.items()
        if name in rows.values
        for leaves in [dict(tree.select("node", "leaves").iter_rows())]
        for value, count in rows.values[name].iter_rows()
        if leaves.get(value, 1) > 1
    ]
    return max(
        found,
        key=lambda each: (each["value"] != ROOT, each["cells"], each["attribute"], each["value"]),
        default=None,
    )


def describe_persons(release: Release, rows: Released) -> list[dict[str, Any]]:
    """Return the meaning of each column of the table of persons, in order."""
    schema = release.persons_schema
    if schema is None or release.persons is None:
        return []
    meanings = {PERSON: "who it is: the same random name as in the events"}
    return _describe(release, rows, release.persons, meanings | _meanings(release, schema))


def describe_columns(release: Release, rows: Released) -> list[dict[str, Any]]:
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
    return _describe(release, rows, release.frame, meanings | _meanings(release, schema))


def _describe(
    release: Release, rows: Released, frame: pl.DataFrame, meanings: dict[str, str]
) -> list[dict[str, Any]]:
    """Return each column with its meaning, its number of values, and the publisher's own words."""
    return [
        {
            "name": name,
            "meaning": meanings.get(name, ""),
            "n_values": rows.n_values(name),
            "description": release.about.columns.get(name, ""),
        }
        for name in frame.columns
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


def evidence_samples(release: Release) -> list[dict[str, Any]]:
    """Return the first rows of every table about how the promise is kept."""
    return [
        {"name": name, "total": frame.height, **_sample(frame.head(_SAMPLE))}
        for name, frame in release.evidence.items()
    ]


def summarize_changes(release: Release) -> dict[str, Any]:
    """Return the changes counted by the column ``what``, with the first of them as a sample."""
    changes = release.change_list
    return {
        "total": changes.select(pl.len()).collect().item(),
        "figures": list(change_figures(changes, release.n_input_persons, release.unit)),
        **_sample(changes.head(_SAMPLE).collect()),
    }


def _sample(frame: pl.DataFrame) -> dict[str, Any]:
    return {"header": frame.columns, "sample": [list(map(_cell, row)) for row in frame.iter_rows()]}


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return shown(text, _CELL_WIDTH)
