"""Narrow generalized cells by others of their event: what a sum or a function of columns leaves of them.

Nodes of all columns are numbered together, depth first: node ``b`` lies at or below ``a`` if
``a <= b < end[a]``. A cell becomes the lowest node above all leaves that are left of it. Where none is left
the columns do not depend on each other after all, and the cell stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Mask

    Numbers = npt.NDArray[np.float64]

SLACK = 1e-9
"""Numbers are equal if they differ by no more than this share of them, or than this."""


@inner
def _common(first: int, last: int, parent: Codes, end: Codes) -> int:
    """Return the lowest node at or above two nodes, the first of which does not come after the last."""
    node = first
    while not node <= last < end[node]:
        node = parent[node]
    return node


class Spans(NamedTuple):
    """What numbers each node stands for."""

    numbers: Numbers
    """The number of each leaf; NaN where it has none."""
    lows: Numbers
    """Node to the smallest number that it may stand for."""
    highs: Numbers
    """Node to the largest."""
    is_open: Mask
    """Nodes that stand for more than the leaves below them."""


@njit
def _size(low: float, high: float, is_whole: bool) -> float:
    """Return how much lies between two numbers, both included: whole numbers, or the length."""
    if is_whole:
        return max(float(np.floor(high + SLACK) - np.ceil(low - SLACK)) + 1.0, 0.0)
    # Single points count, too, so that a number that has a leaf is covered by it.
    return max(high - low, 0.0) + (SLACK if high >= low - SLACK else 0.0)


@inner
def _holds_others(node: int, low: float, high: float, spans: Spans, end: Codes, is_whole: bool) -> bool:
    """Return whether a node stands for numbers from `low` to `high` that are in none of its children."""
    low, high = max(low, spans.lows[node]), min(high, spans.highs[node])
    left = _size(low, high, is_whole)
    if np.isinf(left):
        return True
    child = node + 1
    while child < end[node]:
        # A child that may stand for anything need not stand for these.
        if spans.lows[child] > -np.inf or spans.highs[child] < np.inf:
            left -= _size(max(low, spans.lows[child]), min(high, spans.highs[child]), is_whole)
        child = end[child]
    return bool(left > SLACK / 2)


@inner
def _within(
    cell: int, low: float, high: float, spans: Spans, parent: Codes, end: Codes, is_whole: bool
) -> int:
    """Narrow a cell to what lies from `low` to `high`; a leaf without a number may be any."""
    first, last = -1, -1
    for node in range(cell, end[cell]):
        number = spans.numbers[node]
        slack = SLACK * max(1.0, abs(number))
        if end[node] == node + 1:
            is_left = np.isnan(number) or low - slack <= number <= high + slack
        else:
            is_left = spans.is_open[node] and _holds_others(node, low, high, spans, end, is_whole)
        if is_left:
            if first < 0:
                first = node
            last = node
    return cell if first < 0 else _common(first, last, parent, end)


@njit
def narrow_sums(cells: Codes, spans: Spans, is_whole: Mask, parent: Codes, end: Codes) -> Codes:
    """Narrow the three cells of each row, the first two of which add up to the third.

    `is_whole` marks which of the three columns have whole numbers only.
    """
    lows, highs = spans.lows, spans.highs
    narrowed = cells.copy()
    for row in range(len(cells)):
        one, other, total = cells[row]
        narrowed[row, 0] = _within(
            one, lows[total] - highs[other], highs[total] - lows[other], spans, parent, end, is_whole[0]
        )
        narrowed[row, 1] = _within(
            other, lows[total] - highs[one], highs[total] - lows[one], spans, parent, end, is_whole[1]
        )
        narrowed[row, 2] = _within(
            total, lows[one] + lows[other], highs[one] + highs[other], spans, parent, end, is_whole[2]
        )
    return narrowed


@njit
def narrow_images(cells: Codes, images: Codes, is_open: Mask, parent: Codes, end: Codes) -> Codes:
    """Narrow the two cells of each row, the second of which is the image of the first.

    ``images[leaf]`` is the leaf that belongs to a leaf of the first column, -1 where that is not known. It is
    not known either of what a node stands for beside its leaves, if it `is_open`.
    """
    narrowed = cells.copy()
    for row in range(len(cells)):
        source, other = cells[row]
        first, last = -1, -1
        lowest, highest = -1, -1
        is_known = True
        for node in range(source, end[source]):
            if end[node] != node + 1 and not is_open[node]:
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
