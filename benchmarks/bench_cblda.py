"""CBLDA: equality with the plain algorithm, then time, growth and peak memory, then blocks and their price.

    python benchmarks/bench_cblda.py                     all parts
    python benchmarks/bench_cblda.py twin growth         some of them: optimum, twin, growth, blocks, million
    python benchmarks/bench_cblda.py --largest 5000      nothing larger, for a quick look

The data are the DE-SynPUF inpatient claims (SEQUESTER_DATA names their folder), quasi-identifiers admission,
discharge, length of stay, payment and days since the first claim of the year; k = 5, c = 0.7. Each size runs
in a process of its own, so that its memory is its own, and compiles nothing. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from ledger import growth as power
from ledger import note
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import desynpuf
from sequester.engine import LocalEngine, silent
from sequester.engine.progress import NoCheckpoint
from sequester.hierarchies import Hierarchy
from sequester.methods.cblda.algorithm import solve
from sequester.methods.cblda.method import CBLDA
from sequester.release.randomness import Randomness
from sequester.utility import information_loss

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("SEQUESTER_DATA", ROOT.parent / "shared" / "data")) / "desynpuf"
K, C = 5, 0.7
SIZES = (1_000, 5_000, 10_000, 20_000, 58_460)
MILLION = 1_000_000
SECONDS = {10_000: 6.0, 58_460: 180.0, MILLION: 300.0}
MEMORY = {58_460: 0.5e9}
LEAST_LEAD = 1_000
IMPROVE = os.environ.get("SEARCH", "improve") == "improve"
"""SEARCH=greedy measures the thesis' own way."""
Block = int | bool | str
"""Persons of a block, "auto", or false, as the method takes it."""
SMALL = 200
"""Small tables that are compared with the best classes of all."""
MOST_ABOVE = 0.2
"""Share of them where other classes lose less."""
TWIN = 1_000
"""Persons that the plain algorithm finishes in some minutes."""


def claims(folder: Path) -> pl.DataFrame:
    """Return the events of the thesis, read once."""
    path = folder / "claims.parquet"
    if not path.exists():
        desynpuf.table(DATA).write_parquet(path)
    return pl.read_parquet(path)


def table_of(events: pl.DataFrame) -> EventTable:
    dates = Hierarchy.dates(["month", "quarter", "year"])
    schema = Schema(
        person="PID",
        time="admission",
        tie="claim",
        quasi={
            "admission": dates,
            "discharge": dates,
            "LOS": Hierarchy.intervals([7, 28]),
            "payment": Hierarchy.intervals([1000, 5000, 20000]),
            "DSFC": Hierarchy.intervals([7, 28, 84]),
        },
        sensitive={"diagnosis": desynpuf.PROTECTED},
        drop=["sample"],
    )
    return EventTable(events, schema)


def first_persons(events: pl.DataFrame, n: int) -> pl.DataFrame:
    persons = events["PID"].unique(maintain_order=True).head(n)
    return events.filter(pl.col("PID").is_in(persons.implode()))


