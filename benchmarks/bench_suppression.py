"""HALT with cells suppressed one by one beside values suppressed everywhere: loss, time, gap to the optimum.

    python benchmarks/bench_suppression.py                    all but what takes long: medicare and million
    python benchmarks/bench_suppression.py demo medicare      some data sets
    python benchmarks/bench_suppression.py small              200 small tables beside the exhaustive optimum
    python benchmarks/bench_suppression.py million            a million persons
    python benchmarks/bench_suppression.py minimality         what the minimality attack believes on the demo

Each data set is released under the same promise (k = 5, c = 0.5, p = 2) with ``suppression = "local"`` and
``"global"``. A row has the loss and the processor time of each. The real data sets are read from --data, and
left out where it has none. Exits 1 where a release breaks its promise.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from bench_halt import visits
from bench_levels import DEMO_PERSONS, SETS, C, K
from ledger import note
from sequester.attacks.context import Case
from sequester.attacks.minimality import attack_minimality
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets.public import load
from sequester.engine import LocalEngine, silent
from sequester.errors import SequesterWarning, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods import HALT
from sequester.release.randomness import Randomness

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester.release.outcome import Outcome

ROOT = Path(__file__).parents[1]
MILLION = 1_000_000
SMALL = 200
MOST_ABOVE = 1.15
"""Times the loss of the optimum that local suppression may lose on small tables."""
MOST_TIME = 3.0
"""Times the processor time of global that it may take on a million persons."""
FIRST = 30
"""Measurements of each diabetes patient that are taken: the first ones."""


def diabetes(data: Path) -> EventTable:
    """Return the first events of 70 diabetes patients: what, at which hour; low glucose is sensitive."""
    frame = (
        load("diabetes70", data).with_row_index("n").filter(pl.int_range(pl.len()).over("patient") < FIRST)
    )
    frame = frame.select(
        "patient",
        "n",
        pl.col("code").cast(pl.String),
        pl.col("time").cast(pl.String).str.split(":").list.first().alias("hour"),
        pl.when(pl.col("code").cast(pl.String) == "65")
        .then(pl.lit("low glucose"))
        .otherwise(pl.lit("other"))
        .alias("event"),
    )
    quasi = {"code": Hierarchy.flat(), "hour": Hierarchy.intervals([3, 6, 12], origin=0)}
    return EventTable(
        frame, Schema(person="patient", order="n", quasi=quasi, sensitive={"event": ["low glucose"]})
    )


def admissions(data: Path) -> EventTable:
    """Return the admissions of the 100 patients of the MIMIC demo; death in hospital is sensitive."""
    frame = load("mimic4demo-admissions", data).sort("subject_id", "admittime").with_row_index("n")
    frame = frame.select(
        "subject_id",
        "n",
        pl.col("admission_type").fill_null("none"),
        pl.col("admission_location").fill_null("none"),
        pl.col("insurance").fill_null("none"),
        pl.col("hospital_expire_flag").cast(pl.String).alias("died"),
    )
    quasi = {name: Hierarchy.flat() for name in ("admission_type", "admission_location", "insurance")}
    return EventTable(frame, Schema(person="subject_id", order="n", quasi=quasi, sensitive={"died": ["1"]}))


ALL: dict[str, tuple[str, Callable[[Path], EventTable], tuple[int, ...]]] = {
    **SETS,
    "diabetes": ("diabetes measurements", diabetes, (2,)),
    "mimic": ("MIMIC admissions", admissions, (2,)),
}
HEAD = """\
| data | persons | p | loss, global | loss, local | time, global | time, local |
|---|---|---|---|---|---|---|"""


def measure(name: str, table: EventTable, p: int) -> bool:
    """Release a table both ways, and print a row."""
    kept, losses, seconds = True, {}, {}
    for suppression in ("global", "local"):
        method = HALT(k=K, c=C, p=p, suppression=suppression)
        start = time.process_time()
        release = method.apply(table)
        seconds[suppression] = time.process_time() - start
        losses[suppression] = release.utility["information_loss"].value
        kept = kept and release.model.check(release.table).holds
    print(
        f"| {name} | {table.n_persons:,} | {p} | {losses['global']:.3f} | {losses['local']:.3f} "
        f"| {seconds['global']:.1f} s | {seconds['local']:.1f} s |",
        flush=True,
    )
    what = f"{name}, {table.n_persons:,} persons, p = {p}"
    note("equality", f"{what}: both releases keep their promise", kept)
    for suppression in ("global", "local"):
        note("loss", f"{what}: {suppression} suppression", losses[suppression])
    bar = MOST_TIME if table.n_persons == MILLION else None
    ratio = seconds["local"] / seconds["global"]
    note("cost", f"{what}: local beside global, processor time", ratio, bar=bar)
    return kept


def minimality(table: EventTable) -> None:
    """Print the mean and the largest belief of the minimality attack, beside those without its reasoning."""
    for suppression in ("global", "local"):
        method = HALT(k=K, c=C, p=2, suppression=suppression)

        def replay(other: EventTable, method: HALT = method) -> Outcome:
            return method.transform(other, randomness=Randomness(""), engine=LocalEngine(), progress=silent)

        case = Case(tables={}, released=None, original=table, replay=replay)
        for risk in attack_minimality(method.model(), case):
            print(f"{suppression}, {risk.name}: {risk.value:.3f}, without reasoning {risk.control.value:.3f}")
            note("risk", f"demo hospital, {suppression} suppression: {risk.name}", risk.value)


def small() -> None:
    """Hold 200 small tables against the exhaustive optimum."""
    sys.path.insert(0, str(ROOT / "tests"))
    from methods.halt.tables import small_case
    from oracles.halt import local_optimum

    ratios: dict[str, list[float]] = {"local": [], "global": []}
    losses: dict[str, list[float]] = {"local": [], "global": [], "optimum": []}
    for seed in range(SMALL):
        case = small_case(seed)
        best = local_optimum(*case.oracle())
        for suppression, found in ratios.items():
            asked = {"k": case.k, "c": str(case.c), "p": case.p, "levels": case.levels}
            try:
                release = HALT(**asked, suppression=suppression).apply(case.table())
            except UnattainableError:
                continue
            loss = release.utility["information_loss"].value
            losses[suppression].append(loss)
            if best:
                found.append(loss / float(Fraction(best)))
        if best is not None:
            losses["optimum"].append(float(Fraction(best)))
    for suppression, found in ratios.items():
        mean = sum(found) / len(found)
        n_best = sum(ratio < 1 + 1e-9 for ratio in found)
        print(
            f"{suppression}: {mean:.3f} times the optimum of {len(found)} small tables, "
            f"which {n_best} of them reach"
        )
        bar = MOST_ABOVE if suppression == "local" else None
        note("cost", f"small tables: {suppression} suppression, times the optimum", mean, bar=bar)
    for way, each in losses.items():
        note("loss", f"{SMALL} small tables, {way}", sum(each) / len(each))


def main() -> int:
    """Run what is named, or everything but the million."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help=f"{', '.join(ALL)}, small, minimality or million")
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("SEQUESTER_DATA", ROOT.parent / "shared" / "data"))
    )
    asked = parser.parse_args()
    warnings.simplefilter("ignore", SequesterWarning)
    kept = True
    if not asked.sets or "small" in asked.sets:
        small()
    for suppression in ("global", "local"):
        HALT(k=2, c=1, p=1, suppression=suppression).apply(visits(50))  # compiles
    print(HEAD, flush=True)
    for key, (name, read, _) in ALL.items():
        if key not in (asked.sets or set(ALL) - {"medicare"}):
            continue
        try:
            table = read(asked.data)
        except FileNotFoundError:
            print(f"{name}: not in {asked.data}")
            continue
        kept = measure(name, table, 2) and kept
    if not asked.sets or "minimality" in asked.sets:
        minimality(visits(DEMO_PERSONS))
    if "million" in asked.sets:
        kept = measure("visits", visits(MILLION), 2) and kept
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
