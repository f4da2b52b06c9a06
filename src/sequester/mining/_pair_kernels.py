"""Ordered pairs of symbols that rows hold, gaps allowed, in an open table of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets


@inner
def find_slot(slots: Counts, key: int) -> int:
    """Return the slot that holds `key`, or the free one (-1) where it belongs."""
    # A multiplicative hash of 31 bits, so that no product overflows and the JIT may be off.
    slot = (((key & 0x7FFFFFFF) * 0x9E3779B1 + (key >> 31)) >> 7) & (slots.size - 1)
    while slots[slot] >= 0 and slots[slot] != key:
        slot = (slot + 1) & (slots.size - 1)
    return slot


@njit
def enter_keys(slots: Counts, keys: Counts) -> None:
    """Put different keys into an empty table that has room for them."""
    for i in range(keys.size):
        slots[find_slot(slots, keys[i])] = keys[i]


@njit
def scan_pairs(
    first: int, items: Codes, offsets: Offsets, slots: Counts, n_keys: int, is_new: Mask, work: Counts
) -> tuple[int, int]:
    """Enter the pairs of each row, from row `first` on, as ``one * n_symbols + other``.

    A symbol that a row holds twice makes a pair with itself. Returns the first row that the table may have no
    room for, and the number of keys. Where `is_new` has rows, the table stays as it is, and rows with a pair
    that it lacks are marked. `work` has a column per symbol, -1 throughout.
    """
    n_symbols = np.int64(work.shape[1])
    seen_in, firsts, lasts, met = work[0], work[1], work[2], work[3]
    for row in range(first, offsets.size - 1):
        n_met = 0
        for i in range(offsets[row], offsets[row + 1]):
            symbol = items[i]
            if seen_in[symbol] != row:
                seen_in[symbol] = row
                met[n_met] = symbol
                n_met += 1
                firsts[symbol] = i
            lasts[symbol] = i
        if is_new.size == 0 and 2 * (n_keys + n_met * n_met) > slots.size:
            return row, n_keys
        for a in range(n_met):
            for b in range(n_met):
                # The first of one before the last of the other: there is no better pair of places.
                if firsts[met[a]] < lasts[met[b]]:
                    key = met[a] * n_symbols + met[b]
                    slot = find_slot(slots, key)
                    if slots[slot] < 0:
                        if is_new.size:
                            is_new[row] = True
                        else:
                            slots[slot] = key
                            n_keys += 1
    return offsets.size - 1, n_keys
