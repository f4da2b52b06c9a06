"""A prefix tree in flat arrays: nodes in preorder, the root is node 0, children in the order of their codes.

A parent stands before its children, and the subtree of ``v`` is the range from ``v`` to ``ends[v]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets


@njit
def grow(
    items: Codes, offsets: Offsets, weights: Counts, min_support: int
) -> tuple[Codes, Codes, Codes, Codes]:
    """Grow the nodes that rows of at least `min_support` weight pass through.

    Returns symbol, depth and parent of each node, and the deepest node on the path of each row. Row ``r`` is
    ``items[offsets[r]:offsets[r + 1]]``. Requires rows in lexicographic order, a prefix before what it
    begins, and ``min_support > 0``.
    """
    n_rows = offsets.size - 1
    before = np.zeros(n_rows + 1, np.int64)
    n_events = 0
    for row in range(n_rows):
        before[row + 1] = before[row] + weights[row]
        n_events += weights[row] * (offsets[row + 1] - offsets[row])
    # A node is one item of a row, and takes an event each of at least `min_support` persons.
    room = 1 + min(items.size, n_events // min_support)
    symbols = np.empty(room, np.int32)
    depths = np.empty(room, np.int32)
    parents = np.empty(room, np.int32)
    home = np.zeros(n_rows, np.int32)

    waiting_low = np.empty(room, np.int64)
    waiting_high = np.empty(room, np.int64)
    waiting_parent = np.empty(room, np.int32)
    waiting_low[0], waiting_high[0], waiting_parent[0] = 0, n_rows, -1
    n_waiting, n_nodes = 1, 0
    while n_waiting > 0:
        n_waiting -= 1
        low, high, parent = waiting_low[n_waiting], waiting_high[n_waiting], waiting_parent[n_waiting]
        node = n_nodes
        n_nodes += 1
        parents[node] = parent
        depth = 0 if parent < 0 else depths[parent] + 1
        depths[node] = depth
        symbols[node] = -1 if parent < 0 else items[offsets[low] + depth - 1]
        # From the last row to the first, so that the first child is on top of the stack and comes next.
        group_high = high
        while group_high > low:
            last = group_high - 1
            home[last] = node
            if offsets[last + 1] - offsets[last] == depth:
                group_high = last
                continue
            symbol = items[offsets[last] + depth]
            group_low = last
            while (
                group_low > low
                and offsets[group_low] - offsets[group_low - 1] > depth
                and items[offsets[group_low - 1] + depth] == symbol
            ):
                group_low -= 1
                home[group_low] = node
            if before[group_high] - before[group_low] >= min_support:
                waiting_low[n_waiting] = group_low
                waiting_high[n_waiting] = group_high
                waiting_parent[n_waiting] = node
                n_waiting += 1
            group_high = group_low
    parents[0] = 0
    return symbols[:n_nodes].copy(), depths[:n_nodes].copy(), parents[:n_nodes].copy(), home


@njit
def measure_subtrees(parents: Codes) -> tuple[Codes, Codes]:
    """Find where the subtree of each node ends, and how many levels it has below the node."""
    n_nodes = parents.size
    ends = np.empty(n_nodes, np.int32)
    heights = np.zeros(n_nodes, np.int32)
    for node in range(n_nodes):
        ends[node] = node + 1
    for node in range(n_nodes - 1, 0, -1):
        parent = parents[node]
        ends[parent] = max(ends[parent], ends[node])
        heights[parent] = max(heights[parent], heights[node] + 1)
    return ends, heights


@njit
def count_passing(parents: Codes, targets: Codes, weights: Counts) -> Counts:
    """Add up the weight of the rows whose path, from the root to ``targets[row]``, passes each node."""
    passing = np.zeros(parents.size, np.int64)
    for row in range(targets.size):
        passing[targets[row]] += weights[row]
    for node in range(parents.size - 1, 0, -1):
        passing[parents[node]] += passing[node]
    return passing


@njit
def nearest_kept(parents: Codes, kept: Mask) -> Codes:
    """Give for each node the deepest kept node on its path, in the numbering of the kept nodes alone.

    Requires a kept root, and a kept parent for every kept node.
    """
    nearest = np.zeros(parents.size, np.int32)
    n_kept = 1
    for node in range(1, parents.size):
        if kept[node]:
            nearest[node] = n_kept
            n_kept += 1
        else:
            nearest[node] = nearest[parents[node]]
    return nearest


@njit
def spell_paths(symbols: Codes, depths: Codes, parents: Codes) -> tuple[Codes, Offsets]:
    """Write the path of every node as a row of items; the root has none."""
    offsets = np.zeros(depths.size + 1, np.int64)
    for node in range(depths.size):
        offsets[node + 1] = offsets[node] + depths[node]
    items = np.empty(offsets[-1], np.int32)
    for node in range(1, depths.size):
        # Preorder: the parent's path is already written.
        start, parent_start = offsets[node], offsets[parents[node]]
        for i in range(depths[node] - 1):
            items[start + i] = items[parent_start + i]
        items[start + depths[node] - 1] = symbols[node]
    return items, offsets
