"""A concrete tree: looking things up, standing in a schema, missing values, and its table of nodes."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from oracles import hierarchy as oracle
from sequester.errors import HierarchyError, ParameterError
from sequester.hierarchies import MISSING
from sequester.hierarchies.hierarchy import Hierarchy, number_nodes

ILL = {"acute": {"infection": ["flu", "cold"], "fracture": {}}, "asthma": []}


@pytest.fixture
def ill():
    return Hierarchy.from_tree(ILL)


def test_a_tree_prints_itself(ill):
    assert str(ill).splitlines() == [
        "* (4 leaves)",
        "  acute (3 leaves)",
        "    fracture",
        "    infection (2 leaves)",
        "      cold",
        "      flu",
        "  asthma",
    ]
    assert repr(ill) == "Hierarchy(nodes=7, leaves=4, height=3)"


def test_a_large_tree_prints_its_beginning():
    lines = str(Hierarchy.flat().build(map(str, range(1000)), column="n")).splitlines()
    assert lines[0] == "* (1,000 leaves)"
    assert lines[-2:] == ["  198", "... and 801 more nodes"]


def test_unknown_labels_are_refused_by_name(ill):
    with pytest.raises(HierarchyError, match="'mumps' is not a node of the hierarchy"):
        ill.node("mumps")
    with pytest.raises(HierarchyError, match="'gout', 'mumps': no node of the hierarchy"):
        ill.nodes(["flu", "mumps", "gout", "mumps"])
    assert ill.nodes(["*", "flu"]).tolist() == [0, ill.node("flu")]
    assert ill.nodes([]).tolist() == []


@pytest.mark.parametrize("level", [-1, 4])
def test_levels_outside_the_tree_are_refused(ill, level):
    with pytest.raises(HierarchyError, match=f"level must be 0 to 3, got {level}"):
        ill.generalize("flu", level)


def test_short_branches_stay_themselves_until_their_depth(ill):
    assert ill.level_labels(0) == ("fracture", "cold", "flu", "asthma")
    assert ill.level_labels(1) == ("fracture", "infection", "asthma")
    assert ill.level_labels(2) == ("acute", "asthma")
    assert ill.level_labels(3) == ("*",)


def test_a_concrete_tree_stands_for_itself(ill):
    assert ill.build(["flu", "asthma"], column="ill") is ill
    assert "flu" in ill
    assert "mumps" not in ill
    assert next(iter(ill)) == "*"
    assert len(ill) == 7


@pytest.mark.parametrize(("values", "missing"), [(["flu"], True), (["flu", MISSING], False)])
def test_missing_values_get_a_leaf_under_the_root(ill, values, missing):
    tree = ill.build(values, column="ill", missing=missing)
    leaf = tree.node(MISSING)
    assert tree.parent[leaf] == 0
    assert tree.is_leaf[leaf]
    assert tree.leaves[0] == ill.leaves[0] + 1
    assert tree.labels == (*ill.labels, MISSING)  # numbered after its siblings
    assert MISSING not in ill


def test_a_tree_that_has_the_missing_leaf_gets_no_second():
    tree = Hierarchy.from_tree({"m": {}, MISSING: {}})
    assert tree.build(["m"], column="sex", missing=True) is tree


def test_missing_leaf_keeps_counts_of_leaves_that_are_not_named():
    tree = Hierarchy.intervals(7).build(["3"], column="LOS")
    assert tree.build(["3"], column="LOS", missing=True).leaves.tolist() == [8, 7, 1, 1]
    part = Hierarchy.from_frame(tree.above(["[0:6]"]))
    assert part.build([], column="LOS", missing=True).leaves.tolist() == [8, 7, 1]


def test_a_concrete_tree_names_all_values_it_lacks(ill):
    with pytest.raises(HierarchyError) as caught:
        ill.build(["flu", "mumps", "acute", "*"], column="ill")
    assert caught.value.lines == (
        "column 'ill': the value '*' is reserved for the root of the hierarchy",
        "column 'ill': hierarchy: 1 value of the data is missing: 'mumps'",
        "column 'ill': hierarchy: 1 value of the data is a group and no leaf: 'acute'",
    )


def test_equal_trees_are_equal_and_hash_alike(ill):
    again = Hierarchy.from_tree({"asthma": [], "acute": {"fracture": {}, "infection": ["cold", "flu"]}})
    assert again == ill
    assert hash(again) == hash(ill)
    assert ill != Hierarchy.from_tree({"acute": ["flu"]})
    assert ill != "ill"
    assert pickle.loads(pickle.dumps(ill)) == ill


def test_table_of_nodes(ill):
    expected = pl.DataFrame(
        {
            "node": ["*", "acute", "fracture", "infection", "cold", "flu", "asthma"],
            "parent": ["", "*", "acute", "acute", "infection", "infection", "*"],
            "leaves": [4, 3, 1, 2, 1, 1, 1],
        }
    )
    assert_frame_equal(ill.to_frame(), expected)
    assert Hierarchy.from_frame(expected) == ill


def test_table_above_hides_what_lies_below(ill):
    assert ill.above(["infection", "asthma"]).rows() == [
        ("*", "", 4),
        ("acute", "*", 3),
        ("infection", "acute", 2),
        ("asthma", "*", 1),
    ]
    assert ill.above([]).rows() == [("*", "", 4)]
    with pytest.raises(HierarchyError, match="'mumps': no node"):
        ill.above(["mumps"])


@given(st.sets(st.sampled_from(Hierarchy.from_tree(ILL).labels)))
def test_part_of_a_tree_keeps_counts_and_losses(kept):
    tree = Hierarchy.from_tree(ILL)
    part = Hierarchy.from_frame(tree.above(kept))
    for label in part:
        assert part.leaves[part.node(label)] == tree.leaves[tree.node(label)]
        assert part.loss[part.node(label)] == tree.loss[tree.node(label)]


def test_a_lone_root_is_a_tree_of_a_release_where_all_is_suppressed(ill):
    part = Hierarchy.from_frame(ill.above(["*"]))
    assert part.labels == ("*",)
    assert part.height == 0
    assert part.leaves.tolist() == [4]
    assert part.loss.tolist() == part.cost("linear").tolist() == part.cost("exponential").tolist() == [1.0]
    assert part.level_labels(0) == ("*",)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([("*", "", 1), ("a", "b", 1)], "nodes: 'b' has no row"),
        ([("a", "*", 1)], "nodes: '*' has no row"),
        ([("*", "", 1), ("a", "*", 2)], "nodes: '*' has 1 leaves, but 2 lie below it"),
        ([("*", "", 1), ("a", "*", 0)], "nodes row 2: leaves of 'a' must be at least 1, got 0"),
        ([("*", "", 2), ("a", "*", 1), ("a", "*", 1)], "nodes row 3: leaf 'a' is already in row 2 under '*'"),
        (
            [("*", "", 2), ("a", "*", 1), ("a", "b", 1), ("b", "*", 1)],
            "nodes row 3: 'a' has two parents, '*' (row 2) and 'b'",
        ),
        ([("*", "", 2), ("a", "b", 1), ("b", "a", 1)], "nodes row 3: cycle 'a' > 'b' > 'a'"),
        ([("*", "a", 2), ("a", "*", 1)], "nodes row 1: '*' is the root and cannot lie under 'a'"),
        ([("*", "", 1), ("a", "", 1)], "nodes row 2: 'a' under '': only the root '*' has no parent"),
    ],
)
def test_doctored_tables_of_nodes_are_refused(rows, line):
    frame = pl.DataFrame(
        rows, schema={"node": pl.String, "parent": pl.String, "leaves": pl.Int64}, orient="row"
    )
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_frame(frame)
    assert line in caught.value.lines


def test_other_tables_are_refused():
    with pytest.raises(HierarchyError, match=r"columns must be node \(String\), .*, got x \(Int64\)"):
        Hierarchy.from_frame(pl.DataFrame({"x": [1]}))
    with pytest.raises(HierarchyError, match="nodes: every row must have a node"):
        Hierarchy.from_frame(pl.DataFrame({"node": ["*", None], "parent": ["", "*"], "leaves": [1, 1]}))


def test_trees_need_a_leaf():
    for make in (Hierarchy.from_paths, Hierarchy.from_edges):
        with pytest.raises(HierarchyError, match="a hierarchy needs at least one leaf"):
            make([])
    with pytest.raises(HierarchyError, match="tree: has no leaves"):
        Hierarchy.from_tree({})


def test_paths_name_every_problem():
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_paths([["a", "g"], ["a", "h"], ["b", "g", "b"], ["*"], ["", "g"], ["g"]])
    assert caught.value.lines == (
        "paths row 2: leaf 'a' is already in row 1",
        "paths row 3: cycle 'b' > 'g' > 'b'",
        "paths row 4: '*' is the root and cannot be a value",
        "paths row 5, level 0: empty label",
        "paths row 6: 'g' is a leaf, but lies above others in row 1",
    )


def test_edges_name_every_problem():
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_edges(
            [("a", "g"), ("a", "h"), ("x", "y"), ("y", "x"), ("z", "z"), ("*", "g"), ("a", "g")]
        )
    assert caught.value.lines == (
        "edges row 6: '*' is the root and cannot lie under 'g'",
        "edges row 7: leaf 'a' is already in row 1 under 'g'",
        "edges row 2: 'a' has two parents, 'g' (row 1) and 'h'",
        "edges row 4: cycle 'x' > 'y' > 'x'",
        "edges row 5: cycle 'z' > 'z'",
    )


def test_a_cycle_behind_two_parents_is_found_too():
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_edges([("a", "*"), ("a", "b"), ("b", "a")])
    assert caught.value.lines == (
        "edges row 2: 'a' has two parents, '*' (row 1) and 'b'",
        "edges row 3: cycle 'a' > 'b' > 'a'",
    )


def test_a_long_cycle_is_cut_in_the_message():
    ring = [(f"n{i}", f"n{(i + 1) % 9}") for i in range(9)]
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_edges(ring)
    assert caught.value.lines == ("edges row 9: cycle 'n0' > 'n1' > 'n2' > 'n3' > 'n4' > ... > 'n0'",)


def test_missing_must_be_a_leaf_under_the_root():
    message = "must be a leaf directly under '\\*'"
    with pytest.raises(HierarchyError, match=message):
        Hierarchy.from_edges([(MISSING, "g")])
    with pytest.raises(HierarchyError, match=message):
        Hierarchy.from_edges([("a", MISSING)])


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
    labels, *_, leaves = number_nodes({"a": "g", "g": "*", "b": "*"}, {"g": 7})
    assert dict(zip(labels, leaves.tolist(), strict=True)) == {"*": 8, "b": 1, "g": 7, "a": 1}
