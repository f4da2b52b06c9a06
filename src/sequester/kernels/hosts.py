"""Find finished clusters that take others in, for the least extra loss while they stay private."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.alignment import best_bound
from sequester.kernels.cluster_index import build_index
from sequester.kernels.clusters import (
    FINISHED,
    extra_loss,
    is_private,
    merge,
    new_scratch,
    risk_of,
    risk_of_both,
    turn_to,
)
from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts
    from sequester.kernels.alignment import Forest
    from sequester.kernels.cluster_index import Index
    from sequester.kernels.clusters import Amounts, Clusters, Demand, Scratch

FEWEST_NEW, NEW_SHARE = 128, 32
"""The index is made again after so many changed clusters, or after one for so many."""
NOWHERE = 2**62
"""More than any loss."""


@njit
def _least_extra(clusters: Clusters, cluster: int, host: int) -> int:
    """Bound what merging adds to the loss: nothing saves more than the lighter of the two is worth."""
    ours, theirs = clusters.kill[cluster], clusters.kill[host]
    if ours > theirs:
        return int(clusters.size[cluster] * (ours - theirs))
    return int(clusters.size[host] * (theirs - ours))


@njit
def _takes_in(
    forest: Forest, clusters: Clusters, demand: Demand, host: int, cluster: int, scratch: Scratch
) -> bool:
    """Tell whether both as one are private; the lens looks at the cluster before and after."""
    risk = risk_of_both(forest, clusters, demand, host, cluster, scratch)
    turn_to(forest, clusters, cluster, scratch)
    return bool(is_private(demand, clusters.counted[host] + clusters.counted[cluster], risk))


@njit
def find_host(
    forest: Forest, clusters: Clusters, demand: Demand, cluster: int, finished: Counts, scratch: Scratch
) -> tuple[int, int]:
    """Find the finished cluster that takes another in for the least extra loss, and the loss; -1 if none.

    Of several, the first.
    """
    best, least = -1, NOWHERE
    turn_to(forest, clusters, cluster, scratch)
    for host in finished:
        if _least_extra(clusters, cluster, host) >= least:
            continue
        extra = extra_loss(clusters, demand, cluster, host, scratch)
        if extra < least and _takes_in(forest, clusters, demand, host, cluster, scratch):
            best, least = host, extra
    return best, least if best >= 0 else 0


@njit
def _find_near_host(
    forest: Forest,
    clusters: Clusters,
    demand: Demand,
    index: Index,
    fresh: Codes,
    n_fresh: int,
    cluster: int,
    stack: Codes,
    bounds: Counts,
    scratch: Scratch,
) -> tuple[int, int]:
    """Find the same as `find_host`, with an index of the finished clusters; of several, the smallest."""
    turn_to(forest, clusters, cluster, scratch)
    lens = scratch.lens
    a, ours, length = clusters.size[cluster], clusters.kill[cluster], clusters.length[cluster]
    best, least = -1, NOWHERE
    n_stacked = index.roots.size
    for i in range(n_stacked):
        stack[i], bounds[i] = index.roots[i], 0
    # Those that have changed come first, as if they were a leaf.
    node, i, stop = -1, 0, n_fresh
    while True:
        while i < stop:
            host = fresh[i] if node < 0 else index.order[i]
            i += 1
            if clusters.status[host] != FINISHED or (node >= 0 and not clusters.is_indexed[host]):
                continue
            if _least_extra(clusters, cluster, host) > least:
                continue
            extra = extra_loss(clusters, demand, cluster, host, scratch)
            if (extra < least or (extra == least and host < best)) and _takes_in(
                forest, clusters, demand, host, cluster, scratch
            ):
                best, least = host, extra
        if n_stacked == 0:
            break
        n_stacked -= 1
        node, i, stop = stack[n_stacked], 0, 0
        if bounds[n_stacked] > least:
            continue
        saving = best_bound(
            lens.nodes,
            lens.fulls,
            lens.rows,
            lens.bounds,
            length,
            index.boxes,
            index.rows[node],
            index.lengths[node],
            scratch.row,
        )
        saving = min(saving, index.most_kill[node])
        bound = a * (ours - saving) + index.sizes[node] * max(index.least_kill[node] - saving, 0)
        if bound > least:
            continue
        if index.left[node] < 0:
            i, stop = index.low[node], index.high[node]
            continue
        for child in (index.left[node], index.right[node]):
            stack[n_stacked], bounds[n_stacked] = child, bound
            n_stacked += 1
    return best, least if best >= 0 else 0


@njit
def place_persons(
    forest: Forest, clusters: Clusters, demand: Demand, persons: Counts, finished: Counts, longest: int
) -> tuple[Counts, Counts, int]:
    """Put single persons, one after the other, into the finished clusters that take them for the least loss.

    Gives the finished clusters after that, those who found none, and the extra loss of the others.
    """
    scratch = new_scratch(forest, demand.n_values, longest)
    left = np.empty(persons.size, np.int64)
    finished = finished.copy()
    for i in range(finished.size):
        clusters.place[finished[i]] = i
    index = build_index(forest, clusters, finished.astype(np.int32))
    stack = np.empty(2 * finished.size + 2, np.int32)
    bounds = np.empty(2 * finished.size + 2, np.int64)
    fresh = np.empty(max(FEWEST_NEW, finished.size // NEW_SHARE), np.int32)
    n_fresh, n_left, total = 0, 0, 0
    for person in persons:
        host, extra = _find_near_host(
            forest, clusters, demand, index, fresh, n_fresh, person, stack, bounds, scratch
        )
        if host < 0:
            left[n_left] = person
            n_left += 1
            continue
        total += extra
        at = clusters.place[host]
        both = merge(forest, clusters, demand, host, person, scratch)
        clusters.status[both] = FINISHED
        finished[at], clusters.place[both] = both, at
        fresh[n_fresh] = both
        n_fresh += 1
        if n_fresh == fresh.size:
            index = build_index(forest, clusters, finished.astype(np.int32))
            n_fresh = 0
    finished.sort()
    return finished, left[:n_left].copy(), total


@njit
def rate_hosts(
    forest: Forest, clusters: Clusters, demand: Demand, cluster: int, finished: Counts, longest: int
) -> Amounts:
    """Give each finished cluster the loss of merging with it for each person fewer above the share."""
    scratch = new_scratch(forest, demand.n_values, longest)
    turn_to(forest, clusters, cluster, scratch)
    extras = np.empty(finished.size, np.int64)
    for i in range(finished.size):
        extras[i] = extra_loss(clusters, demand, cluster, finished[i], scratch)
    before = risk_of(clusters, demand, cluster, scratch) - demand.c * clusters.counted[cluster]
    rates = np.empty(finished.size, np.float64)
    for i in range(finished.size):
        counted = clusters.counted[finished[i]] + clusters.counted[cluster]
        risk = risk_of_both(forest, clusters, demand, finished[i], cluster, scratch)
        relief = before - (risk - demand.c * counted)
        rates[i] = extras[i] / relief if relief > 1e-9 else np.inf
    return rates
