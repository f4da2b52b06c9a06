"""Pensa, Monreale, Pinelli, Pedreschi (2008): Table 1, Figure 4, and the algorithm as printed beside ours.

The week of cars in Milan is not public. In its place stand check-ins in New York, GPS logs from Beijing and,
without any data, trips of the generator; clicks and shared bikes show what the algorithm as printed leaves
open on longer sequences.
"""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester.data.places import DensityRegions, Gap, Place
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import public, trips
from sequester.engine import LocalEngine
from sequester.errors import ParameterError
from sequester.methods.p2ka.algorithm import Reconstructor
from sequester.methods.p2ka.publish import reconstructed
from sequester.mining.support import supports_of_codes
from sequester.reproduce import DataSet, ExperimentPlan, grid
from sequester.utility.patterns import pattern_similarity
from sequester.workflow.job import table_digest

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.data.sequences import Sequences
    from sequester.reproduce import Design, Rows, Tables, Value

STRICT, AS_PRINTED, PRUNED = "strict", "as printed", "prefix pruning"
"""Supporters counted in the release, too; only in the original, as in the paper; no re-reconstruction."""
KS = (10, 20, 50, 100, 200, 500, 1000)
KS_USERS = (2, 5, 10, 20, 50)
"""Persons that a sequence is hidden among; fewer where there are few users."""
LONG_VISITS = "visitors of a news site with nine pages or more"
METHODS = {STRICT: (True, True), AS_PRINTED: (False, True), PRUNED: (True, False)}
"""Method to whether supporters are counted in the release, and whether cut sequences are re-attached."""
_MOST_PATTERNS, _MOST_PATTERNS_QUICK = 200_000, 50_000


def made_trips(persons: int, threshold: float | None) -> EventTable:
    """Return synthetic trips, as regions."""
    place = Place("lat", "lon", DensityRegions(150, threshold or 1.0))
    return EventTable(_points(persons), Schema(person="user", time="at", trip="trip", place=place))


@lru_cache(maxsize=1)
def _points(persons: int) -> pl.DataFrame:
    return trips.make(persons=persons, every=20)


def foursquare(data: Path, weeks: bool, threshold: float | None) -> EventTable:
    """Return check-ins, as regions: weeks of users, or `weeks` that are each taken for a person."""
    hours = pl.col("day").cast(pl.Int64) * 24 + pl.col("hour").cast(pl.Int64)
    frame = _read("foursquare-nyc", data).select("label", "tid", "lat", "lon", hours.alias("hours"))
    place = Place("lat", "lon", DensityRegions(300, threshold or 1.0))
    if weeks:
        return EventTable(frame, Schema("tid", "hours", drop=["label"], invalid="drop", place=place))
    return EventTable(frame, Schema("label", "hours", trip="tid", invalid="drop", place=place))


def geolife(data: Path, threshold: float | None) -> EventTable:
    """Return GPS logs, as regions: half an hour without a point separates two trips."""
    frame = _read("geolife11", data).drop("trajectory", "alt_ft")
    place = Place("lat", "lon", DensityRegions(150, threshold or 1.0), max_speed=70)
    schema = Schema(person="user", time=["date", "time"], trip=Gap("30min"), invalid="drop", place=place)
    return EventTable(frame, schema)


def symbols(data: Path, name: str, threshold: float | None) -> EventTable:
    """Read sequences of symbols."""
    del threshold
    return EventTable(_read(name, data), Schema(person="person", order="order", symbol="symbol"))


@lru_cache(maxsize=2)
def _read(name: str, data: Path) -> pl.DataFrame:
    return public.load(name, data)


def data_sets(data: Path | None, *, design: Design) -> list[DataSet]:
    """List the data: public sets where they are given."""
    densities = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1)
    sparse = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05)
    beijing = (0.01, 0.02, 0.03, 0.05, 0.1, 0.15)
    rows: list[tuple[str, str, partial[EventTable], tuple[float | None, ...], tuple[int, ...]]]
    if data is None:
        about = "trips of the generator, between home, work and shops, with a point every 20 seconds"
        rows = [("trips", about, partial(made_trips, 10_000 if design == "quick" else 20_000), densities, KS)]
    else:
        checkins, read = partial(foursquare, data), partial(symbols, data)
        about = "weeks of check-ins in New York"
        rows = [
            ("foursquare weeks", f"{about}, each taken for a person", partial(checkins, True), sparse, KS),
            (
                "foursquare users",
                f"{about}, several of each user",
                partial(checkins, False),
                sparse,
                KS_USERS,
            ),
            ("geolife", "trips of eleven users in Beijing", partial(geolife, data), beijing, (2, 3, 4, 5)),
            ("msnbc, long", LONG_VISITS, partial(read, "spmf-msnbc"), (None,), (20, 50, 100)),
            ("bike", "tours of shared bikes", partial(read, "spmf-bike"), (None,), (10, 20, 50, 100)),
            ("msnbc", "all visitors of a news site on one day", partial(read, "msnbc"), (None,), (50, 1000)),
        ][: 5 if design == "quick" else None]
    return [
        # The cells of a table follow each other, so the last table is enough.
        DataSet(
            name=name, about=about, load=lru_cache(maxsize=1)(load), axes={"threshold": thresholds, "k": ks}
        )
        for name, about, load, thresholds, ks in rows
    ]


