"""Plots as inline SVG, among them risk against loss, and a map of regions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from markupsafe import Markup, escape

from sequester._repr import display_width, shown
from sequester._validation import check_address_space
from sequester.data.places import REGION
from sequester.data.sequences import Sequences
from sequester.data.trajectories import METRES_PER_DEGREE
from sequester.hierarchies.labels import counted
from sequester.mining.support import sequences_of
from sequester.ragged import offsets_of
from sequester.release.plot import INK, RULE, SERIES, lengths_of
from sequester.release.release import PERSON

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sequester._typing import Counts
    from sequester.data.places import Regions
    from sequester.data.table import EventTable
    from sequester.release.plot import Figure
    from sequester.release.release import Release

    Point = npt.NDArray[np.float64]


_HEAD = re.compile(r'<svg [^>]*?width="(\d+)" height="(\d+)"[^>]*>')


def bars(figure: Figure, *, title: str) -> Markup:
    """Draw one row of bars per label, the number at its end; `title` is what a screen reader says."""
    return as_svg(figure.chart(), title=title)


def as_svg(chart: Any, *, title: str, standalone: bool = False) -> Markup:
    """Render a chart of Altair as SVG that grows and shrinks with its page and is read out as `title`."""
    check_can_draw()
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


def styled(chart: Any, **more: Any) -> Any:
    """Return a chart of Altair in the letters and colours of all pages; `more` configures the rest."""
    import altair as alt  # noqa: PLC0415  (takes most of a second to load)

    axis = alt.AxisConfig(
        domainColor=RULE,
        gridColor=RULE,
        tickColor=RULE,
        labelColor=INK,
        titleColor=INK,
        titleFontWeight="normal",
    )
    return chart.configure(font="sans-serif", view=alt.ViewConfig(stroke=None), axis=axis, **more)


def check_can_draw() -> None:
    """Refuse a limit on addresses that the renderer, a browser's engine, does not fit into."""
    check_address_space(70_000_000_000, "drawing plots")


_EDGE = 0.25
"""Share of the width at either side where names are not centred."""
_SIDES: tuple[tuple[Literal["left", "center", "right"], int], ...] = (
    ("left", -8),
    ("center", 0),
    ("right", 8),
)
"""Where a name begins, and how far it is moved from its mark."""
_WIDTH, _HEIGHT = 520, 330
COLORS = (*SERIES, "#7c5fb0", "#3d8f63", "#b8476d", "#8a8437", "#3f9aa6", "#96705a")
"""Colours of series, in order; they differ in lightness, too, on light and dark ground alike."""
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
        for channel, styles in ((alt.Color, COLORS), (alt.Shape, _SHAPES))
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
    chart = alt.hconcat(alt.layer(*layers, width=_WIDTH, height=_HEIGHT), key, spacing=14)
    chart = styled(chart, background="#ffffff" if standalone else "transparent", aria=False)
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


WAYS = 20
"""The most frequent ways from one region to another that are drawn."""
_MAP_WIDTH = 436.0
_TALLEST = 560.0
_MAP_EDGE = 6.0
_KEY = 30.0
_LETTER = 7.0
_FAINTEST, _FULLEST = 0.08, 0.85


