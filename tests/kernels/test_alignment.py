"""Alignment saves as much as the best of all alignments, and bounds are bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import cblda as oracle
from sequester import kernels

pytestmark = pytest.mark.kernel
few = settings(max_examples=min(settings().max_examples, 60))
DEEP = {"a": "x", "b": "x", "c": "y", "x": "*", "y": "*"}
FLAT = {"1": "*", "2": "*"}
TREES = [DEEP, FLAT]
RULES = oracle.Rules(TREES, 2, 1.0)


def forest(least=(0, 0)):
    """Both trees, nodes numbered through: labels of the first, then of the second."""
    labels = [["*", "x", "a", "b", "y", "c"], ["*", "1", "2"]]
    numbers = [{label: i for i, label in enumerate(each)} for each in labels]
    numbers[1] = {label: i + len(labels[0]) for label, i in numbers[1].items()}
    parent, depth, worth = [], [], []
    for tree, names, number, worths in zip(TREES, labels, numbers, RULES.worths, strict=True):
        parent += [number[tree[label]] if label != "*" else number["*"] for label in names]
        depth += [len(oracle.path(tree, label)) for label in names]
        worth += [worths[label] for label in names]
    made = kernels.alignment.Forest(
        np.array(parent, np.int32),
        np.array(depth, np.int32),
        np.array(worth, np.int64),
        np.array([0, 2, 3], np.int32),
        np.array(least, np.int32),
    )
    return made, numbers


def paths_of(made, numbers, events):
    rows = np.empty((len(events), 3), np.int32)
    for row, event in zip(rows, events, strict=True):
        for quasi, label in enumerate(event):
            kernels.alignment.write_path(made, numbers[quasi][label], quasi, row)
    return rows


events = st.tuples(st.sampled_from(["a", "b", "c", "x", "y", "*"]), st.sampled_from(["1", "2", "*"]))
histories = st.lists(events, min_size=1, max_size=4)


@few
@given(histories, histories, st.tuples(st.integers(0, 2), st.integers(0, 1)))
def test_the_best_alignment_equals_the_best_of_all(x, y, least):
    made, numbers = forest(least)
    paths = paths_of(made, numbers, [*x, *y])
    rules = oracle.Rules(TREES, 2, 1.0, max_depths=list(least))
    row = np.empty(10, np.int64)
    saving = kernels.alignment.best_saving(made, paths, 0, len(x), len(x), len(y), row)
    assert saving == oracle.exhaustive_saving(rules, x, y)
    left, right = kernels.alignment.align(made, paths, 0, len(x), len(x), len(y))
    assert (saving, list(zip(left.tolist(), right.tolist(), strict=True))) == oracle.align(rules, x, y)


@few
@given(histories, histories, st.integers(0, 2**32 - 1))
def test_drawn_pairs_are_in_order_and_as_many_as_the_shorter_has(x, y, key):
    made, numbers = forest()
    paths = paths_of(made, numbers, [*x, *y])
    left, right, saving = kernels.alignment.draw_pairs(made, paths, 0, len(x), len(x), len(y), key)
    assert len(left) == len(right) == min(len(x), len(y))
    assert (np.diff(left) > 0).all()
    assert (np.diff(right) > 0).all()
    assert saving == sum(oracle.saving(RULES, x[i], y[j]) for i, j in zip(left, right, strict=True))
    assert saving <= oracle.exhaustive_saving(RULES, x, y)


@few
@given(
    histories,
    st.integers(1, 3).flatmap(
        lambda n: st.lists(st.lists(events, min_size=n, max_size=n), min_size=1, max_size=3)
    ),
)
def test_no_history_in_a_box_saves_more_than_its_bound(x, others):
    made, numbers = forest()
    size = len(others[0])
    box = [
        tuple(oracle_lca([other[place][quasi] for other in others], TREES[quasi]) for quasi in range(2))
        for place in range(size)
    ]
    paths, boxes = paths_of(made, numbers, x), paths_of(made, numbers, box)
    row = np.empty(10, np.int64)
    bound = kernels.alignment.best_bound(made, paths, 0, len(x), boxes, 0, size, row)
    assert all(oracle.exhaustive_saving(RULES, x, other) <= bound for other in others)


def oracle_lca(labels, tree):
    common = labels[0]
    for label in labels[1:]:
        common = oracle.lca(tree, common, label)
    return common


@given(events)
def test_an_event_is_worth_its_cells(event):
    made, numbers = forest()
    paths = paths_of(made, numbers, [event])
    assert kernels.alignment.event_worth(made, paths, 0) == oracle.event_worth(RULES, event)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=4))
def test_numbers_are_mixed_as_the_oracle_mixes_them(numbers):
    state = 0
    for number in numbers:
        state = kernels.alignment.mix(state, number)
    assert state == oracle.mixed(*numbers)
