"""How many index tuples of a window may have been a pattern, by what is released of each place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets


@njit
def count_possible(
    before: Codes,
    after: Codes,
    offsets: Offsets,
    pattern: Codes,
    is_possible: Mask,
    window: int,
    spelled: bool,
    is_asked: Mask,
) -> Counts:
    """Count, per row, the index tuples whose released codes may stand for the pattern.

    Code ``c`` may stand for ``pattern[k]`` where ``is_possible[k, c]``. A tuple ``i1 < ... < im`` counts if
    ``im - i1 <= window``; with `spelled` only those that spell the pattern in `before`. Rows that are not
    asked for count 0. Requires ``pattern.size > 0``, rows of the same places in both, and fewer than 2^63
    tuples.
    """
    length = pattern.size
    counts = np.zeros(offsets.size - 1, np.int64)
    ways = np.zeros(length, np.int64)
    for row in range(offsets.size - 1):
        if not is_asked[row]:
            continue
        stop = offsets[row + 1]
        total = 0
        for start in range(offsets[row], stop):
            if not is_possible[0, after[start]] or (spelled and before[start] != pattern[0]):
                continue
            ways[:] = 0
            ways[0] = 1
            for place in range(start + 1, min(start + window + 1, stop)):
                # Backwards, so that a place serves each tuple once.
                for k in range(length - 1, 0, -1):
                    if is_possible[k, after[place]] and (not spelled or before[place] == pattern[k]):
                        ways[k] += ways[k - 1]
            total += ways[length - 1]
        counts[row] = total
    return counts
