"""Wang, Xu, Wong, Fu (2010): the experiments that the paper leaves out, as its algorithm leads one to expect.

Real data are crimes in Houston, by offence, and cases of COVID-19 in Hong Kong, by classification; without
them, days of the generator.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import days, public
from sequester.errors import UnattainableError, ignore_warning
from sequester.hierarchies import Hierarchy
from sequester.methods.reposition._kernels import largest_level
from sequester.methods.reposition.algorithm import timeline
from sequester.methods.reposition.integer_program import Moves, list_moves, solve
from sequester.methods.reposition.method import MergeSnapshots, Reposition, SuppressOnly
from sequester.reproduce import DataSet, ExperimentPlan, all_or_some, grid
from sequester.workflow.job import table_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sequester._typing import Codes, Counts
    from sequester.methods.reposition.method import SnapshotMethod
    from sequester.methods.reposition.window import Window
    from sequester.reproduce import Agreement, Design, Rows, Tables

SEED = "experiments of Wang et al."
"""Seed of everything random."""
WHOLE = "all"
"""The window that holds the whole stream."""
_FAR = 50.0
"""The cost of suppression in all windows: more than the farthest move within the longest, 7 squared."""
_NODES = 200
"""Nodes of the search tree after which the bound is taken."""
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


def data_sets(data: Path | None, *, design: Design) -> list[DataSet]:
    """List the streams: real ones where they are given."""
    if data is None:
        about = "records of the generator, ten diagnoses, some days in an outbreak"
        loads = {"days": (about, partial(made_days, 4_000 if design == "quick" else 20_000))}
    else:
        cases = "cases of COVID-19 in Hong Kong, by classification; a missing one is a value, too"
        loads = {
            "houston": ("crimes in Houston, by offence", partial(houston, data)),
            "hong kong": (cases, partial(hong_kong, data)),
        }
    return [DataSet(name=name, about=about, load=cache(load)) for name, (about, load) in loads.items()]


def plan(data: Path | None, *, design: Design) -> ExperimentPlan:
    """Plan the grid: eligibility of raw snapshots, moves by window and l, and window queries by method."""
    sets = data_sets(data, design=design)
    quick = design == "quick"
    l = (2, 3, 5) if quick else (2, 3, 4, 5, 6, 7)  # noqa: E741  (the paper's letter)
    windows = [*("1248" if quick else "12345678"), WHOLE]
    costs = ("quadratic",) if quick else ("quadratic", "linear")
    cells = []
    for dataset in sets:
        given = {"data": dataset.name}
        cells += grid("eligibility", partial(eligibility, dataset), given, weight=0.2, l=l)
        cells += grid("moves", partial(moves, dataset), given, l=l, cost=costs, window=windows)
        # Of few records and many values the search for the optimum takes minutes.
        cells += grid("optima", partial(optimum, dataset), given, l=l[:2] if data is None else l)
        cells += grid("distances", partial(distances, dataset), given, l=l)
        cells += grid("queries", partial(queries, dataset), given, weight=5.0, l=l, method=METHODS)
    return ExperimentPlan(
        sources=[_describe(dataset) for dataset in sets],
        fingerprint=" ".join(table_digest(dataset.load()) for dataset in sets),
        cells=cells,
    )


def _describe(dataset: DataSet) -> str:
    table = dataset.load()
    values = table.sequences.codebooks[table.schema.sensitive_columns[0]].labels
    line = timeline(table, "day")
    return (
        f"{dataset.name}: {table.n_events:,} {dataset.about}; {len(values)} values, {line.n_snapshots} days "
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


def eligibility(dataset: DataSet, l: int) -> Rows:  # noqa: E741  (the paper's letter)
    """Count the snapshots with records that cannot be published as they are."""
    snapshots = [values for values, _ in _snapshots(dataset) if values.size]
    held = sum(int(np.bincount(values).max()) * l > values.size for values in snapshots)
    return [{"snapshots": len(snapshots), "ineligible": held / len(snapshots)}]


def moves(dataset: DataSet, l: int, cost: str, window: str) -> Rows:  # noqa: E741
    """Count records that are moved and suppressed, and the cost of both."""
    snapshots = _snapshots(dataset)
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


def optimum(dataset: DataSet, l: int) -> Rows:  # noqa: E741
    """Return the least loss of the whole stream at quadratic cost, by an integer program over counts.

    What is looked for is how many records of each home, distance and value are published; slots are eligible.
    Where the search ends before that is proven, the least loss is a bound that no arrangement is below.
    """
    homes = [values for values, _ in _snapshots(dataset)]
    n_values = 1 + max(int(values.max(initial=0)) for values in homes)
    present = np.array([np.bincount(values, minlength=n_values) for values in homes])
    # Farther moves cost more than suppression.
    mu = np.square(np.arange(1.0 + int(_FAR**0.5)))
    moves = list_moves(len(homes), n_values, len(mu))
    moves = Moves(*(each[present[moves.homes, moves.values] > 0] for each in moves))
    cost = mu[moves.slots - moves.homes] - _FAR
    found = solve(present, moves, cost, level=Fraction(l), mip_rel_gap=1e-5, node_limit=_NODES)
    return [
        {
            "least_loss": _FAR + float(found.mip_dual_bound) / float(present.sum()),
            "proven": bool(found.success),
        }
    ]


def _unavoidable(snapshots: Sequence[tuple[Codes, Counts]], level: int) -> float:
    """Return the share that no method can publish: eligible snapshots make an eligible whole."""
    counts = np.bincount(np.concatenate([values for values, _ in snapshots]))
    top = largest_level(counts, level, 1)
    return 1 - float(np.minimum(counts, top).sum()) / float(counts.sum())


def distances(dataset: DataSet, l: int) -> Rows:  # noqa: E741
    """Count records by how far they are moved within a window of 7."""
    found, _ = _stream(Reposition(l=l, then="none"), _snapshots(dataset))
    moved = np.bincount(found[found > 0], minlength=2)
    n_moved = int(moved.sum())
    return [
        {"distance": distance, "share_of_moved": count / n_moved}
        for distance, count in enumerate(moved.tolist())
        if distance and n_moved
    ]


def queries(dataset: DataSet, l: int, method: str) -> Rows:  # noqa: E741
    """Return errors of window queries on a release, by the number of snapshots they span."""
    try:
        release = METHODS[method](l).apply(dataset.load(), seed=SEED, warn=ignore_warning)
    except UnattainableError:
        return []
    (plot,) = (plot for plot in release.method_plots if plot.title.startswith(_QUERIES))
    lost = release.n_lost_events / release.n_input_events
    return [
        {"length": int(length), "error": error / 100, "lost": lost}
        for length, error in zip(plot.labels, plot.series["error"], strict=True)
    ]


def _snapshots(dataset: DataSet) -> list[tuple[Codes, Counts]]:
    table = dataset.load()
    line = timeline(table, "day")
    values = table.sequences.columns[table.schema.sensitive_columns[0]]
    persons: Counts = np.repeat(np.arange(table.n_persons, dtype=np.int64), np.diff(table.person_offsets))
    events = [line.events[start:stop] for start, stop in zip(line.offsets, line.offsets[1:], strict=False)]
    return [(values[each], persons[each]) for each in events]


def _stream(method: Reposition, snapshots: Sequence[tuple[Codes, Counts]]) -> tuple[Counts, Window]:
    """Return how far the published records of a stream were moved, and the engine."""
    engine = method.stream(seed=SEED)
    out = [each for values, persons in snapshots for each in engine.feed(values, persons)]
    out += engine.flush()
    found = np.concatenate([each.number - each.homes for each in out])
    return found, engine


# Checks of claims

_MOST_LOST = 0.5
"""Where no method can publish more than this share of records, it does not matter which one is used."""
_SOME_L = "over data and every l at which half of the records can be published at all"
_NEARLY = 0.05
"""An error up to this is next to none."""


def _ineligible(tables: Tables) -> tuple[str, bool]:
    most = tables["eligibility"].filter(pl.col("l") == pl.col("l").max())
    each = ", ".join(f"{share:.0%} ({data})" for data, share in most.select("data", "ineligible").iter_rows())
    return f"at l = {most['l'][0]}: {each} of the snapshots", bool((most["ineligible"] > 0.5).all())


def _near(tables: Tables) -> tuple[str, bool]:
    near = tables["distances"].filter(pl.col("distance") <= 2)
    shares = near.group_by("data", "l", maintain_order=True).agg(pl.col("share_of_moved").sum())
    share = shares["share_of_moved"]
    measured = f"{_range(share)} of them, over data and every l at which some are moved"
    return measured, bool((share > 0.5).all())


def _flat(tables: Tables) -> tuple[str, bool]:
    wide = _by_window(_usable(tables)).filter(pl.col("1") - pl.col("8") > 0.001)
    share = (wide["1"] - wide["4"]) / (wide["1"] - wide["8"])
    measured = f"a window of 4 saves {_range(share)} of what one of 8 saves, {_SOME_L}"
    return measured, bool((share > 2 / 3).all())


def _saves(tables: Tables) -> tuple[str, bool | Agreement, str]:
    usable = _usable(tables)
    wide = _by_window(usable).filter(pl.col("1") - pl.col("unavoidable") > 0.001)
    saved = (wide["1"] - wide["8"]) / (wide["1"] - wide["unavoidable"])
    must = usable.unique(["data", "l"], maintain_order=True)["unavoidable"]
    measured = (
        f"of the suppression that can be avoided, a window of 8 avoids {_range(saved)}, {_SOME_L}; "
        f"{_range(must)} of the records can be published by no method, because eligible snapshots make "
        "an eligible whole"
    )
    losses = _losses(tables).join(wide.select("data", "l"), on=["data", "l"], maintain_order="right")
    possible = (losses["1"] - losses["8"]) / (losses["1"] - losses["least_loss"])
    return measured, all_or_some((saved > 0.5).to_list()), _range(possible)


def _short_windows(tables: Tables, beside: str) -> tuple[str, bool]:
    wide = _losses(tables)
    more = wide["8"] / wide[beside] - 1
    measured = f"{_range(more)} more loss in a window of 8"
    if beside != WHOLE:
        proven = int(wide["proven"].sum())
        measured += f"; the least loss is proven for {proven} of {wide.height} pairs of data and l"
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
    return measured, exact == worst.height, f"{beyond:.0%}"


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


def _losses(tables: Tables) -> pl.DataFrame:
    """Return the loss per record by window, and the least of the whole stream, for data and l."""
    index = ["data", "l"]
    wide = _quadratic(tables).pivot(on="window", index=index, values="loss_per_record", maintain_order=True)
    return wide.join(tables["optima"], on=index, maintain_order="left_right")


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
