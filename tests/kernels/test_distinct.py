"""Folding, sorting and gathering of rows do what lists of tuples do."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.kernels.distinct import fold_rows, gather_rows, sort_rows

pytestmark = pytest.mark.kernel

codes = st.sampled_from([0, 1, 2, 16, 2**31 - 1])
many_rows = st.lists(st.lists(codes, max_size=4), max_size=12)


def flat(rows):
    items = np.array([code for row in rows for code in row], np.int32)
    return items, np.cumsum([0, *map(len, rows)]).astype(np.int64)


def rows_of(items, offsets):
    return [items[a:b].tolist() for a, b in pairwise(offsets)]


@given(many_rows)
def test_fold_rows_names_the_first_equal_row(rows):
    group_of_row, first_rows = fold_rows(*flat(rows))
    assert first_rows.tolist() == [i for i, row in enumerate(rows) if row not in rows[:i]]
    assert [rows[first_rows[group]] for group in group_of_row] == rows


def test_fold_rows_tells_many_rows_apart():
    rows = [[i, j] for i in range(40) for j in range(40)] * 2
    group_of_row, first_rows = fold_rows(*flat(rows))
    assert group_of_row.tolist() == [*range(1600), *range(1600)]
    assert first_rows.tolist() == list(range(1600))


@given(many_rows)
def test_sort_rows_sorts_like_lists_and_keeps_equal_rows_in_order(rows):
    numbers = np.arange(len(rows), dtype=np.int64)
    assert sort_rows(*flat(rows), numbers).tolist() == sorted(range(len(rows)), key=lambda row: rows[row])
    assert numbers.tolist() == list(range(len(rows)))


@given(many_rows, st.data())
def test_sort_rows_sorts_only_the_rows_named(rows, data):
    named = data.draw(st.lists(st.integers(0, len(rows) - 1), unique=True)) if rows else []
    expected = sorted(named, key=lambda row: rows[row])
    assert sort_rows(*flat(rows), np.array(named, np.int64)).tolist() == expected


@given(many_rows, st.data())
def test_gather_rows_copies_the_rows_named(rows, data):
    named = data.draw(st.lists(st.integers(0, len(rows) - 1))) if rows else []
    items, offsets = gather_rows(*flat(rows), np.array(named, np.int64))
    assert rows_of(items, offsets) == [rows[row] for row in named]
    assert items.dtype == np.int32
