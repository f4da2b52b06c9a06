"""Warnings of a job are heard once each; those of others go their own way."""

from __future__ import annotations

import warnings

import pytest

from sequester.errors import SequesterWarning
from sequester.workflow.collect_warnings import collect_warnings


def test_ours_are_kept_once():
    told = []
    with collect_warnings(told.append) as heard:
        for line in ("one", "two", "one"):
            warnings.warn(line, SequesterWarning, stacklevel=1)
    assert told == heard == ["one", "two"]


def test_those_of_others_meet_their_own_filters_and_listeners():
    told, seen = [], []
    with collect_warnings(told.append), pytest.raises(DeprecationWarning, match="an error in this suite"):
        warnings.warn("an error in this suite", DeprecationWarning, stacklevel=1)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: seen.append(str(message))
        with collect_warnings(told.append):
            warnings.warn("shown", DeprecationWarning, stacklevel=1)
    assert (told, seen) == ([], ["shown"])
