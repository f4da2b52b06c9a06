"""Buffers that grow while a kernel runs, and a small sort: that of numpy takes a second to compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts


@inner
def ensure_capacity(values: Codes, n_used: int, n_needed: int) -> Codes:
    """Return a buffer with room for `n_needed` values that begins with the first `n_used` of `values`."""
    if n_needed <= values.size:
        return values
    grown = np.empty(max(n_needed, 2 * values.size), values.dtype)
    # Not by slices: the compiler takes seconds over the message for slices that do not fit.
    for i in range(n_used):
        grown[i] = values[i]
    return grown


@inner
def ensure_rows(table: npt.NDArray[np.int64], n_used: int, n_needed: int) -> npt.NDArray[np.int64]:
    """Return a table with room for `n_needed` rows that begins with the first `n_used` of `table`."""
    if n_needed <= table.shape[0]:
        return table
    grown = np.empty((max(n_needed, 2 * table.shape[0]), table.shape[1]), np.int64)
    for i in range(n_used):
        for j in range(table.shape[1]):
            grown[i, j] = table[i, j]
    return grown


@inner
def sort_range(values: Counts, low: int, high: int) -> None:
    """Sort ``values[low:high]`` ascending, by Shell's method."""
    gap = 1
    while 3 * gap + 1 < high - low:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(low + gap, high):
            value = values[i]
            j = i
            while j >= low + gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3
