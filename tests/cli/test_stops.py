"""Interrupts, full disks, closed pipes and our own faults: the right code, one line, nothing left behind."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from refusal_cases import GOOD, TOML
from sequester.datasets import clicks
from sequester.methods.p2ka.method import BFP2kA

SLOW = pytest.mark.thorough
# Runs a command with a place in it where the run waits; it says so on stdout.
WAITING = """
import importlib, sys, time
from sequester.cli import main
module, _, name = sys.argv[1].rpartition(".")
owner = importlib.import_module(module.partition(":")[0])
for part in filter(None, module.partition(":")[2].split(".")):
    owner = getattr(owner, part)
def wait(*args, **keywords):
    print("waiting", flush=True)
    time.sleep(600)
setattr(owner, name, wait)
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def clicks_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clicks.csv").write_text(GOOD)
    (tmp_path / "release.toml").write_text(TOML)
    return tmp_path


@pytest.mark.parametrize(
    ("place", "sent", "existing"),
    [
        pytest.param("sequester.workflow.config:Config.table", signal.SIGINT, False, marks=SLOW),
        ("sequester.methods.p2ka.method:BFP2kA.transform", signal.SIGTERM, False),
        pytest.param("sequester.workflow.write._verify", signal.SIGTERM, False, marks=SLOW),
        ("sequester.workflow.write._verify", signal.SIGINT, True),
    ],
)
def test_an_interrupt_leaves_what_was_there(clicks_here, run, listing, place, sent, existing):
    if existing:
        assert run("protect", "release.toml").code == 0
    before = listing()
    argv = [sys.executable, "-c", WAITING, place, "protect", "release.toml", "--force"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(sent)
        _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "error: interrupted; nothing was written"
    assert "Traceback" not in err
    assert listing() == before


# Ends in an interrupt that Python finds unhandled at its end, or that a library has turned into an error.
TURNED = """
import sys
from sequester.cli import main
from sequester.methods.p2ka.method import BFP2kA
def transform(*args, **keywords):
    try:
        exec("import signal; signal.raise_signal(signal.SIGINT)")
    except KeyboardInterrupt:
        {then}
BFP2kA.transform = transform
sys.argv[1:] = ["protect", "release.toml"]
sys.exit(main())
"""


@pytest.mark.parametrize(
    "then",
    [
        "raise",
        "raise RuntimeError",
        pytest.param("raise ImportError", marks=SLOW),
        pytest.param("raise SystemExit(0)", marks=SLOW),
    ],
)
def test_an_interrupt_that_a_library_changes_is_still_one(clicks_here, listing, then):
    before = listing()
    argv = [sys.executable, "-c", TURNED.format(then=then)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == "error: interrupted; nothing was written"
    assert listing() == before


def test_an_interrupt_while_the_program_loads_is_one_too(clicks_here):
    # Stands in for a module that the program loads first.
    (clicks_here / "json.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    argv = [sys.executable, "-c", "import sys; from sequester.cli import main; sys.exit(main())", "methods"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "error: interrupted; nothing was written\n")


def test_a_command_inside_a_program_leaves_its_signals_alone(clicks_here, run):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    assert run("methods").code == 0
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


# Runs a command, and says on stdout when it has begun to listen to interrupts.
LISTENING = """
import sys
from sequester.cli import main
from sequester.workflow.config import Config
load = Config.load
def say_and_load(*args, **keywords):
    print("listening", flush=True)
    return load(*args, **keywords)
Config.load = say_and_load
sys.exit(main())
"""


@pytest.mark.thorough
def test_an_interrupt_at_any_moment_gives_the_same_code(clicks_here, run):
    assert run("protect", "release.toml").code == 0
    at = random.Random(4)
    for _ in range(25):
        argv = [sys.executable, "-c", LISTENING, "protect", "release.toml", "--force"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "listening\n"
            # Before the end or after it: both are right, so that it may be any moment.
            time.sleep(at.uniform(0, 2.0))
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=600)
        assert process.returncode in (0, 130)
        assert "Traceback" not in err
        assert (clicks_here / "out" / "release" / "certificate.json").exists()


def test_an_interrupted_demo_leaves_nothing(tmp_path, listing, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = f"from sequester.workflow import demo\ndemo.PERSONS = 300\n{WAITING}"
    argv = [sys.executable, "-c", small, "sequester.workflow.write._verify", "demo", "--out", "demo"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert "waiting\n" in iter(process.stdout.readline, "")  # below what the raw data gives away
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=600)
    assert process.returncode == 130
    assert listing() == {}


def test_a_full_disk_is_said_and_leaves_nothing(clicks_here, run, listing):
    clicks.make(persons=3_000).write_csv("clicks.csv")
    (clicks_here / "release.toml").write_text(TOML.replace("order", "time").replace('"n"', '"at"'))
    # Kernels are compiled before, and no bytecode is written: both would meet the limit, too, and Python
    # takes bytecode that was cut off for whole.
    assert run("protect", "release.toml", "--dry-run").code == 0
    before = listing()
    done = subprocess.run(
        [sys.executable, "-B", "-m", "sequester", "protect", "release.toml", "--quiet"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )
    assert done.returncode == 2
    *warned, last = done.stderr.splitlines()
    assert last == "error: cannot write out: File too large"
    assert all(line.startswith("warning: ") for line in warned)
    assert listing() == before


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder in which nothing can be made")
def test_an_output_that_cannot_be_made_is_said(clicks_here, run, listing):
    before = listing()
    ran = run("protect", "release.toml", "--out", "/proc/sequester")
    assert ran.code == 2
    assert ran.errors[0].startswith("cannot write /proc/sequester")
    assert run("demo", "--out", "/proc/sequester").code == 2
    assert run("datasets", "make", "clicks", "--out", "/proc/sequester.csv").code == 2
    assert listing() == before


def test_a_read_only_output_is_said_before_anything_runs(clicks_here, run, listing, monkeypatch):
    before = listing()
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    ran = run("protect", "release.toml")
    assert (ran.code, ran.errors) == (2, ["cannot write out/release: . is not writable"])
    assert listing() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_answer_that_finds_no_place_is_an_error():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sequester", "methods"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "error: cannot go on: No space left on device\n"


def in_a_shell(command):
    return subprocess.run(
        f"{sys.executable} -m sequester {command}", shell=True, capture_output=True, text=True, check=False
    )


def test_a_closed_stdout_is_no_error(clicks_here):
    done = in_a_shell("protect release.toml --quiet >&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert (clicks_here / "out" / "release" / "certificate.json").exists()


def test_closed_streams_still_give_the_code(clicks_here):
    assert in_a_shell("protect missing.toml --json >&- 2>&-").returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_lost_answer_does_not_hide_the_release(clicks_here):
    done = in_a_shell("protect release.toml --quiet --json > /dev/full")
    assert done.returncode == 2
    assert done.stderr == (
        "error: cannot write the answer: No space left on device; out/release is complete and in place\n"
    )
    assert (clicks_here / "out" / "release" / "certificate.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_stderr_does_not_stop_the_run(clicks_here):
    done = in_a_shell("protect release.toml --seed short --json 2> /dev/full")
    assert done.returncode == 0
    assert json.loads(done.stdout)["warnings"]
    assert (clicks_here / "out" / "release" / "certificate.json").exists()


def test_a_fault_after_the_release_says_where_it_is(clicks_here, run, monkeypatch):
    def fail(*args, **keywords):
        raise KeyError

    monkeypatch.setattr("sequester.cli.protect.levels", fail)
    ran = run("protect", "release.toml", "--quiet")
    assert ran.code == 3
    assert "out/release is complete and in place" in ran.err
    assert "othing was written" not in ran.err


def test_a_reader_who_has_seen_enough_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -m sequester schema | head -1; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "{\n0\n"
    assert done.stderr == ""


@pytest.mark.parametrize(
    "error", [KeyError("u0 has HIV"), AssertionError("u0 has HIV"), RecursionError("u0")]
)
def test_a_fault_of_ours_names_its_place_and_no_data(clicks_here, run, listing, monkeypatch, error):
    def fail(*args, **keywords):
        raise error

    before = listing()
    monkeypatch.setattr(BFP2kA, "evaluate", fail)
    ran = run("protect", "release.toml", "--quiet")
    assert ran.code == 3
    assert len(ran.errors) == 1
    assert f"internal error: {type(error).__name__} at sequester/methods/evaluate.py:" in ran.errors[0]
    assert "please report" in ran.errors[0].lower()
    assert "u0" not in ran.err
    assert "Traceback" not in ran.err
    assert listing() == before


def test_too_little_memory_is_said(clicks_here, run, monkeypatch):
    def fail(*args, **keywords):
        raise MemoryError

    monkeypatch.setattr(BFP2kA, "evaluate", fail)
    ran = run("protect", "release.toml")
    assert (ran.code, ran.errors) == (2, ["there is not enough memory for this"])
