"""Count the ways in which rows contain a pattern, by dynamic programming and never one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets

MOST = 2**62 - 1
"""Counts stop here: two of them can still be added in 64 bits."""


@inner
def count_row(items: Codes, start: int, stop: int, pattern: Codes, ways: Counts) -> int:
    """Return the number of embeddings of `pattern` in ``items[start:stop]``, or `MOST` where there are more.

    `ways` is room for ``pattern.size + 1`` numbers; afterwards ``ways[m]`` belongs to the first ``m`` items.
    """
    ways[:] = 0
    ways[0] = 1
    for i in range(start, stop):
        item = items[i]
        # Backwards, so that one place is not used twice.
        for m in range(pattern.size, 0, -1):
            if pattern[m - 1] == item:
                ways[m] = min(ways[m] + ways[m - 1], MOST)
    return int(ways[pattern.size])


@njit
def count_embeddings(items: Codes, offsets: Offsets, pattern: Codes) -> Counts:
    """Return the number of embeddings of `pattern` in each row, or `MOST` where there are more."""
    ways = np.empty(pattern.size + 1, np.int64)
    counts = np.empty(offsets.size - 1, np.int64)
    for row in range(offsets.size - 1):
        counts[row] = count_row(items, offsets[row], offsets[row + 1], pattern, ways)
    return counts


@inner
def _times(left: int, right: int) -> int:
    """Multiply, or give `MOST` where the product is more."""
    if left == 0 or right == 0:
        return 0
    return MOST if left > MOST // right else left * right


@njit
def count_through(items: Codes, start: int, stop: int, pattern: Codes) -> Counts:
    """Count the embeddings of `pattern` that use each place of ``items[start:stop]``, at most `MOST`.

    Those are the ways up to the place times the ways after it, for every item of the pattern that it holds.
    """
    size, length = pattern.size, stop - start
    # after[i, m] counts the ways in which items from place i on contain the pattern from item m on.
    after = np.zeros((length + 1, size + 1), np.int64)
    after[:, size] = 1
    for i in range(length - 1, -1, -1):
        for m in range(size):
            after[i, m] = after[i + 1, m]
            if items[start + i] == pattern[m]:
                after[i, m] = min(after[i, m] + after[i + 1, m + 1], MOST)
    before = np.zeros(size + 1, np.int64)
    before[0] = 1
    through = np.zeros(length, np.int64)
    for i in range(length):
        for m in range(size - 1, -1, -1):
            if items[start + i] == pattern[m]:
                through[i] = min(through[i] + _times(before[m], after[i + 1, m + 1]), MOST)
                before[m + 1] = min(before[m + 1] + before[m], MOST)
    return through
