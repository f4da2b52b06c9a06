"""Groups of different values, and random orders."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import l_diversity
from oracles.reposition import suppress_most_frequent
from sequester.methods.reposition._group_kernels import form_groups, largest_buckets, shuffled_within

pytestmark = pytest.mark.kernel

snapshots_of = st.lists(st.text("abcd", max_size=9), min_size=1, max_size=3)
sizes = st.sampled_from([2, 3])
seeds = st.integers(1, 2**64 - 1).map(lambda seed: np.array([seed], np.uint64))


@given(snapshots_of, sizes, seeds)
def test_groups_have_different_values_and_nobody_is_left(snapshots, size, state):
    eligible = ["".join(suppress_most_frequent(letters, size).elements()) for letters in snapshots]
    assert all(l_diversity.is_eligible(letters, size) for letters in eligible)
    letters = "".join(eligible)
    offsets = np.cumsum([0, *map(len, eligible)])
    values = np.array(["abcd".index(letter) for letter in letters], np.int32)
    groups = np.zeros(len(values), np.int64)
    form_groups(values, offsets, 4, size, state, groups)
    for group, count in Counter(groups.tolist()).items():
        members = np.flatnonzero(groups == group)
        assert size <= count < 2 * size
        assert len({letters[row] for row in members}) == count
        assert len(np.unique(np.searchsorted(offsets, members, side="right"))) == 1
    # Numbered from 1 without a gap, snapshot after snapshot.
    assert sorted(set(groups.tolist())) == list(range(1, int(groups.max(initial=0)) + 1))
    assert all(
        groups[:edge].max(initial=0) < groups[edge:].min() for edge in offsets if 0 < edge < len(groups)
    )


def test_what_is_left_joins_any_group_without_its_value():
    values, offsets = np.array([0, 1, 0, 1, 2], np.int32), np.array([0, 5])
    joined = set()
    for seed in range(1, 60):
        groups = np.zeros(len(values), np.int64)
        form_groups(values, offsets, 3, 2, np.array([seed], np.uint64), groups)
        joined.add(tuple(sorted(np.bincount(groups)[1:].tolist())))
        ((_, largest),) = Counter(groups.tolist()).most_common(1)
        assert largest == 3
    assert joined == {(2, 3)}


@given(st.lists(st.integers(0, 4), max_size=12), seeds)
def test_an_order_by_place_has_every_row_once(places, state):
    order = shuffled_within(np.array(places, np.int64), state)
    assert sorted(order.tolist()) == list(range(len(places)))
    assert [places[row] for row in order] == sorted(places)


def test_chance_decides_the_order_within_a_place():
    places = np.array([1, 0, 1, 1], np.int64)
    orders = {tuple(shuffled_within(places, np.array([seed], np.uint64)).tolist()) for seed in range(1, 200)}
    assert len(orders) == 6


@given(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.integers(1, 4), seeds)
def test_the_largest_buckets_are_chosen(counts, wanted, state):
    chosen = np.empty(wanted, np.int64)
    found = largest_buckets(np.array(counts), chosen, np.zeros(len(counts), np.int64), 1, state)
    assert found == (sum(count > 0 for count in counts) >= wanted)
    if found:
        assert [counts[value] for value in chosen] == sorted(counts, reverse=True)[:wanted]
        assert len(set(chosen.tolist())) == wanted
