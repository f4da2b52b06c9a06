"""Find the nearest cluster without looking at all of them: boxes around clusters that are alike.

The index is a binary tree over the clusters. A node's box holds, event by event, what all clusters below
have in common; from that follows how near any of them can be, at most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.alignment import Forest, best_bound, best_saving, common_ancestor
from sequester.kernels.clusters import WAITING, Clusters, Demand, Scratch, new_scratch, pair_saving, turn_to
from sequester.kernels.compiler import njit

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
    """What all clusters of a node have in common, one row per event: node (-1 if no leaf) and group."""
    least_kill: Counts
    """Node to the smallest worth of its clusters."""
    most_kill: Counts
    """Node to the largest."""
    roots: Codes
    """The nodes above all others, one for each number of events and of persons."""


@njit
def _bound_members(
    forest: Forest, clusters: Clusters, order: Codes, low: int, high: int, boxes: Codes, first: int
) -> tuple[int, int, int]:
    """Write the box of some clusters; give the event, the quasi-identifier and the node to cut them by.

    The node is -1 where they are all alike.
    """
    offsets, cells, worth = clusters.offsets, clusters.cells, forest.worth
    parent, end, group = forest.parent, forest.end, forest.group
    start = offsets[order[low]]
    cut_event, cut_quasi, cut_node, cut_spread = 0, 0, -1, -1
    for event in range(clusters.length[order[low]]):
        for quasi in range(forest.tops.size - 1):
            common = cells[start + event, 2 * quasi]
            total, is_alike = 0, True
            for i in range(low, high):
                node = cells[offsets[order[i]] + event, 2 * quasi]
                total += worth[node]
                if node != common:
                    is_alike = False
                    common = common_ancestor(parent, end, common, node)
            boxes[first + event, 2 * quasi] = common if common + 1 == end[common] else -1
            boxes[first + event, 2 * quasi + 1] = group[common]
            spread = total - (high - low) * worth[common]
            if not is_alike and spread > cut_spread:
                cut_event, cut_quasi, cut_node, cut_spread = event, quasi, common, spread
    return cut_event, cut_quasi, cut_node


@njit
def _cut(
    forest: Forest, clusters: Clusters, order: Codes, low: int, high: int, event: int, quasi: int, node: int
) -> int:
    """Sort some clusters by what lies directly below a node; give the place of a change near the middle."""
    offsets, cells, parent = clusters.offsets, clusters.cells, forest.parent
    keys = np.empty(high - low, np.int32)
    for i in range(low, high):
        below = cells[offsets[order[i]] + event, 2 * quasi]
        while below != node and parent[below] != node:
            below = parent[below]
        keys[i - low] = below
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


@njit
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
    boxes = np.empty((max(n_clusters, 16), clusters.cells.shape[1]), np.int32)
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
        event, quasi, above = _bound_members(forest, clusters, order, low[node], high[node], boxes, n_rows)
        n_rows += length
        least_kill[node] = clusters.kill[order[low[node]]]
        most_kill[node] = least_kill[node]
        for i in range(low[node] + 1, high[node]):
            least_kill[node] = min(least_kill[node], clusters.kill[order[i]])
            most_kill[node] = max(most_kill[node], clusters.kill[order[i]])
        if above >= 0 and high[node] - low[node] > LEAF:
            cut = _cut(forest, clusters, order, low[node], high[node], event, quasi, above)
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


@njit
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
    scratch: Scratch,
) -> None:
    """Find the nearest waiting cluster, among those of the index and those that are newer than it.

    Of several that are equally near, the one comes first whose pair has the smaller person, then the larger.
    """
    turn_to(forest, clusters, cluster, scratch)
    # Taken out of their tuples once, see `alignment`.
    nodes, fulls, left_over = scratch.lens.nodes, scratch.lens.fulls, scratch.lens.rows
    most, row, logs = scratch.lens.bounds, scratch.row, demand.logs
    offsets, cells, lengths, sizes = clusters.offsets, clusters.cells, clusters.length, clusters.size
    kills, status, is_indexed = clusters.kill, clusters.status, clusters.is_indexed
    order, low, high, boxes = index.order, index.low, index.high, index.boxes
    below_left, below_right, box_rows = index.left, index.right, index.rows
    box_lengths, box_sizes = index.lengths, index.sizes
    least_kill, most_kill, roots = index.least_kill, index.most_kill, index.roots
    a, ours, length = sizes[cluster], kills[cluster], lengths[cluster]
    is_random = demand.is_random

    best, partner = np.inf, -1
    n_stacked = 0
    # The newer ones come first, as if they were a leaf; then the roots, and what lies below them.
    node, i, stop = -1, 0, n_fresh
    while True:
        while i < stop:
            other = fresh[i] if node < 0 else order[i]
            i += 1
            if other == cluster or status[other] != WAITING or (node >= 0 and not is_indexed[other]):
                continue
            b, theirs = sizes[other], kills[other]
            # Nothing saves more than the lighter of the two is worth.
            extra = a * (ours - theirs) if ours > theirs else b * (theirs - ours)
            if extra / logs[a + b] > best:
                continue
            if is_random:
                saving = pair_saving(clusters, demand, cluster, other, scratch)
            else:
                saving = best_saving(
                    nodes, fulls, left_over, length, cells, offsets[other], lengths[other], row
                )
            distance = (a * (ours - saving) + b * (theirs - saving)) / logs[a + b]
            if distance < best or (
                distance == best
                and (min(cluster, other), max(cluster, other))
                < (min(cluster, partner), max(cluster, partner))
            ):
                best, partner = distance, other
        if node < 0:
            for root in roots:
                saving = best_bound(
                    nodes, fulls, left_over, most, length, boxes, box_rows[root], box_lengths[root], row
                )
                saving = min(saving, most_kill[root])
                b = box_sizes[root]
                extra = a * (ours - saving) + b * max(least_kill[root] - saving, 0)
                bound = extra / logs[a + b]
                # Sorted, with the nearest on top.
                at = n_stacked
                while at > 0 and bounds[at - 1] < bound:
                    bounds[at], stack[at] = bounds[at - 1], stack[at - 1]
                    at -= 1
                bounds[at], stack[at] = bound, root
                n_stacked += 1
        if n_stacked == 0:
            break
        n_stacked -= 1
        node, i, stop = stack[n_stacked], 0, 0
        if bounds[n_stacked] > best:
            continue
        if below_left[node] < 0:
            i, stop = low[node], high[node]
            continue
        nearest = np.inf
        for child in (below_left[node], below_right[node]):
            saving = best_bound(
                nodes, fulls, left_over, most, length, boxes, box_rows[child], box_lengths[child], row
            )
            saving = min(saving, most_kill[child])
            b = box_sizes[child]
            extra = a * (ours - saving) + b * max(least_kill[child] - saving, 0)
            bound = extra / logs[a + b]
            if bound > best:
                continue
            # The nearer of the two is looked at first.
            if bound > nearest:
                stack[n_stacked], bounds[n_stacked] = stack[n_stacked - 1], bounds[n_stacked - 1]
                stack[n_stacked - 1], bounds[n_stacked - 1] = child, bound
            else:
                stack[n_stacked], bounds[n_stacked] = child, bound
            nearest = bound
            n_stacked += 1
    clusters.best[cluster] = best
    clusters.partner[cluster] = partner
    if partner >= 0:
        clusters.partner_version[cluster] = clusters.version[partner]


@njit
def find_many(
    forest: Forest, clusters: Clusters, demand: Demand, index: Index, which: Codes, longest: int
) -> None:
    """Find the nearest waiting cluster of each of some clusters; all of them are in the index."""
    fresh = np.empty(0, np.int32)
    stack = np.empty(index.low.size + 1, np.int32)
    bounds = np.empty(index.low.size + 1, np.float64)
    scratch = new_scratch(forest, demand.n_values, longest)
    for cluster in which:
        find_nearest(forest, clusters, demand, index, fresh, 0, cluster, stack, bounds, scratch)
