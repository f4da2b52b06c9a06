"""Every table of a tree against its definition, on random trees, most of them unbalanced."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import hierarchy as oracle
from sequester.errors import HierarchyError, ParameterError
from sequester.hierarchies.arrays import number_nodes
from sequester.hierarchies.hierarchy import Hierarchy

LABELS = [
    "a",
    "b",
    "B",
    "10",
    "9",
    "-1",
    "2.5",
    "é",
    "a b",
    "[0:6]",
    "56***",
    "1e1",
    "x;y",
    'say "so"',
    "(other)",
]


@st.composite
def random_parents(draw):
    """A tree as a dict: each node goes under the root or under a node that came before it."""
    labels = draw(st.lists(st.sampled_from(LABELS), min_size=1, unique=True))
    return {
        label: draw(st.sampled_from([oracle.ROOT, *labels[:place]]), label=f"parent of {label}")
        for place, label in enumerate(labels)
    }


@given(random_parents())
def test_nodes_are_numbered_depth_first_in_label_order(parents):
    tree = Hierarchy.from_edges(parents.items())
    assert list(tree.labels) == oracle.depth_first(parents)


@given(random_parents())
def test_arrays_equal_their_definitions(parents):
    tree = Hierarchy.from_edges(parents.items())
    for node, label in enumerate(tree.labels):
        assert tree.labels[tree.parent[node]] == parents.get(label, oracle.ROOT)
        assert tree.depth[node] == oracle.depth(parents, label)
        assert tree.leaves[node] == oracle.leaves(parents, label)
        assert tree.is_leaf[node] == (label in oracle.leaf_labels(parents))
        below = {other for other in tree.labels if label in oracle.chain(parents, other)}
        assert set(tree.labels[node : tree.subtree_end[node]]) == below
        assert [tree.labels[above] for above in tree.ancestors(node)] == oracle.chain(parents, label)
        assert [tree.labels[child] for child in tree.children(node)] == oracle.in_label_order(
            [child for child, parent in parents.items() if parent == label]
        )
    assert tree.height == oracle.height(parents)
    assert {tree.labels[node] for node in tree.leaf_nodes} == oracle.leaf_labels(parents)


@given(random_parents())
def test_levels_equal_their_definition(parents):
    tree = Hierarchy.from_edges(parents.items())
    assert tree.levels.shape == (tree.height + 1, len(tree))
    for level in range(tree.height + 1):
        at_level = [oracle.ancestor_at_level(parents, label, level) for label in tree.labels]
        assert [tree.labels[node] for node in tree.levels[level]] == at_level
        assert [tree.generalize(label, level) for label in tree.labels] == at_level
        leaves = [oracle.ancestor_at_level(parents, leaf, level) for leaf in oracle.leaf_labels(parents)]
        assert set(tree.level_labels(level)) == set(leaves)


@given(random_parents())
def test_levels_nest(parents):
    tree = Hierarchy.from_edges(parents.items())
    for finer, coarser in pairwise(tree.levels.tolist()):
        assert len(set(zip(finer, coarser, strict=True))) == len(set(finer))
    assert set(tree.levels[0]) == set(range(len(tree)))
    assert set(tree.levels[-1]) == {0}


@given(random_parents())
def test_common_ancestors_equal_their_definition(parents):
    tree = Hierarchy.from_edges(parents.items())
    for a, left in enumerate(tree.labels):
        for b, right in enumerate(tree.labels):
            expected = tree.node(oracle.lca(parents, left, right))
            assert tree.lca(a, b) == expected


@given(random_parents())
def test_costs_equal_their_definitions(parents):
    tree = Hierarchy.from_edges(parents.items())
    assert tree.loss == pytest.approx([oracle.information_loss(parents, label) for label in tree.labels])
    assert tree.cost("linear") == pytest.approx([oracle.linear_cost(parents, label) for label in tree.labels])
    assert tree.cost("exponential") == pytest.approx(
        [oracle.exponential_cost(parents, label) for label in tree.labels]
    )


@given(random_parents(), st.randoms(use_true_random=False))
def test_the_order_of_edges_does_not_matter(parents, random):
    shuffled = list(parents.items())
    random.shuffle(shuffled)
    assert Hierarchy.from_edges(shuffled) == Hierarchy.from_edges(parents.items())


@given(random_parents())
def test_paths_and_nested_tables_give_the_same_tree(parents):
    def table(node):
        return {child: table(child) for child, parent in parents.items() if parent == node}

    tree = Hierarchy.from_edges(parents.items())
    assert Hierarchy.from_tree(table(oracle.ROOT)) == tree
    chains = [oracle.chain(parents, leaf) for leaf in oracle.leaf_labels(parents)]
    assert Hierarchy.from_paths(chains) == tree
    assert Hierarchy.from_paths(chain[:-1] for chain in chains) == tree
    assert Hierarchy.from_paths(oracle.arx_row(parents, leaf) for leaf in oracle.leaf_labels(parents)) == tree


def test_arrays_have_the_types_that_kernels_expect():
    tree = Hierarchy.from_tree({"a": ["b", "c"]})
    for array in (tree.parent, tree.depth, tree.subtree_end, tree.leaf_nodes, tree.levels):
        assert array.dtype == np.int32
        assert array.flags.c_contiguous
    assert tree.leaves.dtype == np.int64
    assert tree.is_leaf.dtype == np.bool_
    assert tree.loss.dtype == np.float64


def test_nobody_can_change_a_tree():
    tree = Hierarchy.from_tree({"a": ["b", "c"]})
    for array in (tree.parent, tree.depth, tree.leaves, tree.levels, tree.loss, tree.is_leaf):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_unknown_cost_is_refused():
    with pytest.raises(
        ParameterError, match="cost must be information-loss, linear or exponential, got 'cubic'"
    ):
        Hierarchy.from_tree({"a": []}).cost("cubic")


def test_a_deep_chain_is_refused_by_its_depth():
    chain = [(f"n{i}", f"n{i + 1}") for i in range(1000)]
    with pytest.raises(HierarchyError, match="edges: 'n0' is 1001 levels below the root, at most 255"):
        Hierarchy.from_edges(chain)


def test_a_tree_of_the_largest_height_is_accepted():
    assert Hierarchy.from_edges((f"n{i}", f"n{i + 1}") for i in range(254)).height == 255


def test_leaves_that_cannot_be_counted_are_refused():
    with pytest.raises(HierarchyError, match="2\\^63 leaves or more"):
        number_nodes({"a": "g", "b": "h", "g": "*", "h": "*"}, {"g": 1 << 62, "h": 1 << 62})


def test_sizes_count_leaves_that_are_not_named():
    tree = number_nodes({"a": "g", "g": "*", "b": "*"}, {"g": 7})
    assert dict(zip(tree.labels, tree.leaves.tolist(), strict=True)) == {"*": 8, "b": 1, "g": 7, "a": 1}
