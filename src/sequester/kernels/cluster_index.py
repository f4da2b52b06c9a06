"""Find the nearest cluster without looking at all of them: boxes around clusters that are alike.

The index is a binary tree over the clusters. A node's box holds, event by event, what all clusters below
have in common; from that follows how near any of them can be, at most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from sequester.kernels.alignment import Forest, best_bound
from sequester.kernels.clusters import WAITING, Clusters, Demand, pair_saving

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts
    from sequester.kernels.clusters import Amounts

LEAF = 6
"""Clusters that are looked at one by one."""


class Index(NamedTuple):
    """A forest of boxes."""

    order: Codes
    """The clusters; those of a node stand together."""
    low: Codes
    """Node to its first place in `order`."""
    high: Codes
    """Node to the place behind its last."""
    left: Codes
    """Node to the first one below it; -1 where there is none."""
    right: Codes
    """Node to the second one below it."""
    lengths: Codes
    """Node to the number of events that its clusters show."""
    sizes: Counts
    """Node to the number of persons in each of its clusters."""
    rows: Counts
    """Node to the first row of its box."""
    boxes: Codes
    """What all clusters of a node have in common, as paths, one row per event."""
    least_kill: Counts
    """Node to the smallest worth of its clusters."""
    most_kill: Counts
    """Node to the largest."""
    roots: Codes
    """The nodes above all others, one for each number of events and of persons."""


@njit(cache=True, nogil=True)
def _bound_members(
    forest: Forest, clusters: Clusters, order: Codes, low: int, high: int, boxes: Codes, first: int
) -> tuple[int, int, int]:
    """Write the box of some clusters; give the row, the column and the tree to cut them by, or -1 thrice."""
    start = clusters.offsets[order[low]]
    length = clusters.length[order[low]]
    cut_row, cut_column, cut_spread = -1, -1, -1
    for event in range(length):
        for quasi in range(forest.tops.size - 1):
            begin, stop = forest.tops[quasi], forest.tops[quasi + 1]
            depth = stop
            for i in range(low + 1, high):
                row = clusters.offsets[order[i]] + event
                column = begin
                while column < depth and clusters.paths[row, column] == clusters.paths[start + event, column]:
                    column += 1
                depth = column
            for column in range(begin, stop):
                boxes[first + event, column] = clusters.paths[start + event, column] if column < depth else -1
            if depth == stop:
                continue
            common = 0
            if depth > begin:
                common = forest.worth[clusters.paths[start + event, depth - 1]]
            spread = 0
            for i in range(low, high):
                row = clusters.offsets[order[i]] + event
                column = depth
                while column < stop and clusters.paths[row, column] >= 0:
                    column += 1
                if column > depth:
                    spread += forest.worth[clusters.paths[row, column - 1]] - common
            if spread > cut_spread:
                cut_row, cut_column, cut_spread = event, depth, spread
    return cut_row, cut_column, cut_spread


@njit(cache=True, nogil=True)
def _cut(clusters: Clusters, order: Codes, low: int, high: int, event: int, column: int) -> int:
    """Sort some clusters by a column of their paths, and give the place of a change near the middle."""
    keys = np.empty(high - low, np.int32)
    for i in range(low, high):
        keys[i - low] = clusters.paths[clusters.offsets[order[i]] + event, column]
    sorting = np.argsort(keys, kind="mergesort")
    before = order[low:high].copy()
    middle = (high - low) // 2
    cut = 0
    for i in range(high - low):
        order[low + i] = before[sorting[i]]
        if (
            i
            and keys[sorting[i]] != keys[sorting[i - 1]]
            and (cut == 0 or abs(i - middle) < abs(cut - middle))
        ):
            cut = i
    return low + cut


@njit(cache=True, nogil=True)
def build_index(forest: Forest, clusters: Clusters, waiting: Codes) -> Index:
    """Make an index of some clusters, and mark them as known to it."""
    n_clusters = waiting.size
    keys = np.empty(n_clusters, np.int64)
    for i in range(n_clusters):
        keys[i] = (np.int64(clusters.length[waiting[i]]) << 32) + clusters.size[waiting[i]]
    sorting = np.argsort(keys, kind="mergesort")
    order = waiting[sorting]
    most = max(2 * n_clusters, 1)
    low, high = np.empty(most, np.int32), np.empty(most, np.int32)
    left, right = np.full(most, -1, np.int32), np.full(most, -1, np.int32)
    lengths = np.empty(most, np.int32)
    sizes, rows = np.empty(most, np.int64), np.empty(most, np.int64)
    least_kill, most_kill = np.empty(most, np.int64), np.empty(most, np.int64)
    boxes = np.empty((max(n_clusters, 16), forest.tops[-1]), np.int32)
    roots = np.empty(n_clusters, np.int32)
    n_nodes, n_roots, n_rows = 0, 0, 0
    for i in range(n_clusters):
        clusters.is_indexed[order[i]] = True
        if i == 0 or keys[sorting[i]] != keys[sorting[i - 1]]:
            roots[n_roots] = n_nodes
            low[n_nodes] = i
            n_roots += 1
            n_nodes += 1
        high[n_nodes - 1] = i + 1
    node = 0
    while node < n_nodes:
        length = clusters.length[order[low[node]]]
        if n_rows + length > boxes.shape[0]:
            wider = np.empty((2 * boxes.shape[0] + length, boxes.shape[1]), np.int32)
            wider[:n_rows] = boxes[:n_rows]
            boxes = wider
        rows[node], lengths[node], sizes[node] = n_rows, length, clusters.size[order[low[node]]]
        event, column, spread = _bound_members(forest, clusters, order, low[node], high[node], boxes, n_rows)
        n_rows += length
        least_kill[node] = clusters.kill[order[low[node]]]
        most_kill[node] = least_kill[node]
        for i in range(low[node] + 1, high[node]):
            least_kill[node] = min(least_kill[node], clusters.kill[order[i]])
            most_kill[node] = max(most_kill[node], clusters.kill[order[i]])
        if spread >= 0 and high[node] - low[node] > LEAF:
            cut = _cut(clusters, order, low[node], high[node], event, column)
            left[node], right[node] = n_nodes, n_nodes + 1
            low[n_nodes], high[n_nodes] = low[node], cut
            low[n_nodes + 1], high[n_nodes + 1] = cut, high[node]
            n_nodes += 2
        node += 1
    return Index(
        order,
        low[:n_nodes].copy(),
        high[:n_nodes].copy(),
        left[:n_nodes].copy(),
        right[:n_nodes].copy(),
        lengths[:n_nodes].copy(),
        sizes[:n_nodes].copy(),
        rows[:n_nodes].copy(),
        boxes[:n_rows].copy(),
        least_kill[:n_nodes].copy(),
        most_kill[:n_nodes].copy(),
        roots[:n_roots].copy(),
    )


@njit(cache=True, nogil=True)
def _node_bound(
    forest: Forest, clusters: Clusters, demand: Demand, index: Index, cluster: int, node: int, row: Counts
) -> float:
    """Give a distance that no cluster of a node is nearer than."""
    saving = best_bound(
        forest,
        clusters.paths,
        clusters.offsets[cluster],
        clusters.length[cluster],
        index.boxes,
        index.rows[node],
        index.lengths[node],
        row,
    )
    saving = min(saving, index.most_kill[node])
    a, b = clusters.size[cluster], index.sizes[node]
    extra = a * (clusters.kill[cluster] - saving) + b * max(index.least_kill[node] - saving, 0)
    return float(extra / demand.logs[a + b])


@njit(cache=True, nogil=True)
def _compare(
    forest: Forest, clusters: Clusters, demand: Demand, cluster: int, other: int, row: Counts
) -> None:
    """Take another cluster as partner if it is nearer, or as near and first in order."""
    a, b = clusters.size[cluster], clusters.size[other]
    ours, theirs = clusters.kill[cluster], clusters.kill[other]
    # Nothing saves more than the lighter of the two is worth.
    extra = a * (ours - theirs) if ours > theirs else b * (theirs - ours)
    if extra / demand.logs[a + b] > clusters.best[cluster]:
        return
    saving = pair_saving(forest, clusters, demand, cluster, other, row)
    distance = (a * (ours - saving) + b * (theirs - saving)) / demand.logs[a + b]
    if distance > clusters.best[cluster]:
        return
    partner = clusters.partner[cluster]
    if distance == clusters.best[cluster] and partner >= 0:
        first, second = min(cluster, other), max(cluster, other)
        if (first, second) > (min(cluster, partner), max(cluster, partner)):
            return
    clusters.best[cluster] = distance
    clusters.partner[cluster] = other
    clusters.partner_version[cluster] = clusters.version[other]


@njit(cache=True, nogil=True)
def find_nearest(
    forest: Forest,
    clusters: Clusters,
    demand: Demand,
    index: Index,
    fresh: Codes,
    n_fresh: int,
    cluster: int,
    stack: Codes,
    bounds: Amounts,
    row: Counts,
) -> None:
    """Find the nearest waiting cluster, among those of the index and those that are newer than it."""
    clusters.best[cluster] = np.inf
    clusters.partner[cluster] = -1
    for i in range(n_fresh):
        other = fresh[i]
        if other != cluster and clusters.status[other] == WAITING:
            _compare(forest, clusters, demand, cluster, other, row)
    n_waiting = 0
    for root in index.roots:
        # Sorted with the nearest on top.
        bound = _node_bound(forest, clusters, demand, index, cluster, root, row)
        i = n_waiting
        while i > 0 and bounds[i - 1] < bound:
            bounds[i], stack[i] = bounds[i - 1], stack[i - 1]
            i -= 1
        bounds[i], stack[i] = bound, root
        n_waiting += 1
    while n_waiting > 0:
        n_waiting -= 1
        node = stack[n_waiting]
        if bounds[n_waiting] > clusters.best[cluster]:
            continue
        left, right = index.left[node], index.right[node]
        if left < 0:
            for i in range(index.low[node], index.high[node]):
                other = index.order[i]
                if other != cluster and clusters.is_indexed[other] and clusters.status[other] == WAITING:
                    _compare(forest, clusters, demand, cluster, other, row)
            continue
        near = _node_bound(forest, clusters, demand, index, cluster, left, row)
        far = _node_bound(forest, clusters, demand, index, cluster, right, row)
        if near > far:
            left, right, near, far = right, left, far, near
        if far <= clusters.best[cluster]:
            stack[n_waiting], bounds[n_waiting] = right, far
            n_waiting += 1
        if near <= clusters.best[cluster]:
            stack[n_waiting], bounds[n_waiting] = left, near
            n_waiting += 1


@njit(cache=True, nogil=True)
def find_many(
    forest: Forest, clusters: Clusters, demand: Demand, index: Index, which: Codes, longest: int
) -> None:
    """Find the nearest waiting cluster of each of some clusters; all of them are in the index."""
    fresh = np.empty(0, np.int32)
    stack = np.empty(index.low.size + 1, np.int32)
    bounds = np.empty(index.low.size + 1, np.float64)
    row = np.empty(longest + 1, np.int64)
    for cluster in which:
        find_nearest(forest, clusters, demand, index, fresh, 0, cluster, stack, bounds, row)
