"""The first use of a method compiles about as many functions as it was last recorded with.

``benchmarks/bench_compile.py --record`` writes the record. Compilations are counted, not timed: code that is
compiled for needless types, or that a method does not run, shows in the number.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sequester.methods import METHODS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RECORD: dict[str, int] = json.loads((BENCHMARKS / "compilations.json").read_text())
SLACK = 1.3
"""More than this many times the recorded number is a mistake."""
QUICK = ("p2ka",)
"""A method that is quick to compile; the others are left to the thorough profile."""


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in QUICK else pytest.mark.thorough) for each in METHODS]
)
def test_first_use_compiles_no_more_than_recorded(name, tmp_path):
    # The number does not depend on how well the code is optimized.
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_OPT": "0"}
    env.pop("NUMBA_DISABLE_JIT", None)
    program = [sys.executable, str(BENCHMARKS / "bench_compile.py"), name, "--inside"]
    done = subprocess.run(program, env=env, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    counts = {f"{command} {name}": sum(each["counts"].values()) for command, each in found.items()}
    assert counts[f"protect {name}"] > 0
    assert {use: n for use, n in counts.items() if n > SLACK * RECORD[use]} == {}
