"""A tree out of a vocabulary in which a label may have several parents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.errors import HierarchyError
from sequester.hierarchies import Hierarchy

LEVELS = [f"{letter}{level}" for level in range(4) for letter in "abc"]
edges = st.lists(st.tuples(st.sampled_from(LEVELS), st.sampled_from(LEVELS)), max_size=20)


def as_parents(pairs):
    parents = {}
    for child, parent in pairs:
        parents.setdefault(child, []).append(parent)
    return parents


def ancestors(parents, label):
    found, todo = set(), [label]
    while todo:
        above = {*parents.get(todo.pop(), ())} - found
        found |= above
        todo += above
    return found


@given(edges, st.sets(st.sampled_from(LEVELS), min_size=1))
def test_every_node_above_a_value_is_an_ancestor_of_it(pairs, values):
    parents = as_parents((child, parent) for child, parent in pairs if child[1] < parent[1])
    tree = Hierarchy.graph(parents).build(values, column="code")
    assert set(tree.level_labels(0)) == values
    for leaf in tree.leaf_nodes:
        value, node = tree.labels[leaf], tree.parent[leaf]
        while node:
            assert tree.labels[node].removesuffix(" (any)") in {value} | ancestors(parents, value)
            assert sum(tree.parent == node) > 1
            node = tree.parent[node]


def test_most_values_decide_between_parents():
    parents = {"a": ["few", "many"], "b": ["many"], "c": ["many"], "d": ["few"]}
    tree = Hierarchy.graph(parents).build(["a", "b", "c", "d"], column="code")
    assert tree.labels == ("*", "d", "many", "a", "b", "c")


def test_a_cycle_is_refused_by_name():
    parents = {"flu": ["viral"], "viral": ["lung"], "lung": ["viral"]}
    with pytest.raises(HierarchyError, match=r"cycle: '(lung|viral)' under '(lung|viral)' under"):
        Hierarchy.graph(parents).build(["flu"], column="ill")


def test_a_label_above_itself_is_a_cycle():
    with pytest.raises(HierarchyError, match="cycle: 'flu' under 'flu'"):
        Hierarchy.graph({"flu": ["flu"]}).build(["flu"], column="ill")


def test_a_cycle_beside_the_values_does_no_harm():
    assert Hierarchy.graph({"x": ["x"]}).build(["flu"], column="ill").labels == ("*", "flu")
