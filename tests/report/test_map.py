"""The map: what is drawn, how dark, and nothing that a label could smuggle in."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from sequester.data.places import Regions, box
from sequester.data.sequences import Sequences
from sequester.report.plot import Traffic, draw_map

REGIONS = Regions(
    {"a": box(45, 9, 45.01, 9.01), "b": box(45, 9.01, 45.01, 9.02), "both": box(45, 9, 45.01, 9.02)},
    {"a": ("both",), "b": ("both",)},
    ("06-18", "18-06"),
)


def drawn(rows, **settings):
    return draw_map(REGIONS, Sequences.from_rows(rows, column="region"), **settings)


def test_parts_of_the_day_are_one_region_and_a_stay_is_no_way():
    traffic = Traffic.of(
        REGIONS, Sequences.from_rows([["a@06-18", "a@18-06", "b@18-06"], ["b@06-18"]], column="region")
    )
    assert traffic.regions == ("a", "b")
    assert traffic.visits.tolist() == [2, 2]
    assert traffic.ways == ((0, 1, 1),)


def test_what_is_visited_more_is_darker_and_groups_lie_below():
    svg = drawn([["a@06-18"], ["a@06-18"], ["b@06-18"], ["both"], ["*"]])
    shades = dict(
        zip(re.findall(r"<title>(\w+):", svg), re.findall(r'fill-opacity="([\d.]+)"', svg), strict=True)
    )
    assert next(iter(shades)) == "both"
    assert float(shades["a"]) > float(shades["b"])
    ET.fromstring(svg)


def test_an_empty_table_is_an_empty_map():
    svg = drawn([[]])
    assert "<polygon" not in svg
    assert svg.endswith("</svg>")


def test_labels_are_escaped():
    name = "<script>"
    regions = Regions({name: box(0, 0, 1, 1)}, {name: ()})
    svg = draw_map(regions, Sequences.from_rows([[name]], column="region"), title='"><b>')
    assert "<script>" not in svg
    assert "<b>" not in svg
    assert "http" not in svg


def test_two_maps_share_their_frame():
    before = Sequences.from_rows([["a@06-18", "b@06-18"]], column="region")
    after = Sequences.from_rows([["a@06-18"]], column="region")
    boxes = [
        re.search(r'viewBox="([^"]*)"', draw_map(REGIONS, one, beside=[other]))[1]
        for one, other in ((before, after), (after, before))
    ]
    assert boxes[0] == boxes[1]


def test_ways_have_a_direction_and_the_way_back_lies_beside():
    svg = drawn([["a@06-18", "b@06-18", "a@06-18"]])
    lines = re.findall(r'<line x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"', svg)
    (x1, y1, x2, y2), (back_x1, back_y1, back_x2, back_y2) = ([*map(float, each)] for each in lines)
    assert x1 < x2
    assert back_x1 > back_x2
    assert y1 == y2 != back_y1 == back_y2
    assert "<title>a to b: 1 time</title>" in svg
    assert svg.count("<path") == 3  # two heads, and the rule
    ET.fromstring(svg)


def test_the_key_says_how_long_a_kilometre_is_and_what_is_darkest():
    svg = drawn([["a@06-18", "b@06-18"], ["a@06-18"]])
    assert ">200 m<" in svg  # the regions together are some 1,570 m wide
    assert "darkest: 2 visits; widest way: 1 time" in svg
    wide = Regions({"a": box(45, 9, 45.1, 10), "b": box(45, 10, 45.1, 11)}, {"a": (), "b": ()})
    svg = draw_map(wide, Sequences.from_rows([["a"]], column="region"))
    assert ">20 km<" in svg
    assert "widest" not in svg


def test_names_are_written_where_there_is_room():
    regions = Regions(
        {"a": box(45, 9, 45.1, 9.1), "tiny": box(45, 9.1, 45.001, 9.101)}, {"a": (), "tiny": ()}
    )
    svg = draw_map(regions, Sequences.from_rows([["a", "tiny"]], column="region"))
    assert ">a</text>" in svg
    assert ">tiny</text>" not in svg
