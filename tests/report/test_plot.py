"""The renderer is held to what the pages rely on."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections import Counter
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sequester._repr import short_labels
from sequester.release.plot import (
    INK,
    RULE,
    SERIES,
    Figure,
    count_values,
    lengths_of,
    tally_lengths,
    tally_values,
)
from sequester.report.plot import bars


def texts(svg):
    return [element.text for element in ET.fromstring(svg).iter() if element.text]


@cache
def plain_tags(n_labels):
    plain = Figure(tuple("abcd"[:n_labels]), {"released": tuple(range(1, n_labels + 1))})
    return [element.tag for element in ET.fromstring(bars(plain, title="x")).iter()]


# Each example starts the renderer; a few hundred say as much as thousands.
few = settings(max_examples=min(settings.default.max_examples, 200))


@few
@given(st.lists(st.text(min_size=1, max_size=25), min_size=1, max_size=4, unique=True))
def test_any_label_is_drawn_as_text_and_nothing_else(labels):
    tally = Figure(tuple(labels), {"released": tuple(range(1, len(labels) + 1))})
    svg = bars(tally, title="x")
    assert [element.tag for element in ET.fromstring(svg).iter()] == plain_tags(len(labels))
    assert len(texts(svg)) == 2 * len(labels)


@pytest.mark.parametrize(
    "label",
    [
        "<b>bold</b>",
        "a & b",
        "\"'`",
        "</svg>",
        "]]>",
        "&amp;",
        "{{x}}",
        "datum.x",
        "if",
        "0",
        "=1+1",
        "null",
        "\\",
    ],
)
def test_markup_in_labels_is_shown_as_written(label):
    svg = bars(Figure((label,), {"released": (1,)}), title=label)
    assert sorted(texts(svg)) == sorted([label, "1"])
    assert ET.fromstring(svg).attrib["aria-label"] == label


def test_two_series_stand_beside_each_other():
    svg = bars(Figure(("a", "b"), {"before": (5, 4), "after": (3, 0)}), title="x")
    assert texts(svg)[-2:] == ["a", "b"]
    assert sorted(texts(svg)[:-2]) == ["0", "3", "4", "5"]
    assert svg.count(f'fill="{SERIES[0]}"') == svg.count(f'fill="{SERIES[1]}"') == 2


def test_bar_lengths_are_in_proportion():
    svg = bars(Figure(("a", "b", "c"), {"released": (1000, 250, 0)}), title="x")
    widths = [float(each) for each in re.findall(rf'd="M0,[\d.]+h([\d.]+)v[^"]*" fill="{SERIES[0]}"', svg)]
    assert widths[1] == pytest.approx(widths[0] / 4)
    assert widths[2] == 0


def test_the_frame_does_not_grow_with_the_labels():
    sizes = {
        re.search(r'width="(\d+)"', bars(Figure((label,), {"released": (count,)}), title="x"))[1]
        for label in ("a", "W" * 50, "漢" * 50)
        for count in (1, 123_456_789)
    }
    assert len(sizes) == 1


def test_a_long_label_is_cut_to_fit():
    (_, label) = texts(bars(Figure(("m" * 200,), {"released": (1,)}), title="x"))
    assert label.endswith("…")
    assert len(label) <= len(short_labels(["m" * 200])[0])


def test_letters_outside_the_first_plane_survive_the_cut():
    assert len(texts(bars(Figure(("\U00010fe0" * 60,), {"released": (1,)}), title="x"))) == 2


def test_nothing_but_the_known_colours_and_no_ids():
    svg = bars(Figure(("a", "b"), {"before": (5, 4), "after": (3, 0)}), title="x")
    colours = set(re.findall(r'(?:fill|stroke)="(#[^"]*)"', svg))
    assert colours <= {INK, RULE, *SERIES}
    assert " id=" not in svg
    assert "http" not in svg


def test_a_second_drawing_in_one_process_has_the_same_bytes():
    tally = Figure(("a",), {"before": (5,), "after": (3,)})
    assert bars(tally, title="x") == bars(tally, title="x")


def test_nothing_to_draw():
    assert texts(bars(Figure((), {"released": ()}), title="x")) == []


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
    tally = tally_lengths(lengths)
    ranges = [bounds(label) for label in tally.labels]
    assert all(high + 1 == low for (_, high), (low, _) in itertools.pairwise(ranges))
    for name, values in lengths.items():
        expected = tuple(sum(low <= value <= high for value in values.tolist()) for low, high in ranges)
        assert tally.series[name] == expected
        assert sum(expected) == sum(value > 0 for value in values.tolist())


def test_few_lengths_are_shown_one_by_one_and_many_in_steps():
    assert tally_lengths({"released": np.array([2, 12])}).labels == tuple(map(str, range(2, 13)))
    assert tally_lengths({"released": np.array([1, 13])}).labels == ("1", "2", "3", "4", "5", "6–10", "11–20")
    assert tally_lengths({"released": np.array([10, 10_000])}).labels[-1] == "5,001–10,000"


def test_nobody_gives_no_bins():
    assert tally_lengths({"released": np.array([], np.int64)}).labels == ()


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("bcd")), st.integers(1, 4))
def test_values_are_ordered_by_count_then_label(before, after, top):
    series = {"before": count_values(text(before)), "after": count_values(text(after))}
    tally = tally_values(series, top=top)
    both = Counter(before) + Counter(after)
    expected = sorted(both, key=lambda label: (-both[label], label))
    assert list(tally.labels) == expected[:top]
    assert tally.hidden == max(len(expected) - top, 0)
    assert tally.series["after"] == tuple(after.count(label) for label in expected[:top])


def test_equally_frequent_numbers_stand_in_the_order_of_numbers():
    assert tally_values({"released": count_values(text(["10", "9"]))}).labels == ("9", "10")


@given(st.lists(st.sampled_from(["a", "b", None])))
def test_values_of_a_column(values):
    expected = Counter("(missing)" if value is None else value for value in values)
    assert dict(count_values(text(values)).iter_rows()) == dict(expected)


@pytest.mark.parametrize("values", [[1, 1, 2], [1.5, 1.5, None], [True, True, False]])
def test_values_that_are_no_text(values):
    assert count_values(pl.Series("x", values))["count"].sum() == 3


def test_lengths():
    assert lengths_of(text(["p", "q", "q", "q"])).tolist() == [1, 3]
    assert lengths_of(text([])).tolist() == []
