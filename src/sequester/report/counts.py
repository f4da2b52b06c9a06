"""What the plots count: always a few numbers, whatever the size of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.codebook import in_label_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester._typing import Counts
    from sequester.data.table import EventTable

TOP = 20
"""Values that are shown one by one; the rest is counted."""
_ONE_BY_ONE = 12
_TENS = 12


@dataclass(frozen=True, slots=True)
class Tally:
    """Labels with one number per series, and how many labels are not shown."""

    labels: tuple[str, ...]
    """What is counted, in the order it is shown."""
    series: Mapping[str, tuple[float, ...]]
    """Series to its numbers, beside `labels`."""
    hidden: int = 0
    """Labels that are left out because others are more frequent."""


def per_person(lengths: Mapping[str, Counts]) -> Tally:
    """Count persons by their number of events, in one set of bins for all series.

    Examples
    --------
    >>> tally = per_person({"released": np.array([1, 1, 3, 0])})
    >>> tally.labels, tally.series["released"]
    (('1', '2', '3'), (2, 0, 1))
    """
    present = {name: each[each > 0] for name, each in lengths.items()}
    everything = np.concatenate([*present.values(), np.empty(0, np.int64)])
    if not everything.size:
        return Tally((), dict.fromkeys(lengths, ()))
    edges = _edges(int(everything.max()))
    counted = {name: np.histogram(each, [*edges, np.inf])[0] for name, each in present.items()}
    filled = np.flatnonzero(sum(counted.values()))
    first, last = int(filled[0]), int(filled[-1])
    labels = [
        str(low) if high - low == 1 else f"{low:,}–{high - 1:,}"
        for low, high in zip(edges, [*edges[1:], edges[-1] + 1], strict=True)
    ]
    return Tally(
        tuple(labels[first : last + 1]),
        {name: tuple(each[first : last + 1].tolist()) for name, each in counted.items()},
    )


def _edges(largest: int) -> list[int]:
    """Lower ends of bins: every number as long as they are few, then 1-2-5 steps."""
    if largest <= _ONE_BY_ONE:
        return [*range(1, largest + 1)]
    steps = [6] + [step * 10**ten + 1 for ten in range(1, _TENS) for step in (1, 2, 5)]
    # One step above the largest closes the last bin.
    above = next(i for i, step in enumerate(steps) if step > largest)
    return [1, 2, 3, 4, 5, *steps[: above + 1]]


def per_value(counts: Mapping[str, pl.DataFrame], top: int = TOP) -> Tally:
    """Order values by how often they occur in all series together, and keep the first.

    Examples
    --------
    >>> before = values_of(pl.Series(["a", "a", "b", "c", "c", "c"]))
    >>> after = values_of(pl.Series(["a", "a", "c"]))
    >>> tally = per_value({"before": before, "after": after}, top=2)
    >>> tally.labels, tally.series["after"], tally.hidden
    (('a', 'c'), (2, 1), 1)
    """
    together = pl.concat(counts.values()).group_by("value").agg(pl.col("count").sum())
    # Polars takes the first by text, however many there are; those few are then put in label order.
    first = together.sort("count", "value", descending=[True, False]).head(top)
    totals = dict(first.iter_rows())
    labels = sorted(in_label_order(totals), key=totals.__getitem__, reverse=True)
    return Tally(
        tuple(labels),
        {name: tuple(_look_up(each, labels)) for name, each in counts.items()},
        together.height - len(labels),
    )


def _look_up(counts: pl.DataFrame, labels: list[str]) -> list[int]:
    found = dict(counts.filter(pl.col("value").is_in(labels)).iter_rows())
    return [found.get(label, 0) for label in labels]


def values_of(column: pl.Series) -> pl.DataFrame:
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
    """Give the number of events of each person, whose events stand together."""
    return persons.rle().struct.field("len").to_numpy().astype(np.int64)
