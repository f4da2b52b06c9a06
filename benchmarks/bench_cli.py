"""How long the command line takes to answer, in processes of their own, against its bars.

Prints, per command, the best and the median of several runs, the bar, and what it loads.
The demonstration comes last. Exits 1 where a bar is missed.

    python benchmarks/bench_cli.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ledger import note

RUNS = 7
BAR = 0.7
DEMO_BAR = 20.0
QUICK = ("--version", "--help", "methods", "datasets", "protect --help")
SLOWER = ("schema",)
HEAVY = ("numpy", "polars", "numba", "pydantic", "scipy", "altair", "rich")
LOADED = (
    "import sys; from sequester.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
)


def seconds(argv: list[str]) -> float:
    """Return the duration of a fresh process, in seconds."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "sequester", *argv], check=True, capture_output=True)
    return time.perf_counter() - started


def heavy_modules(argv: list[str]) -> str:
    """Return the slow packages that a command loads."""
    done = subprocess.run([sys.executable, "-c", LOADED, *argv], check=True, capture_output=True, text=True)
    loaded = set(done.stderr.split())
    return ", ".join(name for name in HEAVY if name in loaded) or "nothing heavy"


def main() -> int:
    """Print the table, and return whether every bar is met."""
    answers = []
    bare = [sys.executable, "-c", "pass"]
    started = time.perf_counter()
    subprocess.run(bare, check=True)
    print(f"python alone: {time.perf_counter() - started:.2f} s")
    print(f"{'command':<16}{'best':>8}{'median':>8}  loads")
    for command in (*QUICK, *SLOWER):
        argv = command.split()
        times = [seconds(argv) for _ in range(RUNS)]
        bar = BAR if command in QUICK else None
        print(f"{command:<16}{min(times):>7.2f}s{statistics.median(times):>7.2f}s  {heavy_modules(argv)}")
        answers.append(note("seconds", f"sequester {command}", statistics.median(times), bar=bar))
    with tempfile.TemporaryDirectory() as folder:
        argv = ["demo", "--out", str(Path(folder) / "demo")]
        first, warm = seconds(argv), seconds(argv)
    note("seconds", "sequester demo, first run here", first)
    answers.append(note("seconds", "sequester demo", warm, bar=DEMO_BAR))
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
