"""Expected counts in the kernel: certain cells count, and chances multiply."""

from __future__ import annotations

import numpy as np
import pytest

from sequester import kernels

pytestmark = pytest.mark.kernel


def ask(n_events, chances, cells, offsets, weights):
    """Queries of `n_events` events, each with one condition on the only column."""
    questions = kernels.queries.Questions(
        np.array([0, n_events]),
        np.arange(n_events + 1),
        np.arange(n_events + 1),
        np.zeros(n_events, np.int32),
        np.arange(n_events) * 2,
        np.array(chances, np.float64),
    )
    return kernels.queries.count_expected(
        questions, 0, 1, np.array(cells, np.int32).reshape(-1, 1), np.array(offsets), np.array(weights)
    )[0]


def test_one_event_is_counted_once_per_person():
    assert ask(1, [0.0, 1.0], [1, 1, 0], [0, 2, 3], [1, 5]) == 1


def test_several_chances_are_not_added_up():
    assert ask(1, [0.0, 0.5], [1, 1], [0, 2], [2]) == 2 * 0.75


def test_events_must_come_in_order():
    in_order, reversed_order = [0, 1], [1, 0]
    assert ask(2, [1.0, 0.0, 0.0, 1.0], in_order, [0, 2], [1]) == 1
    assert ask(2, [1.0, 0.0, 0.0, 1.0], reversed_order, [0, 2], [1]) == 0


def test_one_event_is_not_taken_for_two():
    assert ask(2, [1.0, 1.0, 1.0, 1.0], [0], [0, 1], [1]) == 0
