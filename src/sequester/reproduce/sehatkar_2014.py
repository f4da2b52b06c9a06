"""Sehatkar (2014), chapter 6: HALT and GloGen, CBLDA and its baseline, on claims and synthetic visits.

Real data are the public inpatient claims of Medicare, sample by sample; without them, synthetic hospital
visits. ``Data_X_Y_Z`` comes from a generator, to the figures of Table 6.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import desynpuf, hospital, quest
from sequester.engine import LocalEngine, silent
from sequester.errors import InputError, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods.cblda import _alignment_kernels as kernels
from sequester.methods.cblda.algorithm import ClassSolution
from sequester.methods.cblda.clusters import ProtectedValues, QuasiTrees
from sequester.methods.cblda.method import CBLDA, CBLDABaseline
from sequester.methods.cblda.publish import publish
from sequester.methods.halt.method import HALT, GloGen
from sequester.release.randomness import Randomness
from sequester.reproduce import Cell, ExperimentPlan, all_or_some
from sequester.utility import QueryError, information_loss
from sequester.utility.queries import Query, draw_queries
from sequester.workflow.job import table_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from sequester._typing import Counts
    from sequester.engine import Engine, Progress
    from sequester.engine.progress import Checkpoint
    from sequester.methods.method import Method
    from sequester.release.outcome import Outcome
    from sequester.reproduce import Agreement, Design, Rows, Tables, Value

    Shape = tuple[int, int, int]
    Curves = dict[str, dict[float, float]]
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
SAMPLED_SHAPES = (*QUICK_SHAPES, (1_000, 3, 3), (1_000, 5, 2), (10_000, 3, 4))
"""Shapes of a sample of the grid: neighbours of the smallest in each number, and of both sizes."""
VISITS = {
    "AdmYr": Hierarchy.flat(),
    "LOS": Hierarchy.intervals([7, 28], origin=0),
    "DSFC": Hierarchy.intervals([7, 28, 84], origin=0),
    "ZIP": Hierarchy.mask([3, 1]),
}
"""Quasi-identifiers of synthetic visits."""
TOBACCO = "3051"
"""The code that half of our protected claims have."""
CMS, POOLED, SYN_1000, SYN_10000 = "CMS", "CMS pooled", "Syn-1000", "Syn-10000"
"""What the figures are grouped by: claims sample by sample, all samples as one, and synthetic sets of 1,000
and 10,000 persons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySet:
    """One set of histories: a sample of claims, or a synthetic set of some shape."""

    group: str
    """The figures it belongs to."""
    data: str
    """The samples, or the shape."""
    number: int
    """Which of them."""
    load: Callable[[], EventTable]
    """Reads or generates it."""


def claims_table(source: Path | Sequence[Path]) -> EventTable:
    """Read a sample of claims, or several as one, with the five quasi-identifiers of the thesis."""
    dates = Hierarchy.dates(["month", "quarter", "year"])
    quasi = {
        "admission": dates,
        "discharge": dates,
        "LOS": Hierarchy.intervals([7, 28], origin=0),
        "payment": Hierarchy.intervals([1_000, 5_000, 20_000], origin=0),
        "DSFC": Hierarchy.intervals([7, 28, 84], origin=0),
    }
    frame = desynpuf.table(source).drop("claim", "sample").with_row_index("n")
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


