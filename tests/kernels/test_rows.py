"""Folding and sorting of rows and their symbols do what lists of tuples do."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.kernels.rows import fold_rows, list_symbols, sort_rows, weigh_symbols
from sequester.ragged import list_sets

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


def test_numbers_beyond_codes_are_told_apart():
    items, offsets = np.array([2**40, 5, 2**40 + 2**32, 2**40], np.int64), np.arange(5)
    assert fold_rows(items, offsets)[0].tolist() == [0, 1, 2, 0]
    assert sort_rows(items, offsets, np.arange(4)).tolist() == [1, 0, 3, 2]


few_rows = st.lists(st.lists(st.integers(0, 2), max_size=5), max_size=7)


@given(few_rows)
def test_list_symbols_by_first_appearance(rows):
    assert rows_of(*list_symbols(*flat(rows), 3)) == [list(dict.fromkeys(row)) for row in rows]


@given(few_rows)
def test_weigh_symbols_counts_rows_once(rows):
    weights = list(range(1, len(rows) + 1))
    expected = [sum(w for w, row in zip(weights, rows, strict=True) if code in row) for code in range(3)]
    assert weigh_symbols(*flat(rows), np.array(weights, np.int64), 3).tolist() == expected


@given(few_rows)
def test_list_sets_makes_sets_of_rows(rows):
    assert rows_of(*list_sets(*flat(rows))) == [sorted(set(row)) for row in rows]
