"""Pensa, Monreale, Pinelli, Pedreschi (2008): Table 1, Figure 4, and the algorithm as printed beside ours.

The week of cars in Milan is not public. In its place stand check-ins in New York, GPS logs from Beijing and,
without any data, trips of the generator; clicks and shared bikes show what the algorithm as printed leaves
open on longer sequences.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.place import DensityRegions, Gap, Place
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import public, trips
from sequester.engine import LocalEngine
from sequester.errors import ParameterError
from sequester.methods.p2ka.attachment import Attacher
from sequester.methods.p2ka.publish import attached
from sequester.mining.support import supports_of_codes
from sequester.reproduce.pensa_2008_claims import AS_PRINTED, DRAWINGS, PRUNED, STRICT, claims
from sequester.reproduce.plan import Cell, Plan
from sequester.utility.pattern_similarity import PatternSimilarity
from sequester.workflow.digest import table_digest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sequester.data.sequences import Sequences
    from sequester.reproduce.plan import Rows, Value

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
class Source:
    """Sequences, of regions at several densities or of symbols as they are."""

    name: str
    """As in the tables."""
    about: str
    """What it is, for the page."""
    load: Callable[[float | None], EventTable]
    """Makes the table of a density; of None where the data has symbols."""
    thresholds: tuple[float | None, ...]
    """Densities, as shares of the trajectories."""
    ks: tuple[int, ...]
    """What k is set to."""


def made_trips(persons: int, threshold: float | None) -> EventTable:
    """Turn trips of the generator into regions."""
    place = Place("lat", "lon", DensityRegions(150, threshold or 1.0))
    return EventTable(_points(persons), Schema(person="user", time="at", trip="trip", place=place))


@lru_cache(maxsize=1)
def _points(persons: int) -> pl.DataFrame:
    return trips.make(persons=persons, every=20)


def foursquare(data: Path, threshold: float | None, *, weeks: bool) -> EventTable:
    """Turn check-ins into regions: weeks of users, or `weeks` that each stand for somebody."""
    hours = pl.col("day").cast(pl.Int64) * 24 + pl.col("hour").cast(pl.Int64)
    frame = _read("foursquare-nyc", data).select("label", "tid", "lat", "lon", hours.alias("hours"))
    place = Place("lat", "lon", DensityRegions(300, threshold or 1.0))
    if weeks:
        return EventTable(frame, Schema("tid", "hours", drop=["label"], invalid="drop", place=place))
    return EventTable(frame, Schema("label", "hours", trip="tid", invalid="drop", place=place))


def geolife(data: Path, threshold: float | None) -> EventTable:
    """Turn GPS logs into trips, separated by half an hour, and those into regions."""
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


def sources_of(data: Path | None, *, quick: bool) -> list[Source]:
    """List the data: public sets where they are given."""
    densities = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1)
    if data is None:
        made = partial(made_trips, 10_000 if quick else 20_000)
        about = "trips of the generator, between home, work and shops, with a point every 20 seconds"
        return [Source(name="trips", about=about, load=_kept(made), thresholds=densities, ks=KS)]
    sparse = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05)
    weeks, users = (partial(foursquare, data, weeks=each) for each in (True, False))
    sources = [
        Source(
            name="foursquare weeks",
            about="weeks of check-ins in New York, each taken for a person",
            load=_kept(weeks),
            thresholds=sparse,
            ks=KS,
        ),
        Source(
            name="foursquare users",
            about="weeks of check-ins in New York, several of each user",
            load=_kept(users),
            thresholds=sparse,
            ks=(2, 5, 10, 20, 50),
        ),
        Source(
            name="geolife",
            about="trips of eleven users in Beijing",
            load=_kept(partial(geolife, data)),
            thresholds=(0.01, 0.02, 0.03, 0.05, 0.1, 0.15),
            ks=(2, 3, 4, 5),
        ),
        Source(
            name="msnbc, long",
            about="visitors of a news site with nine pages or more",
            load=_kept(partial(symbols, "spmf-msnbc", data)),
            thresholds=(None,),
            ks=(20, 50, 100),
        ),
        Source(
            name="bike",
            about="tours of shared bikes",
            load=_kept(partial(symbols, "spmf-bike", data)),
            thresholds=(None,),
            ks=(10, 20, 50, 100),
        ),
    ]
    if not quick:
        everybody = _kept(partial(symbols, "msnbc", data))
        about = "all visitors of a news site on one day"
        sources.append(Source(name="msnbc", about=about, load=everybody, thresholds=(None,), ks=(50, 1000)))
    return sources


def _kept(load: Callable[..., EventTable]) -> Callable[[float | None], EventTable]:
    """Keep the last table: its cells follow each other."""
    return lru_cache(maxsize=1)(load)


def plan(data: Path | None, *, quick: bool) -> Plan:
    """Plan the grid: densities of every source, then k and method for each."""
    most = _MOST_PATTERNS_QUICK if quick else _MOST_PATTERNS
    sources = sources_of(data, quick=quick)
    cells = []
    for source in sources:
        for threshold in source.thresholds:
            given: dict[str, Value] = {"data": source.name, "threshold": threshold}
            if threshold is not None:
                cells.append(Cell(table="table-1", parameters=given, run=partial(shape, source, threshold)))
            cells += [
                Cell(
                    table="similarities",
                    parameters={**given, "k": k, "method": method, "most_patterns": most},
                    run=partial(similarities, source, threshold, k, method, most),
                )
                for k in source.ks
                for method in METHODS
            ]
    return Plan(
        sources=[f"{source.name}: {source.about}." for source in sources],
        fingerprint=" ".join(table_digest(source.load(source.thresholds[-1])) for source in sources),
        cells=cells,
        drawings=[each for each in DRAWINGS if each.where["data"] in {source.name for source in sources}],
        claims=claims,
        notes=NOTES,
    )


def shape(source: Source, threshold: float) -> Rows:
    """Give a row of Table 1."""
    table = source.load(threshold)
    return [
        {
            "regions": len(table.sequences.codebooks[table.sequences.symbol].labels),
            "trajectories": table.n_persons,
            "persons": table.n_owners,
            "average_length": table.n_events / table.n_persons,
        }
    ]


def similarities(source: Source, threshold: float | None, k: int, method: str, most: int) -> Rows:
    """Release, and compare patterns: SIM1 and SIM2, what was cut, and what is short of supporters."""
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
    n_short, n_records = short_of(released, k)
    shared: dict[str, Value] = {
        "cut": attachment.cut_share,
        "short_sequences": n_short,
        "short_records": n_records,
    }
    try:
        scores = PatternSimilarity(min_support=k, max_patterns=most).score(released, original=table)
    except ParameterError:  # too many patterns
        return [{"measure": "SIM1", "value": None, **shared}, {"measure": "SIM2", "value": None, **shared}]
    return [{"measure": name.upper(), "value": scores[name].value, **shared} for name in ("sim1", "sim2")]


def short_of(released: Sequences, k: int) -> tuple[int, int]:
    """Count the distinct released sequences that fewer than `k` released persons contain, and their records.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> short_of(Sequences.from_rows(["AB", "CXYZ", "CXYZ", "CXYZ"]), 2)  # the counterexample to Theorem 1
    (1, 1)
    """
    rows = released.distinct()
    book = released.codebooks[released.symbol]
    supports = supports_of_codes(rows.items, rows.offsets, book, rows, book)
    is_short = (supports < k) & (rows.lengths > 0)
    return int(is_short.sum()), int(rows.weights[is_short].sum())
