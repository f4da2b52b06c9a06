"""Learned bins: about equal shares, rounded edges, open ends, nested levels."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.errors import HierarchyError
from sequester.hierarchies import Hierarchy, lint
from sequester.hierarchies.numbers import two_digits


def bins(tree, level):
    """Label to the values under it."""
    members = {}
    for leaf in tree.leaf_nodes:
        members.setdefault(tree.generalize(tree.labels[leaf], level), []).append(tree.labels[leaf])
    return members


def test_equal_shares_with_open_ends():
    ages = [str(age) for age in range(100)]
    tree = Hierarchy.quantiles([4, 2]).build(ages, column="age")
    assert {
        label: (min(map(int, inside)), max(map(int, inside))) for label, inside in bins(tree, 1).items()
    } == {
        "<25": (0, 24),
        "[25:49]": (25, 49),
        "[50:74]": (50, 74),
        ">=75": (75, 99),
    }
    assert set(bins(tree, 2)) == {"<50", ">=50"}
    assert tree.leaves[tree.node("[25:49]")] == 25


def test_real_bins_leave_the_upper_end_outside():
    tree = Hierarchy.quantiles(4).build([f"{i / 2}" for i in range(200)], column="weight")
    assert set(bins(tree, 1)) == {"<25", "[25:50)", "[50:75)", ">=75"}


def test_edges_have_two_significant_digits():
    tree = Hierarchy.quantiles(3).build(
        ["1234", "1250", "56789", "60001", "987654", "999999"], column="charge"
    )
    assert set(bins(tree, 1)) == {"<57000", "[57000:989999]", ">=990000"}


@pytest.mark.parametrize(
    ("counts", "labels"),
    [
        ({"1234567": 1, "7654321": 1}, set()),
        (dict.fromkeys(map(str, range(30000, 31480, 37)), 1), {"<31000", ">=31000"}),
        ({"37": 1000, "41": 1, "99999": 1}, set()),
        ({"0": 6, "5": 2, "9": 2}, {"<5", ">=5"}),
    ],
)
def test_an_edge_without_values_on_both_sides_is_left_out(counts, labels):
    tree = Hierarchy.quantiles([4, 2]).build(counts, column="c")
    assert set(tree.labels) - set(counts) == {"*", *labels}


def test_how_often_a_value_occurs_counts():
    often = {"1": 97, "2": 1, "3": 1, "4": 1}
    assert Hierarchy.quantiles(2).build(often, column="n").height == 1
    assert set(bins(Hierarchy.quantiles(2).build({**often, "4": 99}, column="n"), 1)) == {"<4", ">=4"}
    assert set(bins(Hierarchy.quantiles(2).build(list(often), column="n"), 1)) == {"<3", ">=3"}
    repeated = [value for value, count in often.items() for _ in range(count)]
    assert Hierarchy.quantiles(2).build(repeated, column="n") == Hierarchy.quantiles(2).build(
        often, column="n"
    )


def test_edges_that_become_equal_count_once_and_are_announced():
    source = Hierarchy.quantiles([4, 2])
    values = ["1000", "1001", "1002", "1003", "5000"]
    tree = source.build(values, column="charge")
    assert tree.height == 1  # 1000 is where the values begin
    assert [str(finding) for finding in lint(source, values, "charge")] == [
        "column 'charge': quantiles: rounding leaves 1 of 4 bins",
    ]


def test_a_level_that_would_repeat_bins_is_no_level():
    values = {
        "10": 4,
        "20": 2,
        "40": 6,
    }  # the edges of four bins are 40, 40, of two bins 40
    source = Hierarchy.quantiles([4, 2])
    assert source.build(values, column="n") == Hierarchy.quantiles(4).build(values, column="n")
    assert [str(finding) for finding in lint(source, values, "n")] == [
        "column 'n': quantiles: rounding leaves 2 of 4 bins",
        "column 'n': quantiles: rounding leaves 1 of 2 bins",
    ]


def test_coarser_bins_join_at_least_two():
    # Six bins have the edges 1, 1, 3, 5, 6; three have 1, 5, and nothing finer lies below 1.
    values = {"0": 1, "1": 4, "2": 1, "3": 1, "4": 1, "5": 1, "6": 4}
    tree = Hierarchy.quantiles([6, 3]).build(values, column="n")
    assert set(bins(tree, 1)) == {"<1", "[1:2]", "[3:4]", "[5:5]", ">=6"}
    assert set(bins(tree, 2)) == {"<5", ">=5"}


def test_one_value():
    tree = Hierarchy.quantiles(2).build(["7"], column="n")
    assert tree.labels == ("*", "7")


def test_values_that_are_no_numbers_are_named():
    with pytest.raises(HierarchyError, match="column 'n': quantiles: 1 value is not a number: 'x'"):
        Hierarchy.quantiles(2).build(["1", "x"], column="n")
    with pytest.raises(HierarchyError, match="column 'n': quantiles: 1 value is not a number: 'x'"):
        Hierarchy.quantiles(2).build(["x"], column="n")


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ([20, 6], "quantiles: 20 bins must be a multiple of the 6 bins after it"),
        ([5, 20], "quantiles: 5 bins must be a multiple of the 20 bins after it"),
        ([5, 5], "quantiles: 5 bins must be a multiple of the 5 bins after it"),
        (1, "quantiles: bins must be a whole number of at least 2, got 1"),
        (2.0, "quantiles: bins must be a whole number of at least 2, got 2.0"),
        ([True], "quantiles: bins must be a whole number of at least 2, got True"),
        ([], "quantiles: bins must be a whole number of at least 2 or a list of them, got none"),
    ],
)
def test_bins_that_make_no_sense_are_refused(asked, line):
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.quantiles(asked)
    assert caught.value.lines == (line,)


def holds(label, number):
    """Tell whether a bin's label says that a number is inside."""
    if label.startswith("<"):
        return number < Fraction(label[1:])
    if label.startswith(">="):
        return number >= Fraction(label[2:])
    low, high = label[1:-1].split(":")
    return Fraction(low) <= number and (
        number <= Fraction(high) if label.endswith("]") else number < Fraction(high)
    )


