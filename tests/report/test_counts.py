"""The numbers behind the plots, against their definitions."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.report.counts import lengths_of, per_person, per_value, values_of


def text(values):
    return pl.Series("page", values, dtype=pl.String)


def bounds(label):
    low, _, high = label.replace(",", "").partition("–")
    return int(low), int(high or low)


@given(
    st.lists(st.integers(0, 40) | st.integers(0, 10**6), max_size=30),
    st.lists(st.integers(0, 3000), max_size=30),
)
def test_bins_hold_everybody_once(first, second):
    lengths = {"before": np.array(first, np.int64), "after": np.array(second, np.int64)}
    tally = per_person(lengths)
    ranges = [bounds(label) for label in tally.labels]
    assert all(high + 1 == low for (_, high), (low, _) in itertools.pairwise(ranges))
    for name, values in lengths.items():
        expected = tuple(sum(low <= value <= high for value in values.tolist()) for low, high in ranges)
        assert tally.series[name] == expected
        assert sum(expected) == sum(value > 0 for value in values.tolist())


def test_few_lengths_are_shown_one_by_one_and_many_in_steps():
    assert per_person({"released": np.array([2, 12])}).labels == tuple(map(str, range(2, 13)))
    assert per_person({"released": np.array([1, 13])}).labels == ("1", "2", "3", "4", "5", "6–10", "11–20")
    assert per_person({"released": np.array([10, 10_000])}).labels[-1] == "5,001–10,000"


def test_nobody_gives_no_bins():
    assert per_person({"released": np.array([], np.int64)}).labels == ()


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("bcd")), st.integers(1, 4))
def test_values_are_ordered_by_count_then_label(before, after, top):
    series = {"before": values_of(text(before)), "after": values_of(text(after))}
    tally = per_value(series, top=top)
    both = Counter(before) + Counter(after)
    expected = sorted(both, key=lambda label: (-both[label], label))
    assert list(tally.labels) == expected[:top]
    assert tally.hidden == max(len(expected) - top, 0)
    assert tally.series["after"] == tuple(after.count(label) for label in expected[:top])


def test_equally_frequent_numbers_stand_in_the_order_of_numbers():
    assert per_value({"released": values_of(text(["10", "9"]))}).labels == ("9", "10")


@given(st.lists(st.sampled_from(["a", "b", None])))
def test_values_of_a_column(values):
    expected = Counter("(missing)" if value is None else value for value in values)
    assert dict(values_of(text(values)).iter_rows()) == dict(expected)


@pytest.mark.parametrize("values", [[1, 1, 2], [1.5, 1.5, None], [True, True, False]])
def test_values_that_are_no_text(values):
    assert values_of(pl.Series("x", values))["count"].sum() == 3


def test_lengths():
    assert lengths_of(text(["p", "q", "q", "q"])).tolist() == [1, 3]
    assert lengths_of(text([])).tolist() == []
