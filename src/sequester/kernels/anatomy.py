"""Groups of records that each have different values, as Anatomy makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit
from sequester.kernels.person_sets import draw

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    State = npt.NDArray[np.uint64]


@njit
def shuffled(n_rows: int, state: State) -> Counts:
    """Give the numbers below `n_rows` in a random order."""
    order = np.arange(n_rows)
    for last in range(n_rows - 1, 0, -1):
        other = draw(state, last + 1)
        order[last], order[other] = order[other], order[last]
    return order


@njit
def shuffled_within(places: Counts, n_places: int, state: State) -> Counts:
    """Order rows by their place, a number below `n_places`, and in a random order within it."""
    starts = np.zeros(n_places + 1, np.int64)
    for place in places:
        starts[place + 1] += 1
    for place in range(n_places):
        starts[place + 1] += starts[place]
    # Row `r` comes as number `chance[r]` of all.
    chance = shuffled(places.size, state)
    rows = np.empty(places.size, np.int64)
    for row in range(places.size):
        rows[chance[row]] = row
    order = np.empty(places.size, np.int64)
    for drawn in rows:
        order[starts[places[drawn]]] = drawn
        starts[places[drawn]] += 1
    return order


@njit
def largest_buckets(counts: Counts, wanted: int, chosen: Counts, state: State) -> bool:
    """Choose the `wanted` values with most records, equals by chance; false where fewer have any."""
    taken = np.zeros(counts.size, np.bool_)
    for place in range(wanted):
        best, n_equal = -1, 0
        for value in range(counts.size):
            if taken[value] or counts[value] == 0:
                continue
            if best < 0 or counts[value] > counts[best]:
                best, n_equal = value, 1
            elif counts[value] == counts[best]:
                n_equal += 1
                if draw(state, n_equal) == 0:
                    best = value
        if best < 0:
            return False
        taken[best] = True
        chosen[place] = best
    return True


@njit
def form_groups(values: Codes, offsets: Offsets, n_values: int, size: int, state: State) -> Counts:
    """Number groups of records from 1, snapshot after snapshot: `size` records of different values each.

    What is left of a snapshot joins a random group that has not its value. Snapshot ``i`` has the records
    ``offsets[i]`` to ``offsets[i + 1]``. Requires that every snapshot is eligible for l = `size`.
    """
    groups = np.zeros(values.size, np.int64)
    chosen = np.empty(size, np.int64)
    last_group = 0
    for snapshot in range(offsets.size - 1):
        start, n_rows = offsets[snapshot], offsets[snapshot + 1] - offsets[snapshot]
        first_group = last_group
        heads = np.full(n_values, -1, np.int64)
        links = np.empty(n_rows, np.int64)
        counts = np.zeros(n_values, np.int64)
        for row in shuffled(n_rows, state):
            value = values[start + row]
            links[row] = heads[value]
            heads[value] = row
            counts[value] += 1
        while largest_buckets(counts, size, chosen, state):
            last_group += 1
            for value in chosen:
                groups[start + heads[value]] = last_group
                heads[value] = links[heads[value]]
                counts[value] -= 1
        n_groups = last_group - first_group
        for value in range(n_values):
            while heads[value] >= 0:
                # Eligibility leaves at most one record of a value, and a group without it.
                has = np.zeros(n_groups, np.bool_)
                for row in range(n_rows):
                    if values[start + row] == value and groups[start + row] > 0:
                        has[groups[start + row] - first_group - 1] = True
                skip = draw(state, n_groups - has.sum())
                for group in range(n_groups):
                    if has[group]:
                        continue
                    if skip == 0:
                        groups[start + heads[value]] = first_group + group + 1
                        break
                    skip -= 1
                heads[value] = links[heads[value]]
    return groups
