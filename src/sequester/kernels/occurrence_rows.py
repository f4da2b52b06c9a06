"""Rows of events that many persons share, with the protected values among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets

WITH_VALUE = 1 << 32
"""A count has persons below this bit, and those with any protected value above."""


class Rows(NamedTuple):
    """Different rows of events, how many persons have each, and how many of them a protected value."""

    events: Codes
    """The kinds of the events of all rows, one after the other."""
    offsets: Offsets
    """Row ``r`` is ``events[offsets[r]:offsets[r + 1]]``."""
    weights: Counts
    """Persons, and those of them with any protected value, as in a count."""
    values: Codes
    """Protected values of all rows, one after the other, each once."""
    counts: Counts
    """Persons of the row who have the value."""
    value_offsets: Offsets
    """Row ``r`` has ``values[value_offsets[r]:value_offsets[r + 1]]``."""


@njit
def leave_out(kinds: Codes, offsets: Offsets, kind_of: Codes) -> tuple[Codes, Offsets]:
    """Give every event its new kind, and leave out those whose new kind is -1."""
    kept = np.empty(kinds.size, np.int32)
    new_offsets = np.zeros(offsets.size, np.int64)
    n_kept = 0
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            kind = kind_of[kinds[i]]
            if kind >= 0:
                kept[n_kept] = kind
                n_kept += 1
        new_offsets[row + 1] = n_kept
    return kept[:n_kept].copy(), new_offsets


@njit
def merge_rows(rows: Rows, group_of_row: Codes, n_groups: int) -> tuple[Counts, Codes, Counts, Offsets]:
    """Add up persons and protected values of the rows of each group: weights, values, counts, offsets."""
    n_rows = group_of_row.size
    weights = np.zeros(n_groups, np.int64)
    starts = np.zeros(n_groups + 1, np.int64)
    for row in range(n_rows):
        weights[group_of_row[row]] += rows.weights[row]
        starts[group_of_row[row] + 1] += 1
    for group in range(n_groups):
        starts[group + 1] += starts[group]
    members = np.empty(n_rows, np.int64)
    filled = starts[:-1].copy()
    for row in range(n_rows):
        members[filled[group_of_row[row]]] = row
        filled[group_of_row[row]] += 1
    values = np.empty(rows.values.size, np.int32)
    counts = np.empty(rows.values.size, np.int64)
    offsets = np.zeros(n_groups + 1, np.int64)
    largest = -1
    for i in range(rows.values.size):
        largest = max(largest, rows.values[i])
    place_of = np.full(largest + 1, -1, np.int64)
    n_kept = 0
    for group in range(n_groups):
        first = n_kept
        for member in range(starts[group], starts[group + 1]):
            row = members[member]
            for i in range(rows.value_offsets[row], rows.value_offsets[row + 1]):
                value = rows.values[i]
                # A place of an earlier group is below `first`.
                if place_of[value] < first:
                    place_of[value] = n_kept
                    values[n_kept] = value
                    counts[n_kept] = 0
                    n_kept += 1
                counts[place_of[value]] += rows.counts[i]
        offsets[group + 1] = n_kept
    return weights, values[:n_kept].copy(), counts[:n_kept].copy(), offsets
