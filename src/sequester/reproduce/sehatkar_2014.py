"""Sehatkar (2014), chapter 6: HALT and GloGen, CBLDA and its baseline, on claims and synthetic visits.

Real data are the public inpatient claims of Medicare, sample by sample; without them, synthetic hospital
visits. ``Data_X_Y_Z`` comes from a generator, to the figures of Table 6.5.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import desynpuf, hospital, quest
from sequester.engine import LocalEngine, silent
from sequester.errors import InputError, SequesterWarning, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods.cblda.baseline import CBLDABaseline
from sequester.methods.cblda.cblda import CBLDA
from sequester.methods.halt.glogen import GloGen
from sequester.methods.halt.halt import HALT
from sequester.release.randomness import Randomness
from sequester.reproduce.plan import Cell, Plan
from sequester.reproduce.sehatkar_2014_claims import CMS, DRAWINGS, SYN_1000, SYN_10000, claims
from sequester.utility import InformationLoss, QueryError
from sequester.utility.queries import draw_queries
from sequester.workflow.job import table_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from sequester.methods.method import Method
    from sequester.reproduce.plan import Rows, Value

    Shape = tuple[int, int, int]
    Points = tuple[tuple[int, ...], tuple[float, ...], tuple[int, ...]]

SEED = "experiments of Sehatkar"
"""Seed of everything random."""
K, C, P = 5, 0.7, 3
"""Thresholds where they do not vary."""
N_SETS = 10
"""Synthetic sets of each shape."""
N_QUERIES = 1_000
"""Counting queries on every release."""
WHOLE_GRID: Points = ((5, 10, 20, 30, 40, 50), tuple(tenths / 10 for tenths in range(1, 10)), (2, 3, 4, 5))
"""Values of K, C and P."""
SOME_POINTS: Points = ((5, 20, 50), (0.1, 0.5, 0.7, 0.9), (2, 3, 4))
FEW_POINTS: Points = ((5, 50), (0.1, 0.7), (2, 3))
QUICK_SHAPES: tuple[Shape, ...] = ((1_000, 3, 2), (1_000, 3, 4), (1_000, 5, 4), (10_000, 3, 2))
"""Shapes of a quick run."""
VISITS = {
    "AdmYr": Hierarchy.flat(),
    "LOS": Hierarchy.intervals([7, 28], origin=0),
    "DSFC": Hierarchy.intervals([7, 28, 84], origin=0),
    "ZIP": Hierarchy.mask([3, 1]),
}
"""Quasi-identifiers of synthetic visits."""
NOTES = (
    (
        "Information loss is the mean over all cells of the share of leaves that a released value stands "
        "for; events and persons that are not released lose everything, which the thesis does not count."
    ),
    (
        "Average relative error is that of 1,000 counts of persons, drawn from the data: values of one event "
        "or of several in order, each as it was or coarser."
    ),
    (
        "Where C is below the share of persons with protected values, no release of everybody keeps the "
        "promise. As few of them as possible are then left out, at random; the column `dropped` says how "
        "many."
    ),
    (
        "HALT and GloGen look at each protected value by itself, CBLDA and its baseline at persons with any "
        "of them, as chapters 4 and 5 do. Values of one quasi-identifier are known at one level (levels = "
        '"same"), as in chapter 4. Hierarchies are ours: the thesis does not print those it measured.'
    ),
    (
        "Every point of a figure is a mean over the samples, or over the sets of a shape. A point is missing "
        "where HALT refuses a P because counting what may be known would take hours."
    ),
)
"""What a reader must know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One set of histories: a sample of claims, or a synthetic set of some shape."""

    group: str
    """The figures it belongs to."""
    data: str
    """The samples, or the shape."""
    number: int
    """Which of them."""
    load: Callable[[], EventTable]
    """Reads or generates it."""


def claims_table(path: Path) -> EventTable:
    """Read a sample of claims, with the five quasi-identifiers of the thesis."""
    dates = Hierarchy.dates(["month", "quarter", "year"])
    quasi = {
        "admission": dates,
        "discharge": dates,
        "LOS": Hierarchy.intervals([7, 28], origin=0),
        "payment": Hierarchy.intervals([1_000, 5_000, 20_000], origin=0),
        "DSFC": Hierarchy.intervals([7, 28, 84], origin=0),
    }
    frame = desynpuf.table(path).drop("claim", "sample").with_row_index("n")
    # 0319 and 319 are different codes of ICD-9, equal as numbers.
    sensitive = {"diagnosis": desynpuf.PROTECTED}
    return EventTable(frame, Schema(person="PID", order="n", quasi=quasi, sensitive=sensitive, alike="keep"))


def hospital_table(persons: int, number: int) -> EventTable:
    """Return synthetic visits, as short as histories of claims, with as many persons at risk."""
    seed = f"{SEED}, {number}"
    frame = hospital.make(persons=persons, mean_events=1.75, protected_share=0.178, seed=seed)
    return EventTable(frame, _visits_schema(frame.columns))


def made_table(shape: Shape, number: int) -> EventTable:
    """Return one of the synthetic sets ``Data_X_Y_Z`` of Table 6.5."""
    persons, _, n_quasi = shape
    percent, most, events = quest.TABLE_6_5[shape]
    frame = quest.longitudinal(
        persons=persons,
        mean_events=events / persons,
        n_quasi=n_quasi,
        protected_share=percent / 100,
        most_events=most,
        seed=f"{SEED}, {number}",
    )
    return EventTable(frame, _visits_schema(frame.columns))


def _visits_schema(columns: list[str]) -> Schema:
    quasi = {name: tree for name, tree in VISITS.items() if name in columns}
    sensitive = {"Disease": list(hospital.PROTECTED)}
    return Schema(person="PID", order="VID", quasi=quasi, sensitive=sensitive)


def sources_of(data: Path | None, *, quick: bool) -> list[Source]:
    """List the sets: samples of claims where they are given, then those of every shape."""
    n_sets = 1 if quick else N_SETS
    if data is None:
        first = [partial(hospital_table, 3_000, number) for number in range(1, n_sets + 1)]
    else:
        first = [partial(claims_table, path) for path in _samples(data / "desynpuf")[: 1 if quick else None]]
    found = [
        Source(group=CMS, data=CMS, number=number, load=partial(_loaded, load))
        for number, load in enumerate(first, 1)
    ]
    found += [
        Source(
            group=SYN_1000 if shape[0] == 1_000 else SYN_10000,
            data="Data_{}_{}_{}".format(*shape),
            number=number,
            load=partial(_loaded, partial(made_table, shape, number)),
        )
        for shape in (QUICK_SHAPES if quick else quest.TABLE_6_5)
        for number in range(1, n_sets + 1)
    ]
    return found


@lru_cache(maxsize=2)
def _loaded(load: Callable[[], EventTable]) -> EventTable:
    """Load a set; only the last two stay in memory."""
    return load()


def _samples(folder: Path) -> list[Path]:
    """List the files of claims, by the numbers of their samples."""
    files = {path.name.split(".")[0]: path for path in folder.glob("*Inpatient_Claims_Sample_*.csv*")}
    if not files:
        msg = f"{folder} has no files ...Inpatient_Claims_Sample_1.csv or .csv.gz"
        raise InputError(msg)
    return [files[name] for name in sorted(files, key=lambda name: int(name.rsplit("_", 1)[1]))]


CLASSES: Mapping[str, Callable[[int, float], Method]] = {
    "CBLDA": lambda k, c: CBLDA(k=k, c=c, infeasible="drop"),
    "Baseline": lambda k, c: CBLDABaseline(k=k, c=c, infeasible="drop"),
}
"""Methods of chapter 5."""
LEVELS: Mapping[str, Callable[[int, float, int], Method]] = {
    "HALT": lambda k, c, p: HALT(k=k, c=c, p=p, levels="same", infeasible="drop"),
    "GloGen": lambda k, c, p: GloGen(k=k, c=c, p=p, levels="same", infeasible="drop"),
}
"""Methods of chapter 4."""


def plan(data: Path | None, *, quick: bool) -> Plan:
    """Plan the grid: K, C and P, one at a time, for every set and method."""
    sources = sources_of(data, quick=quick)
    return Plan(
        sources=list(_describe(sources, made=data is None)),
        # The sets of a shape come from one generator: the first of them tells whether it has changed.
        fingerprint=" ".join(
            table_digest(source.load())
            for source in sources
            if source.number == 1 or (data is not None and source.group == CMS)
        ),
        cells=[cell for source in sources for cell in _cells(source, quick=quick)],
        drawings=DRAWINGS,
        claims=claims,
        notes=NOTES,
    )


def _cells(source: Source, *, quick: bool) -> Iterator[Cell]:
    ks, cs, ps = WHOLE_GRID
    if quick:
        ks, cs, ps = FEW_POINTS if source.group == SYN_10000 else SOME_POINTS
    pairs = dict.fromkeys([*((k, C) for k in ks), *((K, c) for c in cs)])
    points: list[tuple[str, str, dict[str, Value], Method]] = [
        ("classes", name, {"K": k, "C": c}, make(k, c)) for k, c in pairs for name, make in CLASSES.items()
    ]
    triples = dict.fromkeys([*((k, c, P) for k, c in pairs), *((K, C, p) for p in ps)])
    points += [
        ("levels", name, {"K": k, "C": c, "P": p}, of(k, c, p))
        for k, c, p in triples
        for name, of in LEVELS.items()
    ]
    about: dict[str, Value] = {"group": source.group, "data": source.data, "set": source.number}
    for table, name, asked, method in points:
        yield Cell(
            table=table,
            parameters={**about, **asked, "method": name},
            run=partial(measure, source, method),
            weight=10.0 if source.group == SYN_10000 else 1.0,
        )


def _describe(sources: list[Source], *, made: bool) -> Iterator[str]:
    shown = {source.data: source for source in reversed(sources)}
    for name in dict.fromkeys(source.data for source in sources):
        table = shown[name].load()
        n_sets = sum(source.data == name for source in sources)
        kind = "synthetic hospital visits in place of claims" if made else "inpatient claims of Medicare"
        kind = kind if name == CMS else "generated to Table 6.5"
        yield (
            f"{name}: {kind}, {n_sets} set{'s'[: n_sets > 1]}; the first has {table.n_persons:,} persons, "
            f"{table.n_events:,} events and {len(table.schema.quasi)} quasi-identifiers."
        )


def measure(source: Source, method: Method) -> Rows:
    """Return information loss and query error of a release; no row where the method refuses."""
    table = source.load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        try:
            outcome = method.transform(
                table, randomness=Randomness.of(SEED), engine=LocalEngine(), progress=silent
            )
        except UnattainableError:
            return []
    released = outcome.sequences
    asked = QueryError(queries=draw_queries(table, N_QUERIES)).scores(released, original=table)
    kept = int(np.count_nonzero(np.diff(released.person_offsets)))
    return [
        {
            "information_loss": InformationLoss().score(released, original=table).value,
            "relative_error": asked["query_error"].value,
            "bias": asked["query_bias"].value,
            "dropped": 1 - kept / table.n_persons,
        }
    ]
