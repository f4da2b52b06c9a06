"""List the ordered pairs of symbols that rows hold, gaps allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets


@njit
def _enter(slots: Counts, key: int) -> bool:
    """Put `key` into an open table that has room, unless it is there; tell whether it was new."""
    mask = slots.size - 1
    # A multiplicative hash of 31 bits, so that no product overflows and the JIT may be off.
    slot = (((key & 0x7FFFFFFF) * 0x9E3779B1 + (key >> 31)) >> 7) & mask
    while slots[slot] >= 0:
        if slots[slot] == key:
            return False
        slot = (slot + 1) & mask
    slots[slot] = key
    return True


@njit
def list_pairs(items: Codes, offsets: Offsets, n_symbols: int) -> Counts:
    """List every pair that some row holds in this order, as ``first * n_symbols + second``, ascending.

    Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``. A symbol that a row holds twice makes a pair with
    itself. Requires codes below `n_symbols`.
    """
    slots = np.full(64, -1, np.int64)
    n_keys = 0
    firsts = np.empty(n_symbols, np.int64)
    lasts = np.empty(n_symbols, np.int64)
    seen_in = np.full(n_symbols, -1, np.int64)
    met = np.empty(n_symbols, np.int32)
    for row in range(offsets.size - 1):
        n_met = 0
        for i in range(offsets[row], offsets[row + 1]):
            symbol = items[i]
            if seen_in[symbol] != row:
                seen_in[symbol] = row
                met[n_met] = symbol
                n_met += 1
                firsts[symbol] = i
            lasts[symbol] = i
        for a in range(n_met):
            for b in range(n_met):
                # The first of one before the last of the other: there is no better pair of places.
                if firsts[met[a]] < lasts[met[b]]:
                    n_keys += _enter(slots, met[a] * np.int64(n_symbols) + met[b])
                    if 2 * n_keys > slots.size:
                        wider = np.full(2 * slots.size, -1, np.int64)
                        for slot in range(slots.size):
                            if slots[slot] >= 0:
                                _enter(wider, slots[slot])
                        slots = wider
    keys = slots[slots >= 0]
    keys.sort()
    return keys
