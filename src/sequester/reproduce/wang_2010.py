"""Wang, Xu, Wong, Fu (2010): the experiments that the paper leaves out, as its algorithm leads one to expect.

Real data are crimes in Houston, by offence, and cases of COVID-19 in Hong Kong, by classification; without
them, days of the generator.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester import kernels
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import days, public
from sequester.errors import SequesterWarning, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods.reposition.comparators import MergeSnapshots, SuppressOnly
from sequester.methods.reposition.reposition import Reposition
from sequester.methods.reposition.snapshots import timeline
from sequester.methods.reposition.window import Snapshot
from sequester.reproduce.plan import Cell, Plan
from sequester.reproduce.wang_2010_claims import DRAWINGS, WHOLE, claims
from sequester.workflow.digest import table_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sequester._typing import Codes, Counts
    from sequester.methods.reposition.snapshot_method import SnapshotMethod
    from sequester.methods.reposition.window import Window
    from sequester.reproduce.plan import Rows, Value

SEED = "experiments of Wang et al."
"""What everything random comes from."""
NOTES = (
    (
        "Costs are squared distances, and suppression costs 50 in every window, so that losses of different "
        "windows compare. The whole grid has linear costs, too."
    ),
    (
        "Window queries are random predicates over random spans of days; their error is relative to the true "
        "count. The window has 7 snapshots, and merging puts 7 together."
    ),
)
"""What a reader must know."""
WINDOWS = (1, 2, 3, 4, 5, 6, 7, 8)
"""Snapshots of a window."""
_FAR = 50.0
"""The cost of suppression in all windows: more than the farthest move within the longest, 7 squared."""
_QUERIES = "Mean error of window queries"


@dataclass(frozen=True)
class Source:
    """A stream of records."""

    name: str
    """As in the tables."""
    about: str
    """What it is, for the page."""
    load: Callable[[], EventTable]
    """Reads it."""


def houston(data: Path) -> EventTable:
    """Read crimes by day: beat, hour and premise are known, the offence is sensitive."""
    frame = public.load("houston-crime", data).select(
        pl.col("date").str.to_date("%m/%d/%Y"), "beat", "hour", "premise", "offense"
    )
    quasi = {
        "beat": Hierarchy.mask([2, 1]),
        "hour": Hierarchy.intervals([6, 12], origin=0),
        "premise": Hierarchy.mask([2]),
    }
    return EventTable(frame, Schema(person="row", time="date", quasi=quasi, sensitive={"offense": "all"}))


def hong_kong(data: Path) -> EventTable:
    """Read cases by day of their report: gender and age are known, the classification is sensitive."""
    age = pl.col("Age").replace({"<1": "0", "Pending": None})
    frame = public.load("hk-covid", data).select(
        pl.col("Case no.").alias("case"),
        pl.col("Report date").str.to_date("%d/%m/%Y").alias("reported"),
        pl.col("Gender").alias("gender"),
        age.alias("age"),
        pl.col("Classification*").alias("classification"),
    )
    quasi = {"gender": Hierarchy.flat(), "age": Hierarchy.intervals([10, 30], origin=0)}
    schema = Schema(person="case", time="reported", quasi=quasi, sensitive={"classification": "all"})
    return EventTable(frame, schema)


def made_days(persons: int) -> EventTable:
    """Make days of diagnoses, some of them in an outbreak."""
    quasi = {
        "sex": Hierarchy.flat(),
        "age": Hierarchy.intervals([10, 30], origin=0),
        "district": Hierarchy.flat(),
    }
    schema = Schema(person="patient", time="date", quasi=quasi, sensitive={"diagnosis": "all"})
    return EventTable(days.make(persons=persons), schema)


def sources_of(data: Path | None, *, quick: bool) -> list[Source]:
    """List the streams: real ones where they are given."""
    if data is None:
        persons = 4_000 if quick else 20_000
        about = "records of the generator, ten diagnoses, some days in an outbreak"
        return [Source("days", about, cache(partial(made_days, persons)))]
    return [
        Source(
            "houston",
            "crimes in Houston, by offence",
            cache(partial(houston, data)),
        ),
        Source(
            "hong kong",
            "cases of COVID-19 in Hong Kong, by classification; a missing one is a value, too",
            cache(partial(hong_kong, data)),
        ),
    ]


def plan(data: Path | None, *, quick: bool) -> Plan:
    """Plan the grid: eligibility of raw snapshots, moves by window and l, and window queries by method."""
    sources = sources_of(data, quick=quick)
    levels = (2, 3, 5) if quick else (2, 3, 4, 5, 6, 7)
    windows = (1, 2, 4, 8) if quick else WINDOWS
    cells = []
    for source in sources:
        for level in levels:
            given: dict[str, Value] = {"data": source.name, "l": level}
            raw = partial(eligibility, source, level)
            cells.append(Cell(table="eligibility", parameters=given, run=raw, weight=0.2))
            cells += [
                Cell(
                    table="moves",
                    parameters={**given, "cost": cost, "window": str(window)},
                    run=partial(moves, source, level, cost, window),
                    weight=3.0 if window == WHOLE else 1.0,
                )
                for cost in (("quadratic",) if quick else ("quadratic", "linear"))
                for window in (*windows, WHOLE)
            ]
            cells.append(
                Cell(table="distances", parameters=given, run=partial(distances, source, level), weight=1.0)
            )
            cells += [
                Cell(
                    table="queries",
                    parameters={**given, "method": name},
                    run=partial(queries, source, make(level)),
                    weight=5.0,
                )
                for name, make in METHODS.items()
            ]
    return Plan(
        sources=[_told(source) for source in sources],
        fingerprint=" ".join(table_digest(source.load()) for source in sources),
        cells=cells,
        drawings=DRAWINGS,
        claims=claims,
        notes=NOTES,
    )


def _told(source: Source) -> str:
    table = source.load()
    values = table.sequences.codebooks[table.schema.sensitive_columns[0]].labels
    line = timeline(table, "day")
    return (
        f"{source.name}: {table.n_events:,} {source.about}; {len(values)} values, {line.n_snapshots} days "
        f"from {line.labels[0]} to {line.labels[-1]}."
    )


METHODS: Mapping[str, Callable[[int], SnapshotMethod]] = {
    "reposition": lambda level: Reposition(l=level, then="none"),
    "reposition, anatomy": lambda level: Reposition(l=level),
    "reposition, generalize": lambda level: Reposition(l=level, then="generalize"),
    "suppress-only": lambda level: SuppressOnly(l=level, then="none"),
    "merge-snapshots": lambda level: MergeSnapshots(l=level, then="none"),
}
"""What window queries are asked of; windows of 7."""


def eligibility(source: Source, level: int) -> Rows:
    """Count snapshots that cannot be published as they are, among those with records."""
    held = 0
    snapshots = [values for values, _ in _snapshots(source) if values.size]
    for values in snapshots:
        held += int(np.bincount(values).max()) * level > values.size
    return [{"snapshots": len(snapshots), "ineligible": held / len(snapshots)}]


def moves(source: Source, level: int, cost: str, window: int | str) -> Rows:
    """Count what is moved and suppressed, and what both cost."""
    snapshots = _snapshots(source)
    size = len(snapshots) if isinstance(window, str) else window
    method = Reposition(l=level, window=size, cost=cost, suppression_cost=_FAR, then="none")  # type: ignore[arg-type]
    found, engine = _fed(method, snapshots)
    n_records = sum(values.size for values, _ in snapshots)
    mu = np.array(method.costs.mu)
    lost = n_records - len(found)
    unavoidable = _unavoidable(snapshots, level)
    return [
        {
            "snapshots_in_window": size,
            "suppressed": lost / n_records,
            "unavoidable": unavoidable,
            "avoidable": max(lost / n_records - unavoidable, 0.0),
            "moved": float((found > 0).sum()) / n_records,
            "mean_distance": float(found.mean()) if found.size else 0.0,
            "loss_per_record": float(mu[found].sum() + _FAR * lost) / n_records,
            "steps_of_bound": engine.n_steps / max(engine.n_relays * (size + engine.n_values), 1),
        }
    ]


def _unavoidable(snapshots: Sequence[tuple[Codes, Counts]], level: int) -> float:
    """Give the share that nobody can publish: eligible snapshots make an eligible whole."""
    counts = np.bincount(np.concatenate([values for values, _ in snapshots]))
    top = kernels.reposition.largest_level(counts, level, 1)
    return 1 - float(np.minimum(counts, top).sum()) / float(counts.sum())


def distances(source: Source, level: int) -> Rows:
    """Count records by how far they are moved within a window of 7."""
    found, _ = _fed(Reposition(l=level, then="none"), _snapshots(source))
    moved = np.bincount(found[found > 0], minlength=2)
    n_moved = int(moved.sum())
    return [
        {"distance": distance, "share_of_moved": count / n_moved}
        for distance, count in enumerate(moved.tolist())
        if distance and n_moved
    ]


def queries(source: Source, method: SnapshotMethod) -> Rows:
    """Ask window queries of a release, by the number of snapshots they span."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        try:
            release = method.apply(source.load(), seed=SEED)
        except UnattainableError:
            return []
    (plot,) = (plot for plot in release.plots if plot.title.startswith(_QUERIES))
    lost = release.n_lost_events / release.n_input_events
    return [
        {"length": int(length), "error": error / 100, "lost": lost}
        for length, error in zip(plot.labels, plot.series["error"], strict=True)
    ]


def _snapshots(source: Source) -> list[tuple[Codes, Counts]]:
    table = source.load()
    line = timeline(table, "day")
    values = table.sequences.columns[table.schema.sensitive_columns[0]]
    persons: Counts = np.repeat(np.arange(table.n_persons, dtype=np.int64), np.diff(table.person_offsets))
    events = [line.events[start:stop] for start, stop in zip(line.offsets, line.offsets[1:], strict=False)]
    return [(values[each], persons[each]) for each in events]


def _fed(method: Reposition, snapshots: Sequence[tuple[Codes, Counts]]) -> tuple[Counts, Window]:
    """Let snapshots go through the engine: the distances of what is published, and the engine."""
    engine = method.stream(seed=SEED)
    out = [each for values, persons in snapshots for each in engine.feed(Snapshot(values, persons))]
    out += engine.flush()
    found = np.concatenate([each.number - each.homes for each in out])
    return found, engine
