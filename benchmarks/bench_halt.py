"""HALT: equality with its slow twin, then time, peak memory and growth beside the goals.

    python benchmarks/bench_halt.py                            all parts
    python benchmarks/bench_halt.py twin miner --persons 10000 some of them, on less

Parts: compile, twin, miner, threads, growth (hospital visits), million, medicare (the public DE-SynPUF
claims, in the folder desynpuf of --data) and refusal. Compilation is timed apart, in a cache folder of its
own. Exits 1 where answers differ or a bar is missed. Releases suppress values wherever they stand, as in the
thesis; bench_suppression.py has single cells beside that.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from ledger import growth, note
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import desynpuf, hospital
from sequester.engine import LocalEngine
from sequester.errors import SequesterWarning, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods import HALT
from sequester.methods.halt.extraction import Extraction
from sequester.methods.halt.histories import QuasiIdentifiers, WeightedRows
from sequester.methods.halt.signature_rows import Thresholds

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[1]
K, C = 5, 0.7
BARS = {3: 60.0, 4: 360.0}
"""Items that may be known to seconds for the Medicare claims."""
LARGEST_MEMORY = 3e9
MILLION_SECONDS = 90.0
LEAST_GAIN = 1.6
"""Two threads against one."""
LEAST_LEAD = 200
"""Times a straightforward miner in Python."""
QUASI = {
    "AdmYr": Hierarchy.flat(),
    "ZIP": Hierarchy.mask([3, 1]),
    "DSFC": Hierarchy.intervals([7, 28, 84], origin=0),
    "LOS": Hierarchy.intervals([7, 28], origin=0),
}


def visits(persons: int, *, mean_events: float = 2.5) -> EventTable:
    """Return hospital visits with four quasi-identifiers."""
    frame = hospital.make(persons=persons, mean_events=mean_events)
    sensitive = {"Disease": list(hospital.PROTECTED)}
    return EventTable(frame, Schema(person="PID", order="VID", quasi=QUASI, sensitive=sensitive))


def claims(data: Path) -> EventTable:
    """Return the claims of the thesis, with its five quasi-identifiers."""
    dates = Hierarchy.dates(["month", "quarter", "year"])
    quasi = {
        "admission": dates,
        "discharge": dates,
        "LOS": Hierarchy.intervals([7, 28], origin=0),
        "DSFC": Hierarchy.intervals([7, 28, 84], origin=0),
        "payment": Hierarchy.quantiles([20, 5]),
    }
    frame = desynpuf.table(data / "desynpuf").drop("claim", "sample").with_row_index("n")
    sensitive = {"diagnosis": desynpuf.PROTECTED}
    return EventTable(frame, Schema(person="PID", order="n", quasi=quasi, sensitive=sensitive))


def extract(table: EventTable, p: int, *, threads: int | None = None) -> tuple[list[int], set, float]:
    """Mine all minimal channels: how many of each length, what they are where they are few, and seconds."""
    quasi = QuasiIdentifiers.of(table)
    histories = WeightedRows.of(table, quasi).fold()
    engine = LocalEngine() if threads is None else LocalEngine(threads=threads)
    start = time.perf_counter()
    extraction = Extraction(histories, quasi, Thresholds(k=K, c=C, p=p), engine)
    counts, kept = [0] * p, []
    for _, by_length in extraction:
        for channels in by_length:
            counts[channels.items.shape[1] - 1] += len(channels.supports)
            kept.append(channels)
    seconds = time.perf_counter() - start
    few = kept if sum(counts) < 1_000_000 else []
    found = {each.cause(row).channel(quasi).events for each in few for row in range(len(each.supports))}
    return counts, found, seconds


def oracle(table: EventTable, p: int) -> tuple[set, float]:
    """Mine the same with the straightforward miner of the tests."""
    sys.path.insert(0, str(ROOT / "tests"))
    from oracles import halt

    names = list(table.schema.quasi)
    trees = {}
    for name in names:
        tree = table.hierarchies[name]
        nodes = {
            above
            for label in table.labels[name]
            for above in [tree.node(label), *tree.ancestors(tree.node(label))]
        }
        trees[name] = {tree.labels[node]: tree.labels[tree.parent[node]] for node in nodes if node}
    columns = [table.sequences.to_rows(name) for name in names]
    persons = [
        [dict(zip(names, event, strict=True)) for event in zip(*rows, strict=True)]
        for rows in zip(*columns, strict=True)
    ]
    (attribute,) = table.protected
    protected = [set(row) & table.protected[attribute] for row in table.sequences.to_rows(attribute)]
    start = time.perf_counter()
    found = halt.mine(persons, trees, protected, K, Fraction(str(C)), p)
    return found, time.perf_counter() - start


def run(
    table: EventTable,
    p: int,
    *,
    name: str,
    bar: float,
    times: list[float] | None = None,
) -> bool:
    """Extract, eliminate, release and verify; the check alone for comparison."""
    start = time.perf_counter()
    release = HALT(k=K, c=C, p=p, suppression="global").apply(table)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    verdict = release.model.check(release.table)
    check = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    what = f"{name}, {table.n_persons:,} persons, {table.n_events:,} events, p = {p}"
    print(f"{what}: loss {release.utility['information_loss'].value:.3f}")
    if times is not None:
        times.append(seconds)
    answers = [
        verdict.holds,
        note("seconds", what, seconds, bar=bar),
        note("seconds", f"{what}: the check alone, at most half", check, bar=seconds / 2),
        note("memory", what, memory, bar=LARGEST_MEMORY),
    ]
    return all(answers)


def alone(part: str, *options: str) -> bool:
    """Run a part in a process of its own, so that its peak of memory is its own."""
    return subprocess.run([sys.executable, __file__, part, *options], check=False).returncode == 0


def compile_time() -> bool:
    """Measure what the first run of a fresh installation costs beyond the second."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "first-run"]
        done = subprocess.run(command, check=False, env={**os.environ, "NUMBA_CACHE_DIR": folder})
    return done.returncode == 0


