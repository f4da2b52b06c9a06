"""Numbers in ranges: nested, exact, and small however large the numbers are."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.errors import HierarchyError
from sequester.hierarchies import Hierarchy, lint
from sequester.hierarchies.numbers import plain, two_digits


def chain(tree, value):
    return [tree.labels[node] for node in tree.ancestors(tree.node(value))][1:-1]


def test_whole_numbers_print_both_ends_inside():
    tree = Hierarchy.intervals([7, 28]).build(["0", "6", "7", "30", "-1", "-7", "-8"], column="LOS")
    assert {value: chain(tree, value) for value in ("0", "6", "7", "30", "-1", "-7", "-8")} == {
        "0": ["[0:6]", "[0:27]"],
        "6": ["[0:6]", "[0:27]"],
        "7": ["[7:13]", "[0:27]"],
        "30": ["[28:34]", "[28:55]"],
        "-1": ["[-7:-1]", "[-28:-1]"],
        "-7": ["[-7:-1]", "[-28:-1]"],
        "-8": ["[-14:-8]", "[-28:-1]"],
    }


def test_ranges_have_their_whole_numbers_as_leaves():
    tree = Hierarchy.intervals([7, 28]).build(["0", "30"], column="LOS", missing=True)
    assert tree.leaves[tree.node("[0:6]")] == 7
    assert tree.leaves[tree.node("[28:55]")] == 28
    assert tree.leaves[0] == 57
    assert tree.leaf_nodes.size == 3
    assert tree.loss[tree.node("[0:6]")] == pytest.approx(7 / 57)


def test_origin_shifts_the_ranges():
    tree = Hierarchy.intervals(10, origin=18).build(["17", "18", "27", "28"], column="age")
    assert tree.level_labels(1) == ("[18:27]", "[28:37]", "[8:17]")


def test_real_numbers_print_the_upper_end_outside():
    tree = Hierarchy.intervals([0.1, 0.5]).build(["0.3", "0.25", "1", "-0.05"], column="dose")
    assert chain(tree, "0.3") == ["[0.3:0.4)", "[0:0.5)"]
    assert chain(tree, "0.25") == ["[0.2:0.3)", "[0:0.5)"]
    assert chain(tree, "1") == ["[1:1.1)", "[1:1.5)"]
    assert chain(tree, "-0.05") == ["[-0.1:0)", "[-0.5:0)"]
    assert tree.leaves[tree.node("[0:0.5)")] == 2  # the values that occur
    assert tree.leaves[0] == 4


def test_whole_numbers_written_with_decimals_are_whole():
    tree = Hierarchy.intervals(7).build(["3.0", "1e1"], column="LOS")
    assert chain(tree, "3.0") == ["[0:6]"]
    assert chain(tree, "1e1") == ["[7:13]"]


def test_one_fraction_makes_all_ranges_real():
    tree = Hierarchy.intervals(7).build(["3", "7.5"], column="LOS")
    assert tree.level_labels(1) == ("[0:7)", "[7:14)")


def test_spellings_of_a_number_count_once():
    tree = Hierarchy.intervals([7, 14]).build(["3", "03", "3.0", "8"], column="LOS")
    assert tree.leaf_nodes.size == 4
    assert tree.leaves[tree.node("[0:6]")] == 7
    assert tree.leaves[tree.node("[7:13]")] == 7
    assert tree.leaves[tree.node("[0:13]")] == 14


def test_a_range_has_room_for_all_its_labels():
    tree = Hierarchy.intervals([2, 4]).build(["0", "00", "1", "3"], column="LOS")
    assert tree.leaves[tree.node("[0:1]")] == 3
    assert tree.leaves[tree.node("[0:3]")] == 5
    assert Hierarchy.from_frame(tree.to_frame()) == tree


def test_gigantic_numbers_cost_no_memory():
    tree = Hierarchy.intervals([7, 70]).build(["0", str(10**18), "1e400"], column="charge")
    assert len(tree) == 10
    low, wide_low = 10**18 - 10**18 % 7, 10**18 - 10**18 % 70
    assert chain(tree, str(10**18)) == [f"[{low}:{low + 6}]", f"[{wide_low}:{wide_low + 69}]"]
    assert tree.leaves[0] == 210


def test_ranges_too_wide_to_count_are_refused():
    line = "column 'charge': intervals: the ranges hold 2^63 whole numbers or more: choose smaller widths"
    assert [str(finding) for finding in lint(Hierarchy.intervals(10**30), ["0"], "charge")] == [line]
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.intervals([1, 2**62]).build(["0", str(2**62)], column="charge")
    assert caught.value.lines == (line,)
    assert Hierarchy.intervals(2**62).build(["0"], column="charge").leaves[0] == 2**62


def test_values_that_are_no_numbers_are_named():
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.intervals(7).build(["1", "NA", "nan", "inf", "1,5", "١", "9" * 5000], column="LOS")
    assert caught.value.lines == (
        f"column 'LOS': 1 value is longer than 4,096 characters: '{'9' * 39}…'",
        "column 'LOS': intervals: 5 values are not numbers: '1,5', 'NA', 'inf', 'nan', '١'",
    )


@pytest.mark.parametrize(
    ("width", "origin", "line"),
    [
        ([7, 30], 0, "intervals: width 30 must be a multiple of the width before it, 7"),
        ([7, 7], 0, "intervals: width 7 must be a multiple of the width before it, 7"),
        ([28, 7], 0, "intervals: width 7 must be a multiple of the width before it, 28"),
        ([0.1, 0.25], 0, "intervals: width 0.25 must be a multiple of the width before it, 0.1"),
        (0, 0, "intervals: width must be a number above 0, got 0"),
        (-1, 0, "intervals: width must be a number above 0, got -1"),
        (float("nan"), 0, "intervals: width must be a number above 0, got nan"),
        (float("inf"), 0, "intervals: width must be a number above 0, got inf"),
        ("7", 0, "intervals: width must be a number above 0, got '7'"),
        (True, 0, "intervals: width must be a number above 0, got True"),
        ([], 0, "intervals: width must be a number above 0 or a list of them, got none"),
        (7, "0", "intervals: origin must be a number, got '0'"),
    ],
)
def test_widths_that_make_no_sense_are_refused(width, origin, line):
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.intervals(width, origin)
    assert caught.value.lines == (line,)


def test_tenths_nest_exactly():
    tree = Hierarchy.intervals([0.1, 0.3]).build([f"0.{i}" for i in range(1, 10)], column="dose")
    assert tree.level_labels(2) == ("[0.3:0.6)", "[0.6:0.9)", "[0.9:1.2)", "[0:0.3)")


@given(
    st.sets(st.integers(-500, 500), min_size=1),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.integers(-10, 10),
)
def test_every_whole_number_lies_in_its_ranges(values, factors, origin):
    widths = [2 * factors[0]]
    for factor in factors[1:]:
        widths.append(widths[-1] * (factor + 1))
    tree = Hierarchy.intervals(widths, origin=origin).build(map(str, values), column="n")
    for value in values:
        ranges = [label.strip("[]").split(":") for label in chain(tree, str(value))]
        for width, (low, high) in zip(widths, ranges, strict=True):
            assert int(low) <= value <= int(high)
            assert int(high) - int(low) == width - 1
            assert (int(low) - origin) % width == 0
    assert tree.leaf_nodes.size == len(values)
    assert tree.leaves[0] == widths[-1] * len({(value - origin) // widths[-1] for value in values})


@given(st.fractions(max_denominator=1000).filter(lambda x: (10**9 * x).denominator == 1))
def test_plain_numbers_read_back(number):
    assert Fraction(plain(number)) == number
    assert "e" not in plain(number)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9))
def test_two_digits_is_the_nearest_of_two_digits(number):
    rounded = two_digits(Fraction(number))
    assert rounded == Fraction(f"{number:.1e}") or abs(rounded - Fraction(number)) == abs(
        Fraction(f"{number:.1e}") - Fraction(number)
    )