def history_sets(data: Path | None, *, design: Design) -> list[HistorySet]:
    """List the sets: samples of claims where they are given and all of them as one, then every shape."""
    n_sets = N_SETS if design == "whole" else 1
    shapes = {"quick": QUICK_SHAPES, "sampled": SAMPLED_SHAPES, "whole": tuple(quest.TABLE_6_5)}[design]
    first: list[tuple[str, Callable[[], EventTable]]]
    if data is None:
        first = [(CMS, partial(hospital_table, 3_000, number)) for number in range(1, n_sets + 1)]
    else:
        samples = _samples(data / "desynpuf")
        n_samples = {"quick": 1, "sampled": 2, "whole": None}[design]
        first = [(CMS, partial(claims_table, path)) for path in samples[:n_samples]]
        if design != "quick":
            first.append((POOLED, partial(claims_table, tuple(samples))))
    found = [
        HistorySet(group=group, data=group, number=number, load=partial(_loaded, load))
        for number, (group, load) in enumerate(first, 1)
    ]
    found += [
        HistorySet(
            group=SYN_1000 if shape[0] == 1_000 else SYN_10000,
            data="Data_{}_{}_{}".format(*shape),
            number=number,
            load=partial(_loaded, partial(made_table, shape, number)),
        )
        for shape in shapes
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


@dataclass(frozen=True, kw_only=True)
class RandomClasses(CBLDABaseline):
    """Classes of persons who come together by chance: what the Baseline of the thesis may have been.

    It is said to be inspired by classifiers that guess. Our `CBLDABaseline` merges the nearest.
    """

    def resume(
        self,
        table: EventTable,
        *,
        randomness: Randomness,
        engine: Engine,
        progress: Progress,
        checkpoint: Checkpoint,
    ) -> Outcome:
        """Put persons into classes by lot, and make those of a class look alike."""
        del engine, progress, checkpoint
        trees = QuasiTrees.of(table)
        nodes, offsets = trees.nodes_of(table), table.person_offsets
        draw = np.random.default_rng(int(randomness.numbers("classes", 1)[0]))
        class_of_person = np.empty(table.n_persons, np.int64)
        is_kept, shown = np.zeros(table.n_events, np.bool_), np.zeros(nodes.shape, np.int32)
        for members in self._classes(table, draw):
            class_of_person[members] = members.min()
            n_events = int(np.diff(offsets)[members].min())
            chosen = np.stack(
                [
                    offsets[each] + np.sort(draw.permutation(offsets[each + 1] - offsets[each])[:n_events])
                    for each in members.tolist()
                ]
            )
            is_kept[chosen] = True
            low, high = nodes[chosen].min(axis=0), nodes[chosen].max(axis=0)
            while (apart := trees.nodes[low, kernels.END] <= high).any():
                low = np.where(apart, trees.nodes[low, kernels.PARENT], low)
            shown[chosen] = low
        solution = ClassSolution(
            trees=trees,
            class_of_person=class_of_person,
            is_released=np.ones(table.n_persons, np.bool_),
            is_kept=is_kept,
            shown=shown,
            class_size=np.bincount(class_of_person)[class_of_person],
            n_blocks=1,
        )
        return publish(table, solution, self)

    def _classes(self, table: EventTable, draw: np.random.Generator) -> list[Counts]:
        """Return persons by lot, each class as soon as it is large enough and few enough are at risk."""
        owners, _ = ProtectedValues.of(table).of_persons(table.person_offsets)
        is_at_risk = np.bincount(owners, minlength=table.n_persons) > 0
        classes: list[list[int]] = [[]]
        for person in draw.permutation(table.n_persons).tolist():
            classes[-1].append(person)
            if len(classes[-1]) >= self.k and is_at_risk[classes[-1]].mean() <= self.share:
                classes.append([])
        rest = classes.pop()
        while rest and (len(rest) < self.k or is_at_risk[rest].mean() > self.share):
            rest += classes.pop()
        return [np.array(each, np.int64) for each in [*classes, rest] if each]


CLASSES: Mapping[str, Callable[[int, float], Method]] = {
    "CBLDA": lambda k, c: CBLDA(k=k, c=c, infeasible="drop", search="greedy"),
    "Baseline": lambda k, c: CBLDABaseline(k=k, c=c, infeasible="drop"),
    "Random classes": lambda k, c: RandomClasses(k=k, c=c, infeasible="drop"),
}
"""Methods of chapter 5, and what its Baseline may have been."""
LEVELS: Mapping[str, Callable[[int, float, int], Method]] = {
    "HALT": lambda k, c, p: HALT(k=k, c=c, p=p, levels="same", suppression="global", infeasible="drop"),
    "HALT, * ignored": lambda k, c, p: HALT(
        k=k, c=c, p=p, levels="same", suppression="global", stars="ignored", infeasible="drop"
    ),
    "GloGen": lambda k, c, p: GloGen(k=k, c=c, p=p, levels="same", infeasible="drop"),
}
"""Methods of chapter 4; the thesis does not say that a suppressed value can be known, and ours does."""


def plan(data: Path | None, *, design: Design) -> ExperimentPlan:
    """Plan the grid: K, C and P, one at a time, for every set and method."""
    sources = history_sets(data, design=design)
    cells = [cell for one in sources for cell in _cells(one, design=design)]
    if data is not None:
        samples = _samples(data / "desynpuf")
        cells.append(Cell(table="protected", parameters={}, run=partial(protected_claims, samples)))
    return ExperimentPlan(
        sources=list(_describe(sources, made=data is None)),
        # The sets of a shape come from one generator: the first of them tells whether it has changed.
        fingerprint=" ".join(
            table_digest(one.load())
            for one in sources
            if one.number == 1 or (data is not None and one.group == CMS)
        ),
        cells=cells,
    )


def _cells(one: HistorySet, *, design: Design) -> Iterator[Cell]:
    ks, cs, ps = WHOLE_GRID
    if design != "whole":
        ks, cs, ps = FEW_POINTS if one.group == SYN_10000 else SOME_POINTS
    pairs = dict.fromkeys([*((k, C) for k in ks), *((K, c) for c in cs)])
    triples = dict.fromkeys([*((k, c, P) for k, c in pairs), *((K, C, p) for p in ps)])
    if one.group == POOLED:
        # Figure 6.1a alone: what larger files change.
        pairs, triples = {(k, C): None for k in ks}, {}
    points: list[tuple[str, str, dict[str, Value], Method]] = [
        ("classes", name, {"K": k, "C": c}, make(k, c))
        for k, c in pairs
        for name, make in CLASSES.items()
        # Where many are at risk, classes by chance would have to be too large.
        if name != "Random classes" or (one.group in (CMS, POOLED) and c == C)
    ]
    points += [
        ("levels", name, {"K": k, "C": c, "P": p}, of(k, c, p))
        for k, c, p in triples
        for name, of in LEVELS.items()
    ]
    about: dict[str, Value] = {"group": one.group, "data": one.data, "set": one.number}
    for table, name, asked, method in points:
        yield Cell(
            table=table,
            parameters={**about, **asked, "method": name},
            run=partial(measure, one, method),
            weight=10.0 if one.group in (POOLED, SYN_10000) else 1.0,
        )


def _describe(sources: list[HistorySet], *, made: bool) -> Iterator[str]:
    shown = {one.data: one for one in reversed(sources)}
    for name in dict.fromkeys(one.data for one in sources):
        table = shown[name].load()
        n_sets = sum(one.data == name for one in sources)
        kind = "synthetic hospital visits in place of claims" if made else "inpatient claims of Medicare"
        kind = kind if name in (CMS, POOLED) else "generated to Table 6.5"
        yield (
            f"{name}: {kind}, {n_sets} set{'s'[: n_sets > 1]}; the first has {table.n_persons:,} persons, "
            f"{table.n_events:,} events and {len(table.schema.quasi)} quasi-identifiers."
        )


def measure(one: HistorySet, method: Method) -> Rows:
    """Return information loss and query error of a release; no row where the method refuses."""
    table = one.load()
    try:
        outcome = method.transform(
            table, randomness=Randomness.of(SEED), engine=LocalEngine(), progress=silent
        )
    except UnattainableError:
        return []
    released = outcome.sequences
    asked = QueryError(queries=draw_queries(table, N_QUERIES)).scores(released, original=table)
    leaves = QueryError(queries=leaf_queries(table, N_QUERIES)).score(released, original=table)
    kept = int(np.count_nonzero(np.diff(released.person_offsets)))
    return [
        {
            "information_loss": information_loss(released, original=table).value,
            "relative_error": asked["query_error"].value,
            "leaf_error": leaves.value,
            "bias": asked["query_bias"].value,
            "dropped": 1 - kept / table.n_persons,
        }
    ]


def leaf_queries(table: EventTable, n: int) -> list[Query]:
    """Draw queries in which every value that occurs is as likely as any other, however rare, and as it was.

    A value of a column is drawn, then somebody who has it, and up to two more of their events, each with up
    to two more values.
    """
    draw, sequences = np.random.default_rng(0), table.sequences
    names = list(table.schema.quasi)
    by_code = {
        name: np.split(order, np.flatnonzero(np.diff(sequences.columns[name][order])) + 1)
        for name in names
        for order in [np.argsort(sequences.columns[name], kind="stable")]
    }
    owners = np.repeat(np.arange(table.n_persons), np.diff(table.person_offsets))
    queries = []
    for number in range(n):
        first = names[draw.integers(len(names))]
        holders = by_code[first][draw.integers(len(by_code[first]))]
        event = int(holders[draw.integers(len(holders))])
        own = np.arange(*table.person_offsets[owners[event] : owners[event] + 2])
        more = draw.permutation(own[own != event])[: draw.integers(3) if number % 2 else 0]
        asked = []
        for each in sorted([event, *more.tolist()]):
            others = draw.permutation(names)[: draw.integers(1, min(3, len(names)) + 1)].tolist()
            asked.append(
                {
                    name: (sequences.codebooks[name].labels[sequences.columns[name][each]],)
                    for name in dict.fromkeys([first, *others] if each == event else others)
                }
            )
        queries.append(Query(tuple(asked)))
    return queries


def protected_claims(samples: Sequence[Path]) -> Rows:
    """Count, per sample, the share of claims with a code of Table 6.2, among their first codes."""
    rows: list[dict[str, Value]] = []
    for path in samples:
        counted = desynpuf.protected_shares(path, without=TOBACCO)
        rows += [{"sample": path.name.split(".")[0].rsplit("_", 1)[1], **each} for each in counted]
    return rows


# Checks of claims

LOSS = "information_loss"
FIXED: dict[str, float] = {"K": K, "C": C, "P": P}
_MOSTLY = 0.9
"""Share of the data sets that must have the shape of the figures."""
_FLAT = 0.05
"""Curves that move by no more than this are flat."""
_SAME_SHARE = 0.005
"""As far as the samples of Table 6.3 lie apart."""


def curves(table: pl.DataFrame, method: str, measured: str, varies: str, group: str | None = None) -> Curves:
    """Return, for every data set, the means over its sets by what varies; the rest has its default.

    Examples
    --------
    >>> rows = {"group": "CMS", "data": "CMS", "method": "CBLDA", "C": 0.7, "K": [5, 5, 50]}
    >>> curves(pl.DataFrame(rows | {"information_loss": [0.1, 0.3, 0.4]}), "CBLDA", "information_loss", "K")
    {'CMS': {5: 0.2, 50: 0.4}}
    """
    rows = table.filter(pl.col("method") == method)
    if group is not None:
        rows = rows.filter(pl.col("group") == group)
    for name, value in FIXED.items():
        if name != varies and name in rows.columns:
            rows = rows.filter(pl.col(name) == value)
    means = rows.group_by("data", varies, maintain_order=True).agg(pl.col(measured).mean()).sort(varies)
    found: Curves = {}
    for data, x, y in means.iter_rows():
        found.setdefault(data, {})[x] = y
    return dict(sorted(found.items()))


def _moves(
    tables: Tables, table: str, method: str, y: str, x: str, way: int
) -> tuple[str, bool] | tuple[str, bool, str]:
    """Compare the two ends of every curve; the remark is how many go back in between."""
    ends = [list(each.values()) for each in curves(tables[table], method, y, x).values() if len(each) > 1]
    holds = [way * (ys[-1] - ys[0]) > 0 for ys in ends]
    back = sum(any(way * (after - before) < 0 for before, after in pairwise(ys)) for ys in ends)
    first, last = (fmean(ys[at] for ys in ends) for at in (0, -1))
    measured = f"on {sum(holds)} of {len(holds)} data sets; from {first:.2f} to {last:.2f} on average"
    if sum(holds) >= _MOSTLY * len(holds):
        return measured, True, str(back or "")
    return measured, False


def _drops(tables: Tables) -> tuple[str, bool]:
    found = [ys for ys in curves(tables["classes"], "CBLDA", LOSS, "C").values() if len(ys) > 1]
    falls = [ys[min(ys)] - ys[C] for ys in found]
    later = [ys[C] - ys[max(ys)] for ys in found]
    measured = f"from C = 0.1 to 0.7 it falls by {min(falls):.2f} to {max(falls):.2f}, above that by at most "
    agrees = all(first > max(then, 0) for first, then in zip(falls, later, strict=True))
    return f"{measured}{max(later):.2f}", agrees


def _lower(
    tables: Tables, table: str, methods: list[str], y: str, groups: list[str]
) -> tuple[str, bool] | None:
    found = {}
    for group in groups:
        ours, others = (curves(tables[table], method, y, "K", group) for method in methods)
        pairs = [(one, others[data][k]) for data, ys in ours.items() for k, one in ys.items()]
        if ratios := [1 - one / other for one, other in pairs if other]:
            found[group] = fmean(ratios)
    if not found:
        return None
    # Other data cannot give the same shares; a third is what all of those printed have in common.
    agrees = all(less >= 1 / 3 for less in found.values())
    return ", ".join(f"{less:.0%} ({group})" for group, less in found.items()), agrees


def _at_most(
    tables: Tables, table: str, method: str, y: str, group: str, most: float, k: int | None = None
) -> tuple[str, bool | Agreement] | None:
    found = curves(tables[table], method, y, "K", group)
    values = [value for ys in found.values() for x, value in ys.items() if k is None or x == k]
    if not values:
        return None
    holds = [value <= most for value in values]
    measured = (
        f"{min(values):.3f} to {max(values):.3f}, {fmean(values):.3f} on average; at most {most} in "
        f"{sum(holds)} of {len(holds)} cases"
    )
    # Of synthetic data the thesis says that it is so for most sets.
    return measured, all_or_some(holds) if group in (CMS, POOLED) else 2 * sum(holds) > len(holds)


def _larger(tables: Tables) -> tuple[str, bool] | None:
    small, large = (
        {
            data.split("_", 2)[2]: ys[K]
            for data, ys in curves(tables["classes"], "CBLDA", LOSS, "K", group).items()
        }
        for group in (SYN_1000, SYN_10000)
    )
    less = [1 - loss / small[shape] for shape, loss in large.items() if shape in small]
    if not less:
        return None
    return f"{fmean(less):.0%} on average, over Y_Z of {', '.join(large)}", min(less) > 0


def _grows_with(tables: Tables, part: int) -> tuple[str, bool] | None:
    """Compare all pairs of shapes that differ only in a part of their names."""
    found = curves(tables["classes"], "CBLDA", LOSS, "K")
    at_k = {tuple(data.split("_")): ys[K] for data, ys in found.items() if data.startswith("Data_")}
    shown = [
        more - loss
        for own, loss in at_k.items()
        for other, more in at_k.items()
        if own[:part] + own[part + 1 :] == other[:part] + other[part + 1 :]
        and int(own[part]) < int(other[part])
    ]
    if not shown:
        return None
    grows = [more > 0 for more in shown]
    measured = f"in {sum(grows)} of {len(grows)} pairs of shapes at K = 5, by {fmean(shown):.2f} on average"
    return measured, all(grows)


def _flat(tables: Tables, table: str, method: str, y: str, start: float) -> tuple[str, bool]:
    (ys,) = curves(tables[table], method, y, "C", CMS).values()
    above = [value for c, value in ys.items() if c >= start]
    return f"between {min(above):.3f} and {max(above):.3f}", max(above) - min(above) <= _FLAT


def _bounded(tables: Tables, y: str) -> tuple[str, bool]:
    worst = max(value for ys in curves(tables["levels"], "HALT", y, "P").values() for value in ys.values())
    return f"at most {worst:.2f}", worst <= 3


def _comparable(tables: Tables, method: str) -> tuple[str, bool]:
    ours, others = (
        {
            group: fmean(ys[K] for ys in found.values())
            for group in (CMS, SYN_1000, SYN_10000)
            if (found := curves(tables[table], name, LOSS, "K", group))
        }
        for table, name in (("levels", method), ("classes", "CBLDA"))
    )
    shown = [f"{ours[group]:.2f} beside {others[group]:.2f} ({group})" for group in ours]
    return f"at K = 5: {', '.join(shown)}", all(abs(ours[group] - others[group]) <= 0.15 for group in ours)


def _share_of_claims(tables: Tables) -> tuple[str, bool, str] | None:
    """Compare the share of protected claims with Table 6.3, and look for codes that would explain it."""
    if "protected" not in tables:
        return None
    means = tables["protected"].group_by("codes").agg(pl.col("protected", "protected_without").mean())
    by_codes = {int(n): (one, without) for n, one, without in means.sort("codes").iter_rows()}
    printed = fmean(percent for _, _, percent in desynpuf.TABLE_6_3.values()) / 100
    ours, without = by_codes[max(by_codes)]
    nearest = min(by_codes, key=lambda n: abs(by_codes[n][0] - printed))
    measured = f"{ours:.1%} of the claims, without tobacco (305.1) {without:.1%}"
    remark = f"the first {nearest} diagnoses of each claim alone give {by_codes[nearest][0]:.1%}"
    return measured, abs(ours - printed) <= _SAME_SHARE, remark
