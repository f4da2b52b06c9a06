"""The renderer is held to what the pages rely on."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sequester.report.counts import Tally
from sequester.report.plot import INK, RULE, SERIES, bars
from sequester.report.wording import short_labels


def texts(svg):
    return [element.text for element in ET.fromstring(svg).iter() if element.text]


@cache
def plain_tags(n_labels):
    plain = Tally(tuple("abcd"[:n_labels]), {"released": tuple(range(1, n_labels + 1))})
    return [element.tag for element in ET.fromstring(bars(plain, title="x")).iter()]


# Each example starts the renderer; a few hundred say as much as thousands.
few = settings(max_examples=min(settings.default.max_examples, 200))


@few
@given(st.lists(st.text(min_size=1, max_size=25), min_size=1, max_size=4, unique=True))
def test_any_label_is_drawn_as_text_and_nothing_else(labels):
    tally = Tally(tuple(labels), {"released": tuple(range(1, len(labels) + 1))})
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
    svg = bars(Tally((label,), {"released": (1,)}), title=label)
    assert sorted(texts(svg)) == sorted([label, "1"])
    assert ET.fromstring(svg).attrib["aria-label"] == label


def test_two_series_stand_beside_each_other():
    svg = bars(Tally(("a", "b"), {"before": (5, 4), "after": (3, 0)}), title="x")
    assert texts(svg)[-2:] == ["a", "b"]
    assert sorted(texts(svg)[:-2]) == ["0", "3", "4", "5"]
    assert svg.count(f'fill="{SERIES[0]}"') == svg.count(f'fill="{SERIES[1]}"') == 2


def test_bar_lengths_are_in_proportion():
    svg = bars(Tally(("a", "b", "c"), {"released": (1000, 250, 0)}), title="x")
    widths = [float(each) for each in re.findall(rf'd="M0,[\d.]+h([\d.]+)v[^"]*" fill="{SERIES[0]}"', svg)]
    assert widths[1] == pytest.approx(widths[0] / 4)
    assert widths[2] == 0


def test_the_frame_does_not_grow_with_the_labels():
    sizes = {
        re.search(r'width="(\d+)"', bars(Tally((label,), {"released": (count,)}), title="x"))[1]
        for label in ("a", "W" * 50, "漢" * 50)
        for count in (1, 123_456_789)
    }
    assert len(sizes) == 1


def test_a_long_label_is_cut_to_fit():
    (_, label) = texts(bars(Tally(("m" * 200,), {"released": (1,)}), title="x"))
    assert label.endswith("…")
    assert len(label) <= len(short_labels(["m" * 200])[0])


def test_letters_outside_the_first_plane_survive_the_cut():
    assert len(texts(bars(Tally(("\U00010fe0" * 60,), {"released": (1,)}), title="x"))) == 2


def test_nothing_but_the_known_colours_and_no_ids():
    svg = bars(Tally(("a", "b"), {"before": (5, 4), "after": (3, 0)}), title="x")
    colours = set(re.findall(r'(?:fill|stroke)="(#[^"]*)"', svg))
    assert colours <= {INK, RULE, *SERIES}
    assert " id=" not in svg
    assert "http" not in svg


def test_a_second_drawing_in_one_process_has_the_same_bytes():
    tally = Tally(("a",), {"before": (5,), "after": (3,)})
    assert bars(tally, title="x") == bars(tally, title="x")


def test_nothing_to_draw():
    assert texts(bars(Tally((), {"released": ()}), title="x")) == []
