"""PH: equality with slow twins, then time beside its bars and beside SBSH, peak memory, and growth.

    python benchmarks/bench_ph.py                        all parts
    python benchmarks/bench_ph.py twin growth            some of them: optimum, compile, twin, msnbc, growth
    python benchmarks/bench_ph.py msnbc --persons 50000  as many persons of MSNBC, the threshold in proportion

Compilation is timed apart, in a cache folder of its own. Exits 1 where answers differ or a bar is missed.
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
from pathlib import Path

import numpy as np

from ledger import growth as power
from ledger import note
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import clicks
from sequester.errors import SequesterWarning
from sequester.io import read_frame
from sequester.methods import PH, SBSH
from sequester.mining.frequent import frequent
from sequester.report import page
from sequester.testing import symbol_table
from sequester.verification.verify import verify
from sequester.workflow.write import write

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("SEQUESTER_DATA", ROOT.parent / "shared" / "data"))
MSNBC = "msnbc/msnbc990928.seq.gz"
ALL_PERSONS, MIN_SUPPORT, MAX_LENGTH = 989_818, 4949, 5
RANKS = {2: (20, 40, 60), 3: (20, 40, 60), 4: (20, 40, 60, 80)}
"""Length to the ranks by support of the patterns that are hidden."""
LONGEST_SECONDS, LARGEST_MEMORY, LARGEST_RATIO, STEEPEST = 180.0, 4e9, 4.0, 1.25
SIZES = (10_000, 100_000, ALL_PERSONS)
SMALL = 100
"""Small tables that are compared with the best changes of all."""
SEED = "a sentence that nobody guesses"


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def table_of(data: Path, persons: int) -> tuple[EventTable, str]:
    """Return the first persons of MSNBC, or as many of the same shape where it is absent."""
    path = data / MSNBC
    if path.exists():
        frame, name = read_frame(path), "MSNBC"
    else:
        frame, name = clicks.make(persons=persons, seed="bench"), "generated clicks"
    who, when, what = frame.columns[:3]
    if persons < ALL_PERSONS:
        frame = frame.filter(frame[who].rle_id() < persons)
    return EventTable(frame, Schema(person=who, order=when, symbol=what)), name


def chosen(table: EventTable, min_support: int) -> list[list[str]]:
    """Return the patterns to hide, by their ranks."""
    found = frequent(table, min_support=min_support, max_length=max(RANKS))
    patterns = []
    for length, ranks in RANKS.items():
        ordered = sorted((-count, labels) for labels, count in found.items() if len(labels) == length)
        patterns += [list(ordered[rank - 1][1]) for rank in ranks if rank <= len(ordered)]
    return patterns


def optimum() -> bool:
    """Compare the side effects on small tables with the fewest of any changes of all rows together."""
    sys.path.insert(0, str(ROOT / "tests"))
    from oracles import pattern_hiding
    from oracles import ph as oracle

    draw = np.random.default_rng(5)
    ways: dict[str, dict[str, str]] = {
        "greedy": {"search": "greedy"},
        "improve": {},
        "least-harm": {"prefer": "least-harm"},
        "permutation": {"prefer": "permutation"},
    }
    found: dict[str, list[int]] = {name: [] for name in (*ways, "optimum")}
    while len(found["optimum"]) < SMALL:
        rows = [
            "".join(draw.choice([*"abcd"], draw.integers(2, 5), p=[0.3, 0.3, 0.3, 0.1]))
            for _ in range(draw.integers(5, 9))
        ]
        secrets = sorted({"".join(draw.permutation([*"abc"])[: draw.integers(2, 4)]) for _ in range(2)})
        least = int(draw.integers(2, 4))
        present = [list(word) for word in secrets if oracle.support(word, rows)]
        if all(oracle.support(word, rows) < least for word in secrets):
            continue
        best = oracle.least_side_effects(rows, secrets, least, 3)
        if best is None:
            continue
        found["optimum"].append(best)
        for name, way in ways.items():
            method = PH(patterns=present, min_support=least, max_length=3, **way)
            frame = method.apply(symbol_table(rows), seed=SEED).frame
            after = ["".join(each) for each in frame.group_by("person").agg("symbol")["symbol"].to_list()]
            effects = pattern_hiding.side_effects([*map(tuple, secrets)], after, rows, least, 3)
            found[name].append(sum(map(len, effects)))
    means = {name: float(np.mean(values)) for name, values in found.items()}
    bar = means["optimum"] + (means["greedy"] - means["optimum"]) / 2
    for name, mean in means.items():
        note(
            "loss",
            f"{SMALL} small tables, side effects, {name}",
            mean,
            bar=bar if name == "improve" else None,
        )
    return means["improve"] <= bar


def compile_time() -> bool:
    """Measure what the first call of a fresh installation costs beyond the second."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "first-call"]
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        return subprocess.run(command, check=False, env=environment).returncode == 0


def first_call() -> bool:
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        PH(patterns=[["a", "b"]], min_support=2).apply(symbol_table(["ab", "ab", "ba"]), seed=SEED)
        seconds.append(time.perf_counter() - start)
    return note("seconds", "kernels of ph compile, once", seconds[0] - seconds[1])


