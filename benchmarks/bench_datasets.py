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

from sequester.datasets import DATASETS

MOST_SECONDS = 20.0
# Half a year of a million lives would be three billion rows: the bar is a day of each.
PARAMETERS = {"activities": {"days": 1}}


def digest(name: str, persons: int) -> int:
    """A number that two equal tables share."""
    import importlib

    module = importlib.import_module(f"sequester.datasets.{name}")
    frame = module.make(persons=persons, seed="bench", **PARAMETERS.get(name, {}))
    return int(frame.hash_rows(seed=1).implode().hash(seed=1).item())


def measure(name: str, persons: int) -> dict[str, float]:
    """What one generator needs; runs in a process of its own, so that the peak is its own."""
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
    names = [name for name, each in DATASETS.items() if not each.is_printed]
    unequal = [name for name in names if len({in_a_process("digest", name, "20000") for _ in range(2)}) > 1]
    print(f"equal tables from equal seeds: {len(names) - len(unequal)} of {len(names)} generators")
    slow = []
    print(f"{'generator':<12}{'persons':>12}{'rows':>14}{'seconds':>10}{'peak GB':>10}")
    for name in names:
        needed = json.loads(in_a_process("measure", name, str(persons)))
        gigabytes = needed["peak"] / 1e9
        print(f"{name:<12}{persons:>12,}{needed['rows']:>14,}{needed['seconds']:>10.1f}{gigabytes:>10.2f}")
        if needed["seconds"] * 1_000_000 / persons >= MOST_SECONDS:
            slow.append(name)
    for name in unequal:
        print(f"{name}: the same seed gave two tables", file=sys.stderr)
    for name in slow:
        print(f"{name}: a million persons take {MOST_SECONDS:.0f} s or more", file=sys.stderr)
    return 1 if unequal or slow else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["digest", name, persons]:
            print(digest(name, int(persons)))
        case ["measure", name, persons]:
            print(json.dumps(measure(name, int(persons))))
        case arguments:
            sys.exit(main(int(arguments[0]) if arguments else 1_000_000))
