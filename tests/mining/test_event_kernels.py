"""Patterns of events equal an enumeration, shard by shard, and buffers grow where they must."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import mining as oracles
from sequester.mining._kernels import Events, Extensions, Limits, mine_patterns
from sequester.mining.search import MiningResult

pytestmark = pytest.mark.kernel

FAR = 2**62
events = st.sets(st.integers(0, 2), min_size=1, max_size=3)
rows_of_events = st.lists(st.lists(events, max_size=3), max_size=4)


def mined(
    rows,
    min_support,
    *,
    weights=None,
    shard=(0, 3),
    n_symbols=3,
    min_length=1,
    max_length=FAR,
    max_gap=FAR,
    max_span=FAR,
    max_patterns=FAR,
    others=0,
):
    flat = [[(code, place) for place, event in enumerate(row) for code in sorted(event)] for row in rows]
    n_kinds, longest = 2 * n_symbols, max(map(len, flat), default=0)
    output = mine_patterns(
        *shard,
        None,
        Events(
            np.array([code for row in flat for code, _ in row], np.int32),
            np.array([place for row in flat for _, place in row], np.int32),
            np.cumsum([0, *map(len, flat)]).astype(np.int64),
            np.array([1] * len(rows) if weights is None else weights, np.int64),
            n_symbols,
            max_gap,
            max_span,
            min(max_gap, max_span) < FAR,
        ),
        None,
        Limits(min_support, min_length, max(min(max_length, longest), 1), max_patterns, True),
        Extensions.of(n_kinds, longest),
        np.array([others], np.int64),
        (np.empty((1, 3), np.int64), np.empty((1, 3), np.int64), np.empty(1, np.int32)),
    )
    result = MiningResult.of(np.arange(n_kinds, dtype=np.int32), *output)
    kinds, offsets, supports, is_complete = result.codes, result.offsets, result.supports, result.is_complete
    holders, row_offsets = result.rows, result.row_offsets
    found = {}
    for (a, b), count, (c, d) in zip(pairwise(offsets), supports, pairwise(row_offsets), strict=True):
        pattern = []
        for kind in kinds[a:b].tolist():
            if kind < n_symbols:
                pattern.append((kind,))
            else:
                pattern[-1] += (kind - n_symbols,)
        found[tuple(pattern)] = int(count), holders[c:d].tolist()
    return found, is_complete


@given(rows_of_events, st.integers(1, 2), st.just(FAR) | st.integers(0, 2), st.just(FAR) | st.integers(1, 3))
def test_patterns_of_events_equal_enumeration(rows, min_support, max_gap, max_span):
    found, is_complete = mined(rows, min_support, max_gap=max_gap, max_span=max_span)
    assert is_complete
    expected = oracles.frequent_events(rows, min_support, None, max_gap, max_span)
    assert {pattern: count for pattern, (count, _) in found.items()} == expected
    for pattern, (_, holders) in found.items():
        assert holders == [
            i for i, row in enumerate(rows) if oracles.contains(pattern, row, max_gap, max_span)
        ]


@given(rows_of_events, st.integers(0, 3), st.integers(1, 3), st.integers(1, 3))
def test_shards_and_lengths(rows, cut, min_length, max_length):
    every, _ = mined(rows, 1)
    parts = [
        mined(rows, 1, shard=shard, min_length=min_length, max_length=max_length)[0]
        for shard in ((0, cut), (cut, 3))
    ]
    assert parts[0] | parts[1] == {
        pattern: told for pattern, told in every.items() if min_length <= sum(map(len, pattern)) <= max_length
    }


def test_weights_are_added_and_too_many_are_said():
    rows = [[{0}, {1}], [{0, 1}]]
    assert mined(rows, 5, weights=[3, 2])[0] == {((0,),): (5, [0, 1]), ((1,),): (5, [0, 1])}
    assert mined(rows, 1, max_patterns=2)[1] is False
    assert mined(rows, 1, max_patterns=9, others=10) == ({}, False)


def test_buffers_grow():
    row = [{code} for code in range(9)]
    found, is_complete = mined([row] * 150, 150, shard=(0, 9), n_symbols=9)
    assert (len(found), is_complete) == (2**9 - 1, True)
    assert all(count == 150 for count, _ in found.values())
    many = [[set(range(70))]]
    assert len(mined(many, 1, shard=(0, 70), n_symbols=70, max_length=2)[0]) == 70 + 70 * 69 // 2