@dataclass(frozen=True, slots=True)
class Traffic:
    """Visits of regions, and ways from one to the next."""

    regions: tuple[str, ...]
    """The regions that are visited, parts of the day put together."""
    visits: Counts
    """Visits of each."""
    ways: tuple[tuple[int, int, int], ...]
    """The most frequent ways: from, to, and how often."""

    @classmethod
    def of(cls, regions: Regions, data: EventTable | Sequences, *, ways: int = WAYS) -> Traffic:
        """Return the visits and ways of a table, original or released.

        Examples
        --------
        >>> from sequester.data.places import Regions, box
        >>> from sequester.data.sequences import Sequences
        >>> regions = Regions({"a": box(0, 0, 1, 1), "b": box(0, 1, 1, 2)}, {"a": (), "b": ()})
        >>> traffic = Traffic.of(regions, Sequences.from_rows(["aba", "ab"], column="region"))
        >>> traffic.visits.tolist(), traffic.ways
        ([3, 2], ((0, 1, 2), (1, 0, 1)))
        """
        sequences = sequences_of(data)
        codes, labels = sequences.columns[REGION], sequences.codebooks[REGION].labels
        places = [regions.split(label)[0] for label in labels]
        names = tuple(dict.fromkeys(place for place in places if place in regions.outlines))
        numbers = np.array([names.index(p) if p in regions.outlines else -1 for p in places], np.int64)
        at = numbers[codes]
        visits = np.bincount(at[at >= 0], minlength=len(names)).astype(np.int64)
        is_first = np.zeros(len(at) + 1, np.bool_)
        is_first[sequences.person_offsets] = True
        moves = (at[:-1] >= 0) & (at[1:] >= 0) & (at[:-1] != at[1:]) & ~is_first[1:-1]
        pairs, counts = np.unique(at[:-1][moves] * len(names) + at[1:][moves], return_counts=True)
        most = np.argsort(-counts, kind="stable")[:ways]
        drawn = tuple((int(pairs[i]) // len(names), int(pairs[i]) % len(names), int(counts[i])) for i in most)
        return cls(names, visits, drawn)


def draw_map(
    regions: Regions,
    data: EventTable | Sequences,
    *,
    title: str = "Visits per region",
    beside: Sequence[EventTable | Sequences] = (),
) -> Markup:
    """Draw the regions that `data` visits, darker where visits are many, and its most frequent ways.

    `beside` are other tables, such as the data before, that share the frame of the map and its scale.

    Examples
    --------
    >>> from sequester.data.places import Regions, box
    >>> from sequester.data.sequences import Sequences
    >>> regions = Regions({"a": box(0, 0, 1, 1), "b": box(0, 1, 1, 2)}, {"a": (), "b": ()})
    >>> svg = draw_map(regions, Sequences.from_rows(["ab", "ab", "a"], column="region"))
    >>> svg.count("<polygon"), svg.count("<line")
    (2, 1)
    """
    here, *others = (Traffic.of(regions, each) for each in (data, *beside))
    view = _View.around(regions, [here, *others])
    busiest = max((int(each.visits.max(initial=0)) for each in (here, *others)), default=0) or 1
    most = max((way[2] for each in (here, *others) for way in each.ways), default=0) or 1
    size = f"{view.width:.0f}", f"{view.height:.0f}"
    opening = f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {size[0]} {size[1]}" '
    parts = [f'{opening}width="{size[0]}" height="{size[1]}">']
    # The largest first, so that what lies inside a group is not hidden by it.
    by_size = np.argsort([-np.prod(view.extent(regions, name)) for name in here.regions], kind="stable")
    for place in by_size.tolist():
        name, visits = here.regions[place], int(here.visits[place])
        shade = _FAINTEST + (_FULLEST - _FAINTEST) * visits / busiest
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in view.points(regions.outlines[name]).tolist())
        parts.append(
            f'<polygon points="{corners}" fill="{SERIES[0]}" fill-opacity="{shade:.2f}" stroke="{RULE}">'
            f"<title>{escape(shown(name, 40))}: {counted(visits, 'visit', 'visits')}</title></polygon>"
        )
    centres = view.points(regions.centres(here.regions))
    for start, end, count in here.ways:
        names = " to ".join(shown(here.regions[place], 40) for place in (start, end))
        about = f"{names}: {counted(count, 'time', 'times')}"
        parts.append(_arrow(centres[start], centres[end], 1 + 3 * count / most, about))
    parts += [
        _name(name, centre, view.extent(regions, name))
        for name, centre in zip(here.regions, centres, strict=True)
    ]
    if here.regions:
        parts.append(_key(view, busiest, most if here.ways else 0))
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704  (labels are escaped below)


def _arrow(start: Point, end: Point, width: float, about: str) -> str:
    """Draw a way a little to the right of the straight line, so that the way back lies beside it."""
    along = (end - start) / max(float(np.hypot(*(end - start))), 1e-9)
    right = np.array([-along[1], along[0]])
    side = (1 + width / 2) * right
    head = 3 + 1.5 * width
    (x, y), (tip_x, tip_y) = (start + side).tolist(), (end + side).tolist()
    neck_x, neck_y = (end + side - head * along).tolist()
    (left_x, left_y), (right_x, right_y) = (
        (end + side - head * along + hand * head / 2 * right).tolist() for hand in (-1, 1)
    )
    return (
        f'<g stroke="{SERIES[1]}" fill="{SERIES[1]}" opacity="0.75"><title>{escape(about)}</title>'
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{neck_x:.1f}" y2="{neck_y:.1f}" stroke-width="{width:.1f}" />'
        f'<path d="M{tip_x:.1f} {tip_y:.1f}L{left_x:.1f} {left_y:.1f}L{right_x:.1f} {right_y:.1f}Z" '
        'stroke="none" /></g>'
    )


def _name(name: str, centre: Point, extent: Point) -> str:
    """Write the name of a region in its middle, where there is room for it."""
    text = shown(name, 12)
    if extent[0] < _LETTER * (display_width(text) + 1) or extent[1] < 2 * _LETTER:
        return ""
    x, y = centre.tolist()
    return (
        f'<text x="{x:.1f}" y="{y + _LETTER / 2:.1f}" text-anchor="middle" font-size="10" fill="{INK}" '
        f'stroke="#fff" stroke-width="2" paint-order="stroke" pointer-events="none">{escape(text)}</text>'
    )


def _key(view: _View, busiest: int, most: int) -> str:
    """Draw how long a kilometre is, and say what the darkest region and the widest way stand for."""
    metres, length = view.rule()
    y = view.height - _MAP_EDGE - 6
    named = f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"
    ways = f"; widest way: {counted(most, 'time', 'times')}" if most else ""
    return (
        f'<path d="M{_MAP_EDGE} {y - 4:.1f}v4h{length:.1f}v-4" fill="none" stroke="{INK}" />'
        f'<text x="{_MAP_EDGE + length + 5:.1f}" y="{y:.1f}" font-size="11" fill="{INK}">{named}</text>'
        f'<text x="{view.width - _MAP_EDGE}" y="{y:.1f}" font-size="11" fill="{INK}" text-anchor="end">'
        f"darkest: {counted(busiest, 'visit', 'visits')}{ways}</text>"
    )


def maps(release: Release, original: EventTable | None = None) -> dict[str, Markup]:
    """Return maps of a release and of the original by their titles; none where there are no places."""
    if release.regions is None:
        return {}
    offsets = offsets_of(lengths_of(release.frame[PERSON]))
    released = Sequences.encoded(offsets, {REGION: release.frame[REGION]})
    title = "Visits per region"
    drawn: dict[str, tuple[EventTable | Sequences, ...]] = {title: (released,)}
    if original is not None:
        drawn = {f"{title}, before": (original, released), f"{title}, after": (released, original)}
    return {
        title: draw_map(release.regions, data, title=title, beside=beside)
        for title, (data, *beside) in drawn.items()
    }


@dataclass(frozen=True, slots=True)
class _View:
    """From degrees to the picture."""

    south: float
    west: float
    stretch: float
    scale: float
    width: float
    height: float

    @classmethod
    def around(cls, regions: Regions, shown: list[Traffic]) -> _View:
        names = {name for each in shown for name in each.regions}
        corners = np.array([corner for name in sorted(names) for corner in regions.outlines[name]])
        if not corners.size:
            return cls(0, 0, 1, 1, _MAP_WIDTH, _KEY)
        (south, west), (north, east) = corners.min(axis=0), corners.max(axis=0)
        stretch = float(np.cos(np.radians((south + north) / 2)))
        wide, tall = max((east - west) * stretch, 1e-9), max(north - south, 1e-9)
        scale = min((_MAP_WIDTH - 2 * _MAP_EDGE) / wide, (_TALLEST - 2 * _MAP_EDGE) / tall)
        return cls(south, west, stretch, scale, _MAP_WIDTH, tall * scale + 2 * _MAP_EDGE + _KEY)

    def rule(self) -> tuple[float, float]:
        """Return a round number of metres at most a quarter of the picture wide, and its width."""
        pixels = self.scale / METRES_PER_DEGREE
        most = _MAP_WIDTH / 4 / pixels
        ten = 10.0 ** np.floor(np.log10(most))
        metres = max(step * ten for step in (1, 2, 5) if step * ten <= most)
        return float(metres), float(metres * pixels)

    def points(self, places: npt.ArrayLike) -> npt.NDArray[np.float64]:
        degrees = np.asarray(places, np.float64).reshape(-1, 2)
        x = _MAP_EDGE + (degrees[:, 1] - self.west) * self.stretch * self.scale
        y = self.height - _MAP_EDGE - _KEY - (degrees[:, 0] - self.south) * self.scale
        return np.stack([x, y], axis=1)

    def extent(self, regions: Regions, name: str) -> Point:
        """Return the width and height of a region in the picture."""
        points = self.points(regions.outlines[name])
        extent: Point = points.max(axis=0) - points.min(axis=0)
        return extent
