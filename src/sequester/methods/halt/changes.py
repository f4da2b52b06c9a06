"""Which cells of whom a release does not show as they were, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.methods.halt.constraints import BASE_RATE, CONSTRAINTS, FINER

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.data.table import EventTable
    from sequester.methods.halt.solution import Column, Solution

KINDS = ("generalized", "suppressed", "dropped")
"""A coarser value is released; a star is; nothing of the person is."""


def list_changes(table: EventTable, solution: Solution) -> pl.DataFrame:
    """List every cell of a quasi-identifier that is not released as it was, by input row.

    The columns:

    - ``row``: the input row of the event;
    - ``person``, as in the input;
    - ``column``: the quasi-identifier;
    - ``what`` happened: ``generalized``, ``suppressed`` or ``dropped`` (the whole person is);
    - ``level``: the level of the hierarchy that was chosen for the column, 0 being the values as they were;
    - ``from``: the value;
    - ``to``: what is released instead; null for a dropped person;
    - ``persons``: how many persons the suppression of this value touched; null where it was not suppressed;
    - ``because``: the channel that forced the suppression, and the persons whom it fits;
    - ``constraint``: what of the promise that broke.
    """
    sequences = table.sequences
    owners = np.repeat(np.arange(table.n_persons), np.diff(table.person_offsets))
    is_kept = solution.is_kept[owners]
    parts = []
    for name, column in solution.columns.items():
        labels = sequences.codebooks[name].labels
        codes = sequences.columns[name]
        for kept in (True, False):
            book = _book(name, labels, column, kept=kept)
            is_changed = (book["to"] != book["from"]).fill_null(value=True).to_numpy()
            events = (
                np.flatnonzero((is_kept == kept) & is_changed[codes]) if labels else np.empty(0, np.int64)
            )
            parts.append(_cells(table, owners, events, book[codes[events]]))
    return pl.concat(parts).sort("row", maintain_order=True)


def _book(name: str, labels: tuple[str, ...], column: Column, *, kept: bool) -> pl.DataFrame:
    """Say for each value of a column what becomes of it."""
    what = [
        "dropped" if not kept else "generalized" if reason is None else "suppressed"
        for reason in column.because
    ]
    return pl.DataFrame(
        {
            "column": [name] * len(labels),
            "what": what,
            "level": [column.level] * len(labels),
            "from": labels,
            "to": column.released if kept else [None] * len(labels),
            "persons": column.persons if kept else [None] * len(labels),
            "because": column.because if kept else [None] * len(labels),
            "constraint": [each or FINER for each in column.constraints]
            if kept
            else [BASE_RATE] * len(labels),
        },
        schema={
            "column": pl.String,
            "what": pl.Enum(KINDS),
            "level": pl.Int64,
            "from": pl.String,
            "to": pl.String,
            "persons": pl.Int64,
            "because": pl.String,
            "constraint": pl.Enum(CONSTRAINTS),
        },
    )


def _cells(table: EventTable, owners: Counts, events: Counts, cells: pl.DataFrame) -> pl.DataFrame:
    return cells.with_columns(
        row=pl.Series(table.rows[events]), person=table.persons.gather(owners[events])
    ).select("row", "person", *cells.columns)
