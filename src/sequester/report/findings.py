"""The contents of a page: the summary of a release, attacks, reasons, run time and memory."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester._repr import shown
from sequester.hierarchies.labels import ROOT
from sequester.privacy.snapshots import GROUP, TIME
from sequester.release.files import MEDS_FILES, unsupported_reason
from sequester.release.plot import Figure, Released, change_figures
from sequester.release.release import ORDER, PERSON

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester.attacks.risk import Risk
    from sequester.data.schema import Schema
    from sequester.engine import Progress
    from sequester.explanation.explanation import Explanation
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


_KIBIBYTE = 1024


class Stopwatch:
    """Measures phase after phase: a phase ends where the next one begins.

    Examples
    --------
    >>> ticks = iter([0.0, 1.0, 4.0, 4.5])
    >>> watch = Stopwatch(clock=lambda: next(ticks))
    >>> watch.begin("reading")
    >>> watch.begin("protecting")
    >>> [(each.name, each.seconds) for each in watch.read().phases]
    [('reading', 3.0), ('protecting', 0.5)]
    """

    def __init__(self, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._began = clock()
        self._seconds: dict[str, float] = {}
        self._phase: str | None = None

    def begin(self, phase: str) -> None:
        """Begin a phase; one that has been there before goes on."""
        now = self._clock()
        self._end(now)
        self._phase, self._began = phase, now

    def timed(self, progress: Progress, phase: str) -> Progress:
        """Begin a phase, and return a `progress` that measures each part it reports by itself."""
        self.begin(phase)

        def report(fraction: float, part: str) -> None:
            if part != self._phase:
                self.begin(part)
            progress(fraction, part)

        return report

    def read(self) -> Timings:
        """Return how long each phase has taken so far."""
        now = self._clock()
        self._end(now)
        self._began = now
        return Timings(
            phases=tuple(Phase(name=name, seconds=seconds) for name, seconds in self._seconds.items()),
            peak_bytes=peak_bytes(),
        )

    def _end(self, now: float) -> None:
        if self._phase is not None:
            self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + now - self._began


def peak_bytes() -> int:
    """Return the largest resident memory of this process so far; 0 where the system does not tell.

    Examples
    --------
    >>> peak_bytes() >= 0
    True
    """
    try:
        import resource  # noqa: PLC0415  (not on every system)
    except ImportError:
        return 0
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Bytes on a Mac, kibibytes elsewhere.
    return int(largest if sys.platform == "darwin" else largest * _KIBIBYTE)


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
    """Return the names of the data files of the release, or of the folders with their parts."""
    if release.n_parts is not None:
        return [f"{table}/" for table in release.tables]
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
    changes = release.change_list
    figures = change_figures(changes, release.n_input_persons, release.unit)
    head = changes.head(_SAMPLE).collect()
    sample = tuple(tuple(_cell(value) for value in row) for row in head.iter_rows())
    total = changes.select(pl.len()).collect().item()
    return ChangeCounts(total, tuple(figures), tuple(head.columns), sample)


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return shown(text, _CELL_WIDTH)
