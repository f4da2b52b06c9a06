"""Delete a pattern from rows, place by place, those in most matchings first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit
from sequester.kernels.hiding_rows import count_ways

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Weights = npt.NDArray[np.float64]


@njit
def count_matchings(items: Codes, offsets: Offsets, pattern: Codes) -> Weights:
    """Count the ways in which each row contains `pattern`; a deleted item is -1."""
    ways = np.empty(pattern.size + 1, np.float64)
    counts = np.empty(offsets.size - 1, np.float64)
    for row in range(offsets.size - 1):
        counts[row] = count_ways(items[offsets[row] : offsets[row + 1]], pattern, ways)
    return counts


@njit
def delete_matchings(items: Codes, offsets: Offsets, rows: Counts, pattern: Codes) -> None:
    """Set places of `rows` to -1 until none contains `pattern`: each time the first in most matchings."""
    size = pattern.size
    for row in rows:
        start, stop = offsets[row], offsets[row + 1]
        before = np.zeros((stop - start + 1, size + 1), np.float64)
        after = np.zeros(size + 1, np.float64)
        while True:
            before[0, 0] = 1.0
            for i in range(stop - start):
                for j in range(size + 1):
                    before[i + 1, j] = before[i, j]
                for j in range(size):
                    if items[start + i] == pattern[j]:
                        before[i + 1, j + 1] += before[i, j]
            after[:] = 0.0
            after[size] = 1.0
            most, best = 0.0, -1
            for i in range(stop - start - 1, -1, -1):
                through = 0.0
                for j in range(size):
                    if items[start + i] == pattern[j]:
                        through += before[i, j] * after[j + 1]
                for j in range(size):
                    if items[start + i] == pattern[j]:
                        after[j] += after[j + 1]
                if through > 0.0 and through >= most:
                    most, best = through, i
            if best < 0:
                break
            items[start + best] = -1
