"""Align two sequences of events so that the most is left of both, and make one cluster of two.

An event is a row of cells, two numbers each: the node, and its group, which is the node itself or, for a
leaf, the node above. Two cells as one are their lowest common ancestor, and what that is worth is a column of
the tree: nothing for the root. Worths are whole numbers. What a sequence has in common with any cell is
looked up in its profile (the query profile of sequence alignment), made once and used for many others.

Persons are numbered; a cluster has the number of its smallest person, and its events lie where those of that
person lay, because merging never adds events. The last column of the cells names, for each person of a
cluster and each event that is shown, the person's own event behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets

PARENT, END, WORTH, SHARED, GROUP, GROUP_END = range(6)
"""Columns of a tree. The node above, the root itself; the first node after the subtree; what is left of a
cell that shows the node, and of one that is generalized to it; its group, and the first one after those below
it."""
STATUS, INDEXED, SIZE, WORTH_LEFT, START, LENGTH, COUNTED, AT_RISK = range(8)
"""Columns of clusters. What the number stands for; the index knows the cluster as it is; persons; what all
events are worth; the first event, and how many are shown; persons who are released, and those at risk."""
VERSION, NEXT, LAST, PARTNER, PARTNER_VERSION, PLACE, IS_COUNTED = range(8, 15)
"""It changes whenever the cluster does; the next person of the cluster, -1 behind the last; the last one;
the nearest cluster, and its version then; the place among others; the person is released, and not only
covered."""
N_COLUMNS = 15
GONE, WAITING, FINISHED = range(3)
"""What a number stands for: no cluster of its own, one that is merged further, one that keeps the promise."""
FORBIDDEN = -(1 << 30)
"""What is saved where a cell would become too coarse: less than nothing, whatever the other cells save."""
DIAGONAL, VERTICAL, HORIZONTAL = range(3)
"""Moves: keep both events as one, suppress the left one, suppress the right one."""
_MASK = 0xFFFFFFFF


class Clusters(NamedTuple):
    """All persons and their clusters, and when a cluster is finished."""

    tree: Codes
    """The trees of all quasi-identifiers, nodes numbered through, by the columns above."""
    state: Counts
    """Person or cluster by the columns above."""
    cells: Codes
    """Event to node and group of each quasi-identifier that its cluster shows, and the event behind it."""
    value_offsets: Offsets
    """Event ``e`` has the protected values ``values[value_offsets[e]:value_offsets[e + 1]]``."""
    values: Codes
    """Protected values."""
    allowed: Counts
    """Persons who are counted to how many of them may be at risk; -1 where they are too few."""
    seed: int
    """Events are suppressed at random, by this seed below 2^32; -1: they are aligned."""
    n_fixed: int = 0
    """First events that are never suppressed at random: those that hold attributes of persons."""


class AlignmentScratch(NamedTuple):
    """Memory to work in, of a thread's own."""

    profile: Codes
    """Event of a sequence to its nodes, their worths, and by group what is left beside another cell of the
    group, and at most beside any cell below it."""
    row: Counts
    """What the first events of two sequences save."""
    places: Counts
    """The events that are paired, of the left and of the right sequence."""
    tally: Counts
    """Value to persons, and to the last visit that had it; the last column has the number of visits. No
    more than that column where values are not counted one by one."""


@njit
def write_profile(tree: Codes, cells: Codes, start: int, length: int, profile: Codes) -> None:
    """Write down what is left of the events of a sequence beside any other cell."""
    n_quasi = cells.shape[1] // 2
    shared = 2 * n_quasi
    bounds = (shared + profile.shape[1]) // 2
    for event in range(length):
        for quasi in range(n_quasi):
            node = cells[start + event, 2 * quasi]
            worth = tree[node, WORTH]
            profile[event, quasi] = node
            profile[event, n_quasi + quasi] = worth
            # A leaf has the group of the node above it.
            above = node
            if tree[tree[node, PARENT], GROUP] == tree[node, GROUP]:
                above = tree[node, PARENT]
            # From the node upwards, every ancestor stands for what lies below it alone.
            low = high = tree[above, GROUP]
            while True:
                first, end, left = tree[above, GROUP], tree[above, GROUP_END], tree[above, SHARED]
                for group in range(first, low):
                    profile[event, shared + group] = left
                    profile[event, bounds + group] = left
                for group in range(high, end):
                    profile[event, shared + group] = left
                    profile[event, bounds + group] = left
                profile[event, bounds + first] = worth
                low, high = first, end
                if tree[above, PARENT] == above:
                    break
                above = tree[above, PARENT]


