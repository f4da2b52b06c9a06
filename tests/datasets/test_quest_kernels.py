"""Patterns and baskets of the Quest kernels keep their stated preconditions and postconditions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.datasets import quest

pytestmark = pytest.mark.kernel
sizes = st.lists(st.integers(1, 4), min_size=1, max_size=6)


def chance(seed):
    return np.random.Generator(np.random.PCG64(seed))


def offsets_of(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def even(n):
    return np.arange(1, n + 1) / n


def is_subsequence(part, whole):
    rest = iter(whole)
    return all(element in rest for element in part)


@given(st.integers(0, 2**32), sizes, st.data())
def test_a_pattern_takes_so_many_elements_from_the_one_before_in_order(seed, lengths, data):
    most = [0, *(min(pair) for pair in pairwise(lengths))]
    n_same = np.array([data.draw(st.integers(0, limit)) for limit in most], np.int64)
    offsets = offsets_of(lengths)
    elements = quest.draw_patterns(chance(seed), offsets, n_same, even(50)).tolist()
    rows = [elements[a:b] for a, b in pairwise(offsets)]
    assert all(0 <= element < 50 for element in elements)
    for before, row, taken in zip(rows, rows[1:], n_same[1:], strict=False):
        assert is_subsequence(row[:taken], before)


def test_elements_come_by_weight():
    cumulated = np.array([0.0, 0.1, 0.1, 1.0])
    elements = quest.draw_patterns(chance(3), np.array([0, 4000], np.int64), np.zeros(1, np.int64), cumulated)
    counts = np.bincount(elements, minlength=4)
    assert counts[[0, 2]].tolist() == [0, 0]
    assert abs(counts[1] - 400) < 5 * np.sqrt(4000 * 0.1 * 0.9)


@given(
    st.integers(0, 2**32),
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4)), min_size=1, max_size=5),
    sizes,
    sizes,
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_baskets_are_sorted_without_repeats_and_nobody_has_none(seed, shape, in_sequence, in_itemset, kept):
    draws = chance(seed)
    n_baskets, n_items = (np.array(each, np.int64) for each in zip(*shape, strict=True))
    sequences = (
        draws.integers(0, len(in_itemset), sum(in_sequence)).astype(np.int32),
        offsets_of(in_sequence),
        np.full(len(in_sequence), kept),
        even(len(in_sequence)),
    )
    itemsets = (
        draws.integers(0, 6, sum(in_itemset)).astype(np.int32),
        offsets_of(in_itemset),
        np.full(len(in_itemset), kept),
        even(len(in_itemset)),
    )
    rows = list(zip(*quest.fill_baskets(draws, n_baskets, n_items, sequences, itemsets), strict=True))
    assert rows == sorted(set(rows))
    assert {customer for customer, _, _ in rows} == set(range(len(shape)))
    assert all(0 <= basket < n_baskets[customer] for customer, basket, _ in rows)
    assert {item for _, _, item in rows} <= set(itemsets[0].tolist())


def test_patterns_that_are_never_corrupted_appear_whole_and_in_order():
    # Three itemsets of one item, four baskets of one: a second attempt does not fit, and ends half the time.
    sequences = (np.array([0, 1, 2], np.int32), np.array([0, 3]), np.ones(1), np.ones(1))
    itemsets = (np.array([7, 9, 5], np.int32), np.array([0, 1, 2, 3]), np.ones(3), even(3))
    n_baskets, n_items = np.full(400, 4), np.full(400, 1)
    customers, baskets, items = quest.fill_baskets(chance(1), n_baskets, n_items, sequences, itemsets)
    seen = {}
    for customer, basket, item in zip(customers.tolist(), baskets.tolist(), items.tolist(), strict=True):
        seen.setdefault(customer, []).append((basket, item))
    once = [tuple(zip(*own, strict=True)) for own in seen.values() if len(own) == 3]
    assert abs(len(once) - 200) < 5 * np.sqrt(400 / 4) + 400 / 8  # a repetition may fall on the same baskets
    assert all(order == (7, 9, 5) for _, order in once)
    assert {places for places, _ in once} == {(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)}


def test_many_items_in_one_basket_grow_the_buffers():
    itemsets = (np.arange(100, dtype=np.int32), np.array([0, 100]), np.ones(1), np.ones(1))
    sequences = (np.zeros(1, np.int32), np.array([0, 1]), np.ones(1), np.ones(1))
    filled = quest.fill_baskets(chance(0), np.ones(5, np.int64), np.full(5, 100), sequences, itemsets)
    assert [len(each) for each in filled] == [500] * 3
    assert filled[2].tolist() == list(range(100)) * 5
