"""Bar plots as inline SVG: no browser, no network, no script."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from sequester.report.wording import columns_of, number, short_labels

if TYPE_CHECKING:
    from sequester.report.counts import Tally

INK = "#20262e"
"""Letters; the page's style sheet finds all colours by their value and turns them in dark mode."""
RULE = "#d5dbe1"
"""The line at zero."""
SERIES = ("#2f6f9f", "#d98324")
"""Bars of the first and second series; apart in lightness, so they survive print and colour blindness."""

_WIDTH = 436
_LETTER = 7.5
_GAP = 8
_NUMBERS = 62
_ROW = 22
_PAIR = 36
_HEAD = re.compile(r'<svg [^>]*?width="(\d+)" height="(\d+)"[^>]*>')


def bars(tally: Tally, *, title: str) -> Markup:
    """Draw one row of bars per label, the number at its end; `title` is what a screen reader says."""
    svg = _render(tally)
    head = _HEAD.match(svg)
    if head is None:
        msg = f"the plot {title!r} does not start as expected"
        raise ValueError(msg)
    width, height = head.groups()
    opening = (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">'
    )
    # Labels come escaped from the renderer; the tests hold it to that.
    return Markup(opening + svg[head.end() :])  # noqa: S704


def meter(share: float) -> Markup:
    """Draw a share as a filled line; it stands beside the number in words, and need not be read out."""
    width, height = 120, 10
    filled = width * min(max(share, 0.0), 1.0)
    return Markup(  # noqa: S704  (nothing but numbers)
        f'<svg aria-hidden="true" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<rect width="{width}" height="{height}" rx="3" fill="{RULE}"/>'
        f'<rect width="{filled:.1f}" height="{height}" rx="3" fill="{SERIES[0]}"/></svg>'
    )


def _render(tally: Tally) -> str:
    # Altair takes most of a second to load, and only pages need it.
    import altair as alt  # noqa: PLC0415
    import vl_convert  # noqa: PLC0415

    names = list(tally.series)
    labels = short_labels(tally.labels)
    margin = round(_LETTER * max(map(columns_of, labels), default=0)) + 2 * _GAP
    rows = [
        {"place": place, "label": label, "series": name, "count": count, "text": _brief(count)}
        for name, counts in tally.series.items()
        for place, (label, count) in enumerate(zip(labels, counts, strict=True))
    ]
    # Labels are data and never part of the specification: the renderer turns what it finds there (an order of
    # values, say) into expressions that it runs. Its own cut of long labels is not used either; it splits
    # letters beyond the first 65,536 in two and fails on the halves. Sizes are given rather than measured, so
    # that the page does not depend on the fonts of the machine that makes it.
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("place:O", title=None, axis=alt.Axis(labels=False, ticks=False, domainColor=RULE, aria=False))
    )
    counts = base.encode(
        x=alt.X("count:Q", title=None, axis=None, scale=alt.Scale(domain=[0, _largest(tally)], nice=False)),
        yOffset=alt.YOffset("series:N", sort=names),
    )
    color = alt.Color("series:N", scale=alt.Scale(domain=names, range=SERIES[: len(names)]), legend=None)
    first = alt.datum.series == names[0]
    chart = alt.layer(
        counts.mark_bar(aria=False).encode(color=color),
        counts.mark_text(aria=False, baseline="middle", color=INK, align="left", dx=5, fontSize=11).encode(
            text="text:N"
        ),
        base.transform_filter(first)
        .mark_text(aria=False, baseline="middle", color=INK, align="right", fontSize=12)
        .encode(text="label:N", x=alt.value(-_GAP)),
        width=_WIDTH - margin - _NUMBERS,
        height=len(labels) * (_ROW if len(names) == 1 else _PAIR),
    ).configure(
        autosize=alt.AutoSizeParams(type="none"),
        padding={"left": margin, "right": _NUMBERS, "top": 2, "bottom": 2},
        background="transparent",
        font="sans-serif",
        view=alt.ViewConfig(stroke=None),
        aria=False,
    )
    return str(vl_convert.vegalite_to_svg(chart.to_dict()))


def _brief(count: float) -> str:
    return f"{count / 1e6:,.1f} M" if count >= 10_000_000 else number(count)


def _largest(tally: Tally) -> float:
    return max((count for counts in tally.series.values() for count in counts), default=0) or 1
