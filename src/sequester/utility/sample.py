"""A part of the persons of a table, with what is released of them."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable

if TYPE_CHECKING:
    from sequester._typing import Counts


def sample_persons(
    released: Sequences, original: EventTable, *, most_events: int
) -> tuple[Sequences, EventTable]:
    """Take persons at random, always the same ones, until they have as many events as there may be.

    Both sides stand in the same order. Where all persons fit, nothing is copied; somebody is always taken.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> table = symbol_table(["ab", "b", "abc", "a"])
    >>> part, whole = sample_persons(table.sequences, table, most_events=4)
    >>> whole.n_events <= 4, part.to_rows() == whole.sequences.to_rows()
    (True, True)
    """
    if original.n_events <= most_events or original.n_persons < 2:
        return released, original
    order = np.random.default_rng(0).permutation(original.n_persons)
    lengths = np.diff(original.person_offsets)[order]
    n_taken = max(int(np.searchsorted(np.cumsum(lengths), most_events, side="right")), 1)
    persons = np.sort(order[:n_taken]).astype(np.int64)
    return _rows_of(released, persons), _table_of(original, persons)


def _rows_of(sequences: Sequences, persons: Counts) -> Sequences:
    offsets = sequences.person_offsets
    columns = {}
    for name, codes in sequences.columns.items():
        columns[name], offsets = kernels.distinct.gather_rows(codes, sequences.person_offsets, persons)
    owners = sequences.owners
    if owners is not None:
        owners = np.unique(owners[persons], return_inverse=True)[1].astype(np.int32)
    return Sequences(offsets, columns, sequences.codebooks, owners)


def _table_of(original: EventTable, persons: Counts) -> EventTable:
    part = _rows_of(original.sequences, persons)
    events, _ = kernels.distinct.gather_rows(
        np.arange(original.n_events, dtype=np.int64), original.person_offsets, persons
    )
    changed = {
        "frame": original.frame[events],
        "rows": original.rows[events],
        "persons": original.persons.gather(persons),
        "person_offsets": part.person_offsets,
        "times": None if original.times is None else original.times.gather(events),
        "owners": part.owners,
    }
    # Trees and labels stay those of all persons, so that both parts are read as the wholes are.
    table = object.__new__(EventTable)
    for each in fields(original):
        object.__setattr__(table, each.name, changed.get(each.name, getattr(original, each.name)))
    object.__setattr__(table, "sequences", part)
    return table
