"""Mining equals the enumeration of all subsequences, and its buffers grow where they must."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import mining as slow
from oracles import sequences as oracles
from sequester.kernels.rows import list_symbols
from sequester.mining._kernels import (
    AHEAD,
    BITS,
    BLOCK_SIZE,
    FIRST_PART,
    N_BLOCKS,
    N_PARTS,
    PART_SIZE,
    ROW,
    SYMBOLS,
    Closing,
    Extensions,
    Limits,
    has_insertion,
    lowest_bit,
    mine_patterns,
    next_place,
)
from sequester.mining.search import MiningResult, index_rows

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
    longest = max(map(len, rows), default=1)
    closing = None
    if closed:
        stamp, matches = np.zeros(n_symbols + 1, np.int64), np.empty((2, longest + 1), np.int64)
        closing = Closing(items, offsets, stamp, matches)
    output = mine_patterns(
        *((0, n_symbols) if shard is None else shard),
        index_rows(items, offsets, weights, *list_symbols(items, offsets, n_symbols), n_symbols),
        None,
        closing,
        Limits(min_support, min_length, max(min(max_length, longest), 1), max_patterns, keep_rows),
        Extensions.of(n_symbols, longest),
        np.array([others], np.int64),
        (np.empty((1, 3), np.int64), np.empty((1, 3), np.int64), np.empty(1, np.int32)),
    )
    result = MiningResult.of(np.arange(n_symbols, dtype=np.int32), *output)
    found, found_offsets, supports, is_complete = (
        result.codes,
        result.offsets,
        result.supports,
        result.is_complete,
    )
    found_rows, row_offsets = result.rows, result.row_offsets
    patterns = [tuple(found[a:b].tolist()) for a, b in pairwise(found_offsets)]
    holders = [found_rows[a:b].tolist() for a, b in pairwise(row_offsets)]
    if keep_rows:
        return list(zip(patterns, supports.tolist(), holders, strict=True)), is_complete
    assert not any(holders)
    return list(zip(patterns, supports.tolist(), strict=True)), is_complete


@given(some_rows, st.integers(1, 4))
def test_mine_patterns_equals_enumeration_in_lexicographic_order(rows, min_support):
    expected = sorted(oracles.frequent(rows, min_support).items())
    assert mined(rows, min_support) == (expected, True)


@given(some_rows, st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))
def test_mine_patterns_keeps_to_lengths(rows, min_support, min_length, max_length):
    every = sorted(oracles.frequent(rows, min_support, max_length).items())
    expected = [(pattern, count) for pattern, count in every if len(pattern) >= min_length]
    assert mined(rows, min_support, min_length=min_length, max_length=max_length) == (expected, True)


@given(some_rows, st.integers(1, 6), st.data())
def test_mine_patterns_adds_weights(rows, min_support, data):
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    repeated = [row for row, weight in zip(rows, weights, strict=True) for _ in range(weight)]
    expected = sorted(oracles.frequent(repeated, min_support).items())
    assert mined(rows, min_support, weights=weights) == (expected, True)


@given(some_rows, st.integers(1, 3), st.integers(1, 12))
def test_mine_patterns_says_when_there_were_more_than_max_patterns(rows, min_support, max_patterns):
    everything = sorted(oracles.frequent(rows, min_support).items())
    expected = everything[:max_patterns], len(everything) <= max_patterns
    assert mined(rows, min_support, max_patterns=max_patterns) == expected


def test_mine_patterns_stops_where_the_others_have_found_too_many():
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


WIDE = [[*range(130), *range(0, 130, 3)], [], [1] * 70 + [2]]


@given(some_rows | st.just(WIDE))
def test_masks_equal_what_a_look_at_the_row_says(rows):
    items, offsets = flat(rows)
    weights = np.ones(len(rows), np.int64)
    index = index_rows(items, offsets, weights, *list_symbols(items, offsets, 130), 130)
    for row, word in enumerate(rows):
        first, n_parts = index.rows[row, FIRST_PART], index.rows[row, N_PARTS]
        different = list(dict.fromkeys(word))
        assert n_parts == -(-len(different) // PART_SIZE)
        assert index.parts[first : first + n_parts, ROW].tolist() == [row] * n_parts
        assert index.rows[row, N_BLOCKS] == -(-len(word) // BLOCK_SIZE)
        for place in range(len(word) + 1):
            set_bits = {
                int(index.symbols[index.parts[first + part, SYMBOLS] + bit])
                for part in range(n_parts)
                for bit in range(PART_SIZE)
                if int(index.ahead[index.rows[row, AHEAD] + place * n_parts + part]) >> bit & 1
            }
            assert set_bits == set(word[place:])
            for symbol in set_bits:
                start = index.rows[row, BITS] + different.index(symbol) * index.rows[row, N_BLOCKS]
                assert next_place(index.bits, start, place) == word.index(symbol, place)
    for symbol in range(3):
        holders = index.holders[index.starts[symbol] : index.starts[symbol + 1]].tolist()
        expected = [[row, word.index(symbol) + 1] for row, word in enumerate(rows) if symbol in word]
        assert holders == expected


@pytest.mark.parametrize("bit", [0, 1, 31, 32, 61, 62])
def test_the_lowest_bit_is_found(bit):
    assert lowest_bit(2**bit) == bit
    assert lowest_bit(2**63 - 2**bit) == bit


full_rows = st.lists(st.lists(codes, min_size=1, max_size=6), min_size=1, max_size=5)
patterns = st.lists(codes, min_size=1, max_size=3)


def insertion(rows, pattern, within_match):
    items, offsets = flat(rows)
    holders = [i for i, row in enumerate(rows) if oracles.is_subsequence(pattern, row)]
    index = index_rows(items, offsets, np.ones(len(rows), np.int64), *list_symbols(items, offsets, 3), 3)
    entries = np.array([[index.rows[row, FIRST_PART], 0, 0] for row in holders], np.int64)
    closing = Closing(items, offsets, np.zeros(4, np.int64), np.empty((2, len(pattern) + 1), np.int64))
    path = np.array(pattern, np.int64)
    found = has_insertion(closing, index, entries, 0, len(entries), path, len(pattern), within_match)
    return found, [rows[i] for i in holders]


def with_one_more(pattern, slots):
    return [[*pattern[:slot], code, *pattern[slot:]] for slot, code in product(range(slots), range(3))]


@given(full_rows, patterns)
def test_an_insertion_is_a_longer_pattern_of_the_same_rows(rows, pattern):
    rows.append([0, *pattern])
    found, holders = insertion(rows, pattern, False)
    longer = with_one_more(pattern, len(pattern) + 1)
    assert found == any(all(oracles.is_subsequence(each, row) for row in holders) for each in longer)


@given(full_rows, patterns)
def test_within_the_match_rows_end_with_it(rows, pattern):
    rows.append([0, *pattern])
    found, holders = insertion(rows, pattern, True)
    matches = [oracles.minimum_prefix(pattern, row) for row in holders]
    longer = with_one_more(pattern, len(pattern))
    assert found == any(all(oracles.is_subsequence(each, match) for match in matches) for each in longer)
