"""Wang, Xu, Wong, Fu (2010): the experiments that the paper leaves out, as its algorithm leads one to expect.

Real data are crimes in Houston, by offence, and cases of COVID-19 in Hong Kong, by classification; without
them, days of the generator.
"""

from __future__ import annotations

import warnings
from functools import cache, partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

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
from sequester.reproduce.plan import Drawing, Plan, Source, Statement, grid, judge
from sequester.workflow.job import table_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sequester._typing import Codes, Counts
    from sequester.methods.reposition.snapshot_method import SnapshotMethod
    from sequester.methods.reposition.window import Window
    from sequester.reproduce.plan import Rows, Tables

SEED = "experiments of Wang et al."
"""Seed of everything random."""
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
WHOLE = "all"
"""The window that holds the whole stream."""
_FAR = 50.0
"""The cost of suppression in all windows: more than the farthest move within the longest, 7 squared."""
_QUERIES = "Mean error of window queries"


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
    """Return synthetic days of diagnoses, some of them in an outbreak."""
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
        return [Source(name="days", about=about, load=cache(partial(made_days, persons)))]
    cases = "cases of COVID-19 in Hong Kong, by classification; a missing one is a value, too"
    return [
        Source(name="houston", about="crimes in Houston, by offence", load=cache(partial(houston, data))),
        Source(name="hong kong", about=cases, load=cache(partial(hong_kong, data))),
    ]


def plan(data: Path | None, *, quick: bool) -> Plan:
    """Plan the grid: eligibility of raw snapshots, moves by window and l, and window queries by method."""
    sources = sources_of(data, quick=quick)
    levels = (2, 3, 5) if quick else (2, 3, 4, 5, 6, 7)
    windows = [*("1248" if quick else "12345678"), WHOLE]
    costs = ("quadratic",) if quick else ("quadratic", "linear")
    cells = []
    for source in sources:
        given = {"data": source.name}
        cells += grid("eligibility", partial(eligibility, source), given, weight=0.2, l=levels)
        cells += grid("moves", partial(moves, source), given, l=levels, cost=costs, window=windows)
        cells += grid("distances", partial(distances, source), given, l=levels)
        cells += grid("queries", partial(queries, source), given, weight=5.0, l=levels, method=METHODS)
    return Plan(
        sources=[_describe(source) for source in sources],
        fingerprint=" ".join(table_digest(source.load()) for source in sources),
        cells=cells,
        drawings=DRAWINGS,
        claims=partial(judge, STATEMENTS),
        notes=NOTES,
    )


def _describe(source: Source) -> str:
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
"""Methods whose releases answer window queries; windows of 7."""


def eligibility(source: Source, l: int) -> Rows:  # noqa: E741  (the paper's letter)
    """Count the snapshots with records that cannot be published as they are."""
    snapshots = [values for values, _ in _snapshots(source) if values.size]
    held = sum(int(np.bincount(values).max()) * l > values.size for values in snapshots)
    return [{"snapshots": len(snapshots), "ineligible": held / len(snapshots)}]


def moves(source: Source, l: int, cost: str, window: str) -> Rows:  # noqa: E741
    """Count records that are moved and suppressed, and the cost of both."""
    snapshots = _snapshots(source)
    size = len(snapshots) if window == WHOLE else int(window)
    method = Reposition(l=l, window=size, cost=cost, suppression_cost=_FAR, then="none")  # type: ignore[arg-type]
    found, engine = _stream(method, snapshots)
    n_records = sum(values.size for values, _ in snapshots)
    mu = np.array(method.costs.mu)
    lost = n_records - len(found)
    unavoidable = _unavoidable(snapshots, l)
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
    """Return the share that no method can publish: eligible snapshots make an eligible whole."""
    counts = np.bincount(np.concatenate([values for values, _ in snapshots]))
    top = kernels.reposition.largest_level(counts, level, 1)
    return 1 - float(np.minimum(counts, top).sum()) / float(counts.sum())


def distances(source: Source, l: int) -> Rows:  # noqa: E741
    """Count records by how far they are moved within a window of 7."""
    found, _ = _stream(Reposition(l=l, then="none"), _snapshots(source))
    moved = np.bincount(found[found > 0], minlength=2)
    n_moved = int(moved.sum())
    return [
        {"distance": distance, "share_of_moved": count / n_moved}
        for distance, count in enumerate(moved.tolist())
        if distance and n_moved
    ]


