"""A value, then the root."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.errors import HierarchyError
from sequester.hierarchies import MISSING, Hierarchy
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
