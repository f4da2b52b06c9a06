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
    made = kernels.alignment.Forest(
        parent=np.array(parent, np.int32),
        end=np.array(end, np.int32),
        worth=np.array(worth, np.int32),
        depth=np.array(depth, np.int32),
        # * and x and y are groups 0, 1 and 2; the other * is group 3.
        group=np.array([0, 1, 1, 1, 2, 2, 3, 3, 3], np.int32),
        group_end=np.array([3, 2, 3, 4], np.int32),
        tops=np.array([0, 3, 4], np.int32),
        least=np.array(least, np.int32),
    )
    return made, numbers


def cells_of(made, numbers, events):
    nodes = np.array(
        [[numbers[quasi][label] for quasi, label in enumerate(event)] for event in events], np.int32
    )
    return np.stack([nodes, made.group[nodes]], axis=2).reshape(len(events), -1).astype(np.int32)


def lens_at(made, cells, length):
    lens = kernels.alignment.new_lens(made, length)
    kernels.alignment.look_at(made, cells, 0, length, lens)
    return lens


events = st.tuples(st.sampled_from(["a", "b", "c", "x", "y", "*"]), st.sampled_from(["1", "2", "*"]))
histories = st.lists(events, min_size=1, max_size=4)


@few
@given(histories, histories, st.tuples(st.integers(0, 2), st.integers(0, 1)))
def test_the_best_alignment_equals_the_best_of_all(x, y, least):
    made, numbers = forest(least)
    cells = cells_of(made, numbers, [*x, *y])
    lens = lens_at(made, cells, len(x))
    rules = oracle.Rules(TREES, 2, 1.0, max_depths=list(least))
    row = np.empty(10, np.int64)
    saving = kernels.alignment.best_saving(
        lens.nodes, lens.fulls, lens.rows, len(x), cells, len(x), len(y), row
    )
    assert saving == oracle.exhaustive_saving(rules, x, y)
    left, right = kernels.alignment.align(lens, len(x), cells, len(x), len(y))
    assert (saving, list(zip(left.tolist(), right.tolist(), strict=True))) == oracle.align(rules, x, y)


@few
@given(histories, histories, st.integers(0, 2**32 - 1))
def test_drawn_pairs_are_in_order_and_as_many_as_the_shorter_has(x, y, key):
    made, numbers = forest()
    cells = cells_of(made, numbers, [*x, *y])
    lens = lens_at(made, cells, len(x))
    left, right, saving = kernels.alignment.draw_pairs(lens, len(x), cells, len(x), len(y), key)
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
    lens = lens_at(made, cells_of(made, numbers, x), len(x))
    boxes = cells_of(made, numbers, box)
    # Only leaves are named in a box.
    for quasi, inner in enumerate((("*", "x", "y"), ("*",))):
        boxes[[event[quasi] in inner for event in box], 2 * quasi] = -1
    row = np.empty(10, np.int64)
    bound = kernels.alignment.best_bound(*lens, len(x), boxes, 0, size, row)
    assert all(oracle.exhaustive_saving(RULES, x, other) <= bound for other in others)


def oracle_lca(labels, tree):
    common = labels[0]
    for label in labels[1:]:
        common = oracle.lca(tree, common, label)
    return common


@given(histories)
def test_a_sequence_is_worth_its_cells(x):
    made, numbers = forest()
    cells = cells_of(made, numbers, x)
    assert kernels.alignment.sequence_worth(made, cells, 0, len(x)) == oracle.kill(RULES, x)


@given(st.integers(0, 1), st.integers(0, 5), st.integers(0, 5))
def test_the_common_ancestor_is_the_lowest(quasi, a, b):
    made, numbers = forest()
    one, other = LABELS[quasi][a % len(LABELS[quasi])], LABELS[quasi][b % len(LABELS[quasi])]
    found = kernels.alignment.common_ancestor(
        made.parent, made.end, numbers[quasi][one], numbers[quasi][other]
    )
    assert found == numbers[quasi][oracle.lca(TREES[quasi], one, other)]


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=4))
def test_numbers_are_mixed_as_the_oracle_mixes_them(numbers):
    state = 0
    for number in numbers:
        state = kernels.alignment.mix(state, number)
    assert state == oracle.mixed(*numbers)
