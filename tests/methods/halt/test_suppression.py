"""Picking items breaks every channel, most per cost first; the bound stays below the cheapest way."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sequester.methods.halt._kernels import bound_cost, index_items, pick_items

pytestmark = pytest.mark.kernel

# Two trees: 0 is the root of 1 (above 2 and 3) and 4; 5 is the root of 6 and 7.
PARENTS = np.array([-1, -1, 1, 1, -1, -1, -1, -1], np.int32)
ENDS = np.array([5, 4, 3, 4, 5, 8, 7, 8], np.int32)
IS_ROOT = np.array([True, False, False, False, False, True, False, False])
VALUES = [2, 3, 4, 6, 7]
ITEMS = [1, 2, 3, 4, 6, 7]


def below(item):
    return set(range(item, ENDS[item])) & set(VALUES)


def price(item, costs):
    return sum(costs[VALUES.index(value)] for value in below(item))


def is_broken(channel, suppressed):
    return any(below(item) <= suppressed for item in channel)


def as_array(channels):
    rows = np.full((len(channels), 3), -1, np.int32)
    for row, channel in zip(rows, channels, strict=True):
        row[: len(channel)] = channel
    return rows


def pick(found, parents, costs, allowed):
    """The picks of the kernel, and the first channel that each broke."""
    items = as_array(found)
    starts, listed = np.zeros(10, np.int64), np.empty(np.count_nonzero(items >= 0), np.int32)
    index_items(items, 0, starts, listed)
    is_candidate = IS_ROOT.copy()
    is_candidate[items[items >= 0]] = True
    picks = np.empty((8, 2), np.int64)
    candidates = np.flatnonzero(is_candidate & allowed)
    n_picks = pick_items(items, starts[:-1], listed, parents, ENDS, costs.copy(), candidates, picks)
    return picks[:n_picks, 0].tolist(), picks[:n_picks, 1].tolist()


channels = st.lists(st.lists(st.sampled_from(ITEMS), min_size=1, max_size=3), max_size=6)
prices = st.lists(st.integers(1, 9), min_size=len(VALUES), max_size=len(VALUES))


def slow_picks(found, costs, allowed):
    """The same greedy, word for word."""
    left, gone, picks = list(found), set(), []
    while left:
        items = sorted({item for channel in found for item in channel if item in allowed})
        weight = {}
        for item in items:
            n_broken = sum(any(item <= other < ENDS[item] for other in channel) for channel in left)
            cost = sum(costs[VALUES.index(value)] for value in below(item) - gone)
            if n_broken:
                weight[item] = n_broken / cost if cost else float("inf")
        best = max(items, key=lambda item: (weight.get(item, -1), -item))
        picks.append(best)
        gone |= below(best)
        left = [channel for channel in left if not any(best <= other < ENDS[best] for other in channel)]
    return picks


@given(channels, prices)
@settings(max_examples=60)
def test_picks_are_those_of_the_slow_greedy(found, costs):
    table = np.array([float(price(item, costs)) for item in range(8)])
    everything = np.ones(8, np.bool_)
    picks, forced_by = pick(found, PARENTS, table, everything)
    assert picks == slow_picks(found, costs, ITEMS)
    suppressed = set().union(*(below(item) for item in picks))
    assert all(is_broken(channel, suppressed) for channel in found)
    for item, row in zip(picks, forced_by, strict=True):
        assert any(item <= other < ENDS[item] for other in found[row])


@given(channels, prices)
@settings(max_examples=60)
def test_the_bound_is_not_above_the_cheapest_suppression(found, costs):
    starts = np.searchsorted(VALUES, np.arange(8)).astype(np.int32)
    stops = np.searchsorted(VALUES, ENDS).astype(np.int32)
    bound = bound_cost(as_array(found), ENDS, starts, stops, np.array(costs, np.float64), np.inf)
    cheapest = min(
        sum(costs[VALUES.index(value)] for value in chosen)
        for size in range(len(VALUES) + 1)
        for chosen in combinations(VALUES, size)
        if all(is_broken(channel, set(chosen)) for channel in found)
    )
    assert bound <= cheapest + 1e-9
    assert bound > 0 or not found


def test_what_may_not_be_suppressed_is_not_picked():
    allowed = np.ones(8, np.bool_)
    allowed[[6, 5]] = False
    assert pick([[6, 2], [6, 4]], PARENTS, np.ones(8), allowed)[0] == [2, 4]


def test_a_root_is_picked_only_where_parents_lead_to_it():
    found = [[2], [3], [4]]
    costs = np.array([1.5, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert pick(found, PARENTS, costs, np.ones(8, np.bool_))[0] == [2, 3, 4]
    with_roots = np.array([-1, 0, 1, 1, 0, -1, 5, 5], np.int32)
    assert pick(found, with_roots, costs, np.ones(8, np.bool_))[0] == [0]


def test_a_bound_that_is_enough_stops():
    starts = np.searchsorted(VALUES, np.arange(8)).astype(np.int32)
    stops = np.searchsorted(VALUES, ENDS).astype(np.int32)
    costs = np.array([4.0, 1.0, 1.0, 1.0, 1.0])
    found = as_array([[2], [4], [6]])
    assert bound_cost(found, ENDS, starts, stops, costs.copy(), 3.0) == 4.0
    assert bound_cost(found, ENDS, starts, stops, costs.copy(), np.inf) == 6.0
