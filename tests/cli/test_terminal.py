"""Progress shows itself after a while: drawn on a terminal, in lines elsewhere, not at all when quiet."""

from __future__ import annotations

import os
import pty
import re
import sys
import time

import pytest

from sequester import kernels
from sequester.cli import terminal as module
from sequester.cli.terminal import COMPILING, ProgressBar, Terminal


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.05)


def work(bar, seconds=0.6):
    for step in range(10):
        bar(step / 10, "reading" if step < 5 else "writing")
        time.sleep(seconds / 10)


def test_lines_name_phase_share_and_time_left(impatient, capsys):
    with ProgressBar() as bar:
        work(bar, 1.2)
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r" *\d+% reading(, about 1 s left)?", lines[0])
    assert re.fullmatch(r" *\d+% writing, about 1 s left", lines[-1])
    assert len(lines) == 2


def test_quick_work_shows_nothing(capsys):
    with ProgressBar() as bar:
        work(bar, 0.1)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(impatient, monkeypatch):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        with ProgressBar() as bar:
            work(bar, 1.0)
    seen = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "reading" in seen
    assert "━" in seen
    assert re.search(r"\d+%", seen)
    assert "left" in seen


def test_quiet_says_nothing_and_hears_nothing(impatient, capsys):
    with Terminal(quiet=True).progress() as bar:
        assert kernels._listeners == []
        work(bar, 0.3)
    assert capsys.readouterr().err == ""


def test_compilation_is_announced_once(capsys):
    with Terminal().progress():
        announce = list(kernels._listeners)
        assert len(announce) == 1
        announce[0]()
    assert capsys.readouterr().err == f"{COMPILING}\n"
    assert kernels._listeners == []


def test_an_error_ends_the_bar(impatient, capsys):
    def fail():
        with Terminal().progress() as bar:
            work(bar, 0.3)
            msg = "stop"
            raise ValueError(msg)

    with pytest.raises(ValueError, match="stop"):
        fail()
    time.sleep(0.3)
    before = capsys.readouterr().err
    time.sleep(0.3)
    assert "reading" in before
    assert capsys.readouterr().err == ""
