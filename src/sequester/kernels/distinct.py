"""Fold equal rows into one, and put the distinct rows in lexicographic order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets


@njit
def fold_rows(items: Codes, offsets: Offsets) -> tuple[Codes, Counts]:
    """Give each row the number of its first equal row, and list those first rows in order of appearance.

    Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``. Equality is exact: a hash only chooses where to look.
    """
    n_rows = offsets.size - 1
    n_slots = 16
    while n_slots < 2 * n_rows:
        n_slots *= 2
    slots = np.full(n_slots, -1, np.int64)
    group_of_row = np.empty(n_rows, np.int32)
    first_rows = np.empty(n_rows, np.int64)
    n_groups = 0
    for row in range(n_rows):
        start = offsets[row]
        size = offsets[row + 1] - start
        # 32 bits of state in 64, so that no product overflows and the JIT may be off.
        digest = np.int64(2166136261) ^ size
        for i in range(start, start + size):
            digest = ((digest ^ np.int64(items[i])) * 16777619) & 0xFFFFFFFF
            digest ^= digest >> 15
        slot = digest & (n_slots - 1)
        while True:
            group = slots[slot]
            if group < 0:
                slots[slot] = n_groups
                first_rows[n_groups] = row
                group_of_row[row] = n_groups
                n_groups += 1
                break
            other = offsets[first_rows[group]]
            equal = offsets[first_rows[group] + 1] - other == size
            if equal:
                for i in range(size):
                    if items[other + i] != items[start + i]:
                        equal = False
                        break
            if equal:
                group_of_row[row] = group
                break
            slot = (slot + 1) & (n_slots - 1)
    return group_of_row, first_rows[:n_groups].copy()


@njit
def _precedes(items: Codes, offsets: Offsets, left: int, right: int) -> bool:
    """Tell whether row `left` comes strictly before row `right`, a prefix before what it begins."""
    a, b = offsets[left], offsets[right]
    size = min(offsets[left + 1] - a, offsets[right + 1] - b)
    for i in range(size):
        if items[a + i] != items[b + i]:
            return bool(items[a + i] < items[b + i])
    return bool(offsets[left + 1] - a < offsets[right + 1] - b)


@njit
def sort_rows(items: Codes, offsets: Offsets, rows: Counts) -> Counts:
    """Sort the row numbers `rows` by what the rows hold; equal rows keep their order."""
    order = rows.copy()
    spare = np.empty_like(order)
    width = 1
    while width < order.size:
        for low in range(0, order.size, 2 * width):
            middle = min(low + width, order.size)
            high = min(low + 2 * width, order.size)
            i, j = low, middle
            for to in range(low, high):
                if i < middle and (j >= high or not _precedes(items, offsets, order[j], order[i])):
                    spare[to] = order[i]
                    i += 1
                else:
                    spare[to] = order[j]
                    j += 1
        order, spare = spare, order
        width *= 2
    return order


@njit
def gather_rows(items: Codes, offsets: Offsets, rows: Counts) -> tuple[Codes, Offsets]:
    """Copy the named rows, in the order given, into arrays of their own."""
    new_offsets = np.zeros(rows.size + 1, np.int64)
    for i in range(rows.size):
        new_offsets[i + 1] = new_offsets[i] + offsets[rows[i] + 1] - offsets[rows[i]]
    new_items = np.empty(new_offsets[-1], items.dtype)
    for i in range(rows.size):
        start = offsets[rows[i]]
        for j in range(new_offsets[i + 1] - new_offsets[i]):
            new_items[new_offsets[i] + j] = items[start + j]
    return new_items, new_offsets
