"""Clusters of persons: what is shown of all of them, which events stand behind it, and who is at risk.

Persons are numbered; a cluster has the number of its smallest person, and its events lie where those of
that person lay, because merging never adds events. ``kept`` names, for each person of a cluster and each
event that is shown, the person's own event behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.alignment import (
    Forest,
    Lens,
    align,
    best_saving,
    common_ancestor,
    draw_pairs,
    look_at,
    mix,
    new_lens,
    sequence_worth,
)
from sequester.kernels.compiler import njit
from sequester.kernels.shares import exceeds_share

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Amounts = npt.NDArray[np.float64]
    Flags = npt.NDArray[np.uint8]

GONE, WAITING, FINISHED = 0, 1, 2
"""What a number stands for: no cluster of its own, one that is merged further, one that keeps the promise."""
_exceeds_share = njit(exceeds_share)


class Demand(NamedTuple):
    """When a cluster is finished, and how clusters are compared."""

    k: int
    """Persons that must be counted in it."""
    c: float
    """Largest share of them at risk."""
    each: bool
    """Every protected value by itself, and not any."""
    n_values: int
    """Protected values."""
    is_random: bool
    """Suppress at random instead of aligning."""
    seed: int
    """What is random comes from it; below 2^32."""
    logs: Amounts
    """Number of persons to its natural logarithm."""


class Clusters(NamedTuple):
    """All persons and their clusters."""

    offsets: Offsets
    """Person ``m`` has the events ``offsets[m]`` to ``offsets[m + 1]``."""
    nodes: Codes
    """The node of every cell as it was, events by quasi-identifiers."""
    value_offsets: Offsets
    """Event ``e`` has the protected values ``values[value_offsets[e]:value_offsets[e + 1]]``."""
    values: Codes
    """Protected values."""
    is_counted: Mask
    """Person to whether they will be released; others are only covered."""
    cells: Codes
    """What clusters show: the node and the group of every cell."""
    kept: Codes
    """Behind each event that is shown the person's own event, by its place in their history."""
    length: Codes
    """Cluster to the number of events that it shows."""
    size: Counts
    """Cluster to its persons."""
    counted: Counts
    """Cluster to those of its persons who are counted."""
    risky: Counts
    """Cluster to those of them with any protected value."""
    kill: Counts
    """Cluster to what its events are worth."""
    status: Flags
    """Number to `GONE`, `WAITING` or `FINISHED`."""
    version: Codes
    """Changes whenever a cluster does."""
    following: Codes
    """Person to the next one of the same cluster; -1 behind the last."""
    last: Codes
    """Cluster to its last person."""
    best: Amounts
    """Cluster to a distance that no other cluster, of those that it knew, is nearer than."""
    partner: Codes
    """Cluster to the one that was at that distance."""
    partner_version: Codes
    """The partner's version then."""
    place: Codes
    """Cluster to its place in the tournament."""
    is_indexed: Mask
    """The index knows the cluster as it is."""


class Scratch(NamedTuple):
    """Room to work in, of a thread's own."""

    counts: Counts
    """Value to persons."""
    seen: Counts
    """Value to the last visit that had it."""
    clock: Counts
    """The number of visits, in the one cell that there is."""
    lens: Lens
    """Looks at one cluster after the other."""
    row: Counts
    """What the first events of two clusters save."""


@njit
def new_scratch(forest: Forest, n_values: int, longest: int) -> Scratch:
    """Make room to work in."""
    return Scratch(
        np.zeros(n_values, np.int64),
        np.zeros(n_values, np.int64),
        np.zeros(1, np.int64),
        new_lens(forest, longest),
        np.empty(longest + 1, np.int64),
    )


@njit
def restore(forest: Forest, clusters: Clusters, person: int) -> None:
    """Make a person a cluster of their own, that shows all events as they were."""
    start, stop = clusters.offsets[person], clusters.offsets[person + 1]
    has_value = False
    for event in range(start, stop):
        for quasi in range(forest.tops.size - 1):
            node = clusters.nodes[event, quasi]
            clusters.cells[event, 2 * quasi] = node
            clusters.cells[event, 2 * quasi + 1] = forest.group[node]
        clusters.kept[event] = event - start
        has_value |= clusters.value_offsets[event + 1] > clusters.value_offsets[event]
    clusters.length[person] = stop - start
    clusters.size[person] = 1
    clusters.counted[person] = 1 if clusters.is_counted[person] else 0
    clusters.risky[person] = 1 if has_value and clusters.is_counted[person] else 0
    clusters.following[person] = -1
    clusters.last[person] = person
    clusters.status[person] = WAITING
    clusters.version[person] += 1
    clusters.is_indexed[person] = False
    clusters.kill[person] = sequence_worth(forest, clusters.cells, start, stop - start)