def first_run() -> bool:
    table, seconds = visits(200), []
    for _ in range(2):
        start = time.perf_counter()
        HALT(k=K, c=C, p=2).apply(table)
        seconds.append(time.perf_counter() - start)
    return note("seconds", "kernels of halt compile, once", seconds[0] - seconds[1])


def twin() -> bool:
    """Compare the minimal channels with those of the slow miner, one by one."""
    answers = []
    for p in (1, 2, 3):
        table = visits(150 if p < 3 else 60)
        _, found, seconds = extract(table, p)
        slow, slow_seconds = oracle(table, p)
        what = f"{table.n_persons} persons, p = {p}: {len(found):,} minimal channels"
        answers.append(note("equality", f"{what}: the slow twin's", found == slow))
        note("lead", f"{what}: beside the slow twin", slow_seconds / seconds)
    return all(answers)


def miner(persons: int) -> bool:
    """Compare with a straightforward miner, on a size that both finish."""
    table = visits(persons)
    found, seconds = set(), float("inf")
    for _ in range(4):  # the first compiles
        _, found, now = extract(table, 2)
        seconds = min(seconds, now)
    slow, slow_seconds = oracle(table, 2)
    what = f"{persons:,} persons, p = 2: a straightforward miner in Python"
    fine = note("equality", what, found == slow)
    return note("lead", what, slow_seconds / seconds, bar=LEAST_LEAD) and fine


def threads(persons: int) -> bool:
    """Compare two threads with one, alternated, best of three."""
    table = visits(persons)
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(3):
        for n_threads in (1, 2):
            best[n_threads] = min(best[n_threads], extract(table, 3, threads=n_threads)[2])
    what = f"{persons:,} persons, p = 3: extraction on two threads beside one"
    return note("lead", what, best[1] / best[2], bar=LEAST_GAIN)


def refusal(persons: int) -> bool:
    """Measure how soon a p that does not fit is refused, with an estimate and the largest p that does."""
    table = visits(persons, mean_events=20)
    start = time.perf_counter()
    try:
        HALT(k=K, c=C, p=12).apply(table)
    except UnattainableError as refused:
        print(f"p = 12: {refused} ({time.perf_counter() - start:.2f} s)")
        return "the largest p that fits is" in str(refused)
    return False


def grow(sizes: list[int]) -> bool:
    """Measure visits of several sizes, each against its bar, and how time grows with the size."""
    times: list[float] = []
    fine = every(run(visits(size), 2, name="visits", bar=MILLION_SECONDS, times=times) for size in sizes)
    if len(sizes) > 1:
        note("growth", f"{sizes[0]:,} to {sizes[-1]:,} persons, p = 2", growth(sizes, times))
    return fine


def every(answers: Iterable[bool]) -> bool:
    """Run all, also behind one that missed its bar."""
    return min(list(answers), default=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=[])
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("SEQUESTER_DATA", ROOT.parent / "shared" / "data")),
        help="the folder of public data, for medicare (default: ../shared/data)",
    )
    parser.add_argument(
        "--persons", type=int, default=1_000_000, help="the largest size of growth and million"
    )
    asked = parser.parse_args()
    warnings.simplefilter("ignore", SequesterWarning)
    largest = asked.persons
    sizes = [size for size in (10_000, 100_000, 1_000_000) if size <= largest] or [largest]
    parts = {
        "compile": compile_time,
        "twin": twin,
        "miner": lambda: miner(min(largest, 2_000)),
        "threads": lambda: threads(min(largest, 20_000)),
        "growth": lambda: grow(sizes),
        "million": lambda: run(visits(largest, mean_events=3), 2, name="visits, 3 each", bar=MILLION_SECONDS),
        "refusal": lambda: refusal(min(largest, 10_000)),
        "first-run": first_run,
    }
    if (asked.data / "desynpuf").is_dir():
        parts["medicare"] = lambda: every(
            run(claims(asked.data), p, name="Medicare claims", bar=bar) for p, bar in BARS.items()
        )
    if not asked.parts:
        options = ("--data", str(asked.data), "--persons", str(largest))
        return 0 if every(alone(name, *options) for name in parts if name != "first-run") else 1
    chosen = asked.parts
    unknown = [name for name in chosen if name not in parts]
    if unknown:
        parser.error(f"no such part, or it needs --data: {', '.join(unknown)}")
    return 0 if every(parts[name]() for name in chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
