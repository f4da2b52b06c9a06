"""The drawing of the frontier: everything in its place, names escaped, nothing outside the picture."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.report.frontier import HEIGHT, WIDTH, FrontierAxes, Mark, _round_step, as_png, draw_frontier
from sequester.report.page import comparison_page

AXES = FrontierAxes(risk="share found", measure="information loss", goal="minimize")
SVG = "{http://www.w3.org/2000/svg}"


def mark(risk, value, **keywords):
    keywords = {"series": "p2ka", "label": "k=2", "interval": (risk / 2, min(1, risk * 2))} | keywords
    return Mark(risk=risk, value=value, **keywords)


def parsed(marks, axes=AXES):
    return ElementTree.fromstring(draw_frontier(marks, axes, standalone=True))


def texts(root):
    return [each.text for each in root.iter(f"{SVG}text")]


@pytest.mark.parametrize(
    "marks",
    [
        [],
        [mark(0.0, 0.0)],
        [mark(1.0, 5.0)],
        [mark(0.5, 0.5), mark(0.5, 0.5, label="k=3")],
        [mark(0.001, 1e6), mark(0.9, 2e6)],
        [mark(0.1, 0.99), mark(0.2, 0.991)],
        [mark(0.1, -3.0), mark(0.2, -1.0)],
    ],
)
def test_whatever_there_is_can_be_drawn(marks):
    root = parsed(marks)
    assert len(list(root.iter(f"{SVG}title"))) == len(marks)
    assert as_png(str(draw_frontier(marks, AXES, standalone=True))).startswith(b"\x89PNG")


@given(
    st.lists(
        st.builds(
            mark,
            st.floats(0, 1),
            st.floats(-1e9, 1e9),
            on_frontier=st.booleans(),
            recommended=st.booleans(),
            optimum=st.booleans(),
            series=st.sampled_from("abcdefghij"),
        ),
        max_size=12,
    )
)
def test_every_mark_is_inside(marks):
    root = parsed(marks)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert width == WIDTH
    assert height >= HEIGHT
    for each in root.iter(f"{SVG}g"):
        x, y = map(float, re.findall(r"-?[\d.]+", each.attrib["transform"]))
        assert 0 <= x <= width
        assert 0 <= y <= height


def test_names_do_no_harm():
    nasty = '<script>alert("x")</script>&'
    root = parsed(
        [mark(0.1, 0.2, series=nasty, label=nasty)], FrontierAxes(risk=nasty, measure=nasty, goal="maximize")
    )
    assert not list(root.iter(f"{SVG}script"))
    assert any(text and text.startswith("<script>") for text in texts(root))
    assert any("more is better" in (text or "") for text in texts(root))


def test_what_stands_out_is_marked_and_explained():
    root = parsed(
        [
            mark(0.1, 0.5, on_frontier=True, recommended=True),
            mark(0.2, 0.4, on_frontier=True, label="k=3"),
            mark(0.3, 0.6, optimum=True, label="k=4", series="ph"),
        ]
    )
    told = texts(root)
    assert {"p2ka", "ph", "recommended", "better than both neighbours"} <= {*told}
    assert {"k=2", "k=3", "k=4"} <= {*told}
    bold = [each.text for each in root.iter(f"{SVG}text") if each.get("font-weight")]
    assert bold == ["k=2"]
    rings = [each for each in root.iter(f"{SVG}path") if each.get("class") == "ring"]
    # One of each in the drawing, and one in its key.
    assert len(rings) == 4
    assert len([each for each in rings if each.get("stroke-dasharray")]) == 2


def test_a_plain_drawing_explains_no_rings():
    assert "recommended" not in texts(parsed([mark(0.1, 0.2)]))


def test_candidates_in_one_place_have_one_name():
    root = parsed([mark(0.1, 0.2, label="k=2"), mark(0.1, 0.2, label="k=3", on_frontier=True)])
    told = texts(root)
    assert "k=3 and 1 more" in told
    assert "k=2" not in told


def test_the_line_goes_down_the_stairs():
    root = parsed([mark(0.1, 0.5, on_frontier=True), mark(0.3, 0.2, on_frontier=True)])
    paths = [each.attrib["d"] for each in root.iter(f"{SVG}path") if each.get("opacity")]
    assert len(paths) == 1
    assert re.fullmatch(r"M[\d.]+ [\d.]+H[\d.]+V[\d.]+", paths[0])


@pytest.mark.parametrize(("rough", "step"), [(0.1, 0.1), (0.11, 0.2), (0.3, 0.5), (0.6, 1.0), (21, 50.0)])
def test_steps_are_round(rough, step):
    assert _round_step(rough) == step


def test_the_page_without_a_drawing():
    text = comparison_page(
        title="t",
        lead="<b>l</b>",
        several="",
        numbers=(),
        drawing=None,
        candidates=(),
        measure="m",
        goal="minimize",
        sections=(),
    )
    assert "<svg" not in text
    assert "&lt;b&gt;l" in text
