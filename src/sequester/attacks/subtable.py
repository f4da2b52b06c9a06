"""Tables that are like another: some of its persons, or other values in some columns."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.table import EventTable
from sequester.hierarchies.labels import MISSING

if TYPE_CHECKING:
    import polars as pl

    from sequester._typing import Counts


def some_persons(table: EventTable, persons: Counts) -> EventTable:
    """Give the table of some persons only, in the order given; every person has one sequence.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> some_persons(symbol_table(["ab", "c", "ba"]), np.array([2, 1])).sequences.to_rows()
    [('b', 'a'), ('c',)]
    """
    firsts, lengths = table.person_offsets[persons], np.diff(table.person_offsets)[persons]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    events = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths) + np.repeat(firsts, lengths)
    frame = table.frame[events]
    occurring = {name: set(frame[name].fill_null(MISSING).unique().to_list()) for name in table.labels}
    return _like(
        table,
        frame=frame,
        rows=table.rows[events],
        persons=table.persons.gather(persons),
        person_offsets=offsets,
        times=None if table.times is None else table.times.gather(events),
        labels={
            name: [label for label in labels if label in occurring[name]]
            for name, labels in table.labels.items()
        },
    )


def with_columns(table: EventTable, columns: dict[str, pl.Series]) -> EventTable:
    """Give the same events with other values in some columns; no label may be new.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> table = symbol_table(["ab", "c"])
    >>> with_columns(table, {table.symbol: table.frame[table.symbol].reverse()}).sequences.to_rows()
    [('c', 'b'), ('a',)]
    """
    return _like(table, frame=table.frame.with_columns(**columns))


def _like(table: EventTable, **changed: object) -> EventTable:
    """Copy a table but for what has changed."""
    other = object.__new__(EventTable)
    for each in fields(table):
        object.__setattr__(other, each.name, changed.get(each.name, getattr(table, each.name)))
    return other
