"""Edit histories of several attributes into released ones, whose values are only known up to a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Amounts = npt.NDArray[np.float64]


@njit
def _unlike(
    leaf_row: Codes, node_row: Codes, ends: Codes, leaves: Counts, tree_offsets: Offsets, weights: Amounts
) -> float:
    """Give the expected share, by weight, of attributes in which an event differs from the released one."""
    cost = 0.0
    for a in range(weights.size):
        base = tree_offsets[a]
        leaf, node = leaf_row[a], node_row[a]
        if node <= leaf < ends[base + node]:
            cost += weights[a] * (1.0 - 1.0 / leaves[base + node])
        else:
            cost += weights[a]
    return cost


@njit
def least_edits(
    before: Codes,
    before_offsets: Offsets,
    after: Codes,
    after_offsets: Offsets,
    ends: Codes,
    leaves: Counts,
    tree_offsets: Offsets,
    weights: Amounts,
) -> Amounts:
    """Give for each person the least cost of insertions, deletions (1 each) and substitutions.

    Row ``e`` of `before` has the leaf of each attribute of an event, row ``e`` of `after` the node. The tree
    of attribute ``a`` begins at ``tree_offsets[a]`` in `ends` (node to the first one behind its subtree) and
    `leaves`. `weights` add up to 1.
    """
    n_persons = before_offsets.size - 1
    costs = np.empty(n_persons, np.float64)
    longest = 0
    for p in range(n_persons):
        longest = max(longest, after_offsets[p + 1] - after_offsets[p])
    above = np.empty(longest + 1, np.float64)
    for p in range(n_persons):
        a, b = before_offsets[p], after_offsets[p]
        n, m = before_offsets[p + 1] - a, after_offsets[p + 1] - b
        for j in range(m + 1):
            above[j] = j
        for i in range(1, n + 1):
            corner = above[0]
            above[0] = i
            for j in range(1, m + 1):
                swap = corner + _unlike(
                    before[a + i - 1], after[b + j - 1], ends, leaves, tree_offsets, weights
                )
                corner = above[j]
                above[j] = min(swap, corner + 1.0, above[j - 1] + 1.0)
        costs[p] = above[m]
    return costs
