"""The closest paths of a tree where symbols may be near each other, and how far paths lie from rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Reals = npt.NDArray[np.float64]

WHOLE = 1000
"""What a pair of equal symbols weighs; near ones weigh less, others nothing."""


@njit
def closest_paths(
    items: Codes,
    offsets: Offsets,
    rows: Counts,
    symbols: Codes,
    depths: Codes,
    ends: Codes,
    heights: Codes,
    weights: Codes,
) -> Codes:
    """Find for each of `rows` the node whose path, matched with it in order, weighs most.

    Among equals the shallowest node wins, then the first in preorder; node 0, the root, where nothing weighs.
    ``weights[a, b]`` is what item ``a`` of a row and symbol ``b`` of a path weigh as a pair, at most `WHOLE`.
    Requires the preorder arrays of `kernels.trie`.
    """
    nodes = np.zeros(rows.size, np.int32)
    longest = 0
    for i in range(rows.size):
        longest = max(longest, offsets[rows[i] + 1] - offsets[rows[i]])
    sums = np.zeros((heights[0] + 1, longest + 1), np.int64)
    for i in range(rows.size):
        start, size = offsets[rows[i]], offsets[rows[i] + 1] - offsets[rows[i]]
        best, best_depth, best_node = 0, 0, 0
        node = 1
        while node < symbols.size:
            depth, symbol = depths[node], symbols[node]
            here, above = sums[depth], sums[depth - 1]
            for place in range(size):
                paired = above[place] + weights[items[start + place], symbol]
                here[place + 1] = max(above[place + 1], here[place], paired)
            weight = here[size]
            if weight > best or (weight == best and weight > 0 and depth < best_depth):
                best, best_depth, best_node = weight, depth, node
            # Each level below adds a pair at most, and a row has no more pairs than items.
            reach = min(np.int64(size) * WHOLE, weight + np.int64(heights[node]) * WHOLE)
            is_hope = reach > best or (reach == best and depth < best_depth)
            node = node + 1 if is_hope else ends[node]
        nodes[i] = best_node
    return nodes


@njit
def lay_over(
    items: Codes, offsets: Offsets, path_items: Codes, path_offsets: Offsets, metres: Reals
) -> Reals:
    """Give the least sum of metres from the items of each path to items of its row, matched in order.

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
