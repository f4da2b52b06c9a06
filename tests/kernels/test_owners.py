"""Counts of owners and near paths against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import trajectories as oracle
from sequester import kernels
from sequester.utility import _kernels

pytestmark = pytest.mark.kernel

owned_rows = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.integers(0, 2), max_size=4)), min_size=1, max_size=6
)


def _flat(rows):
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return np.array([item for row in rows for item in row], np.int32), offsets


@given(owned_rows, st.lists(st.integers(0, 2), max_size=3))
def test_owners_are_counted_once(given_rows, pattern):
    rows = _flat([row for _, row in given_rows])
    owned = _flat([[i for i, (o, _) in enumerate(given_rows) if o == who] for who in range(3)])
    marks = kernels.rows.mark_symbols(*rows)
    found = kernels.rows.count_supporting_owners(_flat([pattern]), 0, 1, rows, marks, owned)
    assert found.tolist() == [oracle.person_support(pattern, given_rows)]


@given(st.lists(st.tuples(*[st.lists(st.integers(0, 2), min_size=1, max_size=4)] * 2), max_size=4))
def test_what_lies_over_equals_definition(pairs):
    metres = np.abs(np.arange(3)[:, None] - np.arange(3)[None, :]) * 100.0
    rows, paths = [row for row, _ in pairs], [path for _, path in pairs]
    found = _kernels.lay_over(*_flat(rows), *_flat(paths), metres)
    expected = [
        len(path) * oracle.displacement(path, row, lambda a, b: float(metres[a, b])) for row, path in pairs
    ]
    assert found.tolist() == pytest.approx(expected)
