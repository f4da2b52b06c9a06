"""Figures in one style, and the pages of a reproduction: each statement beside what was measured."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl
from markupsafe import Markup

from sequester.release.plot import INK, RULE, SERIES
from sequester.report.page import template

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sequester.reproduce.plan import Claim, Drawing
    from sequester.reproduce.reproduce import Reproduction

AGREEMENT = ("the paper says", "we measure", "verdict", "why")
"""Columns of the table of claims."""
COLORS = (SERIES[0], SERIES[1], "#7c5fb0", "#3d8f63", "#b8476d", "#8a8437", "#3f9aa6", "#96705a")
"""Colours of the series, in order; they differ in lightness, too."""
_XML_HEAD = re.compile(r"^\s*(<\?xml[^>]*>)?\s*(<!DOCTYPE[^>]*>)?")
_WIDTH, _HEIGHT, _ACROSS = 300, 210, 3
_FEW = 10
"""Up to so many whole numbers, each has its own tick."""

_PAGE = """{% extends "page.html" %}
{% block title %}{{ result.paper.name }}{% endblock %}
{% block header %}
<p class="kind">Reproduction</p>
<h1>{{ result.paper.title }}</h1>
<p class="lead">{{ result.paper.reference }}. {{ summary }}</p>
{% endblock %}
{% block main %}
<section>
<h2>What the paper says, and what we measure</h2>
<div class="scroll">
<table>
<thead><tr>{% for name in header %}<th scope="col">{{ name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for claim in result.claims %}
<tr><td>{{ claim.says }}</td><td>{{ claim.measured }}</td>
<td>{{ claim.verdict }}</td><td>{{ claim.why }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
</section>
<section>
<h2>How it was run</h2>
<ul>
{% for line in result.run_notes %}
<li>{{ line }}</li>
{% endfor %}
</ul>
</section>
{% for drawing, svg in drawn %}
<section>
<h2>{{ drawing.title }}</h2>
<p class="soft">{{ drawing.name }}, from {{ drawing.table }}.csv</p>
<div class="scroll wide">
{{ svg }}
</div>
</section>
{% endfor %}
{% endblock %}
"""


def agreement_table(claims: Sequence[Claim]) -> pl.DataFrame:
    """Return the claims as a table."""
    rows = [(claim.says, claim.measured, claim.verdict, claim.why) for claim in claims]
    return pl.DataFrame(rows, schema=dict.fromkeys(AGREEMENT, pl.String), orient="row")


def markdown_page(result: Reproduction) -> str:
    """Return the page as Markdown, with links to the figures."""
    return "\n".join(_markdown(result)) + "\n"


def _markdown(result: Reproduction) -> Iterator[str]:
    yield from (f"# {result.paper.title}", "", f"{result.paper.reference}. {result.summary}", "")
    yield f"| {' | '.join(AGREEMENT)} |"
    yield "|---|---|---|---|"
    for row in agreement_table(result.claims).iter_rows():
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield from ("", "## How it was run", "")
    for line in result.run_notes:
        yield f"- {line}"
    for drawing in result.drawn:
        if drawing.shown:
            yield from ("", f"## {drawing.title}", "", f"![{drawing.title}](figures/{drawing.name}.svg)")


def html_page(result: Reproduction, drawn: Sequence[tuple[Drawing, str]]) -> str:
    """Return the page as HTML that needs no network and runs no script."""
    # The renderer has escaped the labels.
    inline = [(drawing, Markup(_XML_HEAD.sub("", svg))) for drawing, svg in drawn]  # noqa: S704
    page = template("page.html").environment.from_string(_PAGE)
    return page.render(result=result, summary=result.summary, header=AGREEMENT, drawn=inline)


def select_points(drawing: Drawing, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the points of a drawing, the means of rows that coincide; empty where there are no such rows."""
    table = tables.get(drawing.table, pl.DataFrame())
    columns = [each for each in (drawing.x, drawing.y, drawing.series, drawing.panel) if each is not None]
    if not {*columns, *drawing.where} <= set(table.columns):
        return pl.DataFrame()
    for name, value in drawing.where.items():
        table = table.filter(pl.col(name).eq_missing(pl.lit(value)))
    points = table.select(list(dict.fromkeys(columns))).drop_nulls([drawing.x, drawing.y])
    places = [name for name in points.columns if name != drawing.y]
    means = points.group_by(places, maintain_order=True).agg(pl.col(drawing.y).mean())
    return means.select(points.columns)


def draw_svg(drawing: Drawing, points: pl.DataFrame) -> str:
    """Return a drawing as SVG; sizes are fixed, so that the fonts of the machine do not matter."""
    # Altair takes most of a second to load, and only figures need it.
    import altair as alt  # noqa: PLC0415
    import vl_convert  # noqa: PLC0415

    # Labels are data and never part of the specification: renderers evaluate expressions there.
    renamed = points.select(
        pl.col(drawing.x).alias("x"),
        pl.col(drawing.y).alias("y"),
        _text(drawing.series, "series"),
        _text(drawing.panel, "panel"),
    )
    kind = "Q" if points[drawing.x].dtype.is_numeric() else "O"
    labels = renamed["series"].unique(maintain_order=True).to_list()
    axis = alt.Axis(grid=False, labelAngle=0)
    if kind == "Q":
        scale = alt.Scale(type="log" if drawing.log_x else "linear", zero=False, nice=False)
        if points[drawing.x].dtype.is_integer():
            axis = alt.Axis(grid=False, labelAngle=0, tickMinStep=1, format=",d")
            numbers = points[drawing.x].unique().sort().to_list()
            if len(numbers) <= _FEW:
                # Renderers put ticks between neighbouring numbers, and round their labels.
                axis.values = numbers
        x = alt.X("x:Q", title=drawing.x_title, axis=axis, scale=scale)
    else:
        x = alt.X("x:O", title=drawing.x_title, axis=axis, sort=None)
    y = alt.Y("y:Q", title=drawing.y_title, scale=alt.Scale(type="log" if drawing.log_y else "linear"))
    one = len(labels) == 1
    legend = alt.Legend(title=drawing.series, orient="bottom", columns=_ACROSS, symbolType="stroke")
    # Series and panels keep the order of their rows.
    shown = renamed.with_columns(_rank("series"), _rank("panel"))
    base = alt.Chart(alt.InlineData(values=shown.to_dicts()))
    color = alt.Color(
        "series:N",
        sort=alt.EncodingSortField(field="series rank", op="min", order="ascending"),
        scale=alt.Scale(range=COLORS),
        legend=None if one else legend,
    )
    chart = (
        base.mark_line(point=alt.OverlayMarkDef(filled=True, size=36), strokeWidth=2)
        .encode(x=x, y=y, color=color)
        .properties(width=_WIDTH, height=_HEIGHT)
    )
    panels = renamed["panel"].n_unique()
    if panels > 1:
        chart = chart.facet(
            facet=alt.Facet(
                "panel:N",
                title=None,
                sort=alt.EncodingSortField(field="panel rank", op="min", order="ascending"),
            ),
            columns=min(panels, _ACROSS),
        ).resolve_scale(x="independent", y="independent" if drawing.own_y else "shared")
    chart = chart.configure(
        background="white",
        font="sans-serif",
        padding=8,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            domainColor=RULE,
            gridColor=RULE,
            tickColor=RULE,
            labelColor=INK,
            titleColor=INK,
            titleFontWeight="normal",
        ),
        header=alt.HeaderConfig(labelColor=INK, labelFontWeight="bold", labelFontSize=12),
        legend=alt.LegendConfig(labelColor=INK, labelLimit=260, titleColor=INK, titleFontWeight="normal"),
    )
    return str(vl_convert.vegalite_to_svg(chart.to_dict()))


def render_png(svg: str) -> bytes:
    """Return an SVG as PNG, for viewers that cannot show SVG."""
    import vl_convert  # noqa: PLC0415  (as above)

    return bytes(vl_convert.svg_to_png(svg, scale=2))


def _rank(column: str) -> pl.Expr:
    """Enumerate the values of a column in the order of their first row."""
    first = pl.int_range(pl.len()).first().over(column)
    return first.alias(f"{column} rank")


def _text(column: str | None, name: str) -> pl.Expr:
    return (pl.lit("") if column is None else pl.col(column).cast(pl.String)).alias(name)
