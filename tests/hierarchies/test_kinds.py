"""Numbers in ranges: nested, exact, and small however large the numbers are."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.errors import HierarchyError
from sequester.hierarchies import MISSING, Hierarchy, lint
from sequester.hierarchies.kinds import decimal, two_digits


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
        ([7, 30], 0, "intervals: width must be multiples, each of the one before it, got 7 and then 30"),
        ([7, 7], 0, "intervals: width must be multiples, each of the one before it, got 7 and then 7"),
        ([28, 7], 0, "intervals: width must be multiples, each of the one before it, got 28 and then 7"),
        (
            [0.1, 0.25],
            0,
            "intervals: width must be multiples, each of the one before it, got 0.1 and then 0.25",
        ),
        (0, 0, "intervals: width must be a number above 0, got 0"),
        (-1, 0, "intervals: width must be a number above 0, got -1"),
        (float("nan"), 0, "intervals: width must be a number above 0, got nan"),
        (float("inf"), 0, "intervals: width must be a number above 0, got inf"),
        ("7", 0, "intervals: width must be a number above 0, got '7'"),
        (True, 0, "intervals: width must be a number above 0, got True"),
        ([], 0, "intervals: width must be a number above 0, or a list of such, got none"),
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
    assert Fraction(decimal(number)) == number
    assert "e" not in decimal(number)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9))
def test_two_digits_is_the_nearest_of_two_digits(number):
    rounded = two_digits(Fraction(number))
    assert rounded == Fraction(f"{number:.1e}") or abs(rounded - Fraction(number)) == abs(
        Fraction(f"{number:.1e}") - Fraction(number)
    )


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


def test_quantiles_name_values_that_are_no_numbers():
    with pytest.raises(HierarchyError, match="column 'n': quantiles: 1 value is not a number: 'x'"):
        Hierarchy.quantiles(2).build(["1", "x"], column="n")
    with pytest.raises(HierarchyError, match="column 'n': quantiles: 1 value is not a number: 'x'"):
        Hierarchy.quantiles(2).build(["x"], column="n")


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ([20, 6], "quantiles: bins must be multiples, each of the one after it, got 20 and then 6"),
        ([5, 20], "quantiles: bins must be multiples, each of the one after it, got 5 and then 20"),
        ([5, 5], "quantiles: bins must be multiples, each of the one after it, got 5 and then 5"),
        (1, "quantiles: bins must be a whole number of at least 2, got 1"),
        (2.0, "quantiles: bins must be a whole number of at least 2, got 2.0"),
        ([True], "quantiles: bins must be a whole number of at least 2, got True"),
        ([], "quantiles: bins must be a whole number of at least 2, or a list of such, got none"),
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


def paths(tree):
    return {tree.labels[leaf]: [tree.labels[n] for n in tree.ancestors(leaf)][1:] for leaf in tree.leaf_nodes}


def test_zip_codes():
    tree = Hierarchy.mask([3, 1]).build(["56001", "56002", "56100", "70000"], column="ZIP")
    assert paths(tree) == {
        "56001": ["560**", "5****", "*"],
        "56002": ["560**", "5****", "*"],
        "56100": ["561**", "5****", "*"],
        "70000": ["700**", "7****", "*"],
    }
    assert tree.leaves[tree.node("5****")] == 3


def test_one_level_may_be_a_number():
    assert Hierarchy.mask(2) == Hierarchy.mask([2])
    assert Hierarchy.mask(2).build(["56001"], column="ZIP").labels == ("*", "56***", "56001")


def test_codes_of_different_length_share_groups():
    tree = Hierarchy.mask([4, 3]).build(["428", "4280", "42821", "42"], column="ICD")
    assert paths(tree) == {
        "428": ["428**", "*"],
        "4280": ["4280*", "428**", "*"],
        "42821": ["4282*", "428**", "*"],
        "42": ["*"],
    }


def test_a_level_that_keeps_everything_is_no_level():
    tree = Hierarchy.mask([3, 1]).build(["5", "56"], column="code")
    assert paths(tree) == {"5": ["5*", "*"], "56": ["5*", "*"]}
    assert paths(Hierarchy.mask([3, 1]).build(["5", "6"], column="code")) == {"5": ["*"], "6": ["*"]}


@pytest.mark.parametrize("value", ["5*", "**"])
def test_a_value_that_looks_like_a_mask_is_refused(value):
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.mask(1).build([value, "56", "*7"], column="code")
    assert caught.value.lines == (
        f"column 'code': mask: 1 value is also the name of a group of values: {value!r}",
    )


def test_stars_in_values_are_fine_where_no_group_has_that_name():
    tree = Hierarchy.mask(1).build(["5*6", "*12"], column="code")
    assert paths(tree) == {"5*6": ["5**", "*"], "*12": ["***", "*"]}


def test_the_root_is_no_value():
    with pytest.raises(HierarchyError, match="column 'ZIP': the value '\\*' is reserved"):
        Hierarchy.mask(1).build(["*", "12"], column="ZIP")


def test_missing_values():
    tree = Hierarchy.mask(1).build(["12", MISSING], column="ZIP")
    assert paths(tree) == {"12": ["1*", "*"], MISSING: ["*"]}
    assert paths(Hierarchy.mask(1).build([], column="ZIP", missing=True)) == {MISSING: ["*"]}


def test_a_column_without_values_is_refused():
    with pytest.raises(HierarchyError, match="column 'ZIP': mask: the column has no values"):
        Hierarchy.mask(1).build([], column="ZIP")


def test_huge_cells_are_refused():
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.mask(1).build(["x" * 300, "ab"], column="ZIP")
    assert caught.value.lines == (
        f"column 'ZIP': mask: 1 value is longer than 256 characters: '{'x' * 39}…'",
    )
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.mask(1).build(["x" * 5000, "ab"], column="ZIP")
    assert caught.value.lines == (f"column 'ZIP': 1 value is longer than 4,096 characters: '{'x' * 39}…'",)


@pytest.mark.parametrize(
    ("levels", "lines"),
    [
        (
            [],
            ["mask: levels must be a whole number of characters, at least 1, or a list of such, got none"],
        ),
        (["3"], ["mask: levels must be a whole number of characters, at least 1, got '3'"]),
        ([True], ["mask: levels must be a whole number of characters, at least 1, got True"]),
        (2.5, ["mask: levels must be a whole number of characters, at least 1, got 2.5"]),
        (
            [3, 1, 0],
            ["mask: levels must be a whole number of characters, at least 1, got 0"],
        ),
        (
            [1, 3, 5],
            [
                "mask: levels must keep fewer and fewer characters, got 1 and then 3",
                "mask: levels must keep fewer and fewer characters, got 3 and then 5",
            ],
        ),
        ([2, 2], ["mask: levels must keep fewer and fewer characters, got 2 and then 2"]),
    ],
)
def test_levels_that_make_no_sense_are_refused(levels, lines):
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.mask(levels)
    assert list(caught.value.lines) == lines


codes = st.text("ab1", min_size=1, max_size=5)


@given(st.sets(codes, min_size=1), st.sets(st.integers(1, 6), min_size=1))
def test_masks_keep_what_they_say_and_nothing_more(values, keeps):
    levels = sorted(keeps, reverse=True)
    tree = Hierarchy.mask(levels).build(values, column="code")
    width = max(map(len, values))
    for value in values:
        above = [tree.labels[node] for node in tree.ancestors(tree.node(value))]
        expected = [value[:n] + "*" * (width - n) for n in levels if n <= len(value) and n < width]
        assert above == [value, *expected, "*"]
    assert {tree.labels[leaf] for leaf in tree.leaf_nodes} == values
    assert tree.leaves[0] == len(values)


def test_dates_are_shortened():
    tree = Hierarchy.dates(["month", "quarter", "year"]).build(
        ["2009-03-14", "2009-12-31", "0999-01-01"], column="d"
    )
    assert chain(tree, "2009-03-14") == ["2009-03", "2009-Q1", "2009"]
    assert chain(tree, "2009-12-31") == ["2009-12", "2009-Q4", "2009"]
    assert chain(tree, "0999-01-01") == ["0999-01", "0999-Q1", "0999"]


def test_plain_dates_count_days_whether_or_not_they_occur():
    tree = Hierarchy.dates(["day", "month", "quarter", "year"]).build(
        ["2008-02-29", "2009-04-01"], column="d", missing=True
    )
    assert {label: int(tree.leaves[tree.node(label)]) for label in tree} == {
        "*": 366 + 365 + 1,
        "(missing)": 1,
        "2008": 366,
        "2008-Q1": 91,
        "2008-02": 29,
        "2008-02-29": 1,
        "2009": 365,
        "2009-Q2": 91,
        "2009-04": 30,
        "2009-04-01": 1,
    }


def test_a_date_is_its_own_day():
    tree = Hierarchy.dates(["day", "year"]).build(["2009-03-14"], column="d")
    assert chain(tree, "2009-03-14") == ["2009"]


def test_times_of_day_lie_under_their_day():
    values = ["2009-03-14T23:30", "2009-03-14 08:00:01.5", "2009-03-15T00:30+02:00", "20090315T103000Z"]
    tree = Hierarchy.dates(["day", "month"]).build(values, column="t")
    assert [chain(tree, value)[0] for value in values] == [
        "2009-03-14",
        "2009-03-14",
        "2009-03-15",
        "2009-03-15",
    ]
    assert tree.leaves[tree.node("2009-03-14")] == 2
    assert tree.leaves[0] == 4


def test_short_spelling_of_a_date():
    tree = Hierarchy.dates(["month"]).build(["20090314", "2009-03-14"], column="d")
    assert chain(tree, "20090314") == chain(tree, "2009-03-14") == ["2009-03"]
    assert tree.leaves[tree.node("2009-03")] == 31  # days, however one of them is spelled


def test_days_and_times_mixed_are_refused_where_a_day_would_be_both():
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.dates(["day", "year"]).build(["2009-03-14", "2009-03-14T10:00"], column="d")
    assert caught.value.lines == (
        "column 'd': dates: 1 value is also the name of a group of values: '2009-03-14'",
    )


def test_values_that_are_no_dates_are_named():
    bad = [
        "14.03.2009",
        "2009-13-01",
        "2009-02-29",
        "2009-03",
        "2009-0314",
        "2009-03-14T25:00",
        "0000-01-01",
        "x",
    ]
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.dates("year").build(["2009-03-14", *bad], column="d")
    assert str(caught.value) == (
        "column 'd': dates: 8 values are not ISO dates (such as 2009-03-14): '0000-01-01', '14.03.2009', "
        "'2009-02-29', '2009-03', '2009-03-14T25:00' and 3 more"
    )


@pytest.mark.parametrize(
    ("levels", "line"),
    [
        (["week"], "dates: levels must be among day, month, quarter, year, got 'week'"),
        ([3], "dates: levels must be among day, month, quarter, year, got 3"),
        ([], "dates: levels must be among day, month, quarter, year, or a list of such, got none"),
        (["year", "month"], "dates: levels must become coarser, got 'year' and then 'month'"),
        (["year", "year"], "dates: levels must become coarser, got 'year' and then 'year'"),
    ],
)
def test_date_levels_that_make_no_sense_are_refused(levels, line):
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.dates(levels)
    assert caught.value.lines == (line,)


@given(st.sets(st.dates(min_value=dt.date(1890, 1, 1)), min_size=1, max_size=20))
def test_counts_are_those_of_the_calendar(days):
    tree = Hierarchy.dates(["month", "quarter", "year"]).build((day.isoformat() for day in days), column="d")
    for day in days:
        month, quarter, year = (tree.node(label) for label in chain(tree, day.isoformat()))
        every = [dt.date(day.year, 1, 1) + dt.timedelta(n) for n in range(365 + calendar.isleap(day.year))]
        assert tree.leaves[year] == len(every)
        assert tree.leaves[month] == sum(other.month == day.month for other in every)
        assert tree.leaves[quarter] == sum((other.month - 1) // 3 == (day.month - 1) // 3 for other in every)
    assert tree.leaves[0] == sum(365 + calendar.isleap(year) for year in {day.year for day in days})
