"""The privacy-utility frontier as a drawing: SVG without a browser, a network or a script."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from markupsafe import Markup, escape

from sequester.report.plot import INK, RULE, SERIES
from sequester.report.text import display_width, number, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH, HEIGHT = 640, 430
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 24, 16, 62
_LETTER = 6.6
_ROW = 22
_RING, _DOT = 11.0, 5.5
# Apart in lightness and in shape, on light and dark ground alike.
_COLORS = (SERIES[0], SERIES[1], "#7c5fb0", "#3d8f63", "#b8476d", "#8a8437", "#3f9aa6", "#96705a")
_SHAPES = (
    "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0 -5 0Z",
    "M-4.6 -4.6H4.6V4.6H-4.6Z",
    "M0 -5.8L5.4 4.2H-5.4Z",
    "M0 -6.2L6.2 0L0 6.2L-6.2 0Z",
    "M0 5.8L5.4 -4.2H-5.4Z",
    "M-1.9 -5.6H1.9V-1.9H5.6V1.9H1.9V5.6H-1.9V1.9H-5.6V-1.9H-1.9Z",
)


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
    >>> svg.count("<path"), "recommended" in svg
    (4, True)
    """
    names = list(dict.fromkeys(each.series for each in marks))
    legend = list(_legend(names, marks))
    height = HEIGHT + _ROW * len(legend)
    title = f"{axes.measure} against {axes.risk}, {len(marks)} candidates; the numbers follow as a table"
    attributes = (
        f'role="img" aria-label="{escape(title)}" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="12"'
    )
    if not standalone:
        # As wide as the page; on a narrow one it can be moved from side to side.
        attributes += ' style="width:100%;max-width:52rem;min-width:36rem"'
    ground = ""
    if standalone:
        attributes += ' xmlns="http://www.w3.org/2000/svg"'
        ground = f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    plot = _Plot.around(marks, top=_TOP + _ROW * len(legend))
    parts = [
        f"<svg {attributes}>{ground}",
        *legend,
        *plot.axes(axes),
        *plot.line(marks),
        *(plot.interval(each) for each in marks),
        *(plot.mark(each, names.index(each.series)) for each in sorted(marks, key=_importance)),
        *plot.labels(marks),
        "</svg>",
    ]
    return Markup("".join(parts))  # noqa: S704  (texts are escaped where they are written)


def _importance(mark: Mark) -> int:
    return mark.on_frontier + 2 * mark.recommended


def _legend(names: Sequence[str], marks: Sequence[Mark]) -> Iterator[str]:
    """Explain shapes and rings, in as many rows as they need."""
    entries = [(_shape(place, full=True), name) for place, name in enumerate(names)]
    if any(each.recommended for each in marks):
        entries.append((_ring(8.0), "recommended"))
    if any(each.optimum for each in marks):
        entries.append((_ring(8.0, dashed=True), "better than both neighbours"))
    x, y = float(_LEFT), 14.0
    row: list[str] = []
    for drawing, name in entries:
        text = shown(name, 40)
        width = 34 + _LETTER * display_width(text)
        if x + width > WIDTH and row:
            yield "".join(row)
            row, x, y = [], float(_LEFT), y + _ROW
        row.append(
            f'<g transform="translate({x + 8:.1f} {y:.1f})">{drawing}</g>'
            f'<text x="{x + 20:.1f}" y="{y + 4:.1f}" fill="{INK}">{escape(text)}</text>'
        )
        x += width
    if row:
        yield "".join(row)


def _shape(place: int, *, full: bool) -> str:
    color, path = _COLORS[place % len(_COLORS)], _SHAPES[place % len(_SHAPES)]
    return f'<path d="{path}" fill="{color}" fill-opacity="{1 if full else 0.35}" stroke="{color}"/>'


