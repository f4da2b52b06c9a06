"""Make a million persons with each generator, one process each.

Prints, in this order: equality of two runs with one seed, time with imports and compilation aside, and peak
memory. Exits 1 where a seed does not repeat its table or a million persons take 20 seconds or more.

    python benchmarks/bench_datasets.py [PERSONS]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from ledger import note
from sequester.datasets import DATASETS, PAPERS

MOST_SECONDS = 20.0
# Half a year of a million lives would be three billion rows: the bar is a day of each.
PARAMETERS = {"activities": {"days": 1}}


def digest(name: str, persons: int) -> int:
    """Return a number that equal tables share."""
    import importlib

    module = importlib.import_module(f"sequester.datasets.{name}")
    frame = module.make(persons=persons, seed="bench", **PARAMETERS.get(name, {}))
    return int(frame.hash_rows(seed=1).implode().hash(seed=1).item())


def measure(name: str, persons: int) -> dict[str, float]:
    """Measure one generator, in its own process, so that the peak memory is its own."""
    import importlib

    module = importlib.import_module(f"sequester.datasets.{name}")
    parameters = PARAMETERS.get(name, {})
    module.make(persons=10, **parameters)  # compiles what has to be compiled
    before = time.perf_counter()
    frame = module.make(persons=persons, seed="bench", **parameters)
    seconds = time.perf_counter() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"rows": len(frame), "seconds": seconds, "peak": peak}


def in_a_process(*arguments: str) -> str:
    command = [sys.executable, str(Path(__file__).resolve()), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main(persons: int) -> int:
    names = [name for name in DATASETS if name not in PAPERS]
    unequal = [name for name in names if len({in_a_process("digest", name, "20000") for _ in range(2)}) > 1]
    what = f"equal tables from equal seeds, {len(names)} generators"
    answers = [note("equality", what, not unequal)]
    for name in names:
        needed = json.loads(in_a_process("measure", name, str(persons)))
        what = f"{name}, {persons:,} persons, {needed['rows']:,} rows"
        bar = MOST_SECONDS * persons / 1_000_000
        answers.append(note("seconds", what, needed["seconds"], bar=bar))
        note("memory", what, needed["peak"])
    for name in unequal:
        print(f"{name}: the same seed gave two tables", file=sys.stderr)
    return 0 if all(answers) else 1


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["digest", name, persons]:
            print(digest(name, int(persons)))
        case ["measure", name, persons]:
            print(json.dumps(measure(name, int(persons))))
        case arguments:
            sys.exit(main(int(arguments[0]) if arguments else 1_000_000))
