"""How far paths lie from rows of places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Offsets

    Reals = npt.NDArray[np.float64]


@njit
def lay_over(
    items: Codes, offsets: Offsets, path_items: Codes, path_offsets: Offsets, metres: Reals
) -> Reals:
    """Return the least sum of metres from the items of each path to items of its row, matched in order.

    Several items of a path may be matched with one of the row. ``metres[a, b]`` is the way from ``a`` to
    ``b``; an empty row is 0 away from everything.
    """
    sums = np.zeros(offsets.size - 1, np.float64)
    for row in range(offsets.size - 1):
        start, size = offsets[row], offsets[row + 1] - offsets[row]
        if size == 0:
            continue
        costs = np.zeros(size, np.float64)
        for i in range(path_offsets[row], path_offsets[row + 1]):
            least = np.inf
            for place in range(size):
                least = min(least, costs[place])
                costs[place] = least + metres[path_items[i], items[start + place]]
        sums[row] = costs.min()
    return sums