values = st.lists(
    st.one_of(st.integers(-3000, 3000), st.decimals(-99, 99, places=2)), min_size=1, max_size=40
)


@given(values, st.sampled_from([2, 3, [4, 2], [6, 3], [12, 4, 2]]))
def test_every_value_lies_in_the_bins_above_it(numbers, asked):
    counts = Counter(map(str, numbers))
    tree = Hierarchy.quantiles(asked).build(counts, column="n")
    for value in counts:
        for node in tree.ancestors(tree.node(value))[1:-1]:
            assert holds(tree.labels[node], Fraction(value))
    assert set(tree.depth[tree.leaf_nodes].tolist()) == {
        tree.height
    }  # no value is left raw at the level of the bins
    for label in set(tree.labels) - set(counts) - {"*"}:
        for edge in re.findall(r"\d+(?:\.\d+)?", label.split(":")[0]):
            assert len(edge.replace(".", "").strip("0")) <= 2


wide = st.lists(
    st.one_of(st.integers(-(10**7), 10**7), st.decimals(-9999, 9999, places=3)), min_size=1, max_size=40
)


@given(wide, st.sampled_from([2, 3, [4, 2], [6, 3], [12, 4, 2]]))
def test_the_lowest_and_the_highest_bin_are_open_and_no_edge_is_a_longer_value(numbers, asked):
    counts = Counter(map(str, numbers))
    tree = Hierarchy.quantiles(asked).build(counts, column="n")
    for level in range(1, tree.height):
        assert tree.generalize(str(min(numbers)), level).startswith("<")
        assert tree.generalize(str(max(numbers)), level).startswith(">=")
    whole = all(number == int(number) for number in numbers)
    for label in set(tree.labels) - set(counts) - {"*"}:
        low, _, high = label.strip("<>=[])").partition(":")
        edges = [Fraction(low)] + ([Fraction(high) + whole] if high else [])
        assert all(edge == two_digits(edge) for edge in edges)


@given(st.sets(st.integers(0, 99), min_size=20))
def test_bins_of_small_whole_numbers_hold_equal_shares(numbers):
    tree = Hierarchy.quantiles(4).build(map(str, numbers), column="n")
    sizes = [len(inside) for inside in bins(tree, 1).values()]
    assert max(sizes) - min(sizes) <= 1
