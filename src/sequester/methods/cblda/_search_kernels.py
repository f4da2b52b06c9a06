"""Find the nearest cluster without looking at all of them, and merge the nearest two, again and again.

The index is a binary tree over the clusters. A node's box holds, event by event, what all clusters below have
in common; from that follows how near any of them can be, at most.

Every waiting cluster remembers its nearest among those that it knew: the older ones. The pair that is nearest
of all is known to the younger of the two. A cluster whose partner is gone or changed is no nearer to the
others than it was to that partner, so it looks again only when its turn comes: the order of merges is that of
the plain algorithm. A tournament over the clusters tells whose turn it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.methods.cblda._alignment_kernels import (
    COUNTED,
    END,
    GROUP,
    INDEXED,
    LENGTH,
    PARENT,
    PARTNER,
    PARTNER_VERSION,
    PLACE,
    SIZE,
    START,
    STATUS,
    VERSION,
    WAITING,
    WORTH,
    WORTH_LEFT,
    best_saving,
    count_at_risk,
    finish,
    largest_count,
    merge,
    pair_events,
    write_profile,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts
    from sequester.methods.cblda._alignment_kernels import AlignmentScratch, Clusters

    Amounts = npt.NDArray[np.float64]

LEAF = 6
"""Clusters that are looked at one by one."""
LOW, HIGH, BELOW, EVENTS, PERSONS, ROW, LEAST, MOST = range(8)
"""Columns of an index. The first place in its order, and the one behind the last; the first of the two nodes
below, -1 where there are none; events and persons of each cluster; the first row of the box; the least and
the most that a cluster is worth."""
N_COLUMNS = 8


class ClusterIndex(NamedTuple):
    """Boxes around clusters that are alike."""

    order: Counts
    """The clusters; those of a node stand together."""
    nodes: Counts
    """Node by the columns above; the first ones are the roots."""
    boxes: Codes
    """What all clusters of a node have in common, one row per event: a leaf and its group, or -1 and the
    group of bounds."""
    n_roots: int
    """Nodes above all others, one for each number of events and of persons."""
    divisors: Amounts
    """Persons of two clusters to what their extra loss is divided by, which makes it their distance."""
    status: int
    """What is looked for: `WAITING` clusters, or `FINISHED` ones that stay private."""


@inner
def write_box(
    clusters: Clusters, index: ClusterIndex, low: int, high: int, row: int, n_groups: int
) -> tuple[int, int, int]:
    """Write the box of some clusters; return the event, the quasi-identifier and the node to cut them by.

    The node is -1 where they are all alike.
    """
    tree, state, cells = clusters.tree, clusters.state, clusters.cells
    order, boxes = index.order, index.boxes
    cut_event, cut_quasi = 0, 0
    cut_node, cut_spread = np.int64(-1), -1
    for event in range(state[order[low], LENGTH]):
        for quasi in range(boxes.shape[1] // 2):
            common = np.int64(cells[state[order[low], START] + event, 2 * quasi])
            total, is_alike = 0, True
            for i in range(low, high):
                node = cells[state[order[i], START] + event, 2 * quasi]
                total += tree[node, WORTH]
                if node != common:
                    is_alike = False
                    while not common <= node < tree[common, END]:
                        common = np.int64(tree[common, PARENT])
            is_leaf = common + 1 == tree[common, END]
            boxes[row + event, 2 * quasi] = common if is_leaf else -1
            boxes[row + event, 2 * quasi + 1] = tree[common, GROUP] + (0 if is_leaf else n_groups)
            spread = total - (high - low) * tree[common, WORTH]
            if not is_alike and spread > cut_spread:
                cut_event, cut_quasi = event, quasi
                cut_node, cut_spread = common, spread
    return cut_event, cut_quasi, int(cut_node)


@njit
def sort_numbers(numbers: Counts, size: int) -> int:
    """Sort the first numbers of a row, with the other row to work in; return the row that has them then."""
    here, width = 0, 1
    while width < size:
        for low in range(0, size, 2 * width):
            middle, high = low + width, low + 2 * width
            middle = middle if middle < size else size
            high = high if high < size else size
            i, j = low, middle
            for to in range(low, high):
                if j >= high or (i < middle and numbers[here, i] <= numbers[here, j]):
                    numbers[1 - here, to] = numbers[here, i]
                    i += 1
                else:
                    numbers[1 - here, to] = numbers[here, j]
                    j += 1
        here = 1 - here
        width *= 2
    return here


@inner
def cut_in_two(
    clusters: Clusters, order: Counts, low: int, high: int, event: int, quasi: int, node: int, numbers: Counts
) -> int:
    """Sort some clusters by what lies directly below a node; return the place of a change near the middle."""
    tree, state, cells = clusters.tree, clusters.state, clusters.cells
    size = high - low
    for i in range(size):
        below = np.int64(cells[state[order[low + i], START] + event, 2 * quasi])
        while below != node and tree[below, PARENT] != node:
            below = np.int64(tree[below, PARENT])
        numbers[0, i] = (below << 32) + i
        numbers[2, i] = order[low + i]
    here = sort_numbers(numbers, size)
    cut, nearest = 0, size
    for i in range(size):
        order[low + i] = numbers[2, numbers[here, i] & 0xFFFFFFFF]
        if i and numbers[here, i] >> 32 != numbers[here, i - 1] >> 32:
            away = abs(i - size // 2)
            if away < nearest:
                cut, nearest = i, away
    return low + cut


@njit
def grow_index(
    clusters: Clusters, index: ClusterIndex, grown: Counts, n_groups: int, numbers: Counts
) -> bool:
    """Divide the nodes of an index until each holds few clusters; return whether there was room for all.

    ``grown`` has the next node, the nodes and the rows of boxes that there are: with more room it goes on.
    """
    state, order, nodes = clusters.state, index.order, index.nodes
    while grown[0] < grown[1]:
        node, n_nodes, row = grown[0], grown[1], grown[2]
        low, high = nodes[node, LOW], nodes[node, HIGH]
        length = state[order[low], LENGTH]
        if row + length > index.boxes.shape[0]:
            return False
        event, quasi, above = write_box(clusters, index, low, high, row, n_groups)
        nodes[node, ROW], nodes[node, EVENTS], nodes[node, PERSONS] = row, length, state[order[low], SIZE]
        least = most = state[order[low], WORTH_LEFT]
        for i in range(low + 1, high):
            worth = state[order[i], WORTH_LEFT]
            least = worth if worth < least else least
            most = worth if worth > most else most
        nodes[node, LEAST], nodes[node, MOST], nodes[node, BELOW] = least, most, -1
        if above >= 0 and high - low > LEAF:
            cut = cut_in_two(clusters, order, low, high, event, quasi, above, numbers)
            nodes[node, BELOW] = n_nodes
            nodes[n_nodes, LOW], nodes[n_nodes, HIGH] = low, cut
            nodes[n_nodes + 1, LOW], nodes[n_nodes + 1, HIGH] = cut, high
            n_nodes += 2
        grown[0], grown[1], grown[2] = node + 1, n_nodes, row + length
    return True


@inner
def stays_private(clusters: Clusters, scratch: AlignmentScratch, cluster: int, other: int) -> bool:
    """Return whether two clusters as one keep the promise; the profile is that of the first, and stays so."""
    tree, state = clusters.tree, clusters.state
    cells, profile = clusters.cells, scratch.profile
    one = cluster if cluster < other else other
    two = cluster + other - one
    # Which of several alignments is taken depends on who comes first.
    write_profile(tree, cells, state[one, START], state[one, LENGTH], profile)
    n_pairs = pair_events(clusters, scratch, one, two)
    n_at_risk = count_at_risk(clusters, scratch, one, 0, n_pairs)
    n_at_risk += count_at_risk(clusters, scratch, two, 1, n_pairs)
    write_profile(tree, cells, state[cluster, START], state[cluster, LENGTH], profile)
    allowed = clusters.allowed[state[one, COUNTED] + state[two, COUNTED]]
    return bool(largest_count(scratch.tally, n_at_risk) <= allowed)


# What runs in the innermost loops takes arrays and not the tuples that hold them: to take an array out of a
# tuple costs more than to look something up in it.


@inner
def find_nearest(
    clusters: Clusters,
    scratch: AlignmentScratch,
    index: ClusterIndex,
    fresh: Counts,
    n_fresh: int,
    cluster: int,
    stack: Amounts,
) -> tuple[float, int]:
    """Find the nearest cluster, among those of the index and those that are newer; the smallest of several.

    A waiting cluster is looked for, or, where `Index.status` says so, a finished one that stays private with
    this one in it. ``stack`` has room for bounds and nodes of the index. Returns the distance and the
    cluster, -1 where there is none.
    """
    state, cells = clusters.state, clusters.cells
    profile, row = scratch.profile, scratch.row
    order, nodes = index.order, index.nodes
    boxes, divisors = index.boxes, index.divisors
    a, ours, length = state[cluster, SIZE], state[cluster, WORTH_LEFT], state[cluster, LENGTH]
    write_profile(clusters.tree, cells, state[cluster, START], length, profile)
    best, partner, n_stacked = np.inf, -1, 0
    # The newer ones come first, as if they were a leaf; then the roots, and what lies below them.
    node, i, stop = -1, 0, n_fresh
    while True:
        while i < stop:
            other = fresh[i] if node < 0 else order[i]
            i += 1
            if other == cluster or state[other, STATUS] != index.status:
                continue
            if node >= 0 and not state[other, INDEXED]:
                continue
            b, theirs = state[other, SIZE], state[other, WORTH_LEFT]
            # Nothing saves more than the lighter of the two is worth.
            extra = a * (ours - theirs) if ours > theirs else b * (theirs - ours)
            if extra / divisors[a + b] > best:
                continue
            if clusters.seed < 0:
                saving = best_saving(profile, length, cells, state[other, START], state[other, LENGTH], row)
            else:
                pair_events(clusters, scratch, cluster, other)
                saving = row[state[other, LENGTH]]
            distance = (a * (ours - saving) + b * (theirs - saving)) / divisors[a + b]
            is_nearer = distance < best or (distance == best and other < partner)
            if is_nearer and (index.status == WAITING or stays_private(clusters, scratch, cluster, other)):
                best, partner = distance, other
        below = 0 if node < 0 else nodes[node, BELOW]
        n_below = index.n_roots if node < 0 else 2 if below >= 0 else 0
        base = n_stacked
        for child in range(below, below + n_below):
            saving = best_saving(profile, length, boxes, nodes[child, ROW], nodes[child, EVENTS], row)
            saving = saving if saving < nodes[child, MOST] else nodes[child, MOST]
            b, theirs = nodes[child, PERSONS], nodes[child, LEAST]
            extra = a * (ours - saving) + (b * (theirs - saving) if theirs > saving else 0)
            bound = extra / divisors[a + b]
            if bound > best:
                continue
            # Sorted, with the nearest on top.
            at = n_stacked
            while at > base and stack[at - 1, 0] < bound:
                stack[at, 0], stack[at, 1] = stack[at - 1, 0], stack[at - 1, 1]
                at -= 1
            stack[at, 0], stack[at, 1] = bound, child
            n_stacked += 1
        i = stop = 0
        while n_stacked and stack[n_stacked - 1, 0] > best:
            n_stacked -= 1
        if n_stacked == 0:
            break
        n_stacked -= 1
        node = int(stack[n_stacked, 1])
        if nodes[node, BELOW] < 0:
            i, stop = nodes[node, LOW], nodes[node, HIGH]
    return best, partner


@njit
def find_all_nearest(
    clusters: Clusters,
    scratch: AlignmentScratch,
    index: ClusterIndex,
    fresh: Counts,
    looking: Counts,
    stack: Amounts,
    distances: Amounts,
    partners: Counts,
) -> None:
    """Write down the nearest of some clusters, which stay as they are, and its distance."""
    for i in range(looking.size):
        distances[i], partners[i] = find_nearest(
            clusters, scratch, index, fresh, fresh.size, looking[i], stack
        )


@njit
def replay(state: Counts, nearest: Amounts, winners: Counts, cluster: int) -> None:
    """Play the matches of a cluster: the nearer pair wins, then the smaller person, then the larger."""
    at = winners.size // 2 + state[cluster, PLACE]
    winners[at] = cluster
    while at > 1:
        at //= 2
        one, other = winners[2 * at], winners[2 * at + 1]
        is_other = one < 0
        if one >= 0 and other >= 0:
            is_other = nearest[other] < nearest[one]
            if nearest[other] == nearest[one]:
                ours, theirs = state[one, PARTNER], state[other, PARTNER]
                small = one if one < ours else ours
                smaller = other if other < theirs else theirs
                is_other = smaller < small or (smaller == small and other + theirs < one + ours)
        winners[at] = other if is_other else one


@njit
def advance(
    clusters: Clusters,
    scratch: AlignmentScratch,
    index: ClusterIndex,
    winners: Counts,
    merges: Counts,
    done: Counts,
    fresh: Counts,
    stack: Amounts,
    nearest: Amounts,
) -> None:
    """Merge the nearest two until few clusters wait, or the index is worth making again.

    The second half of ``winners`` has the waiting clusters, then -1. ``done`` has the merges that were made,
    and the clusters that wait: nothing is merged where at most one does. The pairs are written into
    ``merges``, the new clusters into ``fresh``, until that is full.
    """
    state, n_fresh, n_places = clusters.state, 0, winners.size // 2
    for place in range(n_places):
        cluster = winners[n_places + place]
        if cluster >= 0:
            state[cluster, PLACE] = place
            replay(state, nearest, winners, cluster)
    while done[1] > 1 and n_fresh < fresh.size:
        one = winners[1]
        other = state[one, PARTNER]
        is_known = state[other, STATUS] == WAITING and state[other, VERSION] == state[one, PARTNER_VERSION]
        is_finished = False
        if is_known:
            if other < one:
                one, other = other, one
            merges[done[0], 0], merges[done[0], 1] = one, other
            merge(clusters, scratch, one, other)
            done[0] += 1
            done[1] -= 1
            nearest[one] = nearest[other] = np.inf
            replay(state, nearest, winners, other)
            is_finished = finish(clusters, scratch, one)
        if is_finished:
            done[1] -= 1
        else:
            best, partner = find_nearest(clusters, scratch, index, fresh, n_fresh, one, stack)
            nearest[one], state[one, PARTNER] = best, partner
            if partner >= 0:
                state[one, PARTNER_VERSION] = state[partner, VERSION]
        replay(state, nearest, winners, one)
        if is_known and not is_finished:
            fresh[n_fresh] = one
            n_fresh += 1
