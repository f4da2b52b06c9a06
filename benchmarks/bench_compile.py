"""How much the first use of each method compiles, and for how long.

    python benchmarks/bench_compile.py                 # all methods, and all attacks on releases of them
    python benchmarks/bench_compile.py halt ph -v      # function by function
    python benchmarks/bench_compile.py --record        # keep the counts, for tests/contracts/test_compile.py

Every method runs twice in a process of its own that begins without compiled code; the second run tells how
much of the first was compilation. Seconds are those of the processor. A count is the number of compilations,
those of numba's own helpers included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

from ledger import note

RECORD = Path(__file__).with_name("compilations.json")
BARS = {"halt": 12, "glogen": 12, "cblda": 12, "cblda-baseline": 12, "ph": 12, "sbsh": 12, "abul": 12}
OTHER_BAR = 8
ATTACKS_BAR = 5


def example(name: str):
    """Return a method with parameters, and a table that it is meant for."""
    import sequester as sq
    from sequester.datasets import activities, clicks, days, hospital
    from sequester.methods import METHODS

    method = METHODS[name]
    if name in ("halt", "glogen", "cblda", "cblda-baseline"):
        quasi = {
            "AdmYr": sq.Hierarchy.flat(),
            "ZIP": sq.Hierarchy.mask([3, 1]),
            "DSFC": sq.Hierarchy.intervals([7, 28, 84], origin=0),
            "LOS": sq.Hierarchy.intervals([7, 28], origin=0),
        }
        sensitive = {"Disease": list(hospital.PROTECTED)}
        schema = sq.Schema(person="PID", order="VID", quasi=quasi, sensitive=sensitive)
        more = {"p": 2} if name in ("halt", "glogen") else {}
        return method(k=5, c=0.5, **more), sq.EventTable(hospital.make(persons=500), schema)
    if name in ("p2ka", "prefix-pruning", "ph", "sbsh", "abul"):
        schema = sq.Schema(person="user", time="at", symbol="page")
        table = sq.EventTable(clicks.make(persons=500), schema)
        if name in ("p2ka", "prefix-pruning"):
            return method(k=5), table
        found = sq_frequent(table)
        return method(patterns=found, min_support=10), table
    if name in ("top-down", "bottom-up"):
        symbol = sq.Symbol("activity", hierarchy=activities.taxonomy())
        table = sq.EventTable(activities.make(persons=5), sq.Schema(person="user", time="at", symbol=symbol))
        patterns = [list(each) for each in activities.SENSITIVE]
        return method(patterns=patterns, window=5, max_leakage=0.5), table
    quasi = {
        "sex": sq.Hierarchy.flat(),
        "age": sq.Hierarchy.intervals([10, 30], origin=0),
        "district": sq.Hierarchy.flat(),
    }
    schema = sq.Schema(person="patient", time="date", quasi=quasi, sensitive={"diagnosis": "all"})
    return method(l=3, window=7, snapshot="day"), sq.EventTable(days.make(persons=1000), schema)


def sq_frequent(table) -> list[list[str]]:
    """Return some pairs of pages that many have, without mining."""
    pairs: Counter[tuple[str, str]] = Counter()
    for row in table.sequences.to_rows():
        pairs.update({(a, b) for i, a in enumerate(row) for b in row[i + 1 :] if a != b})
    ranked = sorted(pairs, key=lambda pair: (-pairs[pair], pair))
    return [list(pair) for pair in ranked[:30:10]]


def measure(name: str, *, attacks: bool) -> None:
    """Run a method twice, and print what was compiled as JSON."""
    from numba.core import event

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

    import sequester as sq

    warnings.simplefilter("ignore", sq.SequesterWarning)
    method, table = example(name)
    engine = sq.LocalEngine(threads=1)

    def run():
        release = method.apply(table, seed="a seed that is long enough", engine=engine)
        if attacks:
            sq.attack(release, original=table, targets=50, seed="a seed that is long enough")

    if attacks:  # what the method itself compiles does not count
        method.apply(table, seed="a seed that is long enough", engine=engine)
    event.register("numba:compile", Listener())
    times = []
    for _ in range(2):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    answer = {"seconds": times[0] - times[1], "counts": counts, "by_function": seconds}
    print(json.dumps(answer))


def run(name: str, *, attacks: bool) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, name, "--inside", *(["--attacks"] if attacks else [])]
        env = {**os.environ, "NUMBA_CACHE_DIR": folder}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("methods", nargs="*")
    parser.add_argument("-v", "--verbose", action="store_true", help="function by function")
    parser.add_argument("--attacks", action="store_true", help="only what attacks compile on top")
    parser.add_argument("--record", action="store_true", help="keep the counts for the tests")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        measure(asked.methods[0], attacks=asked.attacks)
        return 0
    from sequester.methods import METHODS

    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    met = True
    for name in asked.methods or METHODS:
        for attacks in (True,) if asked.attacks else (False,) if asked.methods else (False, True):
            found = run(name, attacks=attacks)
            what = f"attacks on {name}" if attacks else name
            bar = ATTACKS_BAR if attacks else BARS.get(name, OTHER_BAR)
            n_compiled = sum(found["counts"].values())
            met &= note(
                "seconds", f"first use of {what}, {n_compiled} compilations", found["seconds"], bar=bar
            )
            record[what] = n_compiled
            if asked.verbose:
                for function, seconds in sorted(found["by_function"].items(), key=lambda each: -each[1]):
                    print(f"  {seconds:6.2f} s {found['counts'][function]:4d}  {function}")
    if asked.record:
        RECORD.write_text(json.dumps(dict(sorted(record.items())), indent=1) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
