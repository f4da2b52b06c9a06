"""Curves of risk against what is known, as inline SVG: no script, no network, no fonts to measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from sequester.report.plot import INK, RULE, SERIES
from sequester.report.wording import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester.attacks.share import Share

CONTROL = "#6b7280"
"""The line of the control; the page's style sheet turns it in dark mode."""
CLAIM = "#a12a22"
"""The line that the release claims not to cross."""
_WIDTH, _HEIGHT = 272, 168
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 12, 10, 26
_STEPS = (*(step / 10**ten for ten in (4, 3, 2) for step in (10, 20, 30, 40, 60, 80)), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """What one adversary achieves who knows more and more, in three places."""

    title: str
    """What is known."""
    means: str
    """The same in more words."""
    known: tuple[int, ...]
    """Items, ascending."""
    raw: tuple[Share, ...]
    """In the original."""
    release: tuple[Share, ...]
    """In the release."""
    control: tuple[Share, ...]
    """In the control."""
    bound: tuple[float | None, ...]
    """What is claimed, where something is."""

    @property
    def top(self) -> float:
        """The largest value of all."""
        lines = (self.raw, self.release, self.control)
        return max((each.value for line in lines for each in line), default=0.0)


def is_largest(share: Share) -> bool:
    """Say whether this is the largest of what was met: nothing above it can be excluded by drawing.

    Examples
    --------
    >>> from sequester.attacks.share import Share
    >>> is_largest(Share(0.2, (0.2, 1.0))), is_largest(Share(0.2, (0.1, 0.3)))
    (True, False)
    """
    return share.value < 1 and share.interval == (share.value, 1.0)


def scale_for(curves: Sequence[Curve]) -> float:
    """Give the end of an axis that holds all curves, a round number.

    Examples
    --------
    >>> scale_for([])
    0.001
    """
    top = max((each.top for each in curves), default=0.0)
    return next((step for step in _STEPS if top <= step), 1.0)


def draw_curve(curve: Curve, *, end: float, label: str) -> Markup:
    """Draw the curves of one kind of knowledge on an axis from 0 to `end`; `label` is read out instead."""
    xs = _places(curve.known)
    opening = f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
    parts = [f'{opening}width="{_WIDTH}" height="{_HEIGHT}">']
    for share in (0.0, end / 2, end):
        y = _height(share, end)
        parts.append(
            f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="{RULE}"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" font-size="11" fill="{INK}">'
            f"{percent(share)}</text>"
        )
    parts += [
        f'<text x="{x:.1f}" y="{_HEIGHT - 8}" text-anchor="middle" font-size="11" fill="{INK}">{known}</text>'
        for x, known in zip(xs, curve.known, strict=True)
    ]
    if len(xs) > 1:
        bands = ((curve.raw, SERIES[0]), (curve.release, SERIES[1]))
        parts += [_band(xs, line, end, color) for line, color in bands if not any(map(is_largest, line))]
    claimed = [
        (x, bound) for x, bound in zip(xs, curve.bound, strict=True) if bound is not None and bound <= end
    ]
    parts.append(_line(claimed, end, CLAIM, width=1.2, dashes="2 3"))
    parts.append(_line(_points(xs, curve.control), end, CONTROL, width=1.5, dashes="5 4"))
    for line, color in ((curve.raw, SERIES[0]), (curve.release, SERIES[1])):
        parts.append(_line(_points(xs, line), end, color, width=2.2))
        parts += [
            f'<circle cx="{x:.1f}" cy="{_height(each.value, end):.1f}" r="3.2" fill="{color}"/>'
            for x, each in zip(xs, line, strict=True)
        ]
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704  (the label is escaped above, the rest are numbers)


def draw_span(raw: Share, release: Share, control: Share, bound: float | None) -> Markup:
    """Draw one risk on a line from 0 to 1: from the original to the release with its interval.

    It stands beside the same numbers in words, so that it need not be read out.
    """
    width, height, edge = 220, 26, 6
    middle = height / 2

    def at(share: float) -> float:
        return edge + (width - 2 * edge) * min(max(share, 0.0), 1.0)

    low, high = (at(each) for each in release.interval)
    parts = [
        f'<svg aria-hidden="true" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f'<line x1="{edge}" y1="{middle}" x2="{width - edge}" y2="{middle}" stroke="{RULE}"/>',
    ]
    parts += [
        f'<line x1="{at(end):.1f}" y1="{middle - 4}" x2="{at(end):.1f}" y2="{middle + 4}" stroke="{RULE}"/>'
        for end in (0.0, 0.5, 1.0)
    ]
    if bound is not None:
        parts.append(
            f'<line x1="{at(bound):.1f}" y1="2" x2="{at(bound):.1f}" y2="{height - 2}" stroke="{CLAIM}" '
            'stroke-width="1.5" stroke-dasharray="2 2"/>'
        )
    if not is_largest(release):
        parts.append(
            f'<line x1="{low:.1f}" y1="{middle}" x2="{high:.1f}" y2="{middle}" stroke="{SERIES[1]}" '
            'stroke-width="5" stroke-opacity="0.35"/>'
        )
    parts.append(
        f'<line x1="{at(control.value):.1f}" y1="{middle - 6}" x2="{at(control.value):.1f}" '
        f'y2="{middle + 6}" stroke="{CONTROL}" stroke-width="2"/>'
        f'<circle cx="{at(raw.value):.1f}" cy="{middle}" r="5" fill="{SERIES[0]}"/>'
        f'<circle cx="{at(release.value):.1f}" cy="{middle}" r="5" fill="{SERIES[1]}"/>'
    )
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704  (nothing but numbers)


def _places(known: Sequence[int]) -> list[float]:
    inner = _WIDTH - _LEFT - _RIGHT
    step = inner / max(len(known), 1)
    return [_LEFT + step * (place + 0.5) for place in range(len(known))]


def _height(share: float, end: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * min(share / end, 1.0)


def _points(xs: Sequence[float], line: Sequence[Share]) -> list[tuple[float, float]]:
    return [(x, each.value) for x, each in zip(xs, line, strict=True)]


def _line(
    points: Sequence[tuple[float, float]], end: float, color: str, *, width: float, dashes: str = ""
) -> str:
    corners = " ".join(f"{x:.1f},{_height(share, end):.1f}" for x, share in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{corners}" fill="none" stroke="{color}" stroke-width="{width}"{dashed}/>'


def _band(xs: Sequence[float], line: Sequence[Share], end: float, color: str) -> str:
    low = [(x, each.interval[0]) for x, each in zip(xs, line, strict=True)]
    high = [(x, each.interval[1]) for x, each in zip(xs, line, strict=True)]
    corners = " ".join(f"{x:.1f},{_height(share, end):.1f}" for x, share in [*low, *reversed(high)])
    return f'<polygon points="{corners}" fill="{color}" fill-opacity="0.16"/>'
