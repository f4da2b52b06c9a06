"""How much the first use of each method compiles, and for how long.

    python benchmarks/bench_compile.py                 # all methods, verification and attacks included
    python benchmarks/bench_compile.py halt ph -v      # function by function
    python benchmarks/bench_compile.py --record        # keep the counts for tests/contracts/test_compile.py,
                                                       # and the seconds that are announced in the package

Every method runs twice in a process of its own that begins without compiled code; the second run tells how
much of the first was compilation. Seconds are those of the processor. A count is the number of compilations,
those of numba's own helpers included. What would have been announced on a machine where nothing was compiled
before is held against what was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from ledger import note

RECORD = Path(__file__).with_name("compilations.json")
SHIPPED = Path(__file__).parents[1] / "src/sequester/kernels/compile_seconds.json"
BARS = {
    "halt": 12,
    "glogen": 12,
    "cblda": 12,
    "cblda-baseline": 12,
    "ph": 12,
    "sbsh": 12,
    "abul": 12,
    "inspect": 12,
}
OTHER_BAR = 8
ATTACKS_BAR = 5
INSPECT = "inspect"
ANNOUNCED_BAR = 1.5
"""The announcement is off by at most this factor, either way."""


def measure(name: str) -> None:
    """Use a method twice, and print what each of its commands compiled as JSON."""
    from numba.core import event

    from sequester.workflow.warmup import inspect_examples, warm_up

    counts: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    running: list[list[float]] = []

    class Listener(event.Listener):
        def on_start(self, event) -> None:
            del event
            running.append([time.process_time(), 0.0])

        def on_end(self, event) -> None:
            begin, inner = running.pop()
            spent = time.process_time() - begin
            if running:
                running[-1][1] += spent
            function = event.data["dispatcher"].py_func
            what = f"{function.__module__}.{function.__name__}"
            counts[what] += 1
            seconds[what] += spent - inner

    event.register("numba:compile", Listener())
    found: dict[str, dict] = {}
    for is_first in (True, False):
        begin = time.process_time()
        for warmed in inspect_examples() if name == INSPECT else warm_up([name]):
            spent = time.process_time() - begin
            answer = found.setdefault(
                warmed.command, {"seconds": 0.0, "counts": Counter(), "by_function": Counter(), "kernels": {}}
            )
            answer["seconds"] += spent if is_first else -spent
            answer["counts"] += counts
            answer["by_function"] += seconds
            answer["kernels"] |= warmed.kernels
            counts.clear()
            seconds.clear()
            begin = time.process_time()
    print(json.dumps(found))


def run(name: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, name, "--inside"]
        env = {**os.environ, "NUMBA_CACHE_DIR": folder}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def record(name: str, found: dict) -> None:
    """Keep the counts, and the seconds per kernel for the announcement."""
    counts = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    shipped = json.loads(SHIPPED.read_text()) if SHIPPED.exists() else {"seconds": {}, "uses": {}}
    for command, answer in found.items():
        use = command if name == INSPECT else f"{command} {name}"
        counts[use] = sum(answer["counts"].values())
        shipped["uses"][use] = sorted(answer["kernels"])
        shipped["seconds"] |= {kernel: round(spent, 2) for kernel, spent in answer["kernels"].items()}
    known = set().union(*shipped["uses"].values())
    from sequester.kernels.compile_times import yardstick

    shipped = {
        "yardstick": round(yardstick(), 5),
        "seconds": {kernel: spent for kernel, spent in sorted(shipped["seconds"].items()) if kernel in known},
        "uses": dict(sorted(shipped["uses"].items())),
    }
    RECORD.write_text(json.dumps(dict(sorted(counts.items())), indent=1) + "\n")
    SHIPPED.write_text(json.dumps(shipped, indent=1) + "\n")


def announcement_error(name: str, command: str, seconds: float) -> float:
    """Return by which factor the announced seconds are off, as a figure of 1 or more."""
    from sequester.kernels.compile_times import expected_seconds, relative_speed

    shipped = json.loads(SHIPPED.read_text())
    announced = expected_seconds(
        [command if name == INSPECT else f"{command} {name}"],
        cached=(),
        here={},
        shipped=shipped,
        speed=relative_speed(shipped),
    )
    return float("inf") if not announced else max(announced / seconds, seconds / announced)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("methods", nargs="*", help="methods, or inspect")
    parser.add_argument("-v", "--verbose", action="store_true", help="function by function")
    parser.add_argument("--attacks", action="store_true", help="only what attacks compile on top")
    parser.add_argument("--record", action="store_true", help="keep the counts and the seconds")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        measure(asked.methods[0])
        return 0
    from sequester.methods import METHODS

    met = True
    for name in asked.methods or (*METHODS, INSPECT):
        found = run(name)
        for command, answer in found.items():
            if not answer["counts"] or (asked.attacks and command != "attack"):
                continue
            bar = ATTACKS_BAR if command in ("attack", "verify") else BARS.get(name, OTHER_BAR)
            what = f"{command} {name}, {sum(answer['counts'].values())} compilations"
            met &= note("seconds", f"first {what}", answer["seconds"], bar=bar)
            if answer["seconds"] > 2:
                error = announcement_error(name, command, answer["seconds"])
                met &= note("cost", f"announced beside measured: {command} {name}", error, bar=ANNOUNCED_BAR)
            if asked.verbose:
                for function, seconds in sorted(answer["by_function"].items(), key=lambda each: -each[1]):
                    print(f"  {seconds:6.2f} s {answer['counts'][function]:4d}  {function}")
        if asked.record:
            record(name, found)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
