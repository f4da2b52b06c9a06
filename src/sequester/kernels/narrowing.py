"""Narrow generalized cells by others of their event: what a sum or a function of columns leaves of them.

Nodes of all columns are numbered together, depth first: node ``b`` lies at or below ``a`` if
``a <= b < end[a]``. A cell becomes the lowest node above all leaves that are left of it. Where none is left
the columns do not depend on each other after all, and the cell stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes

    Numbers = npt.NDArray[np.float64]

SLACK = 1e-9
"""Numbers are equal if they differ by no more than this share of them, or than this."""


@njit(cache=True, nogil=True)
def _common(first: int, last: int, parent: Codes, end: Codes) -> int:
    """Give the lowest node at or above two nodes, the first of which does not come after the last."""
    node = first
    while not node <= last < end[node]:
        node = parent[node]
    return node


@njit(cache=True, nogil=True)
def _within(cell: int, low: float, high: float, numbers: Numbers, parent: Codes, end: Codes) -> int:
    """Narrow a cell to the leaves from `low` to `high`; one without a number may be any."""
    first, last = -1, -1
    for node in range(cell, end[cell]):
        if end[node] == node + 1:
            number = numbers[node]
            slack = SLACK * max(1.0, abs(number))
            if np.isnan(number) or low - slack <= number <= high + slack:
                if first < 0:
                    first = node
                last = node
    return cell if first < 0 else _common(first, last, parent, end)


@njit(cache=True, nogil=True)
def span_numbers(numbers: Numbers, end: Codes) -> tuple[Numbers, Numbers]:
    """Give the smallest and the largest number of the leaves of each node; all there are if one has none."""
    lows, highs = np.empty(numbers.size), np.empty(numbers.size)
    for node in range(numbers.size):
        low, high = np.inf, -np.inf
        for below in range(node, end[node]):
            if end[below] == below + 1:
                if np.isnan(numbers[below]):
                    low, high = -np.inf, np.inf
                    break
                low, high = min(low, numbers[below]), max(high, numbers[below])
        lows[node], highs[node] = low, high
    return lows, highs


@njit(cache=True, nogil=True)
def narrow_sums(
    cells: Codes, numbers: Numbers, lows: Numbers, highs: Numbers, parent: Codes, end: Codes
) -> Codes:
    """Narrow the three cells of each row, the first two of which add up to the third."""
    narrowed = cells.copy()
    for row in range(len(cells)):
        one, other, total = cells[row]
        narrowed[row, 0] = _within(
            one, lows[total] - highs[other], highs[total] - lows[other], numbers, parent, end
        )
        narrowed[row, 1] = _within(
            other, lows[total] - highs[one], highs[total] - lows[one], numbers, parent, end
        )
        narrowed[row, 2] = _within(
            total, lows[one] + lows[other], highs[one] + highs[other], numbers, parent, end
        )
    return narrowed


@njit(cache=True, nogil=True)
def narrow_images(cells: Codes, images: Codes, parent: Codes, end: Codes) -> Codes:
    """Narrow the two cells of each row, the second of which is the image of the first.

    ``images[leaf]`` is the leaf that belongs to a leaf of the first column, -1 where that is not known.
    """
    narrowed = cells.copy()
    for row in range(len(cells)):
        source, other = cells[row]
        first, last = -1, -1
        lowest, highest = -1, -1
        is_known = True
        for node in range(source, end[source]):
            if end[node] != node + 1:
                continue
            image = images[node]
            is_known &= image >= 0
            if image < 0 or other <= image < end[other]:
                if first < 0:
                    first = node
                last = node
                if lowest < 0 or image < lowest:
                    lowest = image
                highest = max(highest, image)
        if first >= 0:
            narrowed[row, 0] = _common(first, last, parent, end)
            if is_known:
                narrowed[row, 1] = _common(lowest, highest, parent, end)
    return narrowed