def queries(source: Source, l: int, method: str) -> Rows:  # noqa: E741
    """Return errors of window queries on a release, by the number of snapshots they span."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        try:
            release = METHODS[method](l).apply(source.load(), seed=SEED)
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


def _stream(method: Reposition, snapshots: Sequence[tuple[Codes, Counts]]) -> tuple[Counts, Window]:
    """Return how far the published records of a stream were moved, and the engine."""
    engine = method.stream(seed=SEED)
    out = [each for values, persons in snapshots for each in engine.feed(Snapshot(values, persons))]
    out += engine.flush()
    found = np.concatenate([each.number - each.homes for each in out])
    return found, engine


# Figures and claims

_MOST_LOST = 0.5
"""Where no method can publish more than this share of records, it does not matter which one is used."""
_SOME_L = "over data and every l at which half of the records can be published at all"
_NEARLY = 0.05
"""An error up to this is next to none."""

_BY_WINDOW: dict[str, Any] = {
    "table": "moves",
    "x": "window",
    "x_title": "snapshots in the window; all of the stream",
    "series": "l",
    "panel": "data",
    "where": {"cost": "quadratic"},
}
_BY_LENGTH: dict[str, Any] = {
    "table": "queries",
    "x": "length",
    "y": "error",
    "x_title": "snapshots that a query spans",
    "y_title": "mean relative error",
    "series": "method",
    "panel": "data",
}
DRAWINGS = (
    Drawing(
        name="eligibility",
        title="Snapshots that cannot be published as they are",
        table="eligibility",
        x="l",
        y="ineligible",
        x_title="l",
        y_title="share of snapshots",
        series="data",
    ),
    *(
        Drawing(
            name=f"{y.partition('_')[0]}-by-window",
            title=title,
            y=y,
            y_title="loss per record" if y == "loss_per_record" else "share of records",
            own_y=y == "avoidable",
            **_BY_WINDOW,
        )
        for y, title in (
            ("suppressed", "Records that are never published, by window and l"),
            ("avoidable", "Records that are never published, beyond those that no method can publish"),
            ("moved", "Records that are published later than they came, by window and l"),
            ("loss_per_record", "Information loss, by window and l"),
        )
    ),
    Drawing(
        name="distances",
        title="How far records are moved that are moved, window 7",
        table="distances",
        x="distance",
        y="share_of_moved",
        x_title="snapshots later",
        y_title="share of moved records",
        series="l",
        panel="data",
    ),
    *(
        Drawing(
            name=f"queries-l{level}",
            title=f"Error of window queries, l = {level}",
            where={"l": level},
            **_BY_LENGTH,
        )
        for level in (2, 3, 5)
    ),
)


def _ineligible(tables: Tables) -> tuple[str, bool]:
    most = tables["eligibility"].filter(pl.col("l") == pl.col("l").max())
    each = ", ".join(f"{share:.0%} ({data})" for data, share in most.select("data", "ineligible").iter_rows())
    return f"at l = {most['l'][0]}: {each} of the snapshots", bool((most["ineligible"] > 0.5).all())


def _near(tables: Tables) -> tuple[str, bool]:
    near = tables["distances"].filter(pl.col("distance") <= 2)
    shares = near.group_by("data", "l", maintain_order=True).agg(pl.col("share_of_moved").sum())
    share = shares["share_of_moved"]
    return f"{_range(share)} of them, over data and every l at which some are moved", bool(
        (share > 0.5).all()
    )


def _flat(tables: Tables) -> tuple[str, bool]:
    wide = _by_window(_usable(tables)).filter(pl.col("1") - pl.col("8") > 0.001)
    share = (wide["1"] - wide["4"]) / (wide["1"] - wide["8"])
    return f"a window of 4 saves {_range(share)} of what one of 8 saves, {_SOME_L}", bool(
        (share > 2 / 3).all()
    )


def _saves(tables: Tables) -> tuple[str, bool]:
    usable = _usable(tables)
    wide = _by_window(usable).filter(pl.col("1") - pl.col("unavoidable") > 0.001)
    saved = (wide["1"] - wide["8"]) / (wide["1"] - wide["unavoidable"])
    must = usable.unique(["data", "l"], maintain_order=True)["unavoidable"]
    measured = (
        f"of the suppression that can be avoided, a window of 8 avoids {_range(saved)}, {_SOME_L}; "
        f"{_range(must)} of the records can be published by no method, because eligible snapshots make "
        "an eligible whole"
    )
    return measured, bool((saved > 0.5).all())


def _short_windows(tables: Tables) -> tuple[str, bool]:
    index = ["data", "l"]
    wide = _quadratic(tables).pivot(on="window", index=index, values="loss_per_record", maintain_order=True)
    more = wide["8"] / wide[WHOLE] - 1
    measured = f"{_range(more)} more loss in a window of 8 than in one of everything, over data and l"
    return measured, bool((more <= 0.1).all())


def _queries(tables: Tables) -> tuple[str, bool, str]:
    ours = _usable_queries(tables).filter((pl.col("method") == "reposition") & (pl.col("length") >= 3))
    worst = ours.group_by("data", "l", maintain_order=True).agg(pl.col("error").max(), pl.col("lost").first())
    exact = worst.filter(pl.col("error") <= _NEARLY).height
    beyond = max((worst["error"] - worst["lost"]).to_list())
    measured = (
        f"errors from {_range(worst['error'])}; at most {_NEARLY:.0%} for {exact} of {worst.height} "
        f"pairs, {_SOME_L}"
    )
    why = (
        "what is not published is missing in windows of any length, and values are too uneven for "
        f"large l: beyond the share of records that are not published the error is at most {beyond:.0%}"
    )
    agrees = exact == worst.height
    return measured, agrees, "" if agrees else why


def _finer(tables: Tables) -> tuple[str, bool]:
    short = _usable_queries(tables).filter(pl.col("length") <= 3)
    both = short.pivot(on="method", index=["data", "l", "length"], values="error", maintain_order=True)
    both = both.drop_nulls(["reposition", "merge-snapshots"])
    ours, merged = both["reposition"], both["merge-snapshots"]
    n_better = int((ours <= merged).sum())
    measured = (
        f"over 1 to 3 snapshots, errors are {fmean(ours.to_list()):.1%} on average, by merging seven "
        f"{fmean(merged.to_list()):.1%}; smaller in {n_better} of {both.height} cases"
    )
    return measured, n_better > 0.9 * both.height


def _steps(tables: Tables) -> tuple[str, bool]:
    most = max(tables["moves"]["steps_of_bound"].to_list())
    return f"at most {most:.0%} of that bound, over all runs", most <= 1


def _quadratic(tables: Tables) -> pl.DataFrame:
    return tables["moves"].filter(pl.col("cost") == "quadratic")


def _usable(tables: Tables) -> pl.DataFrame:
    return _quadratic(tables).filter(pl.col("unavoidable") <= _MOST_LOST)


def _usable_queries(tables: Tables) -> pl.DataFrame:
    pairs = _usable(tables).select("data", "l").unique()
    return tables["queries"].join(pairs, on=["data", "l"], maintain_order="left")


def _by_window(moves: pl.DataFrame) -> pl.DataFrame:
    index = ["data", "l", "unavoidable"]
    return moves.pivot(on="window", index=index, values="suppressed", maintain_order=True)


def _range(shares: pl.Series) -> str:
    # Without the sign of a zero.
    low, high = (round(end(shares.to_list()), 3) + 0.0 for end in (min, max))
    return f"{low:.1%} to {high:.1%}"


STATEMENTS = (
    Statement(
        "Most snapshots are not eligible where l comes near the number of sensitive values.",
        _ineligible,
        "days are large and values even, so that all of them occur often enough",
    ),
    Statement(
        "Most records that are moved are moved by at most two snapshots.",
        _near,
        "few records find a place at all where days are small",
    ),
    Statement(
        "Suppression falls fast with the window, and is flat after about three or four snapshots.",
        _flat,
        "at large l most days are skewed the same way, and each further day has a little room",
    ),
    Statement(
        "Much less is lost than by suppression alone.",
        _saves,
        "where most days are skewed the same way, few snapshots within a window have room; only farther "
        "moves, or publishing less often, would help",
    ),
    Statement(
        "A window of a week loses little against one that holds the whole stream.",
        _short_windows,
        "an unlimited window finds places weeks later",
    ),
    Statement("Window queries over three or more snapshots are nearly exact.", _queries),
    Statement(
        "Times stay finer than by merging snapshots.",
        _finer,
        "at large l both lose so much that nothing is left to be finer about",
    ),
    Statement(
        "Relays take at most sigma (w + values) steps (Theorem 2).",
        _steps,
        "a relay goes through more snapshots than its window has",
    ),
)
"""What the algorithm leads one to expect."""