@njit
def restore_many(forest: Forest, clusters: Clusters, persons: Counts) -> None:
    """Make each person a cluster of their own."""
    for person in persons:
        restore(forest, clusters, person)


@njit
def list_members(clusters: Clusters, cluster: int) -> Counts:
    """List the persons of a cluster."""
    members = np.empty(clusters.size[cluster], np.int64)
    person = cluster
    for i in range(members.size):
        members[i] = person
        person = clusters.following[person]
    return members


@njit
def _key(clusters: Clusters, demand: Demand, one: int, other: int) -> int:
    """Give two clusters a number that decides what is suppressed at random."""
    state = mix(mix(mix(0, demand.seed), one), clusters.size[one])
    return int(mix(mix(state, other), clusters.size[other]))


@njit
def turn_to(forest: Forest, clusters: Clusters, cluster: int, scratch: Scratch) -> None:
    """Turn the lens to a cluster."""
    look_at(forest, clusters.cells, clusters.offsets[cluster], clusters.length[cluster], scratch.lens)


@njit
def pair_saving(clusters: Clusters, demand: Demand, cluster: int, other: int, scratch: Scratch) -> int:
    """Find what two clusters as one save of an event each; the lens looks at the first."""
    n_left, n_right = clusters.length[cluster], clusters.length[other]
    start = clusters.offsets[other]
    if demand.is_random:
        key = _key(clusters, demand, min(cluster, other), max(cluster, other))
        return int(draw_pairs(scratch.lens, n_left, clusters.cells, start, n_right, key)[2])
    lens = scratch.lens
    saving = best_saving(
        lens.nodes, lens.fulls, lens.rows, n_left, clusters.cells, start, n_right, scratch.row
    )
    return int(saving)


@njit
def pair_up(
    forest: Forest, clusters: Clusters, demand: Demand, one: int, other: int, scratch: Scratch
) -> tuple[Codes, Codes]:
    """List the places of the events that two clusters as one keep; `one` has the smaller number."""
    turn_to(forest, clusters, one, scratch)
    n_left, n_right = clusters.length[one], clusters.length[other]
    start = clusters.offsets[other]
    if demand.is_random:
        key = _key(clusters, demand, one, other)
        left, right, _ = draw_pairs(scratch.lens, n_left, clusters.cells, start, n_right, key)
    else:
        left, right = align(scratch.lens, n_left, clusters.cells, start, n_right)
    return left, right


@njit
def extra_loss(clusters: Clusters, demand: Demand, cluster: int, other: int, scratch: Scratch) -> int:
    """Find what merging two clusters adds to the loss of all (Eq. 5.8); the lens looks at the first."""
    a, b = clusters.size[cluster], clusters.size[other]
    saving = pair_saving(clusters, demand, cluster, other, scratch)
    return int(a * (clusters.kill[cluster] - saving) + b * (clusters.kill[other] - saving))


@njit
def count_risk(clusters: Clusters, cluster: int, places: Codes, scratch: Scratch) -> int:
    """Count the persons of a cluster with a value in the events at some places, and each value."""
    risky = 0
    person = cluster
    while person >= 0:
        if clusters.is_counted[person]:
            start = clusters.offsets[person]
            scratch.clock[0] += 1
            has_value = False
            for place in places:
                event = start + clusters.kept[start + place]
                for i in range(clusters.value_offsets[event], clusters.value_offsets[event + 1]):
                    has_value = True
                    value = clusters.values[i]
                    if scratch.seen[value] != scratch.clock[0]:
                        scratch.seen[value] = scratch.clock[0]
                        scratch.counts[value] += 1
            risky += has_value
        person = clusters.following[person]
    return risky


@njit
def _worst(demand: Demand, risky: int, scratch: Scratch) -> int:
    """Give the number of persons at risk as the promise reads it, and clear the counts."""
    if demand.each:
        risky = 0
        for value in range(demand.n_values):
            risky = max(risky, scratch.counts[value])
    scratch.counts[:] = 0
    return risky


@njit
def risk_of(clusters: Clusters, demand: Demand, cluster: int, scratch: Scratch) -> int:
    """Count the persons of a cluster at risk."""
    if not demand.each:
        return int(clusters.risky[cluster])
    places = np.arange(clusters.length[cluster]).astype(np.int32)
    return int(_worst(demand, count_risk(clusters, cluster, places, scratch), scratch))


@njit
def is_private(demand: Demand, counted: int, risk: int) -> bool:
    """Tell whether enough persons are counted, and few enough of them at risk."""
    return counted >= demand.k and not _exceeds_share(risk, demand.c, counted)


