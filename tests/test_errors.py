"""Warnings are lines in results; Python's warnings are issued where nobody collects them."""

from __future__ import annotations

import warnings

import pytest

from sequester.errors import SequesterWarning, WarningCollector, issue_warning


def test_each_warning_is_collected_and_passed_on_once():
    told = []
    collect = WarningCollector(told.append)
    collect("one", "two")
    collect("one")
    assert collect.lines == tuple(told) == ("one", "two")


def test_a_warning_that_nobody_collects_points_at_the_caller():
    def work(warn=issue_warning):
        warn("a short seed")

    with pytest.warns(SequesterWarning, match="a short seed") as heard:
        work()
    assert heard[0].filename == __file__


def test_collecting_leaves_the_hooks_of_python_alone():
    before = warnings.showwarning
    WarningCollector()("line")
    assert warnings.showwarning is before