def plan(data: Path | None, *, design: Design) -> ExperimentPlan:
    """Plan the grid: densities of every data set, then k and method for each."""
    most = _MOST_PATTERNS_QUICK if design == "quick" else _MOST_PATTERNS
    sets = data_sets(data, design=design)
    cells = []
    for dataset in sets:
        for threshold in dataset.axes["threshold"]:
            given: dict[str, Value] = {"data": dataset.name, "threshold": threshold}
            if threshold is not None:
                cells += grid("table-1", partial(shape, dataset, threshold), given)
            run = partial(similarities, dataset, threshold)
            cells += grid(
                "similarities", run, given, k=dataset.axes["k"], method=METHODS, most_patterns=[most]
            )
    return ExperimentPlan(
        sources=[f"{dataset.name}: {dataset.about}." for dataset in sets],
        fingerprint=" ".join(table_digest(dataset.load(dataset.axes["threshold"][-1])) for dataset in sets),
        cells=cells,
    )


def shape(dataset: DataSet, threshold: float) -> Rows:
    """Return a row of Table 1."""
    table = dataset.load(threshold)
    return [
        {
            "regions": len(table.sequences.codebooks[table.sequences.symbol].labels),
            "trajectories": table.n_persons,
            "persons": table.n_owners,
            "average_length": table.n_events / table.n_persons,
        }
    ]


def similarities(dataset: DataSet, threshold: float | None, k: int, method: str, most_patterns: int) -> Rows:
    """Return SIM1 and SIM2 of a release, the share that was cut, and what is short of supporters."""
    table = dataset.load(threshold)
    strict, reattach = METHODS[method]
    if k > table.n_owners:
        return []
    reconstructor = Reconstructor(
        distinct=table.sequences.distinct(), strict=strict, reattach=reattach, engine=LocalEngine()
    )
    reconstruction = reconstructor.run(k)
    if reconstruction.releases_nothing:
        return []
    released = reconstructed(table.sequences, reconstructor.distinct, reconstruction)
    n_short, n_records = count_short(released, k)
    shared: dict[str, Value] = {
        "cut": reconstruction.cut_share,
        "short_sequences": n_short,
        "short_records": n_records,
    }
    try:
        scores = pattern_similarity(released, original=table, min_support=k, max_patterns=most_patterns)
    except ParameterError:  # too many patterns
        return [{"measure": "SIM1", "value": None, **shared}, {"measure": "SIM2", "value": None, **shared}]
    return [{"measure": name.upper(), "value": scores[name].value, **shared} for name in ("sim1", "sim2")]


def count_short(released: Sequences, k: int) -> tuple[int, int]:
    """Count the distinct released sequences that fewer than `k` released persons contain, and their records.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> count_short(Sequences.from_rows(["AB", "CXYZ", "CXYZ", "CXYZ"]), 2)  # the counterexample to Theorem 1
    (1, 1)
    """
    rows = released.distinct()
    book = released.codebooks[released.symbol]
    supports = supports_of_codes(rows.items, rows.offsets, book, rows, book)
    is_short = (supports < k) & (rows.lengths > 0)
    return int(is_short.sum()), int(rows.weights[is_short].sum())


# Checks of claims

_HIGH = 0.75
_CLOSE = 0.05
_LONG = 5.0


def parts(tables: Tables) -> dict[str, Tables]:
    """Return the tables of each data set with regions, by themselves; only strict releases."""
    strict = tables["similarities"].filter(pl.col("threshold").is_not_null(), method=STRICT)
    strict = strict.drop_nulls("value")
    return {
        data: {"table-1": tables["table-1"].filter(data=data), "similarities": strict.filter(data=data)}
        for data in tables["table-1"]["data"].unique(maintain_order=True).to_list()
    }


def _regions(tables: Tables) -> tuple[str, bool, bool]:
    regions = tables["table-1"]["regions"].to_list()
    agrees = regions[-1] < regions[0]
    return _listed(regions), agrees, not agrees or regions != sorted(regions, reverse=True)


def _trajectories(tables: Tables) -> tuple[str, bool]:
    kept = tables["table-1"]["trajectories"].to_list()
    return _listed(kept), all(late <= early for early, late in pairwise(kept))


