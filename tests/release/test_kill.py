"""A run that dies at a random moment leaves no release, or a whole one."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from release.samples import Pages, release_of
from sequester.verification.verify import verify
from sequester.workflow.write import write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")

WRITER = """
import sys, time
sys.path.insert(0, sys.argv[2])
from release.samples import Pages, release_of
from sequester.workflow.write import write

release = release_of(["abcde"] * 10_000)
write(release_of(), sys.argv[1] + "/warm", report=Pages())
print("ready", flush=True)
started = time.monotonic()
write(release, sys.argv[1] + "/out", report=Pages())
print(time.monotonic() - started, flush=True)
"""
ROUNDS = [
    pytest.param(number, seed, marks=pytest.mark.thorough if seed > 1 else ())
    for number in (signal.SIGKILL, signal.SIGINT)
    for seed in range(30)
]


def start(tmp_path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(tmp_path), str(Path(__file__).parents[1])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.fixture(scope="module")
def duration(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Seconds that the write takes when nobody disturbs it."""
    out, _ = start(tmp_path_factory.mktemp("undisturbed")).communicate(timeout=600)
    return float(out)


@pytest.mark.parametrize(("number", "seed"), ROUNDS)
def test_killed_or_interrupted_at_a_random_moment(tmp_path, duration, number, seed):
    moment = random.Random(f"{number} {seed}").uniform(0, 1.1 * duration)
    process = start(tmp_path)
    time.sleep(moment)
    process.send_signal(number)
    out, errors = process.communicate(timeout=600)
    folder = tmp_path / "out"
    if (folder / "release").exists():
        assert verify(folder / "release")
        assert (folder / "internal" / "changes.parquet").exists()
    if number == signal.SIGINT:
        # Python had time to tidy up: all of it is there, or nothing at all.
        assert "KeyboardInterrupt" in errors or out
        left = sorted(path.name for path in folder.iterdir()) if folder.exists() else None
        assert left in (None, ["internal", "release"])
    written = write(release_of(), folder, report=Pages(), force=True)
    assert verify(written)
    assert sorted(path.name for path in folder.iterdir()) == ["internal", "release"]
