"""First contact: the demo of a fresh clone, and a million persons from a CSV file to a verified release.

    python benchmarks/bench_first_contact.py            all
    python benchmarks/bench_first_contact.py demo       the demo alone

The clone has nothing installed and nothing compiled; packages come from where pip finds them. What version
0.1 took was reported for an idle machine with two cores; its data and settings are not known to be
the same, so read the ratios roughly.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ledger import note

ROOT = Path(__file__).parents[1]
BEFORE = {"demo": 177.0, "halt": 308.0}
"""Seconds that were reported for version 0.1, not measured by this program."""
PERSONS = 1_000_000
HOSPITAL = """
[data]
path = "visits.csv"
person = "PID"
order = "VID"
[data.quasi.AdmYr]
hierarchy = { kind = "flat" }
[data.quasi.ZIP]
hierarchy = { kind = "mask", levels = [3, 1] }
[data.quasi.DSFC]
hierarchy = { kind = "intervals", width = [7, 28, 84], origin = 0 }
[data.quasi.LOS]
hierarchy = { kind = "intervals", width = [7, 28], origin = 0 }
[data.sensitive.Disease]
protect = ["HIV", "Alcoholism"]
[method]
name = "halt"
k = 5
c = 0.5
p = 2
"""
CLICKS = """
[data]
path = "visits.csv"
person = "user"
time = "at"
[data.symbol]
column = "page"
[method]
name = "p2ka"
k = 10
"""


def demo(folder: Path) -> tuple[float, float]:
    """Return the seconds of ``make demo`` in a fresh clone, and those from its first line to read on."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    started = time.time()
    shown = 0.0
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = subprocess.Popen(
        ["make", "demo"], cwd=clone, stdout=subprocess.PIPE, text=True, env=environment
    )
    with command:
        for line in command.stdout or ():
            if line.startswith("Risk in the raw") and not shown:
                shown = time.time()
    if command.returncode or not shown:
        msg = f"make demo ended with {command.returncode}, or without its first lines"
        raise RuntimeError(msg)
    installed = (clone / ".venv" / ".runs").stat().st_mtime
    return time.time() - started, shown - installed


def protect(folder: Path, config: str) -> tuple[float, float]:
    """Return the seconds and the peak bytes of ``protect`` in a process of its own."""
    (folder / "release.toml").write_text(config)
    argv = [sys.executable, "-m", "sequester", "protect", "release.toml", "--out", "out", "--quiet"]
    started = time.perf_counter()
    command = subprocess.Popen(argv, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(command.pid, 0)
    if status:
        msg = f"protect ended with {status}"
        raise RuntimeError(msg)
    return time.perf_counter() - started, used.ru_maxrss * 1024


def main() -> int:
    """Say the figures, and return whether every bar is met."""
    met = []
    with tempfile.TemporaryDirectory() as name:
        taken, shown = demo(Path(name))
        met.append(note("seconds", "make demo in a fresh clone, installation included", taken, bar=90))
        met.append(note("seconds", "make demo: from installed to something to read", shown, bar=20))
        note("lead", "make demo, beside version 0.1", BEFORE["demo"] / taken)
    cases = (
        ("halt", "hospital", HOSPITAL, "a million patients with halt, p = 2", 90),
        ("p2ka", "clicks", CLICKS, "a million clickstreams with p2ka", 45),
    )
    for method, data, config, what, bar in () if "demo" in sys.argv[1:] else cases:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make = ["datasets", "make", data, "--out", str(folder / "visits.csv"), "--persons", str(PERSONS)]
            subprocess.run([sys.executable, "-m", "sequester", *make], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([sys.executable, "-m", "sequester", "warmup", method], check=True)
            taken, peak = protect(folder, config)
        met.append(note("seconds", f"{what}: from CSV to a verified release", taken, bar=bar))
        met.append(note("memory", f"{what}: from CSV to a verified release", peak, bar=3e9))
        if method in BEFORE:
            note("lead", f"{what}, beside version 0.1", BEFORE[method] / taken)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
