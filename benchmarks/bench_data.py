"""Load and encode millions of events, against what polars alone needs to read and group the same file.

Prints, in this order: equality with a slow twin, time and its ratio over three sizes, peak memory, and the
time for the UCI file itself. Exits 1 where the answers differ or a bar is missed.

    python benchmarks/bench_data.py
"""

from __future__ import annotations

import csv
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from ledger import growth, note
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.io import read_frame

LARGEST_RATIO = 3.0
LARGEST_MEMORY = 1.5e9
ROUNDS = 5
SCHEMA = Schema(person="person", order="order", symbol="page")
DATA = Path(os.environ.get("SEQUESTER_DATA", Path(__file__).parents[2] / "shared" / "data"))
MSNBC = DATA / "msnbc" / "msnbc990928.seq.gz"


def events() -> pl.DataFrame:
    """Return full MSNBC, or as many events of the same shape where it is absent."""
    if MSNBC.exists():
        return read_frame(MSNBC).rename({"symbol": "page"})
    rng = np.random.default_rng(1)
    lengths = np.minimum(rng.geometric(1 / 4.75, 990_000), 500)
    person = np.repeat(np.arange(1, len(lengths) + 1), lengths)
    order = np.arange(len(person)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    pages = pl.Series([f"page {chr(97 + i)}" for i in range(17)]).gather(rng.integers(0, 17, len(person)))
    return pl.DataFrame({"person": person, "order": order, "page": pages})


def ours(path: Path) -> EventTable:
    """Read, check, sort and encode."""
    table = EventTable(read_frame(path), SCHEMA)
    assert table.sequences.n_events == table.n_events
    return table


def polars_alone(path: Path) -> pl.DataFrame:
    """Read and group, with no check, no order and no codes."""
    return pl.read_csv(path).group_by("person", maintain_order=True).agg("page")


def slow_twin(path: Path) -> tuple[list[str], list[list[int]], list[str]]:
    """Return the same in plain Python: persons, the codes of each, and what the codes mean."""
    histories: dict[str, list[tuple[int, str]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            histories.setdefault(row["person"], []).append((int(row["order"]), row["page"]))
    labels = sorted({page for history in histories.values() for _, page in history})
    code = {label: place for place, label in enumerate(labels)}
    rows = [
        [code[page] for _, page in sorted(history, key=lambda event: event[0])]
        for history in histories.values()
    ]
    return list(histories), rows, labels


def equals_twin(path: Path) -> bool:
    """Compare persons, codes and labels with the slow twin."""
    table = ours(path)
    persons, rows, labels = slow_twin(path)
    codes = np.split(table.sequences.columns["page"], table.person_offsets[1:-1])
    return (
        table.persons.to_list() == persons
        and [each.tolist() for each in codes] == rows
        and list(table.sequences.codebooks["page"].labels) == labels
    )


def timed(work, path: Path) -> float:
    start = time.perf_counter()
    result = work(path)
    seconds = time.perf_counter() - start
    del result
    return seconds


def peak_memory(which: str, path: Path) -> float:
    """Return the peak resident memory of a fresh process that does the work once."""
    output = subprocess.run(
        [sys.executable, __file__, which, str(path)], capture_output=True, text=True, check=True
    ).stdout
    return float(output)


def own_peak() -> int:
    """Return peak memory in bytes; from /proc if present, as getrusage also counts the parent process."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(
            int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if "VmHWM" in line
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> int:
    passed = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.csv"
        frame = events()
        n_persons = frame["person"].n_unique()
        name = "MSNBC" if MSNBC.exists() else "generated"
        print(f"{name}: {n_persons:,} persons, {frame.height:,} events")

        small = frame.filter(pl.col("person") <= 20_000)
        for kind, part in {
            "as written": small,
            "shuffled": small.sample(fraction=1.0, shuffle=True, seed=7),
        }.items():
            part.write_csv(path)
            equal = equals_twin(path)
            passed &= note("equality", f"{part.height:,} events, {kind}: the slow twin's codes", equal)

        print(f"\n{'events':>12} {'bytes':>12} {'polars s':>9} {'ours s':>9} {'ratio':>6} {'ns/event':>9}")
        sizes, times = [], []
        for share in (4, 2, 1):
            part = frame.filter(pl.col("person") <= n_persons // share)
            part.write_csv(path)
            pairs = [(timed(polars_alone, path), timed(ours, path)) for _ in range(ROUNDS)]
            theirs, mine = (min(side) for side in zip(*pairs, strict=True))
            print(
                f"{part.height:>12,} {path.stat().st_size:>12,} {theirs:>9.2f} {mine:>9.2f} "
                f"{mine / theirs:>6.2f} {mine / part.height * 1e9:>9.0f}"
            )
            sizes.append(part.height)
            times.append(mine)
        what = f"{name}, {frame.height:,} events from CSV to codes"
        note("seconds", what, mine)
        passed &= note("cost", f"{what}: beside polars alone", mine / theirs, bar=LARGEST_RATIO)
        note("growth", f"{sizes[0]:,} to {sizes[-1]:,} events", growth(sizes, times))

        memory = peak_memory("ours", path)
        passed &= note("memory", what, memory, bar=LARGEST_MEMORY)
        print(f"polars alone {peak_memory('polars', path) / 1e9:.2f} GB")

        frame.sample(fraction=1.0, shuffle=True, seed=7).write_csv(path)
        theirs, mine = (min(timed(work, path) for _ in range(2)) for work in (polars_alone, ours))
        print(f"\nthe same rows shuffled: polars {theirs:.2f} s (no order), ours {mine:.2f} s (sorted)")
    if MSNBC.exists():
        seconds = min(timed(read_frame, MSNBC) for _ in range(3))
        note("seconds", f"{MSNBC.name}, {MSNBC.stat().st_size:,} bytes: read", seconds)
    return 0 if passed else 1


if __name__ == "__main__":
    if len(sys.argv) == 3:
        {"ours": ours, "polars": polars_alone}[sys.argv[1]](Path(sys.argv[2]))
        print(own_peak())
        sys.exit(0)
    sys.exit(main())
