"""Tell whether one more item fits into a pattern in all rows that contain it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets


@njit
def has_insertion(
    items: Codes,
    offsets: Offsets,
    rows: Codes,
    pattern: Codes,
    stamp: Counts,
    clock: int,
    within_match: bool,
) -> tuple[bool, int]:
    """Tell whether some symbol can be put at the same place of `pattern` in each of `rows`.

    A symbol fits before item ``i`` where it stands between the first match of the items before and the last
    match of ``i`` and the items behind, so no longer pattern is counted. Within the match, the last match is
    that inside the first match of the whole pattern, and nothing is put behind its last item: what fits there
    fits whatever follows, and no pattern that begins so is closed.

    `stamp` has one number per symbol, none above `clock`; the clock that is answered goes with it to the next
    call. Requires rows that contain the pattern.

    References
    ----------
    Wang, Han (2004), BIDE, Definitions 2 to 7.
    """
    size = pattern.size
    firsts = np.empty(size + 1, np.int64)
    lasts = np.empty(size + 1, np.int64)
    slots = np.empty(0, np.int64)
    symbols = np.empty(0, np.int32)
    n_left = 0
    for number in range(rows.size):
        start, stop = offsets[rows[number]], offsets[rows[number] + 1]
        firsts[0] = start - 1
        i = start
        for m in range(size):
            while items[i] != pattern[m]:
                i += 1
            firsts[m + 1] = i
            i += 1
        lasts[size] = stop
        i = firsts[size] if within_match else stop - 1
        for m in range(size - 1, -1, -1):
            while items[i] != pattern[m]:
                i -= 1
            lasts[m] = i
            i -= 1
        n_slots = size if within_match else size + 1
        if number == 0:
            room = 0
            for slot in range(n_slots):
                room += max(lasts[slot] - firsts[slot] - 1, 0)
            slots = np.empty(room, np.int64)
            symbols = np.empty(room, np.int32)
            for slot in range(n_slots):
                clock += 1
                for j in range(firsts[slot] + 1, lasts[slot]):
                    if stamp[items[j]] != clock:
                        stamp[items[j]] = clock
                        slots[n_left] = slot
                        symbols[n_left] = items[j]
                        n_left += 1
        else:
            n_kept = 0
            slot = -1
            for each in range(n_left):
                if slots[each] != slot:
                    slot = slots[each]
                    clock += 1
                    for j in range(firsts[slot] + 1, lasts[slot]):
                        stamp[items[j]] = clock
                if stamp[symbols[each]] == clock:
                    slots[n_kept] = slot
                    symbols[n_kept] = symbols[each]
                    n_kept += 1
            n_left = n_kept
        if n_left == 0:
            return False, clock
    return True, clock
