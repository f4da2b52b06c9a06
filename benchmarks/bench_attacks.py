"""Attack tables of up to a million persons: equality with enumeration, then time, memory and growth.

What is known of 10,000 targets, 1, 2 and 3 items, is looked for in one table: items in order at three sizes,
then knowledge of every kind at the largest. Reading the table into the index is part of it. Last, values that
add up to others are narrowed. Beside the seconds on the wall stand those of all cores, which depend less on
what else the machine does. Exits 1 where an answer differs from enumeration or a bar is missed.

    python benchmarks/bench_attacks.py [--persons 1000000]
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ledger import growth, note
from sequester.attacks.background_knowledge import kinds_for
from sequester.attacks.candidate_sets import Evidence, find_candidates
from sequester.attacks.context import AttackContext
from sequester.attacks.domain import Domain
from sequester.attacks.exposure import sequence_risk
from sequester.attacks.narrowing import Narrowing
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.hierarchies import Hierarchy

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from oracles import attacks as oracles

if TYPE_CHECKING:
    from sequester.attacks.background_knowledge import KnowledgeKind

LONGEST, LONGEST_PAIRS = 30.0, 1.0
TARGETS = 10_000


def clicks(persons: int, n_events: int, n_pages: int, *, seed: int = 1) -> EventTable:
    """Return histories of about `n_events` pages; few pages are frequent."""
    rng = np.random.default_rng(seed)
    lengths = np.maximum(rng.poisson(n_events, persons), 1)
    pages = (n_pages * rng.random(int(lengths.sum())) ** 2).astype(np.int64)
    frame = pl.DataFrame(
        {
            "user": np.repeat(np.arange(persons), lengths),
            "n": np.arange(lengths.sum()),
            "page": pl.Series(pages).cast(pl.String),
        }
    )
    return EventTable(frame, Schema(person="user", order="n", symbol="page"))


def visits(persons: int) -> EventTable:
    """Return visits with three quasi-identifiers and something to protect."""
    rng = np.random.default_rng(2)
    lengths = np.maximum(rng.poisson(3, persons), 1)
    n = int(lengths.sum())
    ill = np.where(rng.random(n) < 0.1, rng.integers(0, 5, n), 9)
    frame = pl.DataFrame(
        {
            "who": np.repeat(np.arange(persons), lengths),
            "n": np.arange(n),
            "zip": pl.Series(rng.integers(10_000, 12_000, n)).cast(pl.String),
            "day": pl.Series(rng.integers(0, 365, n)).cast(pl.String),
            "stay": pl.Series(rng.integers(0, 30, n)).cast(pl.String),
            "ill": pl.Series(ill).cast(pl.String),
        }
    )
    quasi = {"zip": Hierarchy.mask([3]), "day": Hierarchy.intervals(28), "stay": Hierarchy.intervals(7)}
    return EventTable(
        frame, Schema(person="who", order="n", quasi=quasi, sensitive={"ill": ["0", "1", "2", "3", "4"]})
    )


def equals_enumeration() -> bool:
    """Compare candidate sets and the mean risk of a small table with enumeration."""
    table = clicks(60, 5, 12)
    rows = table.sequences.to_rows()
    world = AttackContext(table, table, targets=200)
    equal = True
    for known in (1, 2, 3):
        equal &= abs(sequence_risk(table, known=known) - float(oracles.sequence_risk(rows, known))) < 1e-9
        found = world.find("ordered", known)
        for nodes, size in zip(found.release.knowledge.nodes, found.release.candidates.sizes, strict=True):
            piece = [world.domain.label(node) for node in nodes if node >= 0]
            equal &= sum(_holds(row, piece) for row in rows) == size
    return equal


def _holds(row: tuple[str, ...], piece: list[str]) -> bool:
    left = iter(row)
    return all(label in left for label in piece)


def seconds_of(table: EventTable, kind: KnowledgeKind) -> tuple[float, float]:
    start, worked = time.perf_counter(), time.process_time()
    world = AttackContext(table, table, targets=TARGETS)
    evidence = Evidence.of(table, world.domain)
    for known in (1, 2, 3):
        pieces = world.draw(kind, known)
        find_candidates(pieces, evidence, world.domain, windows=world.inside.windows(pieces))
    return time.perf_counter() - start, time.process_time() - worked


def stays(persons: int) -> EventTable:
    """Return stays whose length is known from the days on which they began and ended."""
    rng = np.random.default_rng(3)
    came, stayed = rng.integers(0, 1000, 3 * persons), rng.integers(0, 60, 3 * persons)
    columns = {"came": came, "stayed": stayed, "left": came + stayed}
    frame = pl.DataFrame(
        {
            "who": np.repeat(np.arange(persons), 3),
            "n": np.arange(3 * persons),
            **{name: pl.Series(days).cast(pl.String) for name, days in columns.items()},
        }
    )
    quasi = {name: Hierarchy.intervals([7, 28]) for name in columns}
    return EventTable(frame, Schema(person="who", order="n", quasi=quasi))


def narrows(persons: int) -> bool:
    """Narrow lengths of stay that were hidden by the week, and compare with those of the original."""
    table = stays(persons)
    start, worked = time.perf_counter(), time.process_time()
    ground = Domain.of(table)
    narrowing = Narrowing.of(table, ground)
    exact = ground.cells(table.sequences)
    coarse = exact.copy()
    coarse[:, 1] = ground.lift(coarse[:, 1], np.full(len(coarse), 2))
    equal = narrowing is not None and np.array_equal(narrowing.apply(coarse), exact)
    seconds, cores = time.perf_counter() - start, time.process_time() - worked
    what = f"dependent values of {persons:,} persons narrowed"
    print(f"{cores:.1f} s of cores")
    note("seconds", what, seconds)
    return note("equality", f"{what}: as they were", equal)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--persons", type=int, default=1_000_000)
    persons = parser.parse_args().persons
    passed = equals_enumeration()
    passed = note("equality", "60 persons: enumeration, and the location sequence attack", passed)
    seconds_of(visits(1000), "ordered")  # compiles

    sequence_risk(clicks(100, 20, 1000), known=2)  # compiles
    everybody = clicks(10_000, 20, 1000)
    start = time.perf_counter()
    risk = sequence_risk(everybody, known=2)
    seconds = time.perf_counter() - start
    print(f"mean risk {risk:.3f}")
    passed &= note("seconds", "every pair of 10,000 persons with 20 events", seconds, bar=LONGEST_PAIRS)

    print(f"{'':<26}{'persons':>10}{'seconds':>9}{'of cores':>10}{'peak GB':>9}")
    tables = {
        "clicks, 17 pages": lambda n: clicks(n, 5, 17),
        "clicks, 1,000 pages": lambda n: clicks(n, 10, 1000),
        "visits, 3 attributes": visits,
    }
    for name, make in tables.items():
        sizes, times = (persons // 4, persons // 2, persons), []
        for size in sizes:
            table = make(size)
            seconds, cores = seconds_of(table, "ordered")
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
            print(f"{name:<26}{size:>10,}{seconds:>9.1f}{cores:>10.1f}{memory:>9.2f}")
            times.append(seconds)
        what = f"{name}, {persons:,} persons, {TARGETS:,} targets, 1 to 3 known"
        passed &= note("seconds", what, seconds, bar=LONGEST)
        note("memory", what, 1e9 * memory)
        note("growth", f"{name}, {sizes[0]:,} to {sizes[-1]:,} persons", growth(sizes, times))

    print(f"\n{'visits, 3 attributes':<26}{'persons':>10}{'seconds':>9}{'of cores':>10}")
    table = visits(persons)
    for kind in kinds_for(table, Domain.of(table)):
        seconds, cores = seconds_of(table, kind)
        print(f"{kind:<26}{persons:>10,}{seconds:>9.1f}{cores:>10.1f}")
        passed &= note("seconds", f"visits, {persons:,} persons, {kind}, 1 to 3 known", seconds, bar=LONGEST)
    print()
    passed &= narrows(persons)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