def _ring(radius: float, *, dashed: bool = False) -> str:
    style = f'stroke="{INK}" ' + ('stroke-dasharray="2.5 2"' if dashed else 'stroke-width="2.2"')
    circle = f"M-{radius} 0A{radius} {radius} 0 1 0 {radius} 0A{radius} {radius} 0 1 0 -{radius} 0Z"
    return f'<path class="ring" d="{circle}" fill="none" {style}/>'


@dataclass(frozen=True, slots=True)
class _Scale:
    """From numbers to places in the drawing, with round numbers along the way."""

    low: float
    high: float
    start: float
    stop: float
    step: float

    @classmethod
    def around(cls, values: Sequence[float], start: float, stop: float, *, from_zero: bool) -> _Scale:
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        if from_zero and low >= 0:
            low = 0.0
        if high - low < 1e-12:
            around = (abs(low) or 1.0) * 0.1
            low, high = (low, high + around) if low == 0 else (low - around, high + around)
        spread = (high - low) * 1.08
        step = _round_step(spread / 5)
        low = math.floor(low / step) * step
        return cls(low, max(high + 0.04 * (high - low), low + step), start, stop, step)

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.stop - self.start)

    @property
    def ticks(self) -> list[float]:
        first = math.ceil(self.low / self.step - 1e-9)
        last = math.floor(self.high / self.step + 1e-9)
        return [round(place * self.step, 12) for place in range(first, last + 1)]