def copies(events: pl.DataFrame, n: int) -> pl.DataFrame:
    """Return `n` persons: copies under new names, a few days and dollars apart."""
    draw = np.random.default_rng(7)
    n_persons = events["PID"].n_unique()
    parts = []
    for copy in range(-(-n // n_persons)):
        days = pl.Series(draw.integers(-20, 21, events.height))
        dollars = pl.Series(draw.integers(-500, 501, events.height))
        parts.append(
            events.with_columns(
                PID=pl.col("PID") + f"-{copy}",
                claim=pl.col("claim").cast(pl.String) + f"-{copy}",
                admission=pl.col("admission") + pl.duration(days=days),
                discharge=pl.col("discharge") + pl.duration(days=days),
                payment=(pl.col("payment") + dollars).clip(lower_bound=0),
            )
        )
    return first_persons(pl.concat(parts), n)


def method_of(block: Block = False) -> CBLDA:
    return CBLDA(k=K, c=C, search="improve" if IMPROVE else "greedy", block=block)


def run(table: EventTable, *, block: Block = False) -> tuple[object, float]:
    start = time.perf_counter()
    solution = solve(
        table,
        method_of(block),
        randomness=Randomness.of("a sentence that nobody guesses"),
        engine=LocalEngine(),
        progress=silent,
        checkpoint=NoCheckpoint(),
    )
    return solution, time.perf_counter() - start


def loss_of(table: EventTable, solution: object) -> float:
    from sequester.methods.cblda.publish import publish

    outcome = publish(table, solution, method_of())  # type: ignore[arg-type]
    return information_loss(outcome.sequences, original=table).value


def one(folder: Path, n: int, block: Block) -> None:
    """Cluster `n` persons, and print the figures as JSON."""
    events = claims(folder)
    events = first_persons(events, n) if n <= events["PID"].n_unique() else copies(events, n)
    run(table_of(first_persons(events, 50)))  # loads what is compiled
    table = table_of(events)
    del events
    before = resource.getrusage(resource.RUSAGE_SELF)
    solution, seconds = run(table, block=block)
    after = resource.getrusage(resource.RUSAGE_SELF)
    figures = {
        "persons": table.n_persons,
        "seconds": seconds,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "memory": after.ru_maxrss * 1024,
        "loss": loss_of(table, solution),
        "blocks": solution.n_blocks,  # type: ignore[attr-defined]
    }
    print(json.dumps(figures))


def ask(folder: Path, n: int, *, block: Block = False, limit: float | None = None) -> dict[str, float]:
    asked = json.dumps([n, block])
    command = [sys.executable, __file__, "--one", asked, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def told(what: str, figures: dict[str, float]) -> None:
    print(
        f"{what:<28}{figures['persons']:>10,.0f} persons {figures['seconds']:>8.2f} s "
        f"({figures['cpu']:.1f} s of processors) {figures['memory'] / 1e9:>6.2f} GB  "
        f"loss {figures['loss']:.4f}"
    )


def twin(folder: Path) -> bool:
    """Compare with the plain algorithm in Python, on as many persons as it finishes: the same classes."""
    sys.path.insert(0, str(ROOT / "tests"))
    from methods.cblda.tables import by_oracle, classes_of
    from oracles import cblda as oracle

    table = table_of(first_persons(claims(folder), TWIN))
    run(table)
    solution, seconds = run(table)
    trees = [
        {tree.labels[node]: tree.labels[tree.parent[node]] for node in range(1, len(tree))}
        for tree in table.hierarchies.values()
    ]
    sequences = table.sequences
    rows = list(
        zip(*(sequences.codebooks[q].decode(sequences.columns[q]) for q in table.schema.quasi), strict=True)
    )
    ills = sequences.codebooks["diagnosis"].decode(sequences.columns["diagnosis"])
    bounds = table.person_offsets.tolist()
    pairs = list(pairwise(bounds))
    persons = [rows[a:b] for a, b in pairs]
    risks = [[{ill} & table.protected["diagnosis"] for ill in ills[a:b]] for a, b in pairs]
    rules = oracle.Rules(trees, K, C, unit=1)
    rules.unit = solution.trees.unit  # type: ignore[attr-defined]
    first = solution.trees.first  # type: ignore[attr-defined]
    rules.worths = [
        dict(zip(tree.labels, solution.trees.kernel.worth[at : at + len(tree)].tolist(), strict=True))  # type: ignore[attr-defined]
        for tree, at in zip(table.hierarchies.values(), first, strict=False)
    ]
    start = time.perf_counter()
    expected = oracle.cblda(rules, risks, persons)
    plain = time.perf_counter() - start
    is_equal = classes_of(table, solution) == by_oracle(expected)
    what = f"{TWIN:,} persons: the plain algorithm in Python"
    fine = note("equality", what, is_equal)
    return note("lead", what, plain / seconds, bar=LEAST_LEAD) and fine


def optimum() -> bool:
    """Compare with the best of all classes on small tables: losses, and how often nothing loses less."""
    sys.path.insert(0, str(ROOT / "tests"))
    from methods.cblda.tables import DEEP, FLAT, ILLS, Example, classes_of
    from methods.cblda.tables import run as run_small
    from oracles import cblda as oracle

    draw = np.random.default_rng(3)
    losses: dict[str, list[float]] = {"greedy": [], "improve": [], "optimum": []}
    while len(losses["optimum"]) < SMALL:
        lengths = draw.integers(1, 4, draw.integers(5, 8))
        persons = [
            [(str(draw.choice([*"abc"])), str(draw.choice([*"123"]))) for _ in range(n)] for n in lengths
        ]
        ills = [[str(draw.choice(ILLS)) for _ in events] for events in persons]
        example = Example([DEEP, FLAT], persons, ills, [1.0, 1.0])
        k, c = int(draw.integers(2, 4)), float(draw.choice([0.5, 1.0]))
        if not example.can_keep(k, c, "any"):
            continue
        table, rules = example.table(), example.rules(k, c, "any")
        whole, left = sum(oracle.kill(rules, events) for events in persons), {}
        for search in ("greedy", "improve"):
            found = classes_of(table, run_small(table, k=k, c=c, search=search))
            left[search] = sum(len(members) * oracle.kill(rules, shown) for members, shown, _ in found)
        best = oracle.best_classes(rules, example.risks, persons, {*range(len(persons))})
        # Clusters that are aligned with each other may leave more than persons one after another.
        left["optimum"] = max(best, *left.values())
        for name, value in left.items():
            losses[name].append(1 - value / whole)
    is_met = True
    for name, values in losses.items():
        note("loss", f"{SMALL} small tables, {name}", float(np.mean(values)))
        if name != "optimum":
            above = float(np.mean(~np.isclose(values, losses["optimum"])))
            what = f"{SMALL} small tables, {name}: share of them above the optimum"
            is_met &= note("loss", what, above, bar=MOST_ABOVE if name == "improve" else None)
    return is_met


def growth(folder: Path, largest: int) -> bool:
    """Measure time and memory over sizes; memory must grow no faster than persons."""
    is_met = True
    sizes, times = [size for size in SIZES if size <= largest], []
    for size in sizes:
        figures = ask(folder, size)
        told("exact", figures)
        times.append(figures["seconds"])
        is_met &= note("seconds", f"{size:,} persons, exact", figures["seconds"], bar=SECONDS.get(size))
        is_met &= note("memory", f"{size:,} persons, exact", figures["memory"], bar=MEMORY.get(size))
    if len(sizes) > 1:
        note("growth", f"{sizes[0]:,} to {sizes[-1]:,} persons, exact", power(sizes, times))
    return is_met


def blocks(folder: Path, largest: int) -> bool:
    """Measure what blocks cost in loss, where an exact run fits as well."""
    size = max(each for each in SIZES if each <= largest)
    exact = ask(folder, size)
    told("exact", exact)
    for block in (2_500, 5_000, 10_000):
        if block < size:
            figures = ask(folder, size, block=block)
            told(f"{figures['blocks']:.0f} blocks of {block:,}", figures)
            print(f"  price: {100 * (figures['loss'] / exact['loss'] - 1):+.2f} % of the loss")
    return True


def million(folder: Path, largest: int) -> bool:
    """Cluster a million persons in blocks; stop at twice the bar."""
    if largest < MILLION:
        return True
    what, bar = f"{MILLION:,} persons in blocks", SECONDS[MILLION]
    try:
        figures = ask(folder, MILLION, block="auto", limit=2 * bar)
    except subprocess.TimeoutExpired:
        return note("seconds", f"{what}: stopped, not done", 2 * bar, bar=bar)
    told(f"{figures['blocks']:.0f} blocks", figures)
    note("memory", what, figures["memory"])
    return note("seconds", what, figures["seconds"], bar=bar)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=["optimum", "twin", "growth", "blocks", "million"])
    parser.add_argument("--largest", type=int, default=MILLION)
    parser.add_argument("--one", type=json.loads)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.one:
        one(given.folder, *given.one)
        return 0
    is_met = optimum() if "optimum" in given.parts else True
    given.parts = [each for each in given.parts if each != "optimum"]
    if not DATA.is_dir():
        print(f"{DATA} is not here; SEQUESTER_DATA names the folder of the public data sets")
        return 0 if is_met else 1
    parts = {"growth": growth, "blocks": blocks, "million": million}
    with tempfile.TemporaryDirectory() as name:
        folder = given.folder or Path(name)
        claims(folder)
        for each in given.parts:
            is_met &= twin(folder) if each == "twin" else parts[each](folder, given.largest)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
