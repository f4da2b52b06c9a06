"""Flat rows are gathered and cut as lists of lists are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sequester.ragged import gather_rows, keep_values, offsets_of, owners_of, places_of

many_rows = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=12)


def flat(rows):
    return np.array([code for row in rows for code in row], np.int32), offsets_of([len(row) for row in rows])


def rows_of(items, offsets):
    return [items[a:b].tolist() for a, b in pairwise(offsets)]


@given(many_rows, st.data())
def test_gather_rows_copies_the_rows_named(rows, data):
    named = data.draw(st.lists(st.integers(0, len(rows) - 1))) if rows else []
    items, offsets = gather_rows(*flat(rows), np.array(named, np.int64))
    assert rows_of(items, offsets) == [rows[row] for row in named]
    assert (items.dtype, offsets.dtype) == (np.int32, np.int64)


@given(many_rows)
def test_owners_and_places_are_those_of_lists(rows):
    _, offsets = flat(rows)
    assert owners_of(offsets).tolist() == [row for row, items in enumerate(rows) for _ in items]
    assert places_of(offsets).tolist() == [place for items in rows for place, _ in enumerate(items)]


@given(many_rows)
def test_keep_values_filters_rows(rows):
    items, offsets = flat(rows)
    kept = rows_of(*keep_values(items, offsets, items % 2 == 0))
    assert kept == [[item for item in row if item % 2 == 0] for row in rows]
