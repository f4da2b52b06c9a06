"""Alignment saves as much as the best of all alignments, and bounds are bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import cblda as oracle
from sequester.methods.cblda import _alignment_kernels as kernels

pytestmark = pytest.mark.kernel
few = settings(max_examples=min(settings().max_examples, 60))
DEEP = {"a": "x", "b": "x", "c": "y", "x": "*", "y": "*"}
FLAT = {"1": "*", "2": "*"}
TREES = [DEEP, FLAT]
RULES = oracle.Rules(TREES, 2, 1.0)


LABELS = [["*", "x", "a", "b", "y", "c"], ["*", "1", "2"]]
"""Of both trees, depth first."""


def forest(least=(0, 0)):
    """Both trees, nodes numbered through: labels of the first, then of the second."""
    numbers = [
        {label: i for i, label in enumerate(LABELS[0])},
        {label: i + 6 for i, label in enumerate(LABELS[1])},
    ]
    parent, depth, worth, end = [], [], [], []
    for tree, names, number, worths in zip(TREES, LABELS, numbers, RULES.worths, strict=True):
        parent += [number[tree[label]] if label != "*" else number["*"] for label in names]
        depth += [len(oracle.path(tree, label)) for label in names]
        worth += [worths[label] for label in names]
        below = {
            label: [each for each in names if label in ("*", *oracle.path(tree, each))] for label in names
        }
        end += [number[label] + len(below[label]) for label in names]
    # * and x and y are groups 0, 1 and 2; the other * is group 3.
    group = np.array([0, 1, 1, 1, 2, 2, 3, 3, 3], np.int32)
    tree = np.empty((9, 6), np.int32)
    tree[:, kernels.PARENT], tree[:, kernels.END], tree[:, kernels.WORTH] = parent, end, worth
    is_coarse = np.array(depth) < np.repeat(least, [6, 3])
    tree[:, kernels.SHARED] = np.where(is_coarse, kernels.FORBIDDEN, worth)
    tree[:, kernels.GROUP], tree[:, kernels.GROUP_END] = group, np.array([3, 2, 3, 4])[group]
    return tree, numbers


N_GROUPS = 4


def cells_of(tree, numbers, events):
    nodes = np.array(
        [[numbers[quasi][label] for quasi, label in enumerate(event)] for event in events], np.int32
    )
    return np.stack([nodes, tree[nodes, kernels.GROUP]], axis=2).reshape(len(events), -1).astype(np.int32)


def profile_of(tree, cells, length):
    profile = np.empty((length, 2 * (2 + N_GROUPS)), np.int32)
    kernels.write_profile(tree, cells, 0, length, profile)
    return profile


events = st.tuples(st.sampled_from(["a", "b", "c", "x", "y", "*"]), st.sampled_from(["1", "2", "*"]))
histories = st.lists(events, min_size=1, max_size=4)


def room():
    """Room for a row, and for the places of pairs."""
    return np.empty(10, np.int64), np.empty((2, 10), np.int64)


@few
@given(histories, histories, st.tuples(st.integers(0, 2), st.integers(0, 1)))
def test_the_best_alignment_equals_the_best_of_all(x, y, least):
    tree, numbers = forest(least)
    cells = cells_of(tree, numbers, [*x, *y])
    profile = profile_of(tree, cells, len(x))
    rules = oracle.Rules(TREES, 2, 1.0, max_depths=list(least))
    row, places = room()
    saving = kernels.best_saving(profile, len(x), cells, len(x), len(y), row)
    assert saving == oracle.exhaustive_saving(rules, x, y)
    n_pairs = kernels.align(profile, len(x), cells, len(x), len(y), row, places)
    assert row[len(y)] == saving
    assert (saving, list(zip(*places[:, :n_pairs].tolist(), strict=True))) == oracle.align(rules, x, y)


@few
@given(histories, histories, st.integers(0, 2**32 - 1))
def test_drawn_pairs_are_in_order_and_as_many_as_the_shorter_has(x, y, key):
    tree, numbers = forest()
    cells = cells_of(tree, numbers, [*x, *y])
    profile = profile_of(tree, cells, len(x))
    row, places = room()
    n_pairs = kernels.draw_pairs(profile, len(x), cells, len(x), len(y), key, row, places)
    assert n_pairs == min(len(x), len(y))
    left, right = places[:, :n_pairs]
    assert (np.diff(left) > 0).all()
    assert (np.diff(right) > 0).all()
    saving = row[len(y)]
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
    tree, numbers = forest()
    size = len(others[0])
    box = [
        tuple(oracle_lca([other[place][quasi] for other in others], TREES[quasi]) for quasi in range(2))
        for place in range(size)
    ]
    profile = profile_of(tree, cells_of(tree, numbers, x), len(x))
    boxes = cells_of(tree, numbers, box)
    # Only leaves are named in a box; others have the groups of bounds.
    for quasi, inner in enumerate((("*", "x", "y"), ("*",))):
        is_inner = [event[quasi] in inner for event in box]
        boxes[is_inner, 2 * quasi] = -1
        boxes[is_inner, 2 * quasi + 1] += N_GROUPS
    bound = kernels.best_saving(profile, len(x), boxes, 0, size, room()[0])
    assert all(oracle.exhaustive_saving(RULES, x, other) <= bound for other in others)


def oracle_lca(labels, tree):
    common = labels[0]
    for label in labels[1:]:
        common = oracle.lca(tree, common, label)
    return common


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=4))
def test_numbers_are_mixed_as_the_oracle_mixes_them(numbers):
    state = 0
    for number in numbers:
        state = kernels.mix(state, number)
    assert state == oracle.mixed(*numbers)
