"""Data in parts, from 1 to 10 million persons: peak memory and time of ``protect`` and ``verify``.

    python benchmarks/bench_scale.py                        a million persons
    python benchmarks/bench_scale.py --persons 10000000     ten: about half an hour, 12 GB, 5 GB of disk

Made data, written to disk and cut by ``convert --partition``; every command in a process of its own. Attacks
and reasons are left out (``--quick``). Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ledger import note

PERSONS = 1_000_000
MOST_MEMORY = 12e9
"""Bytes at the highest, for 10 million patients with 25 million events."""
HOSPITAL = """
[data]
path = "parts"
person = "PID"
order = "VID"
drop = ["LOS"]
[data.quasi.AdmYr]
hierarchy = { kind = "flat" }
[data.quasi.ZIP]
hierarchy = { kind = "mask", levels = [3, 1] }
[data.quasi.DSFC]
hierarchy = { kind = "intervals", width = [7, 28, 84], origin = 0 }
[data.sensitive.Disease]
protect = ["HIV", "Alcoholism"]
[method]
"""
CLICKS = """
[data]
path = "parts"
person = "user"
time = "at"
[data.symbol]
column = "page"
hierarchy = { kind = "flat" }
[method]
"""
CASES = {
    "hospital": ("PID", HOSPITAL, ('name = "halt"\nk = 5\nc = 0.7\np = 2', 'name = "cblda"\nk = 5\nc = 0.7')),
    "clicks": (
        "user",
        CLICKS,
        ('name = "p2ka"\nk = 10', 'name = "top-down"\npatterns = [["news", "tech"]]\nmax_leakage = 0.5'),
    ),
}
"""Made data to its column of persons, its roles, and the methods that it is for."""


def run(folder: Path, *arguments: str) -> tuple[float, float]:
    """Return the seconds and the peak bytes of a command in a process of its own."""
    started = time.perf_counter()
    command = subprocess.Popen(
        [sys.executable, "-m", "sequester", *arguments, "--quiet"], cwd=folder, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(command.pid, 0)
    if status:
        msg = f"{' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}"
        raise RuntimeError(msg)
    return time.perf_counter() - started, used.ru_maxrss * 1024


def measure(data: str, persons: int) -> bool:
    """Say what each method needs for so many persons, and return whether the bar is met."""
    person, roles, methods = CASES[data]
    is_met = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, "datasets", "make", data, "--out", "all.csv", "--persons", str(persons))
        taken, peak = run(folder, "convert", "all.csv", "parts", "--partition", "64", "--person", person)
        note("seconds", f"{persons:,} persons of {data}: into 64 parts", taken)
        note("memory", f"{persons:,} persons of {data}: into 64 parts", peak)
        (folder / "all.csv").unlink()
        bar = MOST_MEMORY if data == "hospital" else None
        for method in methods:
            (folder / "release.toml").write_text(roles + method + "\n")
            asked = method.split('"')[1]
            for command in (
                ("protect", "release.toml", "--quick", "--out", "out", "--force"),
                # A promise about leakage compares with the original.
                ("verify", "out/release", *(["--original", "release.toml"] * (asked == "top-down"))),
            ):
                taken, peak = run(folder, *command)
                what = f"{persons:,} persons of {data}, {asked}: {command[0]}"
                note("seconds", what, taken)
                is_met &= note("memory", what, peak, bar=bar)
    return is_met


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--persons", type=int, nargs="*", default=[PERSONS])
    parser.add_argument("--data", choices=[*CASES], nargs="*", default=[*CASES])
    asked = parser.parse_args()
    # What is compiled on first use is not measured.
    for name in ("halt", "cblda", "p2ka", "top-down"):
        subprocess.run([sys.executable, "-m", "sequester", "warmup", name], check=True)
    met = [measure(data, persons) for data in asked.data for persons in asked.persons]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
