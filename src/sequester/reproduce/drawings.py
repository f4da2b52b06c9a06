"""Drawings of tables in one style: lines with points, one colour and shape per series, one plot per panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.report.plot import INK, RULE, SERIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.reproduce.plan import Drawing

COLORS = (SERIES[0], SERIES[1], "#7c5fb0", "#3d8f63", "#b8476d", "#8a8437", "#3f9aa6", "#96705a")
"""Lines of the series, in their order; apart in lightness."""
_WIDTH, _HEIGHT, _ACROSS = 300, 210, 3
_FEW = 10
"""Numbers of an axis that are all marked."""


def points_of(drawing: Drawing, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Give the points of a drawing, means of rows that fall together; none where there are no such rows."""
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


def svg_of(drawing: Drawing, points: pl.DataFrame) -> str:
    """Draw points; sizes are given rather than measured, so that fonts of the machine do not matter."""
    # Altair takes most of a second to load, and only figures need it.
    import altair as alt  # noqa: PLC0415
    import vl_convert  # noqa: PLC0415

    # Labels are data and never part of the specification: renderers run what they find there.
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
                # Renderers put marks between neighbouring numbers, and round what they write there.
                axis.values = numbers
        x = alt.X("x:Q", title=drawing.x_title, axis=axis, scale=scale)
    else:
        x = alt.X("x:O", title=drawing.x_title, axis=axis, sort=None)
    y = alt.Y("y:Q", title=drawing.y_title, scale=alt.Scale(type="log" if drawing.log_y else "linear"))
    one = len(labels) == 1
    legend = alt.Legend(title=drawing.series, orient="bottom", columns=_ACROSS, symbolType="stroke")
    # Series and panels come in the order of their rows.
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


def png_of(svg: str) -> bytes:
    """Draw the same for those who cannot show SVG."""
    import vl_convert  # noqa: PLC0415  (as above)

    return bytes(vl_convert.svg_to_png(svg, scale=2))


def _rank(column: str) -> pl.Expr:
    """Number the values of a column as they come first."""
    first = pl.int_range(pl.len()).first().over(column)
    return first.alias(f"{column} rank")


def _text(column: str | None, name: str) -> pl.Expr:
    return (pl.lit("") if column is None else pl.col(column).cast(pl.String)).alias(name)
