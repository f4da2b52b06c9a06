"""Counts of distinct owners where a person owns several rows, such as trips.

Owner ``o`` owns the rows ``owned[owned_offsets[o]:owned_offsets[o + 1]]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets


@njit
def mark_symbols(items: Codes, offsets: Offsets) -> Counts:
    """Set for each row one bit per symbol (modulo 63) that occurs in it."""
    marks = np.zeros(offsets.size - 1, np.int64)
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            marks[row] |= 1 << (items[i] % 63)
    return marks


@njit
def count_supporters(
    patterns: Codes,
    pattern_offsets: Offsets,
    first: int,
    last: int,
    items: Codes,
    offsets: Offsets,
    marks: Counts,
    owned: Codes,
    owned_offsets: Offsets,
) -> Counts:
    """Count the owners of whose rows one contains each of the patterns `first` to `last`, gaps allowed.

    `marks` is from `mark_symbols`, of the same rows.
    """
    n_owners = owned_offsets.size - 1
    together = np.zeros(n_owners, np.int64)
    for owner in range(n_owners):
        for i in range(owned_offsets[owner], owned_offsets[owner + 1]):
            together[owner] |= marks[owned[i]]
    supports = np.zeros(last - first, np.int64)
    for pattern in range(first, last):
        start, stop = pattern_offsets[pattern], pattern_offsets[pattern + 1]
        needed = 0
        for i in range(start, stop):
            needed |= 1 << (patterns[i] % 63)
        for owner in range(n_owners):
            if together[owner] & needed != needed:
                continue
            for i in range(owned_offsets[owner], owned_offsets[owner + 1]):
                row = owned[i]
                if marks[row] & needed != needed:
                    continue
                matched = start
                for place in range(offsets[row], offsets[row + 1]):
                    if matched < stop and items[place] == patterns[matched]:
                        matched += 1
                if matched == stop:
                    supports[pattern - first] += 1
                    break
    return supports
