"""How often a pattern is spelled by index tuples that fit into a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit
from sequester.kernels.rows import frozen

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets


def count_spelled(
    before: Codes,
    after: Codes,
    offsets: Offsets,
    pattern: Codes,
    image: Codes,
    window: int,
    is_asked: Mask,
) -> Counts:
    """Count, per row, the index tuples that spell `pattern` in `before` and `image` in `after`.

    A tuple ``i1 < ... < im`` counts where ``im - i1 <= window``. Rows that are not asked for count 0.
    Requires ``pattern.size == image.size > 0``, rows of the same places in both, and fewer than 2^63 tuples.
    """
    counts, ways = np.zeros(len(offsets) - 1, np.int64), np.empty(len(pattern), np.int64)
    codes = [frozen(each) for each in (before, after, offsets, pattern, image)]
    _count_spelled(*codes, window, frozen(is_asked), ways, counts)
    return counts


@njit
def _count_spelled(
    before: Codes,
    after: Codes,
    offsets: Offsets,
    pattern: Codes,
    image: Codes,
    window: int,
    is_asked: Mask,
    ways: Counts,
    counts: Counts,
) -> None:
    """Count in `counts`; `ways` are those to spell the first k + 1 symbols from the current start on."""
    length = pattern.size
    for row in range(offsets.size - 1):
        if not is_asked[row]:
            continue
        stop = offsets[row + 1]
        total = 0
        for start in range(offsets[row], stop):
            if before[start] != pattern[0] or after[start] != image[0]:
                continue
            ways[0] = 1
            for k in range(1, length):
                ways[k] = 0
            for place in range(start + 1, min(start + window + 1, stop)):
                # Backwards, so that a place serves each tuple once.
                for k in range(length - 1, 0, -1):
                    if before[place] == pattern[k] and after[place] == image[k]:
                        ways[k] += ways[k - 1]
            total += ways[length - 1]
        counts[row] = total