def _lengths(tables: Tables) -> tuple[str, bool]:
    lengths = tables["table-1"]["average_length"].to_list()
    return f"{min(lengths):.1f} to {max(lengths):.1f}", min(lengths) >= _LONG


def _means(tables: Tables, measure: str) -> list[float]:
    """Return the mean over k at each density."""
    only = tables["similarities"].filter(measure=measure)
    return only.group_by("threshold", maintain_order=True).agg(pl.col("value").mean())["value"].to_list()


def _mostly_high(tables: Tables) -> tuple[str, bool]:
    means = _means(tables, "SIM1")
    high = sum(mean >= _HIGH for mean in means)
    measured = f"mean over k at least {_HIGH} at {high} of {len(means)} densities ({_two(means)})"
    return measured, high >= len(means) - 1


def _rises(tables: Tables) -> tuple[str, bool, bool]:
    by_k = tables["similarities"].filter(measure="SIM1").sort("threshold", "k")
    groups = [mine["value"].to_list() for _, mine in by_k.group_by("threshold", maintain_order=True)]
    up = sum(values[-1] >= values[0] for values in groups)
    measured = (
        f"not lower at the largest k than at the smallest at {up} of {len(groups)} densities "
        f"({', '.join(f'{values[0]:.2f} to {values[-1]:.2f}' for values in groups)})"
    )
    return measured, 2 * up > len(groups), up < len(groups)


def _lower_where_sparse(tables: Tables) -> tuple[str, bool]:
    means = _means(tables, "SIM2")
    sparse, dense = means[:2], means[2:]
    return f"mean over k {_two(means)}", bool(dense) and sum(sparse) / len(sparse) < sum(dense) / len(dense)


def _optimum(tables: Tables) -> tuple[str, bool]:
    sim2 = tables["similarities"].filter(measure="SIM2").sort("threshold", "k")
    places = []
    for (threshold,), mine in sim2.group_by("threshold", maintain_order=True):
        values, ks = mine["value"].to_list(), mine["k"].to_list()
        places += [
            f"k = {ks[i]} at {threshold}"
            for i in range(1, len(values) - 1)
            if values[i] > max(values[i - 1], values[i + 1])
        ]
    return ", ".join(places) or "none", bool(places)


def _cost_of_strictness(tables: Tables) -> tuple[str, bool]:
    sim2 = tables["similarities"].filter(measure="SIM2")
    index = ["data", "threshold", "k"]
    both = sim2.pivot(on="method", index=index, values="value", maintain_order=True)
    both = both.drop_nulls([STRICT, AS_PRINTED])
    less = (both[AS_PRINTED] - both[STRICT]).to_list()
    mean = sum(less) / max(len(less), 1)
    return f"{mean:.3f} less on average over {len(less)} cases, {max(less):.3f} at most", mean <= _CLOSE


def _promise(tables: Tables) -> tuple[str, bool]:
    short = {
        method: tables["similarities"].filter(measure="SIM1", method=method)["short_records"].to_list()
        for method in (AS_PRINTED, STRICT)
    }
    printed = short[AS_PRINTED]
    measured = (
        f"as printed, {sum(printed):,} released records in {sum(n > 0 for n in printed)} of {len(printed)} "
        f"cases have fewer than k supporters in the release; strict, {sum(short[STRICT]):,}"
    )
    return measured, sum(printed) == 0


def _short(tables: Tables, data: str, k: int, counted: list[int]) -> tuple[str, bool, bool] | None:
    """Compare sequences and records that are short of supporters with the count of a separate program."""
    if (row := _as_printed(tables, data, k)) is None:
        return None
    ours = [row["short_sequences"], row["short_records"]]
    near = all(0.8 * one <= own <= 1.25 * one for one, own in zip(counted, ours, strict=True))
    return f"{ours[0]:,} ({ours[1]:,} records)", near, ours != counted


def _cut(tables: Tables, data: str, k: int, counted: float) -> tuple[str, bool] | None:
    """Compare the share of sequences that are cut with the count of a separate program."""
    row = _as_printed(tables, data, k)
    return None if row is None else (f"{row['cut']:.1%}", round(row["cut"], 3) == counted)


def _as_printed(tables: Tables, data: str, k: int) -> dict[str, Any] | None:
    rows = tables["similarities"].filter(measure="SIM1", method=AS_PRINTED, data=data, k=k)
    return next(iter(rows.head(1).rows(named=True)), None)


def _listed(numbers: list[int]) -> str:
    return ", ".join(f"{each:,}" for each in numbers)


def _two(shares: list[float]) -> str:
    return ", ".join(f"{each:.2f}" for each in shares)
