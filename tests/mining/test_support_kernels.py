"""Counting who contains a pattern equals the definition, for every order, alphabet and size of the lists."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import mining, trajectories
from oracles import sequences as oracles
from sequester.mining.support import (
    MOST_EMBEDDINGS,
    count_rows,
    count_supporters,
    list_first_places,
    mark_ahead,
    mark_supporters,
)

pytestmark = pytest.mark.kernel

# 0 and 64 share a bit of a word; 33 has one in its upper half.
codes = st.sampled_from([0, 33, 64])
N_SYMBOLS = 130
some_rows = st.lists(st.lists(codes, max_size=6), max_size=7)
# Every word of up to three symbols, one of which no row has: a drawn pattern would seldom be contained.
WORDS = [list(word) for size in range(4) for word in product([0, 33, 64, 129], repeat=size)]
in_any_order = st.permutations(WORDS) | st.just(sorted(WORDS))


def flat(rows):
    items = np.array([code for row in rows for code in row], np.int32)
    return items, np.cumsum([0, *map(len, rows)]).astype(np.int64)


def counted(patterns, rows, weights=None, first=0, last=None, owners=None):
    flat_rows = flat(rows)
    return count_supporters(
        flat(patterns),
        first,
        len(patterns) if last is None else last,
        flat_rows,
        np.array([1] * len(rows) if weights is None else weights, np.int64),
        mark_ahead(*flat_rows),
        list_first_places(*flat_rows, N_SYMBOLS),
        owners,
    ).tolist()


@given(some_rows)
def test_mark_supporters_equals_the_definition(rows):
    for word in WORDS[1:]:
        marked = mark_supporters(*flat(rows), np.array(word, np.int32))
        assert marked.tolist() == [oracles.is_subsequence(word, row) for row in rows]


@given(some_rows, in_any_order)
def test_count_supporters_equals_the_definition_in_any_order(rows, patterns):
    assert counted(patterns, rows) == [oracles.support(pattern, rows) for pattern in patterns]


@given(some_rows)
def test_count_supporters_counts_each_row_for_itself(rows):
    assert counted(rows, rows) == [oracles.support(row, rows) for row in rows]


@given(some_rows, st.data())
def test_count_supporters_adds_weights(rows, data):
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    repeated = [row for row, weight in zip(rows, weights, strict=True) for _ in range(weight)]
    assert counted(WORDS, rows, weights) == [oracles.support(word, repeated) for word in WORDS]


@given(some_rows, in_any_order, st.integers(0, len(WORDS)))
def test_one_shard_of_patterns_equals_many(rows, patterns, cut):
    assert counted(patterns, rows, last=cut) + counted(patterns, rows, first=cut) == counted(patterns, rows)


@given(st.lists(st.lists(codes, max_size=3), max_size=4), st.integers(20, 25))
def test_a_rare_symbol_is_looked_up_in_long_lists(rare, n_common):
    # Symbol 2 is in so few rows that the list of those with 0 and 1 is searched instead of scanned.
    rows = [[0, 1]] * n_common + [[*row, 2, *row] for row in rare[:1]] + [[1, 0]] * n_common + [[0, 1, 2]]
    patterns = [[0, 1], [0, 1, 2], [0, 2], [0, 2, 0], [1, 0], [1, 0, 2], [1, 2], [2, 1, 0]]
    assert counted(patterns, rows) == [oracles.support(pattern, rows) for pattern in patterns]


def test_lists_longer_than_the_first_buffer():
    rows = [[0, 1] * 3] * 700
    assert counted([[0] * n for n in range(5)] + [[0, 1, 1, 1]], rows) == [700, 700, 700, 700, 0, 700]


def test_a_symbol_that_no_row_has_has_no_supporters():
    assert counted([[129], [0, 129], [129, 0]], [[0, 1], [0]]) == [0, 0, 0]


def test_without_rows_nothing_has_supporters():
    assert counted([[], [0]], []) == [0, 0]


@given(some_rows)
def test_mark_ahead_sets_a_bit_for_each_symbol_to_come(rows):
    expected = [
        sum({2 ** (code % 64): 0 for code in row[place:]}) for row in rows for place in range(len(row))
    ]
    assert mark_ahead(*flat(rows)).tolist() == expected


@given(some_rows)
def test_list_first_places_lists_each_symbol_once_per_row(rows):
    _, offsets = flat(rows)
    starts, in_rows, after = list_first_places(*flat(rows), N_SYMBOLS)
    for symbol in range(N_SYMBOLS):
        entries = slice(starts[symbol], starts[symbol + 1])
        holding = [number for number, row in enumerate(rows) if symbol in row]
        assert in_rows[entries].tolist() == holding
        assert after[entries].tolist() == [offsets[n] + rows[n].index(symbol) + 1 for n in holding]


owned_rows = st.lists(st.tuples(st.integers(0, 2), st.lists(codes, max_size=4)), min_size=1, max_size=6)


@given(owned_rows)
def test_owners_are_counted_once(given_rows):
    rows = [row for _, row in given_rows]
    owners = (*flat([[owner] for owner, _ in given_rows]), 3)
    expected = [trajectories.person_support(word, given_rows) for word in WORDS]
    assert counted(WORDS, rows, owners=owners) == expected


@given(st.lists(st.lists(st.integers(0, 1), max_size=7), max_size=5), st.lists(st.integers(0, 1), max_size=4))
def test_embeddings_are_counted_as_an_enumeration_counts_them(rows, pattern):
    expected = [len(mining.embeddings(pattern, row)) for row in rows]
    assert count_rows(*flat(rows), np.array(pattern, np.int32)).tolist() == expected


def test_counts_of_embeddings_stop_at_the_most():
    assert count_rows(*flat([[0] * 200]), np.zeros(100, np.int32)).tolist() == [MOST_EMBEDDINGS]
