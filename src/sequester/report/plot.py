"""Plots as inline SVG, among them risk against loss."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup, escape

from sequester._repr import shown
from sequester.release.plot import INK, RULE, SERIES, draw_bars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester.release.plot import Tally

_HEAD = re.compile(r'<svg [^>]*?width="(\d+)" height="(\d+)"[^>]*>')


def bars(tally: Tally, *, title: str) -> Markup:
    """Draw one row of bars per label, the number at its end; `title` is what a screen reader says."""
    return as_svg(draw_bars(tally), title=title)


def as_svg(chart: Any, *, title: str, standalone: bool = False) -> Markup:
    """Render a chart of Altair as SVG that grows and shrinks with its page and is read out as `title`."""
    import vl_convert  # noqa: PLC0415  (takes most of a second to load)

    svg = str(vl_convert.vegalite_to_svg(chart.to_dict()))
    head = _HEAD.match(svg)
    if head is None:
        msg = f"the plot {title!r} does not start as expected"
        raise ValueError(msg)
    width, height = head.groups()
    space = ' xmlns="http://www.w3.org/2000/svg"' if standalone else ""
    opening = (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}"{space}>'
    )
    # Labels come escaped from the renderer; the tests hold it to that.
    return Markup(opening + svg[head.end() :])  # noqa: S704


_EDGE = 0.25
"""Share of the width at either side where names are not centred."""
_SIDES: tuple[tuple[Literal["left", "center", "right"], int], ...] = (
    ("left", -8),
    ("center", 0),
    ("right", 8),
)
"""Where a name begins, and how far it is moved from its mark."""
_WIDTH, _HEIGHT = 520, 330
# Apart in lightness and in shape, on light and dark ground alike.
_COLORS = (*SERIES, "#7c5fb0", "#3d8f63", "#b8476d", "#8a8437", "#3f9aa6", "#96705a")
_PLACE = "http://page.invalid"
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A candidate in the drawing."""

    series: str
    """Its method."""
    label: str
    """What tells it from others of the method."""
    risk: float
    """What the adversary achieves, from 0 to 1."""
    interval: tuple[float, float]
    """Where that lies."""
    value: float
    """The measure."""
    on_frontier: bool = False
    """No other candidate is better in one way and as good in the other."""
    recommended: bool = False
    """It is the one."""
    optimum: bool = False
    """It is better than both its neighbours."""
    link: str = ""
    """Where a click on it leads to: a path on the server of the page; nowhere by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierAxes:
    """What is drawn against what."""

    risk: str
    """What the adversary achieves, in a few words."""
    measure: str
    """The name of the measure."""
    goal: Literal["minimize", "maximize"]
    """Which way the measure is better."""


def draw_frontier(marks: Sequence[Mark], axes: FrontierAxes, *, standalone: bool = False) -> Markup:
    """Draw risk from left to right, the measure upwards, and a line along the candidates that nobody beats.

    A file of its own (`standalone`) brings its ground with it; on a page it takes the page's colours.

    Examples
    --------
    >>> axes = FrontierAxes(risk="risk", measure="loss", goal="minimize")
    >>> marks = [Mark(series="p2ka", label="k=2", risk=0.2, interval=(0.1, 0.3), value=0.5, recommended=True)]
    >>> svg = draw_frontier(marks, axes)
    >>> svg.startswith("<svg "), "k=2 (recommended)" in svg
    (True, True)
    """
    # Altair takes most of a second to load, and only pages need it.
    import altair as alt  # noqa: PLC0415

    names = list(dict.fromkeys(each.series for each in marks))
    # Labels are data and never part of the specification; series are places, which a legend shows as names.
    places = list(range(len(names)))
    color, shape = (
        channel(
            "place:N",
            scale=alt.Scale(domain=places, range=[styles[i % len(styles)] for i in places]),
            legend=None,
        )
        for channel, styles in ((alt.Color, _COLORS), (alt.Shape, _SHAPES))
    )
    legend = alt.Chart(
        alt.InlineData(values=[{"place": i, "name": shown(name, 30)} for i, name in enumerate(names)])
    ).encode(y=alt.Y("place:O", axis=None))
    key = alt.layer(
        legend.mark_point(filled=True, size=70, opacity=1).encode(x=alt.value(8), color=color, shape=shape),
        legend.mark_text(align="left", color=INK, fontSize=12).encode(x=alt.value(20), text="name:N"),
        width=110,
        height=22 * max(len(names), 1),
    )
    layers = _frontier_layers(marks, axes, names, color=color, shape=shape)
    chart = alt.hconcat(alt.layer(*layers, width=_WIDTH, height=_HEIGHT), key, spacing=14).configure(
        background="#ffffff" if standalone else "transparent",
        font="sans-serif",
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=INK,
            titleColor=INK,
            gridColor=RULE,
            domainColor=RULE,
            tickColor=RULE,
            titleFontWeight="normal",
        ),
        aria=False,
    )
    title = f"{axes.measure} against {axes.risk}, {len(marks)} candidates; the numbers follow as a table"
    # The renderer takes whole addresses only.
    return Markup(as_svg(chart, title=title, standalone=standalone).replace(_PLACE, ""))  # noqa: S704


def _frontier_layers(
    marks: Sequence[Mark], axes: FrontierAxes, names: Sequence[str], **style: Any
) -> list[Any]:
    """Return intervals, the frontier, the marks in the `style` of their series, rings and names."""
    import altair as alt  # noqa: PLC0415  (as above)

    # Room for the intervals, unless they are so long that nothing else could be told apart.
    right = max((min(each.interval[1], 2 * max(m.risk for m in marks)) for each in marks), default=1.0)
    better = "less is better" if axes.goal == "minimize" else "more is better"
    base = alt.Chart(alt.InlineData(values=_rows(marks, names, right))).encode(
        x=alt.X(
            "risk:Q",
            title=f"{shown(axes.risk, 70)} (less is better)",
            scale=alt.Scale(domain=[0, right * 1.05 or 1.0], nice=True),
        ),
        y=alt.Y(
            "value:Q", title=f"{shown(axes.measure, 36)} ({better})", scale=alt.Scale(zero=_from_zero(marks))
        ),
    )
    frontier = base.transform_filter(alt.datum.frontier)
    links = {"href": "link:N"} if any(each.link for each in marks) else {}
    return [
        base.mark_rule(color=INK, opacity=0.18).encode(x="low:Q", x2="high:Q"),
        frontier.mark_line(interpolate="step-after", color=SERIES[0], opacity=0.5).encode(order="risk:Q"),
        base.mark_point(filled=True, size=70, opacity=1).encode(
            fillOpacity=alt.condition(alt.datum.frontier, alt.value(1.0), alt.value(0.35)), **style, **links
        ),
        base.transform_filter(alt.datum.recommended).mark_point(size=320, color=INK, strokeWidth=2),
        base.transform_filter(alt.datum.optimum).mark_point(size=200, color=INK, strokeDash=[2, 2]),
        # A name that is centred at the edge would be cut off.
        *(
            base.transform_filter(alt.datum.named & (alt.datum.align == align))
            .mark_text(color=INK, align=align, dx=dx, dy=-13, fontSize=11)
            .encode(text="text:N")
            for align, dx in _SIDES
        ),
    ]


def _rows(marks: Sequence[Mark], names: Sequence[str], right: float) -> list[dict[str, Any]]:
    """Return the marks as data; of those at the same place, one has a name, which counts the others."""
    spots = [(round(each.risk / (right or 1), 2), round(each.value, 3)) for each in marks]
    order = sorted(range(len(marks)), key=lambda i: (-marks[i].recommended, -marks[i].on_frontier, i))
    first = {spots[i]: i for i in reversed(order)}
    rows = []
    for i, each in enumerate(marks):
        others = spots.count(spots[i]) - 1
        text = shown(each.label, 26) + (f" and {others} more" if others else "")
        rows.append(
            {
                "place": names.index(each.series),
                "risk": each.risk,
                "low": each.interval[0],
                "high": min(each.interval[1], right),
                "value": each.value,
                "frontier": each.on_frontier,
                "recommended": each.recommended,
                "optimum": each.optimum,
                "link": f"{_PLACE}{each.link}",
                "named": first[spots[i]] == i and (each.on_frontier or each.recommended or each.optimum),
                "text": f"{text} (recommended)" if each.recommended else text,
                "align": "left" if spots[i][0] < _EDGE else "right" if spots[i][0] > 1 - _EDGE else "center",
            }
        )
    return rows


def _from_zero(marks: Sequence[Mark]) -> bool:
    """A measure that varies little and far from zero would be a flat line from zero on."""
    values = [each.value for each in marks]
    return not values or min(values) < 0.6 * max(values)


def as_png(svg: str) -> bytes:
    """Return a drawing as PNG, with two pixels for each unit."""
    import vl_convert  # noqa: PLC0415  (takes most of a second to load)

    return bytes(vl_convert.svg_to_png(svg, scale=2))
