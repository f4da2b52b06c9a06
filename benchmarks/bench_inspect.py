"""Inspect clicks and hospital visits of a million persons: equality with enumeration, then time and memory.

Each run is a process of its own that reads a CSV file and inspects it. Targets are everybody up to 100,000
persons, and 10,000 above. Seconds are those on the wall; beside them those of both cores together, which do
not depend on what else the machine does. Exits 1 where answers differ from enumeration or a bar is missed.

    python benchmarks/bench_inspect.py
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from ledger import growth, note
from sequester.attacks import expose
from sequester.data.table import EventTable
from sequester.datasets import make
from sequester.workflow.config import Config
from sequester.workflow.inspect import inspect_config

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from oracles import knowledge as oracles

LONGEST_SECONDS, LARGEST_MEMORY = 60.0, 4e9
SIZES = (100_000, 250_000, 500_000, 1_000_000)
SMALL = 60
TOML = {
    "clicks": """
[data]
path = "clicks.csv"
person = "user"
time = "at"
[data.symbol]
column = "page"
""",
    "hospital": """
[data]
path = "hospital.csv"
person = "PID"
order = "VID"
[data.quasi]
AdmYr.hierarchy = { kind = "flat" }
ZIP.hierarchy = { kind = "mask", levels = [3, 1] }
DSFC.hierarchy = { kind = "intervals", width = [7, 28] }
LOS.hierarchy = { kind = "intervals", width = [7, 28] }
[data.sensitive.Disease]
protect = ["Abortion", "Alcoholism", "Cancer", "Depression", "HIV"]
""",
}


def prepare(name: str, persons: int, folder: Path) -> Path:
    make(name, persons=persons).write_csv(folder / f"{name}.csv", datetime_format="%Y-%m-%dT%H:%M:%S")
    config = folder / f"{name}.toml"
    config.write_text(TOML[name])
    return config


def as_oracle(table: EventTable) -> tuple[list[list[tuple[str, ...]]], list[set[str]]]:
    """Return the persons and their protected values as the definition takes them."""
    columns = [table.symbol] if table.symbol else list(table.schema.quasi)
    persons, protected = [], []
    bounds = zip(table.person_offsets, table.person_offsets[1:], strict=False)
    for start, stop in bounds:
        events = table.frame[int(start) : int(stop)]
        persons.append(
            [tuple(f"{name}={row[name]}" for name in columns) for row in events.iter_rows(named=True)]
        )
        diseases = events["Disease"].to_list() if "Disease" in events.columns else []
        protected.append({value for value in diseases if value in table.protected["Disease"]})
    return persons, protected


def equals_enumeration(name: str, folder: Path) -> bool:
    """Compare every share with the one that enumeration gives."""
    table = Config.load(prepare(name, SMALL, folder)).table()
    # Enumeration takes all triples of a person, so the longest histories are left out.
    counts = table.frame.group_by(table.schema.person).len()
    short = counts.filter(pl.col("len") <= 12)[table.schema.person].to_list()
    table = EventTable(table.frame.filter(pl.col(table.schema.person).is_in(short)), table.schema)
    persons, protected = as_oracle(table)
    equal = True
    for each in expose(table):
        question = persons, each.kind, each.known
        for bound, share in ((2, each.unique), (5, each.below_5), (10, each.below_10)):
            equal &= abs(share.value - float(oracles.share_below(bound, *question))) < 1e-9
        if each.confidence is not None:
            sure = persons, protected, each.kind, each.known
            for bound, share in ((0.5, each.confidence.above_half), (0.8, each.confidence.above_80)):
                equal &= abs(share.value - float(oracles.share_above(bound, *sure))) < 1e-9
    what = f"{name}, {table.n_persons} persons, {table.n_events} events: enumeration"
    return note("equality", what, equal)


def measure(config: Path) -> tuple[float, float, float]:
    """Run a process of its own; give its seconds, start included, those of its cores, and its peak memory."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, __file__, str(config)], capture_output=True, text=True, check=True)
    cores, memory = map(float, done.stdout.split())
    return time.perf_counter() - start, cores, memory


def main() -> int:
    passed = True
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        for name in TOML:
            passed &= equals_enumeration(name, folder)
        for name in TOML:
            print(
                f"\n{name:<10}{'persons':>10} {'seconds':>8} {'of cores':>9} {'us/person':>10} {'peak GB':>8}"
            )
            times = []
            for persons in SIZES:
                seconds, cores, memory = measure(prepare(name, persons, folder))
                each = f"{cores / persons * 1e6:>10.1f} {memory / 1e9:>8.2f}"
                print(f"{'':<10}{persons:>10,} {seconds:>8.1f} {cores:>9.1f} {each}")
                times.append(seconds)
            what = f"{name}, {SIZES[-1]:,} persons: read and inspect"
            passed &= note("seconds", what, seconds, bar=LONGEST_SECONDS)
            passed &= note("memory", what, memory, bar=LARGEST_MEMORY)
            # From where on not everybody is a target.
            note("growth", f"{name}, {SIZES[1]:,} to {SIZES[-1]:,} persons", growth(SIZES[1:], times[1:]))
    return 0 if passed else 1


if __name__ == "__main__":
    if len(sys.argv) == 2:
        inspect_config(sys.argv[1]).to_json()
        print(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        sys.exit(0)
    sys.exit(main())
