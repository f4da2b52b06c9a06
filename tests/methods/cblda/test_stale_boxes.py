"""Boxes whose clusters have all been merged are still looked at, and ask for more persons than there are."""

from __future__ import annotations

import warnings

import pytest

from sequester.errors import SequesterWarning
from sequester.methods import CBLDA
from sequester.testing import history_table

CASES = [
    (["ab", "ab", "b", "ab"], 2, 0.25),
    (["a", "a", "ab", "a"], 3, 0.25),
    (["b", "aa", "ba", "b", "b", "ba"], 3, 0.3334),
]


@pytest.mark.kernel
@pytest.mark.parametrize(("rows", "k", "c"), CASES)
def test_merged_clusters_in_the_index_do_no_harm(rows, k, c):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        release = CBLDA(k=k, c=c).apply(history_table(rows), seed="a sentence nobody guesses")
    assert release.verdict
