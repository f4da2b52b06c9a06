"""Index tuples are counted as the definition counts them: in a table, hashed, and within a limit."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.mutual_information import index_tuples, spelled
from sequester.kernels.index_tuples import DENSE, MOST_DISTINCT, count_tuples

pytestmark = pytest.mark.kernel

sequences = st.lists(st.integers(-1, 2), max_size=9)


def counted(row, length, window, *, dense):
    tuples, counts = count_tuples(np.array(row, np.int32), 3, length, window, dense, MOST_DISTINCT)
    return list(map(tuple, tuples.tolist())), counts.tolist()


@given(sequences, st.integers(1, 5), st.integers(1, 6), st.sampled_from([0, DENSE]))
def test_every_tuple_is_counted_once(row, length, window, dense):
    places = index_tuples(len(row), length, window)
    expected = Counter(each for each in (spelled(row, place) for place in places) if -1 not in each)
    tuples, counts = counted(row, length, window, dense=dense)
    assert tuples == sorted(expected)
    assert counts == [expected[each] for each in tuples]


def test_a_table_that_grows_keeps_its_counts():
    row = (np.random.default_rng(1).permutation(3000)).astype(np.int32)
    tuples, counts = count_tuples(row, 3000, 2, 2, 0, MOST_DISTINCT)
    assert len(tuples) == 2 * 3000 - 3
    assert counts.tolist() == [1] * len(tuples)
    assert sorted(map(tuple, tuples.tolist())) == list(map(tuple, tuples.tolist()))


@pytest.mark.parametrize("dense", [0, DENSE])
def test_more_different_tuples_than_can_be_held_are_not_listed(dense):
    row = np.arange(3000, dtype=np.int32)
    tuples, counts = count_tuples(row, 3000, 2, 3, dense, 100)
    assert tuples.shape == (0, 2)
    assert counts.size == 0
