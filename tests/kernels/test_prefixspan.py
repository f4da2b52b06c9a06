"""Mining equals the enumeration of all subsequences, and its buffers grow where they must."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import sequences as oracles
from sequester.kernels.prefixspan import drop_symbols, mine_frequent, weigh_symbols

pytestmark = pytest.mark.kernel

codes = st.integers(0, 2)
some_rows = st.lists(st.lists(codes, max_size=5), max_size=7)


def flat(rows):
    items = np.array([code for row in rows for code in row], np.int32)
    return items, np.cumsum([0, *map(len, rows)]).astype(np.int64)


def mined(rows, min_support, *, weights=None, max_length=999, max_patterns=10_000, n_symbols=3):
    weights = np.array([1] * len(rows) if weights is None else weights, np.int64)
    items, offsets, supports, is_complete = mine_frequent(
        *flat(rows), weights, n_symbols, min_support, max_length, max_patterns
    )
    patterns = [tuple(items[a:b].tolist()) for a, b in pairwise(offsets)]
    return list(zip(patterns, supports.tolist(), strict=True)), is_complete


@given(some_rows, st.integers(1, 4))
def test_mine_frequent_equals_enumeration_in_lexicographic_order(rows, min_support):
    expected = sorted(oracles.frequent(rows, min_support).items())
    assert mined(rows, min_support) == (expected, True)


@given(some_rows, st.integers(1, 3), st.integers(1, 4))
def test_mine_frequent_stops_at_max_length(rows, min_support, max_length):
    expected = sorted(oracles.frequent(rows, min_support, max_length).items())
    assert mined(rows, min_support, max_length=max_length) == (expected, True)


@given(some_rows, st.integers(1, 6), st.data())
def test_mine_frequent_adds_weights(rows, min_support, data):
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    repeated = [row for row, weight in zip(rows, weights, strict=True) for _ in range(weight)]
    expected = sorted(oracles.frequent(repeated, min_support).items())
    assert mined(rows, min_support, weights=weights) == (expected, True)


@given(some_rows, st.integers(1, 3), st.integers(1, 12))
def test_mine_frequent_says_when_there_were_more_than_max_patterns(rows, min_support, max_patterns):
    everything = sorted(oracles.frequent(rows, min_support).items())
    expected = everything[:max_patterns], len(everything) <= max_patterns
    assert mined(rows, min_support, max_patterns=max_patterns) == expected


def test_more_patterns_than_the_first_buffer():
    row = list(range(11))
    expected = sorted((pattern, 1) for size in range(1, 12) for pattern in combinations(row, size))
    assert len(expected) == 2047
    assert mined([row], 1, n_symbols=11) == (expected, True)


def test_patterns_longer_than_the_first_buffer():
    assert mined([[0] * 150], 1) == ([((0,) * n, 1) for n in range(1, 151)], True)


def test_more_extensions_than_the_first_buffer():
    row = list(range(200))
    singles = [((code,), 2) for code in row]
    assert mined([row, row[::-1]], 2, n_symbols=200) == (singles, True)


def test_projections_longer_than_the_first_buffer():
    rows = [[0, 1, 2]] * 1200
    expected = sorted((pattern, 1200) for size in (1, 2, 3) for pattern in combinations(range(3), size))
    assert mined(rows, 1200) == (expected, True)


@given(some_rows)
def test_weigh_symbols_counts_rows_once(rows):
    weights = list(range(1, len(rows) + 1))
    expected = [sum(w for w, row in zip(weights, rows, strict=True) if code in row) for code in range(3)]
    assert weigh_symbols(*flat(rows), np.array(weights, np.int64), 3).tolist() == expected


@given(some_rows, st.lists(st.booleans(), min_size=3, max_size=3))
def test_drop_symbols_keeps_the_order_of_the_others(rows, is_kept):
    items, offsets = drop_symbols(*flat(rows), np.array(is_kept))
    kept_items, kept_offsets = flat([[code for code in row if is_kept[code]] for row in rows])
    assert (items.tolist(), offsets.tolist()) == (kept_items.tolist(), kept_offsets.tolist())
