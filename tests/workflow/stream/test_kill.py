"""Killed with SIGKILL at random points and started again, a stream publishes the same bytes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from workflow.stream.days import make_stream, outputs

KILLS = {"quick": 12, "thorough": 500}


class Zygote:
    """A process that has everything loaded, and forks a child per run."""

    def __init__(self):
        program = Path(__file__).with_name("zygote.py")
        pipe = subprocess.PIPE
        # A process with threads of its own should not fork.
        alone = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, str(program)], stdin=pipe, stdout=pipe, text=True, env=alone
        )
        assert json.loads(self.process.stdout.readline()) == "ready"

    def run(self, folder, *, finish=False, seconds=None):
        self.process.stdin.write(json.dumps([str(folder), finish, seconds]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def zygote():
    made = Zygote()
    yield made
    made.close()


@pytest.fixture(scope="module")
def whole(zygote, tmp_path_factory):
    """What an uninterrupted run publishes, and how long it takes."""
    folder = make_stream(tmp_path_factory.mktemp("whole"))
    code, seconds = zygote.run(folder, finish=True)
    assert code == 0
    return outputs(folder), seconds


def killed_often(zygote, folder, *, kills, longest):
    """Give how streams end that were killed again and again, and what they published."""
    chance = np.random.default_rng(7)
    killed = 0
    while killed < kills:
        make_stream(folder)
        while killed < kills:
            # A run that goes on has less to do than a whole one, so that most kills hit their mark.
            answer = zygote.run(folder, finish=True, seconds=float(chance.uniform(0.02, longest)))
            if answer != "killed":
                break
            killed += 1
        code, _ = zygote.run(folder, finish=True)
        yield code, outputs(folder)
        shutil.rmtree(folder)


def test_a_stream_killed_at_random_points_publishes_the_same_bytes(zygote, whole, tmp_path):
    expected, seconds = whole
    assert len(expected) == 5 * 6 + 1
    for code, published in killed_often(zygote, tmp_path / "s", kills=KILLS["quick"], longest=seconds):
        assert code == 0
        assert published == expected


@pytest.mark.thorough
def test_a_stream_killed_at_many_random_points_publishes_the_same_bytes(zygote, whole, tmp_path):
    expected, seconds = whole
    for code, published in killed_often(zygote, tmp_path / "s", kills=KILLS["thorough"], longest=seconds):
        assert code == 0
        assert published == expected


def test_a_stream_run_file_by_file_publishes_the_same_bytes(zygote, whole, tmp_path):
    bit_by_bit = make_stream(tmp_path / "bits")
    files = sorted((bit_by_bit / "in").iterdir())
    aside = tmp_path / "aside"
    aside.mkdir()
    for path in files:
        path.rename(aside / path.name)
    for path in files:
        (aside / path.name).rename(path)
        assert zygote.run(bit_by_bit)[0] == 0
    # Only now the rest of the window: a daily run must not flush it.
    assert len(outputs(bit_by_bit)) == 5 * (6 - 3) + 1
    assert zygote.run(bit_by_bit, finish=True)[0] == 0
    assert outputs(bit_by_bit) == whole[0]
