"""Compiled loops of measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Amounts = npt.NDArray[np.float64]

    Reals = npt.NDArray[np.float64]


@njit
def match_in_order(chances: Amounts, offsets: Offsets, weights: Counts, matched: Amounts) -> float:
    """Add up the probabilities that persons have some events in order.

    Row ``r`` of `chances` says how likely an event is each of those asked for, in their order; history ``h``
    has the rows ``offsets[h]`` to ``offsets[h + 1]`` and stands for ``weights[h]`` persons. Events are
    independent. An event that fits the next one asked for always takes its place, so the number of events
    matched so far is all there is to remember: `matched` is room for it, one longer than what is asked for.
    """
    n_asked = chances.shape[1]
    expected = 0.0
    for history in range(offsets.size - 1):
        for place in range(n_asked + 1):
            matched[place] = 0.0
        matched[0] = 1.0
        for row in range(offsets[history], offsets[history + 1]):
            for place in range(n_asked - 1, -1, -1):
                moved = matched[place] * chances[row, place]
                matched[place] -= moved
                matched[place + 1] += moved
        expected += weights[history] * matched[n_asked]
    return expected


@njit
def least_edits(
    before: Codes,
    before_offsets: Offsets,
    after: Codes,
    after_offsets: Offsets,
    ends: Codes,
    shares: Amounts,
    above: Amounts,
    costs: Amounts,
) -> None:
    """Write for each person the least cost of insertions, deletions (1 each) and substitutions.

    Row ``e`` of `before` has the leaf of each attribute of an event, row ``e`` of `after` the node; the trees
    of all attributes are numbered together, `ends` leads from a node to the first one behind its subtree. A
    substitution costs 1 minus the `shares` of the nodes that lie at or above their leaf. `above` is room for
    one more than the events of the longest released history.
    """
    for p in range(before_offsets.size - 1):
        a, b = before_offsets[p], after_offsets[p]
        m = after_offsets[p + 1] - b
        for j in range(m + 1):
            above[j] = j
        for i in range(a, before_offsets[p + 1]):
            corner = above[0]
            above[0] = i - a + 1
            for j in range(m):
                cost = 1.0
                for attribute in range(before.shape[1]):
                    leaf, node = before[i, attribute], after[b + j, attribute]
                    if node <= leaf < ends[node]:
                        cost -= shares[node]
                swap = corner + cost
                corner = above[j + 1]
                above[j + 1] = min(swap, corner + 1.0, above[j] + 1.0)
        costs[p] = above[m]


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
