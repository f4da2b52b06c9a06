"""Embeddings are counted as an enumeration counts them, and counts that are too large stop."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import mining as oracles
from sequester.kernels.containment import MOST, count_embeddings, count_through

pytestmark = pytest.mark.kernel

words = st.lists(st.integers(0, 1), max_size=7)
patterns = st.lists(st.integers(0, 1), max_size=4)


def codes(word):
    return np.array(word, np.int32)


@given(st.lists(words, max_size=5), patterns)
def test_count_embeddings_equals_enumeration(rows, pattern):
    items = codes([code for row in rows for code in row])
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    expected = [len(oracles.embeddings(pattern, row)) for row in rows]
    assert count_embeddings(items, offsets, codes(pattern)).tolist() == expected


@given(words, words, words, patterns)
def test_count_through_equals_enumeration(before, row, after, pattern):
    items = codes([*before, *row, *after])
    through = count_through(items, len(before), len(before) + len(row), codes(pattern))
    assert through.tolist() == oracles.embeddings_through(pattern, row)


def test_counts_stop_at_the_most():
    row = codes([0] * 200)
    offsets = np.array([0, 200], np.int64)
    assert count_embeddings(row, offsets, codes([0] * 100)).tolist() == [MOST]
    assert set(count_through(row, 0, 200, codes([0] * 100)).tolist()) == {MOST}
    assert count_through(row, 0, 60, codes([0] * 5)).tolist() == [comb(59, 4)] * 60
