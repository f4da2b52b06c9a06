"""From times or orders to numbered snapshots, and what they are called in a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.ordering import order_keys
from sequester.data.text import as_text

if TYPE_CHECKING:
    from sequester._typing import Counts, Offsets
    from sequester.data.table import EventTable

UNITS = ("day", "week", "month", "order")
"""What a snapshot may be."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Events in the order of their snapshots."""

    events: Counts
    """The events of the table, snapshot after snapshot."""
    offsets: Offsets
    """Snapshot ``i`` has the events ``offsets[i]`` to ``offsets[i + 1]`` of `events`; it may have none."""
    labels: tuple[str, ...]
    """What each snapshot is called."""

    @property
    def numbers(self) -> Counts:
        """The number of the snapshot of each event of the table."""
        numbers = np.empty(len(self.events), np.int64)
        numbers[self.events] = np.repeat(np.arange(self.n_snapshots), np.diff(self.offsets))
        return numbers

    @property
    def n_snapshots(self) -> int:
        """Number of snapshots, those without records included."""
        return len(self.labels)


def timeline(table: EventTable, unit: str) -> Timeline:
    """Sort events into days, ISO weeks or months without a gap between the first and the last, or by order.

    Examples
    --------
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"who": list("abc"), "at": ["2010-01-31", "2010-02-02", "2010-01-31"], "x": "y"})
    >>> found = timeline(EventTable(frame, Schema(person="who", time="at", sensitive={"x": "all"})), "day")
    >>> found.labels, found.offsets.tolist()
    (('2010-01-31', '2010-02-01', '2010-02-02'), [0, 2, 2, 3])
    """
    numbers, labels = _by_order(table) if unit == "order" else _by_time(table, unit)
    events = np.argsort(numbers, kind="stable").astype(np.int64)
    counts = np.bincount(numbers, minlength=len(labels))
    return Timeline(events, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), labels)


def _by_order(table: EventTable) -> tuple[Counts, tuple[str, ...]]:
    column = table.frame[table.schema.order or ""]
    _, first, numbers = np.unique(order_keys(column), return_index=True, return_inverse=True)
    return numbers.astype(np.int64), tuple(as_text(column.gather(first)).to_list())


def _by_time(table: EventTable, unit: str) -> tuple[Counts, tuple[str, ...]]:
    times = table.times
    if times is None or times.is_empty():
        return np.empty(0, np.int64), ()
    days = times.dt.date()
    if unit == "month":
        months = (days.dt.year().cast(pl.Int64) * 12 + days.dt.month().cast(pl.Int64) - 1).to_numpy()
        first, last = int(months.min()), int(months.max())
        names = tuple(f"{month // 12:04d}-{month % 12 + 1:02d}" for month in range(first, last + 1))
        return months - first, names
    numbers = days.to_physical().cast(pl.Int64).to_numpy()
    if unit == "week":
        # Day 0 is a Thursday; weeks begin on Mondays.
        numbers = (numbers + 3) // 7
    first, last = int(numbers.min()), int(numbers.max())
    every = np.arange(first, last + 1)
    dates = pl.Series(every * 7 - 3 if unit == "week" else every)
    form = "%G-W%V" if unit == "week" else "%Y-%m-%d"
    return numbers - first, tuple(dates.cast(pl.Int32).cast(pl.Date).dt.to_string(form).to_list())