def twin() -> bool:
    """Compare releases of small tables with the slow definitions."""
    sys.path.insert(0, str(ROOT / "tests"))
    from oracles import pattern_hiding

    draw = np.random.default_rng(3)
    n_tables, fine = 60, True
    start = time.perf_counter()
    ours = 0.0
    for _ in range(n_tables):
        rows = ["".join(draw.choice(list("abcd"), draw.integers(1, 7))) for _ in range(25)]
        secrets = [("a", "b"), ("b", "c", "d")]
        began = time.perf_counter()
        release = PH(patterns=[list(each) for each in secrets], min_support=4).apply(
            symbol_table(rows), seed=SEED
        )
        ours += time.perf_counter() - began
        names = dict(release.pseudonyms.iter_rows())
        found = dict(release.frame.group_by("person", maintain_order=True).agg("symbol").iter_rows())
        released = ["".join(found.get(names.get(f"person {n}"), [])) for n in range(1, len(rows) + 1)]
        lost, ghosts = pattern_hiding.side_effects(secrets, released, rows, 4, 5)
        counted = (release.utility["lost_patterns"].value, release.utility["ghost_patterns"].value)
        fine &= pattern_hiding.is_hidden(dict.fromkeys(secrets, 4), released, rows)
        fine &= counted == (len(lost), len(ghosts))
    all_seconds = time.perf_counter() - start
    print(f"{ours:.1f} s here, {all_seconds - ours:.1f} s in the slow definitions")
    what = f"{n_tables} tables of 25 rows: hidden, and side effects counted, as the definitions say"
    return note("equality", what, fine)


def run(kind: type[PH] | type[SBSH], table: EventTable, patterns: list[list[str]], min_support: int):
    """Apply a method; time it, side effects accounted for."""
    method = kind(patterns=patterns, min_support=min_support, max_length=MAX_LENGTH)
    start = time.perf_counter()
    release = method.apply(table, seed=SEED)
    return release, time.perf_counter() - start


def msnbc(data: Path, persons: int) -> bool:
    """Mine, hide, verify and account for side effects."""
    table, name = table_of(data, persons)
    min_support = max(round(MIN_SUPPORT * table.n_persons / ALL_PERSONS), 2)
    start = time.perf_counter()
    patterns = chosen(table, min_support)
    mined = time.perf_counter() - start
    print(f"{name}: {table.n_persons:,} persons, min_support {min_support}; hidden are")
    for pattern in patterns:
        print(f"  {' → '.join(pattern)}")
    release, seconds = run(PH, table, patterns, min_support)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        written = write(release, folder, original=table, report=page)
        fine = bool(verify(written.path, original=table, model=release.model))
    checked = time.perf_counter() - start
    other, other_seconds = run(SBSH, table, patterns, min_support)
    for each, took in ((release, seconds), (other, other_seconds)):
        figures = ", ".join(f"{key} {score.value:.4g}" for key, score in each.utility.items())
        print(f"{each.method}: {took:.1f} s: {figures}")
    total = mined + seconds + checked
    ratio = seconds / other_seconds
    print(f"mined {mined:.1f} s, hidden and accounted {seconds:.1f} s, written and verified {checked:.1f} s")
    what = f"{name}, {table.n_persons:,} persons: mine, hide, account, write and verify"
    answers = [
        note("equality", f"{what}: the files keep the promise", fine),
        note("seconds", what, total, bar=LONGEST_SECONDS),
        note("memory", what, peak(), bar=LARGEST_MEMORY),
        note("cost", "PH beside SBSH on the same", ratio, bar=LARGEST_RATIO),
    ]
    return all(answers)


def growth(data: Path, persons: int) -> bool:
    """Measure three sizes, the threshold in proportion."""
    times = []
    for size in (each for each in SIZES if each <= persons):
        table, _ = table_of(data, size)
        min_support = max(round(MIN_SUPPORT * table.n_persons / ALL_PERSONS), 2)
        patterns = chosen(table, min_support)
        start = time.process_time()
        _, seconds = run(PH, table, patterns, min_support)
        # Of the processor, because others may be at work on the same machine.
        busy = time.process_time() - start
        times.append((size, busy))
        print(f"{size:,} persons: {seconds:.2f} s, {1e6 * busy / size:.1f} µs of the processor per person")
    sizes, busy_times = zip(*times, strict=True)
    if len(sizes) == 1:
        return True
    what = f"{sizes[0]:,} to {sizes[-1]:,} persons"
    return note("growth", what, power(sizes, busy_times), bar=STEEPEST)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=["optimum", "compile", "twin", "msnbc", "growth"])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--persons", type=int, default=ALL_PERSONS)
    asked = parser.parse_args()
    parts = {
        "optimum": optimum,
        "compile": compile_time,
        "first-call": first_call,
        "twin": twin,
        "msnbc": lambda: msnbc(asked.data, asked.persons),
        "growth": lambda: growth(asked.data, asked.persons),
    }
    warnings.simplefilter("ignore", SequesterWarning)
    answers = [parts[part]() for part in asked.parts]
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