def _round_step(rough: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least `rough`.

    Examples
    --------
    >>> _round_step(0.034), _round_step(7)
    (0.05, 10.0)
    """
    power = 10.0 ** math.floor(math.log10(rough))
    times = next(each for each in (1, 2, 5, 10) if each * power >= rough * (1 - 1e-9))
    return float(f"{times * power:.12g}")


@dataclass(frozen=True, slots=True)
class _Plot:
    """Both scales, and what is drawn by them."""

    x: _Scale
    y: _Scale

    @classmethod
    def around(cls, marks: Sequence[Mark], *, top: float) -> _Plot:
        risks, values = [each.risk for each in marks], [each.value for each in marks]
        # Room for the intervals, unless they are so long that nothing else could be told apart.
        risks += [min(each.interval[1], 2 * max(risks)) for each in marks]
        bottom = top - _TOP + HEIGHT - _BOTTOM
        # A measure that varies little and far from zero would be a flat line from zero on.
        near_zero = not values or min(values) < 0.6 * max(values, default=0.0)
        return cls(
            _Scale.around(risks, _LEFT, WIDTH - _RIGHT, from_zero=True),
            _Scale.around(values, bottom, top, from_zero=near_zero),
        )

    def axes(self, axes: FrontierAxes) -> Iterator[str]:
        x, y = self.x, self.y
        for value in y.ticks:
            at = y.at(value)
            yield f'<line x1="{x.start}" y1="{at:.1f}" x2="{x.stop}" y2="{at:.1f}" stroke="{RULE}"/>'
            yield (
                f'<text x="{x.start - 8}" y="{at + 4:.1f}" text-anchor="end" fill="{INK}">'
                f"{number(value)}</text>"
            )
        for value in x.ticks:
            at = x.at(value)
            yield f'<line x1="{at:.1f}" y1="{y.start}" x2="{at:.1f}" y2="{y.start + 5}" stroke="{RULE}"/>'
            yield (
                f'<text x="{at:.1f}" y="{y.start + 19}" text-anchor="middle" fill="{INK}">'
                f"{number(value)}</text>"
            )
        better = "less is better" if axes.goal == "minimize" else "more is better"
        middle = (x.start + x.stop) / 2
        yield (
            f'<text x="{middle}" y="{y.start + 44}" text-anchor="middle" font-size="13" fill="{INK}">'
            f"{escape(shown(axes.risk, 70))} (less is better)</text>"
        )
        middle = (y.start + y.stop) / 2
        yield (
            f'<text transform="translate(16 {middle:.1f}) rotate(-90)" text-anchor="middle" font-size="13" '
            f'fill="{INK}">{escape(shown(axes.measure, 36))} ({better})</text>'
        )

    def line(self, marks: Sequence[Mark]) -> Iterator[str]:
        """Draw the stairs below which, or above which, no candidate lies."""
        best = sorted((each for each in marks if each.on_frontier), key=lambda each: each.risk)
        if len(best) < 2:
            return
        steps = [f"M{self.x.at(best[0].risk):.1f} {self.y.at(best[0].value):.1f}"]
        steps += [f"H{self.x.at(each.risk):.1f}V{self.y.at(each.value):.1f}" for each in best[1:]]
        yield f'<path d="{"".join(steps)}" fill="none" stroke="{SERIES[0]}" stroke-width="2" opacity=".5"/>'

    def interval(self, mark: Mark) -> str:
        low, high = (self.x.at(each) for each in mark.interval)
        at = self.y.at(mark.value)
        return (
            f'<line x1="{low:.1f}" y1="{at:.1f}" x2="{high:.1f}" y2="{at:.1f}" stroke="{INK}" '
            f'stroke-opacity="{0.3 if mark.on_frontier else 0.12}"/>'
        )

    def mark(self, mark: Mark, place: int) -> str:
        low, high = mark.interval
        about = (
            f"{mark.series} {mark.label}: risk {number(mark.risk)} ({number(low)} to {number(high)}), "
            f"{number(mark.value)}"
        )
        rings = _ring(_RING) * mark.recommended + _ring(_RING - 2.5, dashed=True) * mark.optimum
        return (
            f'<g transform="translate({self.x.at(mark.risk):.1f} {self.y.at(mark.value):.1f})">'
            f"<title>{escape(shown(about, 200))}</title>{_shape(place, full=mark.on_frontier)}{rings}</g>"
        )

    def labels(self, marks: Sequence[Mark]) -> Iterator[str]:
        """Draw the labels of marks where there is room, the most important first."""
        dots = [(self.x.at(each.risk), self.y.at(each.value)) for each in marks]
        taken = [(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in dots]
        taken += [
            (x - _RING, y - _RING, x + _RING, y + _RING)
            for (x, y), each in zip(dots, marks, strict=True)
            if each.recommended or each.optimum
        ]
        order = sorted(range(len(marks)), key=lambda i: (-_importance(marks[i]), not marks[i].optimum, i))
        named: set[tuple[int, int]] = set()
        spots = [(round(x / 2), round(y / 2)) for x, y in dots]
        for i in order:
            mark, (x, y) = marks[i], dots[i]
            if spots[i] in named:
                # Where several are alike, one name is enough.
                continue
            named.add(spots[i])
            others = spots.count(spots[i]) - 1
            text = shown(mark.label, 26) + (f" and {others} more" if others else "")
            width = _LETTER * display_width(text)
            away = (_RING if mark.recommended or mark.optimum else _DOT) + 4
            # Beside a mark runs the line of its interval.
            places = (
                (x, y - away, "middle", x - width / 2),
                (x, y + away + 8, "middle", x - width / 2),
                (x + _DOT, y - away, "end", x + _DOT - width),
                (x - _DOT, y - away, "start", x - _DOT),
                (x + away, y + 4, "start", x + away),
                (x - away, y + 4, "end", x - away - width),
            )
            for at_x, at_y, anchor, left in places:
                box = (left, at_y - 10, left + width, at_y + 3)
                inside = box[0] >= self.x.start and box[2] <= WIDTH and box[3] <= self.y.start
                if inside and not any(_overlap(box, each) for each in taken):
                    taken.append(box)
                    weight = ' font-weight="bold"' if mark.recommended else ""
                    yield (
                        f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}" fill="{INK}"{weight}>'
                        f"{escape(text)}</text>"
                    )
                    break


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def as_png(svg: str) -> bytes:
    """Return a drawing as PNG, with two pixels for each unit."""
    import vl_convert  # noqa: PLC0415  (takes most of a second to load)

    return bytes(vl_convert.svg_to_png(svg, scale=2))
