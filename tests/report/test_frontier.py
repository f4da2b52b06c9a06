"""The drawing of the frontier: everything in its place, names escaped, nothing outside the picture."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sequester.report.page import template
from sequester.report.plot import FrontierAxes, Mark, as_png, draw_frontier

AXES = FrontierAxes(risk="share found", measure="information loss", goal="minimize")
SVG = "{http://www.w3.org/2000/svg}"


def mark(risk, value, **keywords):
    keywords = {"series": "p2ka", "label": "k=2", "interval": (risk / 2, min(1, risk * 2))} | keywords
    return Mark(risk=risk, value=value, **keywords)


def parsed(marks, axes=AXES):
    return ElementTree.fromstring(draw_frontier(marks, axes, standalone=True))


def texts(root):
    return [each.text for each in root.iter(f"{SVG}text")]


def layer(root, place):
    """The marks of one layer of the drawing."""
    groups = [
        each for each in root.iter(f"{SVG}g") if f"concat_0_layer_{place}_marks" in each.get("class", "")
    ]
    return [path for group in groups for path in group.iter(f"{SVG}path")]


INTERVALS, LINE, MARKS, RINGS, OPTIMA = range(5)


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
    assert len(layer(parsed(marks), MARKS)) == len(marks)
    assert as_png(str(draw_frontier(marks, AXES, standalone=True))).startswith(b"\x89PNG")


@settings(max_examples=min(settings.default.max_examples, 25))
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
    assert len(layer(root, MARKS)) == len(marks)
    for each in layer(root, MARKS):
        x, y = map(float, re.findall(r"-?[\d.]+(?:e-?\d+)?", each.attrib["transform"])[:2])
        assert -0.01 <= x <= width
        assert -0.01 <= y <= height


def test_names_do_no_harm():
    nasty = '<script>alert("x")</script>&'
    root = parsed(
        [mark(0.1, 0.2, series=nasty, label=nasty, on_frontier=True)],
        FrontierAxes(risk=nasty, measure=nasty, goal="maximize"),
    )
    assert not list(root.iter(f"{SVG}script"))
    assert any(text and text.startswith("<script>") for text in texts(root))
    assert any("more is better" in (text or "") for text in texts(root))


def test_what_stands_out_is_marked_and_named():
    root = parsed(
        [
            mark(0.1, 0.5, on_frontier=True, recommended=True),
            mark(0.2, 0.4, on_frontier=True, label="k=3"),
            mark(0.3, 0.6, optimum=True, label="k=4", series="ph"),
            mark(0.3, 0.7, label="k=5", series="ph"),
        ]
    )
    told = {*texts(root)}
    assert {"p2ka", "ph", "k=2 (recommended)", "k=3", "k=4"} <= told
    assert "k=5" not in told
    assert (len(layer(root, RINGS)), len(layer(root, OPTIMA))) == (1, 1)


def test_candidates_in_one_place_have_one_name():
    root = parsed([mark(0.1, 0.2, label="k=2"), mark(0.1, 0.2, label="k=3", on_frontier=True)])
    told = texts(root)
    assert "k=3 and 1 more" in told
    assert "k=2" not in told


def test_the_line_goes_along_the_frontier():
    assert len(layer(parsed([mark(0.1, 0.5, on_frontier=True), mark(0.3, 0.2, on_frontier=True)]), LINE)) == 1


def test_the_page_without_a_drawing():
    text = template("comparison.html").render(
        kind="Comparison",
        notice=("", ""),
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
