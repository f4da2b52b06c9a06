"""Progress shows itself after a while: drawn on a terminal, in lines elsewhere, not at all when quiet."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import sys
import time
from types import SimpleNamespace

import pytest

from sequester import kernels
from sequester.cli import terminal as module
from sequester.cli.terminal import ProgressBar, Terminal
from sequester.kernels import compile_times


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that stands still until a test moves it; nothing shows itself meanwhile."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(module, "PATIENCE", 3600.0)
    return clock


def work(bar, clock):
    """Work for ten seconds, and show the progress five times a second."""
    for step in range(10):
        bar(step / 10, "reading" if step < 5 else "writing")
        for _ in range(5):
            bar.show()
            clock.now += 0.2


def test_lines_name_phase_share_and_time_left(clock, capsys):
    with ProgressBar() as bar:
        work(bar, clock)
    assert capsys.readouterr().err.splitlines() == [
        "  0% reading, time left unknown",
        " 50% writing, about 5 s left",
    ]


def test_a_long_phase_is_named_again_after_ten_seconds(clock, capsys):
    with ProgressBar() as bar:
        for second in range(25):
            bar(second / 100, "reading")
            bar.show()
            clock.now += 1
    assert capsys.readouterr().err.splitlines() == [
        "  0% reading, time left unknown",
        " 10% reading, about 1 min 30 s left",
        " 20% reading, about 1 min 20 s left",
    ]


def test_time_left_that_rises_says_why_and_where_nothing_moves_is_a_lower_bound(clock, capsys):
    with ProgressBar() as bar:
        for fraction, phase, now in ((0.5, "reading", 10), (0.55, "attacking", 40), (0.9, "writing", 60)):
            clock.now = now
            bar(fraction, phase)
            bar.show()
        clock.now = 75
        bar.show()
    assert capsys.readouterr().err.splitlines() == [
        " 50% reading, about 10 s left",
        " 55% attacking, about 33 s left (longer than expected: attacking)",
        " 90% writing, about 7 s left",
        " 90% writing, about 8 s left or more",
    ]


def test_phases_that_alternate_are_not_all_named_and_a_slow_one_is_named_once(clock, capsys):
    with ProgressBar() as bar:
        for second in range(40):
            bar(0.3 if second < 8 else 0.3 + second / 1000, "searching" if second % 2 else "suppressing")
            bar.show()
            clock.now += 1
        bar(1.0, "written")
        bar.show()
    lines = capsys.readouterr().err.splitlines()
    assert 4 <= len(lines) <= 8
    assert lines[0] == " 30% suppressing"
    for phase in ("searching", "suppressing"):
        assert sum(f"longer than expected: {phase}" in line for line in lines) <= 1


def test_tasks_of_workers_are_counted_within_a_phase(clock, capsys):
    with ProgressBar() as bar:
        for task in range(1, 25):
            bar(task / 100, f"merging: {task} of 24 tasks, {task / 10} MB sent")
            bar.show()
            clock.now += 1 if task < 13 else 9
    assert [line.split(" left")[0] for line in capsys.readouterr().err.splitlines()[:3]] == [
        "  1% merging: 1 of 24 tasks, 0.1 MB sent, time",
        " 11% merging: 11 of 24 tasks, 1.1 MB sent, about 1 min 21 s",
        " 14% merging: 14 of 24 tasks, 1.4 MB sent, about 2 min 9 s",
    ]


def test_quick_work_shows_nothing(clock, capsys):
    with ProgressBar() as bar:
        bar(0.5, "reading")
        clock.now += 1
    assert capsys.readouterr().err == ""


def test_work_that_takes_long_shows_itself(monkeypatch, capsys):
    monkeypatch.setattr(module, "PATIENCE", 0.001)
    seen = ""
    with ProgressBar() as bar:
        bar(0.0, "reading")
        while not seen:
            time.sleep(0.01)
            seen = capsys.readouterr().err
    assert seen == "  0% reading, time left unknown\n"


def read_all(terminal):
    """Return what was written to a terminal that is closed at the other end: one read may bring a part."""
    seen = b""
    with os.fdopen(terminal, "rb", buffering=0) as stream, contextlib.suppress(OSError):
        while more := stream.read(100_000):
            seen += more
    return seen.decode()


def test_a_terminal_gets_a_bar(clock, monkeypatch):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        with ProgressBar() as bar:
            work(bar, clock)
            bar._rich.refresh()
    seen = read_all(ours)
    assert "writing" in seen
    assert "━" in seen
    assert re.search(r"\d+%", seen)
    assert "left" in seen


def test_quiet_says_nothing_and_hears_nothing(clock, capsys):
    with Terminal(quiet=True).progress() as bar:
        assert kernels._listeners == []
        assert not isinstance(bar, ProgressBar)
        bar(0.5, "reading")
    assert capsys.readouterr().err == ""


def test_compilation_is_announced_once_with_what_compiles_and_how_long(capsys, monkeypatch):
    shipped = {"seconds": {"a": 10.0, "b": 2.0, "c": 4.0}, "uses": {"protect halt": ["a", "b"]}}
    monkeypatch.setattr(compile_times, "_read", lambda path: shipped if path.parent.name == "kernels" else {})
    monkeypatch.setattr(compile_times, "cached_kernels", lambda root: set())
    with Terminal().progress("halt", "protect") as _:
        (announce,) = kernels._listeners
        announce()
    assert capsys.readouterr().err == "Compiling kernels for halt (first use only), about 12 s\n"
    assert kernels._listeners == []


def test_what_is_not_known_is_not_said(capsys, monkeypatch):
    monkeypatch.setattr(compile_times, "_read", lambda path: {})
    with Terminal().progress():
        kernels._listeners[0]()
    assert capsys.readouterr().err == "Compiling kernels (first use only)\n"


def test_an_error_ends_the_bar(clock):
    bar = ProgressBar()

    def fail():
        with bar:
            msg = "stop"
            raise ValueError(msg)

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert not bar._ticker.is_alive()
