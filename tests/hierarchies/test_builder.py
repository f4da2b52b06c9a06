"""A value, then the root."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.errors import HierarchyError
from sequester.hierarchies import MISSING, Hierarchy, lint
from sequester.hierarchies.labels import in_label_order


@given(st.sets(st.text(min_size=1, max_size=4).filter(lambda text: text not in ("*", MISSING)), min_size=1))
def test_every_value_lies_under_the_root(values):
    tree = Hierarchy.flat().build(values, column="sex")
    assert tree.labels == ("*", *in_label_order(values))
    assert tree.height == 1
    assert tree.leaves[0] == len(values)
    assert tree.loss.tolist() == [1.0] + [0.0] * len(values)


def test_order_is_by_number_where_all_are_numbers_and_missing_is_last():
    assert Hierarchy.flat().build(["10", "9", "-1"], column="n", missing=True).labels == (
        "*",
        "-1",
        "9",
        "10",
        "(missing)",
    )


def test_reserved_and_empty_values_are_refused_together():
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.flat().build(["*", "", "a"], column="sex")
    assert caught.value.lines == (
        "column 'sex': the value '*' is reserved for the root of the hierarchy",
        "column 'sex': an empty value cannot be a leaf: a missing value is null and becomes '(missing)'",
    )


def test_numbers_of_any_length_can_be_ordered():
    digits = "9" * 4000
    assert Hierarchy.flat().build([digits, "10", "9"], column="id").labels == ("*", "10", "9", digits)


def test_many_values_are_fast_enough_to_build():
    tree = Hierarchy.flat().build(map(str, range(50_000)), column="id")
    assert tree.labels[-1] == "49999"


TOML = """
chronic = ["asthma", "gout"]
other = {}
7 = [1, 2]
[acute]
infection = ["flu", "cold"]
fracture = []
"""


def test_toml():
    tree = Hierarchy.tree(tomllib.loads(TOML)).build(["flu", "1"], column="ill")
    assert str(tree).splitlines() == [
        "* (8 leaves)",
        "  7 (2 leaves)",
        "    1",
        "    2",
        "  acute (3 leaves)",
        "    fracture",
        "    infection (2 leaves)",
        "      cold",
        "      flu",
        "  chronic (2 leaves)",
        "    asthma",
        "    gout",
        "  other",
    ]


def test_the_root_may_be_written():
    assert Hierarchy.from_tree({"*": {"g": ["a"]}}) == Hierarchy.from_tree({"g": ["a"]})


def test_every_problem_is_named():
    source = Hierarchy.tree(
        {"g": ["a", "a", 1.5, True, ""], "h": {"a": {}}, "i": "text", "*": ["x"], " b ": {}}
    )
    assert [f"{finding.severity}: {finding}" for finding in lint(source, ["a", "z"], "ill")] == [
        "error: column 'ill': tree: a label under 'g' must be text, got 1.5",
        "error: column 'ill': tree: a label under 'g' must be text, got True",
        "error: column 'ill': tree: empty label under 'g'",
        "error: column 'ill': tree: 'i' must hold a table or a list, not str",
        "error: column 'ill': tree: '*' is the root and cannot lie under '*'",
        "error: column 'ill': tree: leaf 'a' is already under 'g'",
        "error: column 'ill': tree: 'a' has two parents, 'g' and 'h'",
        "error: column 'ill': tree: 1 value of the data is missing: 'z'",
        "warning: column 'ill': tree: trimmed blanks around 1 label: 'b'",
        "info: column 'ill': tree: 3 leaves do not occur in the data",
    ]


def test_a_cycle_of_names_is_found():
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_tree({"a": {"b": {"a": {"c": {}}}}})
    assert "tree: cycle 'a' > 'b' > 'a'" in caught.value.lines


@pytest.mark.parametrize("tree", [{}, {"*": {}}])
def test_an_empty_tree_is_refused(tree):
    with pytest.raises(HierarchyError, match="column 'ill': tree: has no leaves"):
        Hierarchy.tree(tree).build(["a"], column="ill")


@pytest.mark.parametrize("tree", ["text", 7, None])
def test_other_things_are_refused(tree):
    with pytest.raises(HierarchyError, match="'\\*' must hold a table or a list"):
        Hierarchy.tree(tree).build([], column="ill")


def test_tables_that_hold_themselves_end():
    tree = {}
    tree["a"] = tree
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_tree(tree)
    assert any("255 levels below the root, at most 255" in line for line in caught.value.lines)


def test_deep_tables_are_refused_by_their_depth():
    tree = {"leaf": {}}
    for i in range(5000):
        tree = {f"n{i}": tree}
    with pytest.raises(HierarchyError, match="'n4745' is 255 levels below the root, at most 255"):
        Hierarchy.from_tree(tree)