@inner
def event_saving(profile: Codes, event: int, cells: Codes, other: int) -> int:
    """Add up what two events as one are worth; below 0 where they must not be one."""
    n_quasi = cells.shape[1] // 2
    total = 0
    for quasi in range(n_quasi):
        if cells[other, 2 * quasi] == profile[event, quasi]:
            total += profile[event, n_quasi + quasi]
        else:
            total += profile[event, 2 * n_quasi + cells[other, 2 * quasi + 1]]
    return total


@njit
def best_saving(profile: Codes, n_left: int, cells: Codes, start: int, n_right: int, row: Counts) -> int:
    """Find what the best alignment of a profile's sequence with another one saves.

    The other one may be a box: its cells have the groups of bounds, and what is found is a bound.
    """
    if n_left == 1 and n_right == 1:
        saving = event_saving(profile, 0, cells, start)
        return saving if saving > 0 else 0
    for j in range(n_right + 1):
        row[j] = 0
    for i in range(n_left):
        corner = 0
        for j in range(n_right):
            above = row[j + 1]
            best = above if above > row[j] else row[j]
            both = corner + event_saving(profile, i, cells, start + j)
            row[j + 1] = both if both > best else best
            corner = above
    return int(row[n_right])


@njit
def align(
    profile: Codes, n_left: int, cells: Codes, start: int, n_right: int, row: Counts, places: Counts
) -> int:
    """Write down which events the best alignment keeps, of a profile's sequence and of another; count them.

    What they save is the last number of `row`. Of equally good moves the diagonal comes first, then the
    vertical: an event of nothing but roots stays.
    """
    moves = np.empty((n_left, n_right), np.int8)
    for j in range(n_right + 1):
        row[j] = 0
    for i in range(n_left):
        corner = 0
        for j in range(n_right):
            above = row[j + 1]
            best, move = corner + event_saving(profile, i, cells, start + j), DIAGONAL
            if above > best:
                best, move = above, VERTICAL
            if row[j] > best:
                best, move = row[j], HORIZONTAL
            corner = above
            row[j + 1] = best
            moves[i, j] = move
    n_pairs, i, j = 0, n_left - 1, n_right - 1
    while i >= 0 and j >= 0:
        move = moves[i, j]
        if move == DIAGONAL:
            places[0, n_pairs], places[1, n_pairs] = i, j
            n_pairs += 1
        if move != HORIZONTAL:
            i -= 1
        if move != VERTICAL:
            j -= 1
    # They were found from the last to the first.
    for pair in range(n_pairs // 2):
        other = n_pairs - 1 - pair
        for side in range(2):
            place = places[side, pair]
            places[side, pair] = places[side, other]
            places[side, other] = place
    return n_pairs


@njit
def mix(state: int, number: int) -> int:
    """Return a number below 2^32 that nobody foresees; 32 bits in 64, so that no product overflows."""
    state = ((state + 0x9E3779B9) ^ number) & _MASK
    state = (state * 0x45D9F3B) & _MASK
    state ^= state >> 16
    state = (state * 0x45D9F3B) & _MASK
    return state ^ (state >> 16)


@njit
def draw_pairs(
    profile: Codes,
    n_left: int,
    cells: Codes,
    start: int,
    n_right: int,
    key: int,
    row: Counts,
    places: Counts,
    n_fixed: int = 0,
) -> int:
    """Suppress events of the longer side, drawn by `key`, and pair the rest; count them.

    The first `n_fixed` events of both sides are paired in any case. What they save is the last number of
    `row`.
    """
    long = n_left if n_left > n_right else n_right
    short = n_left + n_right - long
    taken, n_pairs, saving = 0, 0, 0
    for place in range(long):
        if place < n_fixed or mix(mix(0, key), place) % (long - place) < short - taken:
            i = taken if n_left < long else place
            j = place if n_left < long else taken
            taken += 1
            gain = event_saving(profile, i, cells, start + j)
            if gain >= 0:
                places[0, n_pairs], places[1, n_pairs] = i, j
                n_pairs += 1
                saving += gain
    row[n_right] = saving
    return n_pairs


@inner
def pair_events(clusters: Clusters, scratch: AlignmentScratch, cluster: int, other: int) -> int:
    """Write down which events two clusters as one keep, and count them; the profile is that of the first.

    What they save is at the length of the other in the row of the scratch.
    """
    state, cells, profile = clusters.state, clusters.cells, scratch.profile
    row, places = scratch.row, scratch.places
    n_left, n_right, start = state[cluster, LENGTH], state[other, LENGTH], state[other, START]
    if clusters.seed < 0:
        return int(align(profile, n_left, cells, start, n_right, row, places))
    one = cluster if cluster < other else other
    two = cluster + other - one
    key = mix(mix(mix(0, clusters.seed), one), state[one, SIZE])
    key = mix(mix(key, two), state[two, SIZE])
    return int(draw_pairs(profile, n_left, cells, start, n_right, key, row, places, clusters.n_fixed))


@njit
def count_at_risk(
    clusters: Clusters, scratch: AlignmentScratch, cluster: int, side: int, n_places: int
) -> int:
    """Count the persons of a cluster with a value in the events at some places; and tally each value.

    The places are those of a `side`; the first ones where that is -1.
    """
    state, cells = clusters.state, clusters.cells
    values, tally = clusters.values, scratch.tally
    behind, n_values = cells.shape[1] - 1, tally.shape[1] - 1
    n_at_risk, person = 0, cluster
    while person >= 0:
        if state[person, IS_COUNTED]:
            start = state[person, START]
            tally[1, n_values] += 1
            has_value = False
            for i in range(n_places):
                place = i if side < 0 else scratch.places[side, i]
                event = start + cells[start + place, behind]
                first, end = clusters.value_offsets[event], clusters.value_offsets[event + 1]
                has_value |= first < end
                if n_values:
                    for at in range(first, end):
                        if tally[1, values[at]] != tally[1, n_values]:
                            tally[1, values[at]] = tally[1, n_values]
                            tally[0, values[at]] += 1
            n_at_risk += has_value
        person = state[person, NEXT]
    return n_at_risk


@inner
def largest_count(tally: Counts, n_at_risk: int) -> int:
    """Return the number of persons at risk as the promise reads it, and clear the tally."""
    if tally.shape[1] == 1:
        return n_at_risk
    largest = 0
    for value in range(tally.shape[1] - 1):
        largest = max(largest, tally[0, value])
        tally[0, value] = 0
    return largest


@njit
def finish(clusters: Clusters, scratch: AlignmentScratch, cluster: int) -> bool:
    """Declare a cluster finished if it keeps the promise, and return whether it does."""
    state = clusters.state
    allowed = clusters.allowed[state[cluster, COUNTED]]
    if allowed < 0:
        return False
    n_at_risk = state[cluster, AT_RISK]
    if scratch.tally.shape[1] > 1:
        n_at_risk = count_at_risk(clusters, scratch, cluster, -1, state[cluster, LENGTH])
    if largest_count(scratch.tally, n_at_risk) > allowed:
        return False
    state[cluster, STATUS] = FINISHED
    return True


@inner
def unite(state: Counts, one: int, other: int) -> None:
    """Put the persons of a cluster behind those of another, which goes on waiting."""
    state[one, SIZE] += state[other, SIZE]
    state[one, COUNTED] += state[other, COUNTED]
    state[one, AT_RISK] += state[other, AT_RISK]
    state[state[one, LAST], NEXT] = other
    state[one, LAST] = state[other, LAST]
    state[one, STATUS], state[other, STATUS] = WAITING, GONE
    state[one, VERSION] += 1
    state[other, VERSION] += 1
    state[one, INDEXED], state[other, INDEXED] = 0, 0


@njit
def merge(clusters: Clusters, scratch: AlignmentScratch, one: int, other: int) -> None:
    """Make one cluster of two, with the smaller number, `one`; whether it is finished is for the caller."""
    tree, state = clusters.tree, clusters.state
    cells, places = clusters.cells, scratch.places
    start, there, behind = state[one, START], state[other, START], cells.shape[1] - 1
    write_profile(tree, cells, start, state[one, LENGTH], scratch.profile)
    n_pairs = pair_events(clusters, scratch, one, other)
    worth = 0
    for i in range(n_pairs):
        left, right = start + places[0, i], there + places[1, i]
        for quasi in range(behind // 2):
            node, below = cells[left, 2 * quasi], cells[right, 2 * quasi]
            while not node <= below < tree[node, END]:
                node = tree[node, PARENT]
            cells[start + i, 2 * quasi] = node
            cells[start + i, 2 * quasi + 1] = tree[node, GROUP]
            worth += tree[node, WORTH]
    for side in range(2):
        person = one if side == 0 else other
        if n_pairs == state[person, LENGTH]:
            continue
        state[person, AT_RISK] = count_at_risk(clusters, scratch, person, side, n_pairs)
        largest_count(scratch.tally, 0)
        # Forget the events behind all places but those that are paired.
        while person >= 0:
            first = state[person, START]
            for i in range(n_pairs):
                cells[first + i, behind] = cells[first + places[side, i], behind]
            person = state[person, NEXT]
    unite(state, one, other)
    state[one, LENGTH] = n_pairs
    state[one, WORTH_LEFT] = worth


@njit
def merge_equal(
    clusters: Clusters, scratch: AlignmentScratch, persons: Counts, groups: Codes, begun: Counts
) -> None:
    """Merge persons with equal histories, in order, and begin anew whenever a cluster is finished.

    ``begun[group]`` is -1, and has room for the cluster that is not finished. Nothing becomes coarser.
    """
    for i in range(persons.size):
        cluster = begun[groups[i]]
        if cluster < 0:
            begun[groups[i]] = persons[i]
            continue
        unite(clusters.state, cluster, persons[i])
        if finish(clusters, scratch, cluster):
            begun[groups[i]] = -1


@njit
def write_values(
    trial: Clusters,
    alone: Clusters,
    scratch: AlignmentScratch,
    members: Counts,
    others: Counts,
    first: int,
    values: Counts,
) -> int:
    """Write down what is left of all members but the one of each row, with the other of each column.

    In the last row nobody leaves, in the last column nobody comes; rows before ``first`` are left out.
    ``members`` ascend. They are taken from ``alone``, where everybody is a cluster of their own, and aligned
    one after another in ``trial``, which has the cluster of the last row in the end. Returns the cells that
    were looked at.
    """
    state, cells, n_work = trial.state, trial.cells, 0
    n_quasi, width = cells.shape[1] // 2, scratch.profile.shape[1]
    for leaving in range(first, members.size + 1):
        cluster = members[1] if leaving == 0 else members[0]
        for i in range(members.size):
            person = members[i]
            if i == leaving:
                continue
            for column in range(state.shape[1]):
                state[person, column] = alone.state[person, column]
            start, length = state[person, START], state[person, LENGTH]
            for event in range(start, start + length):
                for column in range(cells.shape[1]):
                    cells[event, column] = alone.cells[event, column]
            if person != cluster:
                n_work += state[cluster, LENGTH] * (width + length * n_quasi)
                merge(trial, scratch, cluster, person)
        size, length = state[cluster, SIZE], state[cluster, LENGTH]
        values[leaving, others.size] = size * state[cluster, WORTH_LEFT]
        if others.size:
            write_profile(trial.tree, cells, state[cluster, START], length, scratch.profile)
        for j in range(others.size):
            start, theirs = alone.state[others[j], START], alone.state[others[j], LENGTH]
            saving = best_saving(scratch.profile, length, alone.cells, start, theirs, scratch.row)
            values[leaving, j] = (size + 1) * saving
            n_work += length * theirs * n_quasi
    return n_work
