"""Plots as inline SVG."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from sequester.release.plot import draw_bars

if TYPE_CHECKING:
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
