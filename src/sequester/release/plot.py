"""Plots of a release: what is counted, and charts of it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import reduce
from operator import xor
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sequester._repr import display_width, number, short_labels
from sequester.data.roles import RESERVED
from sequester.hierarchies.labels import in_label_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester._typing import Counts
    from sequester.data.table import EventTable

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
_PLOTTED_COLUMNS = 8
PERSON, ORDER = RESERVED[:2]
"""The columns that a release makes itself where it has persons."""


@dataclass(frozen=True, slots=True)
class Figure:
    """Labels with one number per series, as a plot with a title."""

    labels: tuple[str, ...]
    """What is counted, in the order it is shown."""
    series: Mapping[str, tuple[float, ...]]
    """Series to its numbers, beside `labels`."""
    hidden: int = 0
    """Labels that are left out because others are more frequent."""
    _: KW_ONLY
    title: str = ""
    """What is counted, in words."""
    unit: str = ""
    """Persons, events or changes."""

    def chart(self) -> Any:
        """Return the plot as a chart of Altair: one row of bars per label, the number at its end."""
        import altair as alt  # noqa: PLC0415  (takes most of a second to load, and only plots need it)

        return self._bars().configure(
            autosize=alt.AutoSizeParams(type="none"),
            padding={"left": self._margin, "right": _NUMBERS, "top": 2, "bottom": 2},
            background="transparent",
            font="sans-serif",
            view=alt.ViewConfig(stroke=None),
            aria=False,
        )

    def layers(self) -> Any:
        """Return the chart under its title, without margins and fonts, to be put beside others."""
        return self._bars().properties(title=self.title)

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        return self.chart()._repr_mimebundle_(*args, **options)

    @property
    def _margin(self) -> int:
        return round(_LETTER * max(map(display_width, short_labels(self.labels)), default=0)) + 2 * _GAP

    def _bars(self) -> Any:
        import altair as alt  # noqa: PLC0415  (as above)

        names = list(self.series)
        labels = short_labels(self.labels)
        rows: list[dict[str, Any]] = [
            {"place": place, "label": label, "series": name, "count": count, "text": _brief(count)}
            for name, counts in self.series.items()
            for place, (label, count) in enumerate(zip(labels, counts, strict=True))
        ]
        largest = max((row["count"] for row in rows), default=0) or 1
        # Labels are data and never part of the specification: the renderer turns what it finds there (an
        # order of values, say) into expressions that it runs. Its own cut of long labels is not used either;
        # it splits letters beyond the first 65,536 in two and fails on the halves. Sizes are given rather
        # than measured, so that the page does not depend on the fonts of the machine that makes it.
        base = alt.Chart(alt.InlineData(values=rows)).encode(
            y=alt.Y(
                "place:O", title=None, axis=alt.Axis(labels=False, ticks=False, domainColor=RULE, aria=False)
            )
        )
        counts = base.encode(
            x=alt.X("count:Q", title=None, axis=None, scale=alt.Scale(domain=[0, largest], nice=False)),
            yOffset=alt.YOffset("series:N", sort=names),
        )
        color = alt.Color("series:N", scale=alt.Scale(domain=names, range=SERIES[: len(names)]), legend=None)
        first = alt.datum.series == names[0]
        return alt.layer(
            counts.mark_bar(aria=False).encode(color=color),
            counts.mark_text(
                aria=False, baseline="middle", color=INK, align="left", dx=5, fontSize=11
            ).encode(text="text:N"),
            base.transform_filter(first)
            .mark_text(aria=False, baseline="middle", color=INK, align="right", fontSize=12)
            .encode(text="label:N", x=alt.value(-_GAP)),
            width=_WIDTH - self._margin - _NUMBERS,
            height=len(labels) * (_ROW if len(names) == 1 else _PAIR),
        )


def _brief(count: float) -> str:
    return f"{count / 1e6:,.1f} M" if count >= 10_000_000 else number(count)


TOP = 20
"""Values that are shown one by one; the rest is counted."""
_ONE_BY_ONE = 12
_TENS = 12


def tally_lengths(lengths: Mapping[str, Counts], *, title: str = "", unit: str = "") -> Figure:
    """Count persons by their number of events, in one set of bins for all series.

    Examples
    --------
    >>> tally = tally_lengths({"released": np.array([1, 1, 3, 0])})
    >>> tally.labels, tally.series["released"]
    (('1', '2', '3'), (2, 0, 1))
    """
    present = {name: each[each > 0] for name, each in lengths.items()}
    everything = np.concatenate([*present.values(), np.empty(0, np.int64)])
    if not everything.size:
        return Figure((), dict.fromkeys(lengths, ()), title=title, unit=unit)
    edges = _edges(int(everything.max()))
    counted = {name: np.histogram(each, [*edges, np.inf])[0] for name, each in present.items()}
    filled = np.flatnonzero(sum(counted.values()))
    first, last = int(filled[0]), int(filled[-1])
    labels = [
        str(low) if high - low == 1 else f"{low:,}–{high - 1:,}"
        for low, high in zip(edges, [*edges[1:], edges[-1] + 1], strict=True)
    ]
    return Figure(
        tuple(labels[first : last + 1]),
        {name: tuple(each[first : last + 1].tolist()) for name, each in counted.items()},
        title=title,
        unit=unit,
    )


def _edges(largest: int) -> list[int]:
    """Return the lower ends of bins: every number as long as they are few, then 1-2-5 steps."""
    if largest <= _ONE_BY_ONE:
        return [*range(1, largest + 1)]
    steps = [6] + [step * 10**ten + 1 for ten in range(1, _TENS) for step in (1, 2, 5)]
    # One step above the largest closes the last bin.
    above = next(i for i, step in enumerate(steps) if step > largest)
    return [1, 2, 3, 4, 5, *steps[: above + 1]]


def tally_values(
    counts: Mapping[str, pl.DataFrame], *, top: int = TOP, title: str = "", unit: str = ""
) -> Figure:
    """Return the most frequent values of all series together, with their counts.

    Examples
    --------
    >>> before = count_values(pl.Series(["a", "a", "b", "c", "c", "c"]))
    >>> after = count_values(pl.Series(["a", "a", "c"]))
    >>> tally = tally_values({"before": before, "after": after}, top=2)
    >>> tally.labels, tally.series["after"], tally.hidden
    (('a', 'c'), (2, 1), 1)
    """
    together = pl.concat(counts.values()).group_by("value").agg(pl.col("count").sum())
    # Polars takes the first by text, however many there are; those few are then put in label order.
    first = together.sort("count", "value", descending=[True, False]).head(top)
    totals = dict(first.iter_rows())
    labels = sorted(in_label_order(totals), key=totals.__getitem__, reverse=True)
    series = {}
    for name, each in counts.items():
        found = dict(each.filter(pl.col("value").is_in(labels)).iter_rows())
        series[name] = tuple(found.get(label, 0) for label in labels)
    return Figure(tuple(labels), series, together.height - len(labels), title=title, unit=unit)


def count_values(column: pl.Series) -> pl.DataFrame:
    """Count the values of a released column, missing ones under their own name: ``value``, ``count``."""
    return (
        column.alias("value")
        .value_counts()
        .select(pl.col("value").cast(pl.String).fill_null("(missing)"), pl.col("count").cast(pl.Int64))
    )


def original_values(table: EventTable, column: str) -> pl.DataFrame:
    """Count the values of a column of the original, which are at hand as codes."""
    labels = table.sequences.codebooks[column].labels
    counted = np.bincount(table.sequences.columns[column], minlength=len(labels))
    frame = pl.DataFrame({"value": labels, "count": counted}, schema={"value": pl.String, "count": pl.Int64})
    return frame.filter(pl.col("count") > 0)


def lengths_of(persons: pl.Series) -> Counts:
    """Return the number of events of each person, whose events stand together."""
    return persons.rle().struct.field("len").to_numpy().astype(np.int64)


@dataclass(frozen=True, slots=True)
class Released:
    """The released rows, counted once for everything a page says about them."""

    lengths: Counts | None
    """Events of each person; None where the release has no persons."""
    n_rows: int
    """Events, or records where there are no persons."""
    values: Mapping[str, pl.DataFrame]
    """Column to its values with their counts; without the person and the order."""

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Released:
        """Return the counts of the main table of a release."""
        return cls(
            lengths_of(frame[PERSON]) if PERSON in frame.columns else None,
            frame.height,
            {name: count_values(frame[name]) for name in frame.columns if name not in (PERSON, ORDER)},
        )

    @property
    def n_persons(self) -> int | None:
        """Persons, where the release has any notion of them."""
        return None if self.lengths is None else len(self.lengths)

    def n_values(self, column: str) -> int:
        """Return the number of different values of a column."""
        if self.lengths is not None and column in (PERSON, ORDER):
            return len(self.lengths) if column == PERSON else int(self.lengths.max(initial=0))
        return self.values[column].height

    @property
    def plotted(self) -> list[str]:
        """Columns worth a plot: those with a value that occurs twice; a few, for the size of the page."""
        return [name for name, each in self.values.items() if each.height < self.n_rows][:_PLOTTED_COLUMNS]


def data_figures(rows: Released, unit: str = "persons", original: EventTable | None = None) -> list[Figure]:
    """Return plots of the released data: events per person or trip, and the values of each column.

    With `original`, they show the data before and after; columns that it has not are left out.
    """
    figures = []
    if rows.lengths is not None:
        lengths = {"released": rows.lengths}
        if original is not None:
            lengths = {"before": np.diff(original.person_offsets), "after": rows.lengths}
        figures.append(tally_lengths(lengths, title=f"Events per {unit.removesuffix('s')}", unit=unit))
    for name in rows.plotted:
        values = {"released": rows.values[name]}
        if original is not None:
            if name not in original.sequences.columns:
                continue
            values = {"before": original_values(original, name), "after": rows.values[name]}
        figures.append(tally_values(values, title=f"Most frequent values of {name}", unit="events"))
    return figures


def change_figures(changes: pl.LazyFrame, n_input_persons: int, unit: str) -> list[Figure]:
    """Return plots of persons and changes by kind, where the method tells kinds apart."""
    columns = changes.collect_schema().names()
    if "what" not in columns:
        return []
    kinds = changes.select(pl.col("what").cast(pl.Categorical)).collect()["what"]
    if not len(kinds):
        return []
    counts = {"changes": count_values(kinds)}
    persons = [_persons_by_kind(changes, kinds, n_input_persons, unit)] if "person" in columns else []
    return [*persons, tally_values(counts, title="Changes by kind", unit="cells or events")]


def _persons_by_kind(changes: pl.LazyFrame, kinds: pl.Series, n_input_persons: int, unit: str) -> Figure:
    """Count the persons, or trips, affected by each kind of change, and those that are unchanged."""
    who = [name for name in ("person", "trip") if name in changes.collect_schema().names()]
    # As hashes of 64 bits: pairs of text are the largest thing that a page of a million persons needs.
    hashes = [pl.col(name).hash(seed=place) for place, name in enumerate(who)]
    hashed = changes.select(reduce(xor, hashes).alias("who")).collect()["who"]
    counts = {
        "(missing)" if what is None else str(what): hashed.filter(kinds.eq_missing(what)).n_unique()
        for what in kinds.unique()
    }
    counts["unchanged"] = n_input_persons - hashed.n_unique()
    persons = pl.DataFrame({"value": [*counts], "count": [*counts.values()]})
    title = f"{unit.capitalize()} by what happened to their data"
    return tally_values({unit: persons}, title=title, unit=unit)
