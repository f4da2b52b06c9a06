"""The prefix tree in flat arrays is the tree of the definition, in preorder."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import p2ka as oracles
from sequester.kernels.trie import count_passing, grow, measure_subtrees, nearest_kept, spell_paths

pytestmark = pytest.mark.kernel

some_rows = st.lists(st.lists(st.integers(0, 2), max_size=6).map(tuple), max_size=12)
supports = st.integers(1, 4)


def folded(rows):
    """Distinct rows in order, flat, with their weights."""
    distinct = sorted(set(rows))
    items = np.array([item for row in distinct for item in row], np.int32)
    offsets = np.cumsum([0, *map(len, distinct)]).astype(np.int64)
    return distinct, (items, offsets, np.array([rows.count(row) for row in distinct], np.int64))


def spelled(symbols, depths, parents):
    items, offsets = spell_paths(symbols, depths, parents)
    return [tuple(items[a:b].tolist()) for a, b in itertools.pairwise(offsets)]


@given(some_rows, supports)
def test_nodes_are_the_prefixes_of_enough_persons_in_preorder(rows, k):
    distinct, flat = folded(rows)
    symbols, depths, parents, deepest = grow(*flat, k)
    kept = sorted(path for path, count in oracles.prefix_supports(rows).items() if count >= k)
    paths = spelled(symbols, depths, parents)
    assert paths == [(), *kept]
    assert [paths[node] for node in deepest] == [
        max((row[:n] for n in range(len(row) + 1) if not n or row[:n] in kept), key=len) for row in distinct
    ]


@given(some_rows, supports)
def test_subtrees_are_ranges(rows, k):
    _, flat = folded(rows)
    symbols, depths, parents, _ = grow(*flat, k)
    ends, heights = measure_subtrees(parents)
    paths = spelled(symbols, depths, parents)
    for node, path in enumerate(paths):
        below = [other for other in paths if other[: len(path)] == path]
        assert paths[node : ends[node]] == below
        assert heights[node] == max(map(len, below)) - len(path)


@given(some_rows, supports)
def test_passing_counts_whole_paths(rows, k):
    _, flat = folded(rows)
    symbols, depths, parents, deepest = grow(*flat, k)
    passing = count_passing(parents, deepest, flat[2])
    counted = oracles.prefix_supports(rows)
    # Whoever passes a kept node ends on it or below it.
    assert passing.tolist() == [
        counted[path] if path else len(rows) for path in spelled(symbols, depths, parents)
    ]


@given(some_rows, st.data())
def test_nearest_kept_is_the_deepest_kept_prefix(rows, data):
    _, flat = folded(rows)
    symbols, depths, parents, _ = grow(*flat, 1)
    kept = np.ones(parents.size, np.bool_)
    for node in range(1, parents.size):
        kept[node] = kept[parents[node]] and data.draw(st.booleans())
    nearest = nearest_kept(parents, kept)
    paths = spelled(symbols, depths, parents)
    left = [path for path, stays in zip(paths, kept, strict=True) if stays]
    assert [left[number] for number in nearest] == [
        max((path[:n] for n in range(len(path) + 1) if path[:n] in left), key=len) for path in paths
    ]
