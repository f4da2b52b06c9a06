"""Pensa, Monreale, Pinelli, Pedreschi (2008): Table 1, Figure 4, and the algorithm as printed beside ours.

The week of cars in Milan is not public. In its place stand check-ins in New York, GPS logs from Beijing and,
without any data, trips of the generator; clicks and shared bikes show what the algorithm as printed leaves
open on longer sequences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.places import DensityRegions, Gap, Place
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import public, trips
from sequester.engine import LocalEngine
from sequester.errors import ParameterError
from sequester.methods.p2ka.attachment import Attacher
from sequester.methods.p2ka.publish import attached
from sequester.mining.support import supports_of_codes
from sequester.reproduce.plan import Claim, Drawing, Plan, Source, Statement, grid, judge
from sequester.utility.patterns import PatternSimilarity
from sequester.workflow.job import table_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sequester.data.sequences import Sequences
    from sequester.reproduce.plan import Rows, Tables, Value

STRICT, AS_PRINTED, PRUNED = "strict", "as printed", "prefix pruning"
"""Supporters counted in the release, too; only in the original, as in the paper; no re-attachment."""
KS = (10, 20, 50, 100, 200, 500, 1000)
"""Persons that a sequence is hidden among."""
METHODS = {STRICT: (True, True), AS_PRINTED: (False, True), PRUNED: (True, False)}
"""Method to whether supporters are counted in the release, and whether cut sequences are re-attached."""
NOTES = (
    (
        "A pattern is frequent where at least k persons contain it, in the release as in the original, and "
        "patterns of any length are compared, as in the paper. Persons are counted, each once however many "
        "trajectories they have; of weeks that are taken for persons, each is one, as in the paper."
    ),
    (
        "Where more patterns are frequent than can be held, there are no similarities; the paper leaves out "
        "such k of its first two data sets, too."
    ),
    (
        "A released sequence is short of supporters where fewer than k persons of the release contain it: "
        "the hole in Theorem 1, which counts supporters in the original only."
    ),
)
"""What a reader must know."""
_MOST_PATTERNS, _MOST_PATTERNS_QUICK = 200_000, 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSource(Source):
    """Sequences of regions at several densities, or of symbols; `load` takes the density."""

    thresholds: tuple[float | None, ...] = (None,)
    """Densities, as shares of the trajectories; None where the data has symbols."""
    ks: tuple[int, ...] = KS
    """Values of k."""


def made_trips(persons: int, threshold: float | None) -> EventTable:
    """Return synthetic trips, as regions."""
    place = Place("lat", "lon", DensityRegions(150, threshold or 1.0))
    return EventTable(_points(persons), Schema(person="user", time="at", trip="trip", place=place))


@lru_cache(maxsize=1)
def _points(persons: int) -> pl.DataFrame:
    return trips.make(persons=persons, every=20)


def foursquare(data: Path, threshold: float | None, *, weeks: bool) -> EventTable:
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


def symbols(name: str, data: Path, threshold: float | None) -> EventTable:
    """Read sequences of symbols."""
    del threshold
    return EventTable(_read(name, data), Schema(person="person", order="order", symbol="symbol"))


@lru_cache(maxsize=2)
def _read(name: str, data: Path) -> pl.DataFrame:
    return public.load(name, data)


def sources_of(data: Path | None, *, quick: bool) -> list[RegionSource]:
    """List the data: public sets where they are given."""
    densities = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1)
    if data is None:
        made = lru_cache(maxsize=1)(partial(made_trips, 10_000 if quick else 20_000))
        about = "trips of the generator, between home, work and shops, with a point every 20 seconds"
        return [RegionSource(name="trips", about=about, load=made, thresholds=densities)]
    sparse = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05)
    weeks, users = (partial(foursquare, data, weeks=each) for each in (True, False))
    clicks, bikes, everybody = (partial(symbols, name, data) for name in ("spmf-msnbc", "spmf-bike", "msnbc"))
    table: list[tuple[str, str, Callable[..., EventTable], tuple[float | None, ...], tuple[int, ...]]] = [
        ("foursquare weeks", "weeks of check-ins in New York, each taken for a person", weeks, sparse, KS),
        (
            "foursquare users",
            "weeks of check-ins in New York, several of each user",
            users,
            sparse,
            (2, 5, 10, 20, 50),
        ),
        (
            "geolife",
            "trips of eleven users in Beijing",
            partial(geolife, data),
            (0.01, 0.02, 0.03, 0.05, 0.1, 0.15),
            (2, 3, 4, 5),
        ),
        ("msnbc, long", "visitors of a news site with nine pages or more", clicks, (None,), (20, 50, 100)),
        ("bike", "tours of shared bikes", bikes, (None,), (10, 20, 50, 100)),
    ]
    if not quick:
        table.append(("msnbc", "all visitors of a news site on one day", everybody, (None,), (50, 1000)))
    return [
        # The cells of a table follow each other, so the last table is enough.
        RegionSource(name=name, about=about, load=lru_cache(maxsize=1)(load), thresholds=thresholds, ks=ks)
        for name, about, load, thresholds, ks in table
    ]


def plan(data: Path | None, *, quick: bool) -> Plan:
    """Plan the grid: densities of every source, then k and method for each."""
    most = _MOST_PATTERNS_QUICK if quick else _MOST_PATTERNS
    sources = sources_of(data, quick=quick)
    cells = []
    for source in sources:
        for threshold in source.thresholds:
            given: dict[str, Value] = {"data": source.name, "threshold": threshold}
            if threshold is not None:
                cells += grid("table-1", partial(shape, source, threshold), given)
            run = partial(similarities, source, threshold)
            cells += grid("similarities", run, given, k=source.ks, method=METHODS, most_patterns=[most])
    return Plan(
        sources=[f"{source.name}: {source.about}." for source in sources],
        fingerprint=" ".join(table_digest(source.load(source.thresholds[-1])) for source in sources),
        cells=cells,
        drawings=[each for each in DRAWINGS if each.where["data"] in {source.name for source in sources}],
        claims=claims,
        notes=NOTES,
    )


def shape(source: Source, threshold: float) -> Rows:
    """Return a row of Table 1."""
    table = source.load(threshold)
    return [
        {
            "regions": len(table.sequences.codebooks[table.sequences.symbol].labels),
            "trajectories": table.n_persons,
            "persons": table.n_owners,
            "average_length": table.n_events / table.n_persons,
        }
    ]


def similarities(source: Source, threshold: float | None, k: int, method: str, most_patterns: int) -> Rows:
    """Return SIM1 and SIM2 of a release, the share that was cut, and what is short of supporters."""
    table = source.load(threshold)
    strict, reattach = METHODS[method]
    if k > table.n_owners:
        return []
    attacher = Attacher(
        distinct=table.sequences.distinct(), strict=strict, reattach=reattach, engine=LocalEngine()
    )
    attachment = attacher.run(k)
    if attachment.releases_nothing:
        return []
    released = attached(table.sequences, attacher.distinct, attachment)
    n_short, n_records = count_short(released, k)
    shared: dict[str, Value] = {
        "cut": attachment.cut_share,
        "short_sequences": n_short,
        "short_records": n_records,
    }
    try:
        scores = PatternSimilarity(min_support=k, max_patterns=most_patterns).score(released, original=table)
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


# Figures and claims

PLACES = ("trips", "foursquare weeks", "foursquare users", "geolife")
"""Data that has regions at several densities."""
_FIGURES: tuple[tuple[str, str, str, str, str, dict[str, Value]], ...] = (
    ("figure-4", "Figure 4: SIM1 and SIM2 against k", "value", "similarity", "measure", {"method": STRICT}),
    (
        "strict",
        "SIM2 strict, as printed, and without re-attachment",
        "value",
        "SIM2",
        "method",
        {"measure": "SIM2"},
    ),
    (
        "short",
        "Released records short of supporters in the release",
        "short_records",
        "records",
        "method",
        {"measure": "SIM1"},
    ),
)
DRAWINGS = tuple(
    Drawing(
        name=f"{name}-{data.replace(' ', '-')}",
        title=f"{title}, by density threshold, {data}",
        table="similarities",
        x="k",
        y=y,
        x_title="k",
        y_title=y_title,
        series=series,
        panel="threshold",
        where={"data": data, **where},
        log_x=True,
    )
    for data in PLACES
    for name, title, y, y_title, series, where in _FIGURES
)
_HIGH = 0.75
_CLOSE = 0.05
_LONG = 5.0
_KNOWN = {
    ("msnbc, long", 20): (138, 775),
    ("msnbc, long", 50): (101, 1_253),
    ("msnbc, long", 100): (58, 1_538),
    ("bike", 10): (245, 1_183),
}
"""Sequences and records short of supporters, as printed, counted by a separate program."""
_KNOWN_CUT = {("msnbc, long", 50): 0.986, ("bike", 10): 0.879, ("msnbc", 50): 0.210, ("msnbc", 1000): 0.318}
"""Shares of sequences that are cut, counted by the same program."""


def claims(tables: Tables) -> list[Claim]:
    """Compare the tables with the paper, each data set by itself, and with a separate count."""
    found = []
    for data in tables["table-1"]["data"].unique(maintain_order=True).to_list():
        mine = {
            "table-1": tables["table-1"].filter(data=data),
            "similarities": _strict(tables).filter(pl.col("data") == data, pl.col("threshold").is_not_null()),
        }
        found += [replace(claim, measured=f"{data}: {claim.measured}") for claim in judge(OF_EACH, mine)]
    return [*found, *judge(OF_ALL, tables), *_counted(tables)]


def _strict(tables: Tables) -> pl.DataFrame:
    return tables["similarities"].filter(method=STRICT).drop_nulls("value")


def _regions(tables: Tables) -> tuple[str, bool, str]:
    regions = tables["table-1"]["regions"].to_list()
    agrees = regions[-1] < regions[0]
    why = "" if agrees else "low densities join everything into a few large regions"
    if agrees and regions != sorted(regions, reverse=True):
        why = "not step by step: low densities join neighbours into large regions, as the paper says, too"
    return _listed(regions), agrees, why


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


def _rises(tables: Tables) -> tuple[str, bool, str]:
    by_k = tables["similarities"].filter(measure="SIM1").sort("threshold", "k")
    groups = [mine["value"].to_list() for _, mine in by_k.group_by("threshold", maintain_order=True)]
    up = sum(values[-1] >= values[0] for values in groups)
    measured = (
        f"not lower at the largest k than at the smallest at {up} of {len(groups)} densities "
        f"({', '.join(f'{values[0]:.2f} to {values[-1]:.2f}' for values in groups)})"
    )
    why = (
        "where k comes near the number of persons, few patterns are left, and those at the beginning of "
        "common paths are inflated by everybody who is moved there"
    )
    return measured, 2 * up > len(groups), "" if up == len(groups) else why


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


def _counted(tables: Tables) -> Iterator[Claim]:
    """Yield what a separate program counted, where the same data is at hand."""
    printed = tables["similarities"].filter(measure="SIM1", method=AS_PRINTED)
    for (data, k), known in _KNOWN.items():
        for row in printed.filter(data=data, k=k).head(1).rows(named=True):
            ours = row["short_sequences"], row["short_records"]
            near = all(0.8 * one <= own <= 1.25 * one for one, own in zip(known, ours, strict=True))
            why = "" if ours == known else "ties between equally close paths are broken otherwise"
            yield Claim(
                says=f"A separate count: {data}, k = {k}, as printed: {known[0]:,} released sequences "
                f"({known[1]:,} records) are short of supporters.",
                measured=f"{ours[0]:,} ({ours[1]:,} records)",
                agrees=near,
                why=why,
            )
    for (data, k), share in _KNOWN_CUT.items():
        for cut in printed.filter(data=data, k=k)["cut"].head(1).to_list():
            same = round(cut, 3) == share
            yield Claim(
                says=f"A separate count: {data}, k = {k}: {share:.1%} of the sequences are cut.",
                measured=f"{cut:.1%}",
                agrees=same,
                why="" if same else "the data is different",
            )


def _listed(numbers: list[int]) -> str:
    return ", ".join(f"{each:,}" for each in numbers)


def _two(shares: list[float]) -> str:
    return ", ".join(f"{each:.2f}" for each in shares)


OF_EACH = (
    Statement(
        "Table 1: the more is asked of a region's density, the fewer regions there are (113 to 8).", _regions
    ),
    Statement(
        "Table 1: the fewer trajectories cross any region (82,341 to 9,213).",
        _trajectories,
        "a rectangle may hold cells that are not dense, so that a higher density now and then covers "
        "a cell that a lower one does not",
    ),
    Statement(
        "Table 1: trajectories cross 6.2 to 9.2 regions on average.",
        _lengths,
        "these are shorter, and of fewer points, than a week of cars",
    ),
    Statement(
        "SIM1 is quite high in general, with one data set as an exception.",
        _mostly_high,
        "sequences that are cut are moved to beginnings of common paths, whose patterns become too "
        "frequent, and what else they held becomes too rare",
    ),
    Statement("The higher k, the more similar are the relative frequencies: SIM1 rises with k.", _rises),
    Statement(
        "SIM2 is lower for the first two data sets, and closer to 1 for higher densities.",
        _lower_where_sparse,
        "patterns are so few at high densities that one more or less is a large share",
    ),
    Statement(
        "SIM2 is not monotone in k: some k are better than those around them (k = 100, 300 or 500).",
        _optimum,
        "there are too few k between which one could be better",
    ),
)
"""What the paper says, checked on each data set with regions."""
OF_ALL = (
    Statement(
        "To be expected: counting supporters in the release costs little of SIM2.",
        _cost_of_strictness,
        "on sparse data most paths lose their supporters",
    ),
    Statement(
        "Theorem 1: the release is k-anonymous: a part of a sequence always matches at least k persons.",
        _promise,
        "the theorem counts supporters in the original: AB, ABXYZ, CXYZ, CXYZ with k = 2 become AB and "
        "three CXYZ, and the only AB is its owner's. Strict mode repeats until it holds in the release",
    ),
)
"""What is checked on all data together."""
