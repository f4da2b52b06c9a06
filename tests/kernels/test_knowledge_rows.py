"""Rows are sets where order does not count, keep what is asked for, and know their lowest codes."""

from __future__ import annotations

from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.kernels.knowledge_rows import keep_items, list_sets, mark_lowest

pytestmark = pytest.mark.kernel

some_rows = st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=5)


def flat(rows):
    items = np.array([code for row in rows for code in row], np.int32)
    return items, np.cumsum([0, *map(len, rows)]).astype(np.int64)


def unflat(items, offsets):
    return [items[a:b].tolist() for a, b in pairwise(offsets)]


@given(some_rows)
def test_sets_hold_each_item_once_in_order(rows):
    assert unflat(*list_sets(*flat(rows))) == [sorted(set(row)) for row in rows]


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=5), max_size=5),
    st.lists(st.sampled_from([-1, 0, 7]), min_size=3, max_size=3),
    st.integers(1, 3),
)
def test_kept_rows_have_enough_groups_of_kept_items(drawn, code_of, n_groups):
    rows, expected = [], []
    for row in drawn:
        group = np.cumsum([is_new for _, is_new in row]).tolist()
        rows.append([(item, number) for (item, _), number in zip(row, group, strict=True)])
    for owner, row in enumerate(rows):
        kept = [(code_of[item], group) for item, group in row if code_of[item] >= 0]
        if len(list(groupby(kept, key=lambda pair: pair[1]))) >= n_groups:
            expected.append((owner, kept))
    items, offsets = flat([[item for item, _ in row] for row in rows])
    groups, _ = flat([[group for _, group in row] for row in rows])
    owners = np.arange(len(rows), dtype=np.int32)
    items, groups, offsets, owners = keep_items(
        items, groups, offsets, owners, np.array(code_of, np.int32), n_groups
    )
    pairs = zip(unflat(items, offsets), unflat(groups, offsets), strict=True)
    found = [list(zip(*pair, strict=True)) for pair in pairs]
    assert list(zip(owners.tolist(), found, strict=True)) == expected


@given(some_rows, st.integers(1, 4))
def test_lowest_codes_are_marked(rows, most):
    is_lowest, is_cut = mark_lowest(*flat(rows), most)
    assert is_cut.tolist() == [len(set(row)) > most for row in rows]
    assert is_lowest.tolist() == [item in sorted(set(row))[:most] for row in rows for item in row]
