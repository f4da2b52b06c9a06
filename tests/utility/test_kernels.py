"""Loops of measures: chances multiply, events come in order, and edits cost what they should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import trajectories as oracle
from sequester.utility.edits import least_edits
from sequester.utility.places import lay_over
from sequester.utility.queries import match_in_order

pytestmark = pytest.mark.kernel


def expect(chances, offsets, weights):
    rows = np.array(chances, np.float64)
    return match_in_order(rows, np.array(offsets), np.array(weights), np.empty(rows.shape[1] + 1))


def test_one_event_is_counted_once_per_person():
    assert expect([[1], [1], [0]], [0, 2, 3], [1, 5]) == 1


def test_several_chances_are_not_added_up():
    assert expect([[0.5], [0.5]], [0, 2], [2]) == 2 * 0.75


def test_events_must_come_in_order():
    first, second = [1, 0], [0, 1]
    assert expect([first, second], [0, 2], [1]) == 1
    assert expect([second, first], [0, 2], [1]) == 0


def test_one_event_is_not_taken_for_two():
    assert expect([[1, 1]], [0, 1], [1]) == 0


@pytest.mark.parametrize(
    ("before", "after", "cost"), [([1, 2], [1, 2], 0), ([1, 2], [1], 1), ([1], [0], 0.5)]
)
def test_edits_of_one_attribute(before, after, cost):
    # Node 0 stands for the leaves 1 and 2.
    costs = np.empty(1)
    least_edits(
        np.array(before, np.int32).reshape(-1, 1),
        np.array([0, len(before)]),
        np.array(after, np.int32).reshape(-1, 1),
        np.array([0, len(after)]),
        np.array([3, 2, 3], np.int32),
        np.array([0.5, 1, 1]),
        np.empty(len(after) + 1),
        costs,
    )
    assert costs[0] == cost


def _flat(rows):
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return np.array([item for row in rows for item in row], np.int32), offsets


@given(st.lists(st.tuples(*[st.lists(st.integers(0, 2), min_size=1, max_size=4)] * 2), max_size=4))
def test_what_lies_over_equals_definition(pairs):
    metres = np.abs(np.arange(3)[:, None] - np.arange(3)[None, :]) * 100.0
    rows, paths = [row for row, _ in pairs], [path for _, path in pairs]
    found = lay_over(*_flat(rows), *_flat(paths), metres)
    expected = [
        len(path) * oracle.displacement(path, row, lambda a, b: float(metres[a, b])) for row, path in pairs
    ]
    assert found.tolist() == pytest.approx(expected)
