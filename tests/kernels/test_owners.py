"""Counts of owners and near paths against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import trajectories as oracle
from sequester import kernels

pytestmark = pytest.mark.kernel

owned_rows = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.integers(0, 2), max_size=4)), min_size=1, max_size=6
)


def _flat(rows):
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return np.array([item for row in rows for item in row], np.int32), offsets


@given(owned_rows, st.lists(st.integers(0, 2), max_size=3))
def test_owners_are_counted_once(given_rows, pattern):
    items, offsets = _flat([row for _, row in given_rows])
    owned, owned_offsets = _flat([[i for i, (o, _) in enumerate(given_rows) if o == who] for who in range(3)])
    patterns, pattern_offsets = _flat([pattern])
    marks = kernels.owners.mark_symbols(items, offsets)
    found = kernels.owners.count_supporters(
        patterns, pattern_offsets, 0, 1, items, offsets, marks, owned, owned_offsets
    )
    assert found.tolist() == [oracle.person_support(pattern, given_rows)]


def test_passing_counts_owners_and_not_their_rows():
    parents = np.array([0, 0, 1, 1, 0], np.int32)
    targets = np.array([2, 3, 2, 4], np.int32)
    owned, owned_offsets = _flat([[0, 1], [2], [3]])
    assert kernels.owners.count_passing(parents, targets, owned, owned_offsets).tolist() == [3, 2, 2, 1, 1]


def test_the_heaviest_path_wins_then_the_shallowest():
    # The paths 0, 01, 02 and 1; symbol 1 is near symbol 2.
    symbols, depths = np.array([-1, 0, 1, 2, 1], np.int32), np.array([0, 1, 2, 2, 1], np.int32)
    ends, heights = np.array([5, 4, 3, 4, 5], np.int32), np.array([2, 1, 0, 0, 0], np.int32)
    weights = np.array([[1000, 0, 0], [0, 1000, 400], [0, 400, 1000], [0, 0, 0]], np.int32)
    items, offsets = _flat([[0, 2], [2], [1], [3], [0, 3]])
    found = kernels.near_paths.closest_paths(
        items, offsets, np.arange(5), symbols, depths, ends, heights, weights
    )
    assert found.tolist() == [3, 3, 4, 0, 1]


@given(st.lists(st.tuples(*[st.lists(st.integers(0, 2), min_size=1, max_size=4)] * 2), max_size=4))
def test_what_lies_over_equals_definition(pairs):
    metres = np.abs(np.arange(3)[:, None] - np.arange(3)[None, :]) * 100.0
    rows, paths = [row for row, _ in pairs], [path for _, path in pairs]
    found = kernels.near_paths.lay_over(*_flat(rows), *_flat(paths), metres)
    expected = [
        len(path) * oracle.displacement(path, row, lambda a, b: float(metres[a, b])) for row, path in pairs
    ]
    assert found.tolist() == pytest.approx(expected)
