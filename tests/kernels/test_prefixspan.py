"""Mining equals the enumeration of all subsequences, and its buffers grow where they must."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import mining as slow
from oracles import sequences as oracles
from sequester.kernels.containment import list_first_places
from sequester.kernels.prefixspan import drop_symbols, mine_below, sort_symbols, weigh_symbols
from sequester.kernels.row_masks import list_parts, mark_rows

pytestmark = pytest.mark.kernel

codes = st.integers(0, 2)
some_rows = st.lists(st.lists(codes, max_size=5), max_size=7)


def flat(rows):
    items = np.array([code for row in rows for code in row], np.int32)
    return items, np.cumsum([0, *map(len, rows)]).astype(np.int64)


def mined(
    rows,
    min_support,
    *,
    weights=None,
    min_length=1,
    max_length=999,
    max_patterns=10_000,
    n_symbols=3,
    shard=None,
    others=0,
    closed=False,
    keep_rows=False,
):
    weights = np.array([1] * len(rows) if weights is None else weights, np.int64)
    items, offsets = flat(rows)
    parts = list_parts(items, offsets, n_symbols)
    found, found_offsets, supports, found_rows, row_offsets, is_complete = mine_below(
        *((0, n_symbols) if shard is None else shard),
        items,
        offsets,
        weights,
        *list_first_places(items, offsets, n_symbols),
        *parts,
        *mark_rows(items, offsets, n_symbols, *parts[1:]),
        min_support,
        min_length,
        max_length,
        max_patterns,
        np.array([others], np.int64),
        closed,
        keep_rows,
    )
    patterns = [tuple(found[a:b].tolist()) for a, b in pairwise(found_offsets)]
    holders = [found_rows[a:b].tolist() for a, b in pairwise(row_offsets)]
    if keep_rows:
        return list(zip(patterns, supports.tolist(), holders, strict=True)), is_complete
    assert not any(holders)
    return list(zip(patterns, supports.tolist(), strict=True)), is_complete


@given(some_rows, st.integers(1, 4))
def test_mine_below_equals_enumeration_in_lexicographic_order(rows, min_support):
    expected = sorted(oracles.frequent(rows, min_support).items())
    assert mined(rows, min_support) == (expected, True)


@given(some_rows, st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))
def test_mine_below_keeps_to_lengths(rows, min_support, min_length, max_length):
    every = sorted(oracles.frequent(rows, min_support, max_length).items())
    expected = [(pattern, count) for pattern, count in every if len(pattern) >= min_length]
    assert mined(rows, min_support, min_length=min_length, max_length=max_length) == (expected, True)


@given(some_rows, st.integers(1, 6), st.data())
def test_mine_below_adds_weights(rows, min_support, data):
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    repeated = [row for row, weight in zip(rows, weights, strict=True) for _ in range(weight)]
    expected = sorted(oracles.frequent(repeated, min_support).items())
    assert mined(rows, min_support, weights=weights) == (expected, True)


@given(some_rows, st.integers(1, 3), st.integers(1, 12))
def test_mine_below_says_when_there_were_more_than_max_patterns(rows, min_support, max_patterns):
    everything = sorted(oracles.frequent(rows, min_support).items())
    expected = everything[:max_patterns], len(everything) <= max_patterns
    assert mined(rows, min_support, max_patterns=max_patterns) == expected


def test_mine_below_stops_where_the_others_have_found_too_many():
    assert mined([[0, 1]], 1, max_patterns=10, others=11) == ([], False)
    assert mined([[0, 1]], 1, max_patterns=10, others=7)[1]


@given(some_rows, st.integers(1, 3), st.integers(0, 3))
def test_shards_share_the_first_symbols_out(rows, min_support, cut):
    left, right = (mined(rows, min_support, shard=shard)[0] for shard in ((0, cut), (cut, 3)))
    assert left + right == mined(rows, min_support)[0]


@given(some_rows, st.integers(1, 3), st.none() | st.integers(1, 3))
def test_closed_patterns_have_no_equal_above(rows, min_support, max_length):
    expected = sorted(slow.closed(rows, min_support, max_length).items())
    assert mined(rows, min_support, closed=True, max_length=max_length or 999) == (expected, True)


@given(some_rows, st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_rows_are_those_that_contain_the_pattern(rows, min_support, max_length, closed):
    found, _ = mined(rows, min_support, max_length=max_length, closed=closed, keep_rows=True)
    for pattern, support, holders in found:
        assert holders == [i for i, row in enumerate(rows) if oracles.is_subsequence(pattern, row)]
        assert support == len(holders)


def test_more_patterns_than_the_first_buffer():
    row = list(range(11))
    expected = sorted((pattern, 1) for size in range(1, 12) for pattern in combinations(row, size))
    assert len(expected) == 2047
    assert mined([row], 1, n_symbols=11) == (expected, True)


def test_patterns_longer_than_the_first_buffer():
    assert mined([[0] * 150], 1) == ([((0,) * n, 1) for n in range(1, 151)], True)


@pytest.mark.parametrize("keep_rows", [False, True])
def test_more_different_symbols_than_a_word_has_bits(keep_rows):
    row = list(range(130))
    # The other row is the first one backwards, so only what is repeated at the end is in order in both.
    expected = [((code,), 2) for code in row]
    expected += [((code, 0), 2) for code in range(1, 130)]
    expected += [((code, 70), 2) for code in range(71, 130)]
    found, is_complete = mined([[*row, 0, 70], row[::-1]], 2, n_symbols=130, keep_rows=keep_rows)
    assert is_complete
    assert [each[:2] for each in found] == sorted(expected)
    if keep_rows:
        assert all(holders == [0, 1] for *_, holders in found)


def test_projections_longer_than_the_first_buffer():
    rows = [[0, 1, 2]] * 1200
    expected = sorted((pattern, 1200) for size in (1, 2, 3) for pattern in combinations(range(3), size))
    assert mined(rows, 1200) == (expected, True)
    found, _ = mined(rows, 1200, keep_rows=True)
    assert all(holders == list(range(1200)) for *_, holders in found)


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


@given(some_rows)
def test_sort_symbols_makes_sets_of_rows(rows):
    items, offsets = sort_symbols(*flat(rows), 3)
    expected = flat([sorted(set(row)) for row in rows])
    assert (items.tolist(), offsets.tolist()) == (expected[0].tolist(), expected[1].tolist())
