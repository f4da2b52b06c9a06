"""Merge the two nearest clusters until at most one is unfinished, without a table of all distances.

Every waiting cluster remembers its nearest among those that it knew: the older ones. The pair that is
nearest of all is known to the younger of the two. A cluster whose partner is gone or changed is no nearer
to the others than it was to that partner, so it looks again only when its turn comes: the order of merges
is that of the plain algorithm. A tournament over the clusters tells whose turn it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.cluster_index import Index, find_nearest
from sequester.kernels.clusters import (
    WAITING,
    Clusters,
    Demand,
    merge,
    new_scratch,
    settle,
)
from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes
    from sequester.kernels.alignment import Forest


@njit
def _precedes(clusters: Clusters, one: int, other: int) -> bool:
    """Tell whose pair comes first: the nearer, then by the smaller person, then by the larger."""
    if clusters.best[one] != clusters.best[other]:
        return bool(clusters.best[one] < clusters.best[other])
    a, b = clusters.partner[one], clusters.partner[other]
    return (min(one, a), max(one, a)) < (min(other, b), max(other, b))


@njit
def _replay(clusters: Clusters, winners: Codes, cluster: int) -> None:
    """Play the matches of a cluster anew."""
    at = winners.size // 2 + clusters.place[cluster]
    winners[at] = cluster
    while at > 1:
        at //= 2
        one, other = winners[2 * at], winners[2 * at + 1]
        if other < 0 or (one >= 0 and not _precedes(clusters, other, one)):
            winners[at] = one
        else:
            winners[at] = other


@njit
def begin_tournament(clusters: Clusters, waiting: Codes) -> Codes:
    """Give every waiting cluster a place, and find the winner of all."""
    n_places = 1
    while n_places < waiting.size:
        n_places *= 2
    winners = np.full(2 * n_places, -1, np.int32)
    for i in range(waiting.size):
        clusters.place[waiting[i]] = i
        winners[n_places + i] = waiting[i]
    for at in range(n_places - 1, 0, -1):
        one, other = winners[2 * at], winners[2 * at + 1]
        if other < 0 or (one >= 0 and not _precedes(clusters, other, one)):
            winners[at] = one
        else:
            winners[at] = other
    return winners


@njit
def advance(
    forest: Forest,
    clusters: Clusters,
    demand: Demand,
    index: Index,
    winners: Codes,
    merges: Codes,
    n_merges: int,
    n_waiting: int,
    most_fresh: int,
    longest: int,
) -> tuple[int, int]:
    """Merge until at most one cluster waits, or so many are new that the index is worth making again.

    Writes the pairs into `merges` behind the first `n_merges`, and gives the new numbers of merges and of
    waiting clusters.
    """
    scratch = new_scratch(forest, demand.n_values, longest)
    stack = np.empty(index.low.size + 1, np.int32)
    bounds = np.empty(index.low.size + 1, np.float64)
    fresh = np.empty(most_fresh, np.int32)
    n_fresh = 0
    while n_waiting > 1 and n_fresh < most_fresh:
        cluster = winners[1]
        partner = clusters.partner[cluster]
        if (
            clusters.status[partner] != WAITING
            or clusters.version[partner] != clusters.partner_version[cluster]
        ):
            find_nearest(forest, clusters, demand, index, fresh, n_fresh, cluster, stack, bounds, scratch)
            _replay(clusters, winners, cluster)
            continue
        one, other = min(cluster, partner), max(cluster, partner)
        merges[n_merges, 0], merges[n_merges, 1] = one, other
        n_merges += 1
        merge(forest, clusters, demand, one, other, scratch)
        n_waiting -= 1
        clusters.best[other] = np.inf
        _replay(clusters, winners, other)
        if settle(clusters, demand, one, scratch):
            n_waiting -= 1
            clusters.best[one] = np.inf
        else:
            find_nearest(forest, clusters, demand, index, fresh, n_fresh, one, stack, bounds, scratch)
            fresh[n_fresh] = one
            n_fresh += 1
        _replay(clusters, winners, one)
    return n_merges, n_waiting


@njit
def repeat_merges(forest: Forest, clusters: Clusters, demand: Demand, merges: Codes, longest: int) -> None:
    """Merge as was merged before."""
    scratch = new_scratch(forest, demand.n_values, longest)
    for i in range(merges.shape[0]):
        settle(
            clusters, demand, merge(forest, clusters, demand, merges[i, 0], merges[i, 1], scratch), scratch
        )
