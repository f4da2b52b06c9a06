"""The partition of records along hierarchies against its definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles import mondrian
from sequester.methods.reposition import _group_kernels

pytestmark = pytest.mark.kernel

PATHS = ["*", "*h", "*h3", "*h4", "*l", "*l1", "*l2", "*z"]
"""A tree, depth first; every letter is a step from the root."""
PARENT = np.array([-1, 0, 1, 1, 0, 4, 4, 0], np.int32)
SUBTREE_END = np.array([8, 4, 3, 4, 7, 6, 7, 8], np.int32)
LOSSES = [np.array([1, 0.25, 0, 0, 0.5, 0, 0, 0.0]), np.array([1, 0.3, 0, 0, 0.2, 0, 0, 0.0]) * 2]
LEAVES = [2, 3, 5, 6, 7]

records_of = st.lists(
    st.tuples(st.sampled_from(LEAVES), st.sampled_from(LEAVES), st.integers(0, 2)), min_size=1, max_size=14
)


def partition(records, level, offsets):
    nodes = np.array([[record[a] for record in records] for a in (0, 1)], np.int32)
    values = np.array([record[2] for record in records], np.int32)
    return _group_kernels.partition(
        nodes,
        np.array([0, 8, 16]),
        np.concatenate([PARENT, PARENT]),
        np.concatenate([SUBTREE_END, SUBTREE_END]),
        np.concatenate(LOSSES),
        values,
        3,
        np.array(offsets),
        (level.numerator, level.denominator),
    )


def as_paths(record):
    return [tuple(PATHS[node]) for node in record[:2]], record[2]


@given(records_of, st.sampled_from([Fraction(2), Fraction(3, 2)]))
def test_groups_and_nodes_are_those_of_the_definition(records, level):
    assume(mondrian.eligible([value for *_, value in records], level))
    groups, published = partition(records, level, [0, len(records)])
    losses = [{tuple(path): loss for path, loss in zip(PATHS, each, strict=True)} for each in LOSSES]
    expected = mondrian.partition([as_paths(record) for record in records], level, losses)
    assert groups.max() == len(expected)
    for number, (members, paths) in enumerate(expected, start=1):
        assert np.flatnonzero(groups == number).tolist() == members
        for attribute, path in enumerate(paths):
            assert {PATHS[node] for node in published[attribute, members]} == {"".join(path)}


def test_snapshots_are_partitioned_apart_and_may_be_empty():
    records = [(2, 2, 0), (2, 2, 1), (3, 3, 0), (3, 3, 1)]
    together, _ = partition(records, Fraction(2), [0, 4])
    apart, published = partition(records, Fraction(2), [0, 0, 2, 2, 4])
    assert together.tolist() == apart.tolist() == [1, 1, 2, 2]
    assert published.tolist() == [[2, 2, 3, 3], [2, 2, 3, 3]]


@pytest.mark.parametrize(
    ("low", "high", "node"), [(2, 2, 2), (2, 3, 1), (5, 6, 4), (2, 6, 0), (7, 7, 7), (1, 3, 1)]
)
def test_the_common_node_is_the_lowest_above_both(low, high, node):
    assert _group_kernels.common_node(low, high, PARENT, SUBTREE_END) == node
