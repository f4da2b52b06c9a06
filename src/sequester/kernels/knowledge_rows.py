"""Make the rows that a search for small crowds walks over: sets, kept items, the rarest few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Mask, Offsets


@njit
def list_sets(items: Codes, offsets: Offsets) -> tuple[Codes, Offsets]:
    """Return the different items of each row, ascending."""
    sets = np.empty(items.size, np.int32)
    new_offsets = np.zeros(offsets.size, np.int64)
    n_kept = 0
    for row in range(offsets.size - 1):
        ordered = np.sort(items[offsets[row] : offsets[row + 1]])
        for i in range(ordered.size):
            if i == 0 or ordered[i] != ordered[i - 1]:
                sets[n_kept] = ordered[i]
                n_kept += 1
        new_offsets[row + 1] = n_kept
    return sets[:n_kept].copy(), new_offsets


@njit
def keep_items(
    items: Codes, groups: Codes, offsets: Offsets, owners: Codes, code_of: Codes, n_groups: int
) -> tuple[Codes, Codes, Offsets, Codes]:
    """Give every item its new code; leave out items with code -1, and rows of fewer than `n_groups` groups.

    Owners stay with their rows. Requires ``n_groups > 0``.
    """
    kept_items = np.empty(items.size, np.int32)
    kept_groups = np.empty(items.size, np.int32)
    kept_offsets = np.zeros(offsets.size, np.int64)
    kept_owners = np.empty(owners.size, np.int32)
    n_kept, n_rows = 0, 0
    for row in range(offsets.size - 1):
        start = n_kept
        different = 0
        for i in range(offsets[row], offsets[row + 1]):
            code = code_of[items[i]]
            if code >= 0:
                if n_kept == start or kept_groups[n_kept - 1] != groups[i]:
                    different += 1
                kept_items[n_kept] = code
                kept_groups[n_kept] = groups[i]
                n_kept += 1
        if different < n_groups:
            n_kept = start
        else:
            kept_owners[n_rows] = owners[row]
            n_rows += 1
            kept_offsets[n_rows] = n_kept
    return (
        kept_items[:n_kept].copy(),
        kept_groups[:n_kept].copy(),
        kept_offsets[: n_rows + 1].copy(),
        kept_owners[:n_rows].copy(),
    )


@njit
def mark_lowest(items: Codes, offsets: Offsets, most: int) -> tuple[Mask, Mask]:
    """Mark in each row the items with the `most` lowest different codes, and the rows that have others."""
    is_lowest = np.ones(items.size, np.bool_)
    is_cut = np.zeros(offsets.size - 1, np.bool_)
    for row in range(offsets.size - 1):
        start, stop = offsets[row], offsets[row + 1]
        if stop - start > most:
            ordered = np.sort(items[start:stop])
            different = 0
            for i in range(ordered.size):
                if i == 0 or ordered[i] != ordered[i - 1]:
                    different += 1
                    if different > most:
                        is_cut[row] = True
                        for j in range(start, stop):
                            is_lowest[j] = items[j] < ordered[i]
                        break
    return is_lowest, is_cut
