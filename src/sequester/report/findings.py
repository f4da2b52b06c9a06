"""The contents of a page: columns, changes, measures, generalization levels, run time and memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester._repr import number, shown
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import ROOT, counted
from sequester.privacy.l_diversity import GROUP, TIME
from sequester.release.files import MEDS_FILES, unsupported_reason
from sequester.release.plot import Released, change_figures
from sequester.release.release import ORDER, PERSON
from sequester.report.text import capitalize_first
from sequester.utility.score import direction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.attacks.risk import Risk
    from sequester.data.schema import Schema
    from sequester.explanation.explain import Explanation
    from sequester.release.release import Release
    from sequester.utility.score import Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """How long each part of the work took, and the most memory that was held at once.

    Examples
    --------
    >>> phases = {"reading": 0.5, "protecting": 2.0, "checked": 0.001}
    >>> list(Timings(phases=phases, peak_bytes=300_000_000).longest)
    ['reading', 'protecting', 'everything else']
    """

    phases: Mapping[str, float]
    """What was done to the seconds it took, in the order they came."""
    peak_bytes: int
    """Largest resident memory of the process so far."""

    @property
    def seconds(self) -> float:
        """All phases together."""
        return sum(self.phases.values())

    @property
    def longest(self) -> dict[str, float]:
        """The phases that take at least a hundredth of the time, and the rest together."""
        least = self.seconds / 100
        shown = {name: seconds for name, seconds in self.phases.items() if seconds >= least}
        rest = self.seconds - sum(shown.values())
        return shown if len(shown) == len(self.phases) else shown | {"everything else": rest}

    def to_json(self) -> dict[str, Any]:
        """Return the part of the document about time and memory."""
        phases = [{"name": name, "seconds": round(seconds, 3)} for name, seconds in self.phases.items()]
        return {"phases": phases, "seconds": round(self.seconds, 3), "peak_bytes": self.peak_bytes}


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
    meanings = {PERSON: "who it is: the same pseudonym as in the events"}
    return _describe(release, rows, release.persons, meanings | _meanings(release, schema))


def describe_columns(release: Release, rows: Released) -> list[dict[str, Any]]:
    """Return the meaning of each column of the main table, in order."""
    schema = release.schema
    meanings = {
        PERSON: "whose event it is: a random pseudonym, new in this release"
        if not release.trips
        else "the trip that it is an event of: a random pseudonym; trips of one person have different ones",
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
            "n_values": rows.n_values(name) - _has_stars(release, rows, name),
            "description": release.about.columns.get(name, ""),
        }
        for name in frame.columns
    ]


def _has_stars(release: Release, rows: Released, name: str) -> bool:
    """Return whether a column has suppressed cells, which show no value."""
    # Sensitive values that may be known are suppressed, too.
    may_have = name in release.hierarchies or bool(getattr(release.model, "sensitive_known", False))
    return may_have and name in rows.values and ROOT in rows.values[name]["value"]


def _meanings(release: Release, schema: Schema) -> dict[str, str]:
    meanings = {}
    stars = ", or * where it would tell others" if getattr(release.model, "sensitive_known", False) else ""
    for name in schema.quasi:
        meanings[name] = "quasi-identifier, which others may know; may be coarser than the source"
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


_GROUPS = (
    ("Information loss", ("loss", "ncp", "precision", "discern", "classif", "level", "generaliz")),
    (
        "Suppressed and added data",
        (
            "suppress",
            "lost_event",
            "delet",
            "cut_",
            "shorten",
            "unpublish",
            "drop",
            "invent",
            "left_out",
            "absent",
        ),
    ),
    ("Query error", ("query", "visit", "od_", "hotspot", "window", "count")),
    (
        "Frequent patterns",
        ("sim1", "sim2", "pattern", "itemset", "kl_", "transition", "rank", "ghost"),
    ),
    (
        "Sequences of persons",
        (
            "edit",
            "length",
            "gap",
            "displace",
            "predict",
            "event",
            "survival",
            "cayley",
            "touch",
            "moved",
            "distance",
            "trip",
            "attach",
        ),
    ),
)
"""Title, and parts of the names of its measures; the first group that fits has the measure."""
_OTHERS = "Other measures"
_SPELLED = {
    "ncp": "NCP",
    "iloss": "ILoss",
    "lm": "LM",
    "kl": "KL",
    "sim1": "SIM1",
    "sim2": "SIM2",
    "od": "OD",
}
"""Abbreviations, as their papers write them."""
_FIRST = ("suppress", "lost_event", "lost_person", "time_to", "next_event")
"""Parts of names that decide before others that they also contain."""


def group_measures(utility: Mapping[str, Score]) -> list[tuple[str, list[dict[str, str]]]]:
    """Return measures by group, in the order of the page: title, value, meaning and direction of each."""
    groups: dict[str, list[dict[str, str]]] = {title: [] for title, _ in (*_GROUPS, (_OTHERS, ()))}
    for name, score in utility.items():
        row = {"title": measure_title(name), "value": number(score.value), "means": score.means}
        groups[group_of(name)].append(row | {"direction": direction(score)})
    return [(title, measures) for title, measures in groups.items() if measures]


def group_of(name: str) -> str:
    """Return the group of a measure.

    Examples
    --------
    >>> group_of("information_loss"), group_of("query_error"), group_of("sim1")
    ('Information loss', 'Query error', 'Frequent patterns')
    >>> group_of("suppressed_events"), group_of("time_to_event"), group_of("xyz")
    ('Suppressed and added data', 'Sequences of persons', 'Other measures')
    """
    first = next((part for part in _FIRST if part in name), None)
    if first is not None:
        return _GROUPS[1][0] if first.startswith(("suppress", "lost")) else _GROUPS[4][0]
    return next((title for title, parts in _GROUPS if any(part in name for part in parts)), _OTHERS)


def measure_title(name: str) -> str:
    """Return the name of a measure as people write it.

    Examples
    --------
    >>> measure_title("information_loss"), measure_title("ncp"), measure_title("kl_items")
    ('Information loss', 'NCP', 'KL items')
    """
    words = [_SPELLED.get(word, word) for word in name.split("_")]
    return capitalize_first(" ".join(words))


_LABEL = 40


def generalization_levels(
    values: Mapping[str, pl.DataFrame],
    released: Mapping[str, pl.DataFrame],
    originals: Mapping[str, Hierarchy] | None = None,
) -> list[dict[str, Any]]:
    """Count the released cells of each attribute by level: 0 is as recorded, ``levels`` is that of ``*``.

    `values` has column to ``value``, ``count``; `released` has column to ``node``, ``parent``, ``leaves``.
    Without the whole hierarchies in `originals`, as a recipient has them, it is not known how many levels
    lie below a released value; what stands for one value only is as recorded.
    """
    return [
        _count_levels(name, values[name], tree, (originals or {}).get(name))
        for name, tree in released.items()
        if name in values and values[name].height
    ]


def _count_levels(
    name: str, values: pl.DataFrame, released: pl.DataFrame, whole: Hierarchy | None
) -> dict[str, Any]:
    tree = Hierarchy.from_frame(released) if whole is None else whole
    leaves = dict(released.select("node", "leaves").iter_rows())
    height = tree.height + (whole is None)

    def level_of(value: str) -> int:
        # A leaf of a short branch is as recorded, however far from the others.
        if value != ROOT and leaves.get(value, 1) == 1:
            return 0
        return height if value == ROOT else height - int(tree.depth[tree.node(value)])

    at: dict[int, list[tuple[str, int]]] = {}
    for value, count in values.sort("count", "value", descending=[True, False]).iter_rows():
        at.setdefault(level_of(value), []).append((value, count))
    total = int(values["count"].sum())
    steps = []
    for level, found in sorted(at.items()):
        cells = sum(count for _, count in found)
        # The most frequent value is an example.
        label = found[0][0]
        steps.append(
            {
                "level": level,
                "title": _title(level, None if whole is None else height, label),
                "cells": cells,
                "share": cells / total,
                "values": len(found),
                "example": shown(label, _LABEL),
                "text": level_text(shown(label, _LABEL), len(found), leaves.get(label, 1)),
            }
        )
    return {"attribute": name, "levels": height, "released": steps}


def _title(level: int, height: int | None, label: str) -> str:
    if level == 0:
        return "as recorded"
    if label == ROOT:
        return "*, suppressed"
    return "coarser" if height is None else f"coarser by {level} of {height} levels"


def level_text(example: str, n_values: int, leaves: int) -> str:
    """Return the values of a level as text, with an example that stands for so many leaves.

    Examples
    --------
    >>> level_text("56***", n_values=3, leaves=100)
    '3 values, such as 56***, which stands for 100 values'
    """
    if example == ROOT:
        return ""
    some = f"{counted(n_values, 'value', 'values')}, such as {example}"
    if leaves == 1:
        return some
    return f"{example if n_values == 1 else some}, which stands for {number(leaves)} values"
