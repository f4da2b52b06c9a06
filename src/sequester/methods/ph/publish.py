"""From changed sequences to the outcome of a method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.methods.limits import tie_limits
from sequester.ragged import gather_rows
from sequester.release.outcome import Outcome
from sequester.release.release import ORDER, PERSON

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.methods.ph.sanitize import Sanitized

KINDS = ("permuted", "deleted")
"""Another item of the same person stands in the place; the place is gone."""
PERMUTED, DELETED = range(2)


def publish(
    table: EventTable, sanitized: Sanitized, *, limits: tuple[str, ...], warnings: tuple[str, ...]
) -> Outcome:
    """Put the changed sequences in the place of those they were made of; a deletion leaves no mark."""
    source = table.sequences
    codes = source.columns[source.symbol]
    is_left = sanitized.items >= 0
    lengths = np.diff(np.concatenate([[0], np.cumsum(is_left)])[sanitized.offsets])
    offsets = np.concatenate([source.person_offsets, source.person_offsets[-1] + np.cumsum(lengths)])
    rows = np.arange(source.n_persons)
    rows[sanitized.persons] = source.n_persons + np.arange(len(sanitized.persons))
    released, released_offsets = gather_rows(
        np.concatenate([codes, sanitized.items[is_left]]), offsets.astype(np.int64), rows
    )
    changes = list_changes(table, sanitized)
    return Outcome(
        sequences=Sequences(released_offsets, {source.symbol: released}, source.codebooks),
        schema=Schema(person=PERSON, order=ORDER, symbol=source.symbol),
        changes=changes,
        permuted=True,
        limits=(*limits, *tie_limits(table)),
        warnings=warnings,
    )


def list_changes(table: EventTable, sanitized: Sanitized) -> pl.DataFrame:
    """List every place with another item than before, or none, by input row.

    Put ``to`` in the place of each row's symbol, drop the row where there is none, and the input becomes the
    release.
    """
    source = table.sequences
    book = pl.Series([*source.codebooks[source.symbol].labels, None], dtype=pl.String)
    lengths = np.diff(sanitized.offsets)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    events = (
        source.person_offsets[sanitized.persons][owner]
        + np.arange(len(owner))
        - np.repeat(sanitized.offsets[:-1], lengths)
    )
    before = source.columns[source.symbol][events]
    changed = np.flatnonzero(before != sanitized.items)
    changed = changed[np.argsort(table.rows[events[changed]])]
    what = np.where(sanitized.items[changed] < 0, DELETED, PERMUTED)
    return pl.DataFrame(
        {
            "row": table.rows[events[changed]],
            "person": table.persons.gather(sanitized.persons[owner[changed]]),
            "what": pl.Series(KINDS, dtype=pl.Enum(KINDS)).gather(what),
            "from": book.gather(before[changed]),
            # A code of -1 takes the last entry, which is no label.
            "to": book.gather(sanitized.items[changed] % len(book)),
        }
    )
