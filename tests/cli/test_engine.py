"""``--engine``: the same release, risks and verdicts from workers, and nothing left of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import psutil
import pytest

from refusal_cases import GOOD, TOML

SEED = "a sentence that nobody will guess"


@pytest.fixture
def clicks(tmp_path):
    (tmp_path / "clicks.csv").write_text(GOOD + "u9,1,local\nu9,2,local\n")
    (tmp_path / "release.toml").write_text(TOML)
    return tmp_path


@pytest.fixture
def at_hand(workers, monkeypatch):
    """Workers that are there already, whatever is asked for."""

    @contextmanager
    def open_engine(address, *, announce):
        assert address == "local:2"
        yield workers

    monkeypatch.setattr("sequester.engine.address.open_engine", open_engine)
    return workers


def release_bytes(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".html"}


def test_protect_writes_the_same_bytes_and_verify_agrees(clicks, run, at_hand):
    here = run("protect", "release.toml", "--seed", SEED, "--out", "here", "--json").document
    n_tasks = at_hand.tasks
    away = run("protect", "release.toml", "--seed", SEED, "--out", "away", "--engine", "local:2", "--json")
    assert away.document["achieved"] == here["achieved"]
    assert at_hand.tasks > n_tasks
    assert release_bytes(clicks / "away/release") == release_bytes(clicks / "here/release")
    verified = run("verify", "away/release", "--original", "release.toml", "--engine", "local:2")
    assert verified.code == 0


@pytest.mark.parametrize(
    "command",
    [
        ["inspect", "release.toml", "--json"],
        ["protect", "release.toml", "--dry-run", "--seed", SEED],
        ["attack", "out/release", "--original", "release.toml", "--json"],
    ],
    ids=lambda command: command[0],
)
def test_other_commands_answer_as_here(clicks, run, at_hand, command):
    if command[0] == "attack":
        run("protect", "release.toml", "--quick", "--seed", SEED)
    here, n_tasks = run(*command, "--quiet"), at_hand.tasks
    away = run(*command, "--engine", "local:2", "--quiet")
    assert at_hand.tasks > n_tasks
    if command[0] == "protect":
        # How long it takes is not the same.
        assert away.out.splitlines()[:3] == here.out.splitlines()[:3]
    else:
        assert away.out == here.out
    assert (away.code, away.err) == (here.code, here.err)


@pytest.mark.second_process
def test_compare_tries_whole_candidates_away(clicks, run, at_hand):
    asked = ["--methods", "prefix-pruning", "--set", "k=2,70", "--seed", SEED, "--write-releases", "--json"]
    here = run("compare", "release.toml", *asked, "--out", "here").document["candidates"]
    n_tasks = at_hand.tasks
    away = run("compare", "release.toml", *asked, "--out", "away", "--engine", "local:2").document[
        "candidates"
    ]
    assert at_hand.tasks - n_tasks == 2
    asked = ("method", "parameters", "holds", "risk", "utility", "reason", "report", "release")
    assert [[each.get(name) for name in asked] for each in away] == [
        [each.get(name) for name in asked] for each in here
    ]
    for name in ("here", "away"):
        (internal,) = (clicks / name).glob("releases/*/internal")
        assert stat.S_IMODE(internal.stat().st_mode) == 0o700
    files = [
        {
            path.relative_to(clicks / name): stat.S_IMODE(path.stat().st_mode)
            for path in (clicks / name).rglob("*")
        }
        for name in ("here", "away")
    ]
    assert files[0] == files[1]


def test_reproduce_runs_its_cells_away(tmp_path, run, at_hand):
    here = run("reproduce", "wang-2010", "--quick", "--out", "here", "--quiet")
    shutil.copytree(tmp_path / "here", tmp_path / "away")
    # Those that take longest stay as they are.
    left = [
        path
        for path in (tmp_path / "away/cells").iterdir()
        if path.name.startswith(("eligibility", "distances", "moves"))
    ]
    for path in left:
        path.unlink()
    n_tasks = at_hand.tasks
    away = run("reproduce", "wang-2010", "--quick", "--out", "away", "--quiet", "--engine", "local:2")
    assert at_hand.tasks - n_tasks == len(left) >= 10
    assert away.code == here.code == 0
    cells = [sorted(path.name for path in (tmp_path / name / "cells").iterdir()) for name in ("here", "away")]
    assert cells[0] == cells[1]
    for path in left:
        there = tmp_path / "here/cells" / path.name
        assert json.loads(path.read_bytes())["rows"] == json.loads(there.read_bytes())["rows"]


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("local:0", "error: --engine must be tcp://host:port, tls://host:port or local:N, got 'local:0'"),
        ("tcp://127.0.0.1:9", "error: --engine tcp://127.0.0.1:9: no scheduler answers there"),
    ],
)
def test_an_address_where_nobody_is(clicks, run, monkeypatch, address, line):
    monkeypatch.setattr("sequester.engine.address.PATIENCE", 0.3)
    ran = run("protect", "release.toml", "--engine", address)
    assert (ran.code, ran.err.strip()) == (2, line)
    assert not (clicks / "out").exists()


def test_follow_takes_no_engine(clicks, run):
    ran = run("protect", "release.toml", "--follow", "-", "--engine", "local:2")
    assert (ran.code, ran.err.strip()) == (
        2,
        "error: --engine cannot be used with --follow, which makes no release",
    )


def test_an_interrupt_ends_the_workers_and_leaves_nothing(clicks):
    spill = clicks / "spill"
    spill.mkdir()
    command = [sys.executable, "-m", "sequester", "protect", "release.toml", "--engine", "local:1"]
    running = subprocess.Popen(
        command,
        cwd=clicks,
        env=os.environ | {"TMPDIR": str(spill)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while running.poll() is None and not list(spill.glob("sequester-workers-*/*")):
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=600)
    assert (running.returncode, err.strip().splitlines()[-1]) == (
        130,
        "error: interrupted; nothing was written",
    )
    assert not (clicks / "out").exists()
    assert not list(spill.glob("sequester-*"))
    assert not psutil.wait_procs(_group(running.pid), timeout=600)[1]


def _group(number):
    found = []
    for process in psutil.process_iter():
        with suppress(ProcessLookupError):
            found += [process] if os.getpgid(process.pid) == number else []
    return found
