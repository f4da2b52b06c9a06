"""Quasi-identifiers that an adversary would know from time: gaps, dates and numbers of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.ordering import first_events

if TYPE_CHECKING:
    from sequester._typing import Counts, Mask, Offsets
    from sequester.data.schema import Derivation


def count_events(offsets: Offsets) -> pl.Series:
    """Give each event the number of events of its person.

    Examples
    --------
    >>> count_events(np.array([0, 2, 3])).to_list()
    ['2', '2', '1']
    """
    lengths = np.diff(offsets)
    return pl.Series(np.repeat(lengths, lengths)).cast(pl.String)


def derive(kind: Derivation, offsets: Offsets, times: pl.Series) -> pl.Series:
    """Give the texts of one derived column; events are sorted by person and time.

    Months are 1 to 12, quarters 1 to 4, weekdays 1 (Monday) to 7. Days are calendar days, in UTC where times
    have offsets. The first event of a person has no previous one: missing.

    Examples
    --------
    >>> import datetime as dt
    >>> times = pl.Series([dt.datetime(2010, 1, 31, 23), dt.datetime(2010, 2, 1, 1), dt.datetime(2011, 5, 1)])
    >>> offsets = np.array([0, 3])
    >>> derive("quarter", offsets, times).to_list()
    ['1', '1', '2']
    >>> derive("days_since_previous", offsets, times).to_list()
    [None, '1', '454']
    >>> derive("days_since_first_in_year", offsets, times).to_list()
    ['0', '1', '0']
    """
    if kind == "event_count":
        return count_events(offsets)
    if kind in ("year", "month", "quarter", "weekday"):
        part: pl.Series = getattr(times.dt, kind)()
        return part.cast(pl.String)
    days = times.dt.date().to_physical().to_numpy().astype(np.int64)
    starts = first_events(offsets)
    if kind == "days_since_previous":
        gaps = pl.Series(np.diff(days, prepend=0))
        return gaps.set(pl.Series(starts), None).cast(pl.String)
    if kind == "days_since_first_in_year":
        years = times.dt.year().to_numpy()
        starts[1:] |= years[1:] != years[:-1]
    return pl.Series(days - _value_at_start(days, starts)).cast(pl.String)


def _value_at_start(values: Counts, starts: Mask) -> Counts:
    """Give each event the value of the event where its run started."""
    places = np.maximum.accumulate(np.where(starts, np.arange(len(values)), 0))
    return values[places]
