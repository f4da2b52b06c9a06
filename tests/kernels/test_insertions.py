"""An item fits into a pattern in all rows just where a longer pattern has the same rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import sequences as oracles
from sequester.kernels.insertions import has_insertion

pytestmark = pytest.mark.kernel

some_rows = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=5)
patterns = st.lists(st.integers(0, 2), min_size=1, max_size=3)


def asked(rows, pattern, within_match):
    items = np.array([code for row in rows for code in row], np.int32)
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    holders = [i for i, row in enumerate(rows) if oracles.is_subsequence(pattern, row)]
    stamp = np.zeros(3, np.int64)
    found, clock = has_insertion(
        items, offsets, np.array(holders, np.int32), np.array(pattern, np.int32), stamp, 0, within_match
    )
    assert clock >= stamp.max()
    return found, [rows[i] for i in holders]


def with_one_more(pattern, slots):
    return [[*pattern[:slot], code, *pattern[slot:]] for slot, code in product(range(slots), range(3))]


@given(some_rows, patterns)
def test_an_insertion_is_a_longer_pattern_of_the_same_rows(rows, pattern):
    rows.append([0, *pattern])
    found, holders = asked(rows, pattern, False)
    longer = with_one_more(pattern, len(pattern) + 1)
    assert found == any(all(oracles.is_subsequence(each, row) for row in holders) for each in longer)


@given(some_rows, patterns)
def test_within_the_match_rows_end_with_it(rows, pattern):
    rows.append([0, *pattern])
    found, holders = asked(rows, pattern, True)
    matches = [oracles.minimum_prefix(pattern, row) for row in holders]
    longer = with_one_more(pattern, len(pattern))
    assert found == any(all(oracles.is_subsequence(each, match) for match in matches) for each in longer)
