"""Some persons of a table, drawn at random, where everybody would take too long."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from sequester.hierarchies.labels import MISSING
from sequester.methods.hierarchy_ladders import with_fields

if TYPE_CHECKING:
    from sequester.data.table import EventTable


def some_persons(table: EventTable, *, persons: int, events: int, seed: str) -> EventTable:
    """Take at most so many persons with at most so many events; the table itself where it is not larger.

    Examples
    --------
    >>> from sequester.testing.tables import symbol_table
    >>> part = some_persons(symbol_table(["ab", "ab", "c"]), persons=2, events=9, seed="x")
    >>> part.n_persons
    2
    """
    if table.n_owners <= persons and table.n_events <= events:
        return table
    owners = np.arange(table.n_persons) if table.owners is None else table.owners
    lengths = np.diff(table.person_offsets)
    per_owner = np.bincount(owners, weights=lengths, minlength=table.n_owners)
    draws = np.random.default_rng(list(hashlib.sha256(seed.encode()).digest()))
    order = draws.permutation(table.n_owners)[:persons]
    order = order[: max(int(np.searchsorted(np.cumsum(per_owner[order]), events, side="right")), 1)]
    is_taken = np.isin(owners, order)
    taken = np.flatnonzero(np.repeat(is_taken, lengths))
    frame = table.frame[taken]
    labels = {}
    for name, all_labels in table.labels.items():
        occurring = set(frame[name].fill_null(MISSING).unique().to_list())
        labels[name] = [label for label in all_labels if label in occurring]
    renumbered = None if table.owners is None else np.unique(owners[is_taken], return_inverse=True)[1]
    return with_fields(
        table,
        frame=frame,
        rows=table.rows[taken],
        persons=table.persons.filter(is_taken),
        person_offsets=np.concatenate([[0], np.cumsum(lengths[is_taken])]).astype(np.int64),
        times=None if table.times is None else table.times.gather(taken),
        labels=labels,
        owners=None if renumbered is None else renumbered.astype(np.int32),
    )