@njit
def risk_of_both(
    forest: Forest, clusters: Clusters, demand: Demand, one: int, other: int, scratch: Scratch
) -> int:
    """Count the persons at risk if two clusters became one."""
    one, other = min(one, other), max(one, other)
    left, right = pair_up(forest, clusters, demand, one, other, scratch)
    risky = count_risk(clusters, one, left, scratch) + count_risk(clusters, other, right, scratch)
    return int(_worst(demand, risky, scratch))


@njit
def _keep_places(clusters: Clusters, cluster: int, places: Codes) -> None:
    """Forget the events behind all places but some, for every person."""
    person = cluster
    while person >= 0:
        start = clusters.offsets[person]
        for i in range(places.size):
            clusters.kept[start + i] = clusters.kept[start + places[i]]
        person = clusters.following[person]


@njit
def merge(forest: Forest, clusters: Clusters, demand: Demand, one: int, other: int, scratch: Scratch) -> int:
    """Make one cluster of two, and give its number; whether it is finished is for the caller to say."""
    one, other = min(one, other), max(one, other)
    left, right = pair_up(forest, clusters, demand, one, other, scratch)
    start, there = clusters.offsets[one], clusters.offsets[other]
    cells, parent, end = clusters.cells, forest.parent, forest.end
    for i in range(left.size):
        to, a, b = start + i, start + left[i], there + right[i]
        for quasi in range(forest.tops.size - 1):
            node = common_ancestor(parent, end, cells[a, 2 * quasi], cells[b, 2 * quasi])
            cells[to, 2 * quasi] = node
            cells[to, 2 * quasi + 1] = forest.group[node]
    for cluster, places in ((one, left), (other, right)):
        if places.size < clusters.length[cluster]:
            clusters.risky[cluster] = count_risk(clusters, cluster, places, scratch)
            scratch.counts[:] = 0
            _keep_places(clusters, cluster, places)
    clusters.length[one] = left.size
    clusters.size[one] += clusters.size[other]
    clusters.counted[one] += clusters.counted[other]
    clusters.risky[one] += clusters.risky[other]
    clusters.following[clusters.last[one]] = other
    clusters.last[one] = clusters.last[other]
    clusters.status[other] = GONE
    clusters.status[one] = WAITING
    for cluster in (one, other):
        clusters.version[cluster] += 1
        clusters.is_indexed[cluster] = False
    clusters.kill[one] = sequence_worth(forest, cells, start, left.size)
    return one


@njit
def settle(clusters: Clusters, demand: Demand, cluster: int, scratch: Scratch) -> bool:
    """Declare a cluster finished if it keeps the promise, and tell whether it does."""
    if clusters.counted[cluster] >= demand.k and is_private(
        demand, clusters.counted[cluster], risk_of(clusters, demand, cluster, scratch)
    ):
        clusters.status[cluster] = FINISHED
        return True
    return False


@njit
def fold_equal(
    forest: Forest,
    clusters: Clusters,
    demand: Demand,
    persons: Counts,
    groups: Codes,
    n_groups: int,
    longest: int,
) -> None:
    """Merge persons with equal histories, in order, and begin anew whenever a cluster is finished."""
    scratch = new_scratch(forest, demand.n_values, longest)
    open_of_group = np.full(n_groups, -1, np.int64)
    for i in range(persons.size):
        cluster, group = persons[i], groups[i]
        if open_of_group[group] >= 0:
            cluster = merge(forest, clusters, demand, open_of_group[group], cluster, scratch)
            if settle(clusters, demand, cluster, scratch):
                cluster = -1
        open_of_group[group] = cluster


@njit
def write_down(clusters: Clusters, finished: Counts) -> tuple[Counts, Mask, Codes]:
    """Give each person's cluster, mark the events that stand behind one, and list the nodes they show."""
    n_events, n_quasi = clusters.nodes.shape
    cluster_of_person = np.empty(clusters.size.size, np.int64)
    is_kept = np.zeros(n_events, np.bool_)
    shown = np.zeros((n_events, n_quasi), np.int32)
    for cluster in finished:
        person = cluster
        while person >= 0:
            cluster_of_person[person] = cluster
            for place in range(clusters.length[cluster]):
                event = clusters.offsets[person] + clusters.kept[clusters.offsets[person] + place]
                is_kept[event] = True
                for quasi in range(n_quasi):
                    shown[event, quasi] = clusters.cells[clusters.offsets[cluster] + place, 2 * quasi]
            person = clusters.following[person]
    return cluster_of_person, is_kept, shown
