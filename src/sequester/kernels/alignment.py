"""Align two sequences of events, each cell a node of its tree, so that the most is left of both.

An event is a row of cells, two numbers each: the node, and its group, which is the node itself or, for a
leaf, the node above. Two cells as one are their lowest common ancestor, and that is worth ``worth[node]``:
nothing for the root. Worths are whole numbers. What a sequence has in common with any node is looked up in a
lens: made once for the sequence, and used for many others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts

FORBIDDEN = -(1 << 30)
"""What is saved where a cell would become too coarse: less than nothing, whatever the other cells save."""
DIAGONAL, VERTICAL, HORIZONTAL = 0, 1, 2
"""Moves: keep both events as one, suppress the left one, suppress the right one."""
_MASK = 0xFFFFFFFF


class Forest(NamedTuple):
    """The trees of all quasi-identifiers, nodes numbered through; groups are the nodes that are no leaves."""

    parent: Codes
    """Node to the node above it; roots to themselves."""
    end: Codes
    """Node to the first one after its subtree."""
    worth: Codes
    """Node to what is left of a cell that shows it."""
    depth: Codes
    """Node to its steps from the root."""
    group: Codes
    """Node to its group."""
    group_end: Codes
    """Group to the first one after those below it."""
    tops: Codes
    """Quasi-identifier to its first group, and the number of all groups."""
    least: Codes
    """Quasi-identifier to the smallest depth that different nodes may be generalized to; 0 allows any."""


class Lens(NamedTuple):
    """What the events of one sequence and any other cell as one are worth."""

    nodes: Codes
    """The nodes of the sequence, events by quasi-identifiers."""
    fulls: Codes
    """What they are worth."""
    rows: Codes
    """Events by groups: what is left beside another cell of the group."""
    bounds: Codes
    """Events by groups: what is left, at most, beside any cell below the group."""


@njit
def new_lens(forest: Forest, longest: int) -> Lens:
    """Make room for a sequence of up to `longest` events."""
    n_quasi, n_groups = forest.tops.size - 1, forest.tops[-1]
    return Lens(
        np.empty((longest, n_quasi), np.int32),
        np.empty((longest, n_quasi), np.int32),
        np.empty((longest, n_groups), np.int32),
        np.empty((longest, n_groups), np.int32),
    )


@njit
def look_at(forest: Forest, cells: Codes, start: int, length: int, lens: Lens) -> None:
    """Turn a lens to the sequence that begins at a row."""
    parent, worth, depth, group_of = forest.parent, forest.worth, forest.depth, forest.group
    group_end, tops, least = forest.group_end, forest.tops, forest.least
    nodes, fulls, rows, bounds = lens.nodes, lens.fulls, lens.rows, lens.bounds
    for event in range(length):
        for quasi in range(tops.size - 1):
            node = cells[start + event, 2 * quasi]
            full = worth[node]
            nodes[event, quasi], fulls[event, quasi] = node, full
            group = cells[start + event, 2 * quasi + 1]
            # A leaf has the group of the node above it.
            is_leaf = node != parent[node] and group_of[parent[node]] == group
            above = parent[node] if is_leaf else node
            # From the node upwards, every ancestor stands for what lies below it alone.
            done_low = done_high = group
            while True:
                group = group_of[above]
                left = FORBIDDEN if depth[above] < least[quasi] else worth[above]
                for i in range(group, done_low):
                    rows[event, i] = left
                    bounds[event, i] = left
                for i in range(max(done_high, group), group_end[group]):
                    rows[event, i] = left
                    bounds[event, i] = left
                bounds[event, group] = full
                done_low, done_high = group, group_end[group]
                if done_low == tops[quasi] and done_high == tops[quasi + 1]:
                    break
                above = parent[above]


@njit
def common_ancestor(parent: Codes, end: Codes, one: int, other: int) -> int:
    """Find the lowest node at or above both."""
    while not one <= other < end[one]:
        one = parent[one]
    return one


@njit
def sequence_worth(forest: Forest, cells: Codes, start: int, length: int) -> int:
    """Add up what the cells of a sequence are worth."""
    total = 0
    for row in range(start, start + length):
        for quasi in range(forest.tops.size - 1):
            total += forest.worth[cells[row, 2 * quasi]]
    return total


# What runs in the innermost loops takes arrays and not the tuples that hold them: to take an array out of a
# tuple costs more than to look something up in it.


@njit
def event_saving(nodes: Codes, fulls: Codes, rows: Codes, event: int, cells: Codes, other: int) -> int:
    """Add up what two events as one are worth; below 0 where they must not be one."""
    total = 0
    for quasi in range(nodes.shape[1]):
        if cells[other, 2 * quasi] == nodes[event, quasi]:
            total += fulls[event, quasi]
        else:
            total += rows[event, cells[other, 2 * quasi + 1]]
    return total


@njit
def event_bound(
    nodes: Codes, fulls: Codes, rows: Codes, bounds: Codes, event: int, boxes: Codes, other: int
) -> int:
    """Add up what an event and any event in a box could be worth as one, at most."""
    total = 0
    for quasi in range(nodes.shape[1]):
        node = boxes[other, 2 * quasi]
        if node < 0:
            total += bounds[event, boxes[other, 2 * quasi + 1]]
        elif node == nodes[event, quasi]:
            total += fulls[event, quasi]
        else:
            total += rows[event, boxes[other, 2 * quasi + 1]]
    return total


@njit
def best_saving(
    nodes: Codes,
    fulls: Codes,
    rows: Codes,
    n_left: int,
    cells: Codes,
    start: int,
    n_right: int,
    row: Counts,
) -> int:
    """Find what the best alignment of a lens' sequence with another one saves."""
    if n_left == 1 and n_right == 1:
        return int(max(event_saving(nodes, fulls, rows, 0, cells, start), 0))
    for j in range(n_right + 1):
        row[j] = 0
    for i in range(n_left):
        corner = 0
        for j in range(n_right):
            above = row[j + 1]
            best = max(above, row[j])
            best = max(best, corner + event_saving(nodes, fulls, rows, i, cells, start + j))
            corner = above
            row[j + 1] = best
    return int(row[n_right])


@njit
def best_bound(
    nodes: Codes,
    fulls: Codes,
    rows: Codes,
    bounds: Codes,
    n_left: int,
    boxes: Codes,
    start: int,
    n_right: int,
    row: Counts,
) -> int:
    """Find what the best alignment of a lens' sequence with any inside the boxes saves, at most."""
    if n_left == 1 and n_right == 1:
        return int(max(event_bound(nodes, fulls, rows, bounds, 0, boxes, start), 0))
    for j in range(n_right + 1):
        row[j] = 0
    for i in range(n_left):
        corner = 0
        for j in range(n_right):
            above = row[j + 1]
            best = max(above, row[j])
            best = max(best, corner + event_bound(nodes, fulls, rows, bounds, i, boxes, start + j))
            corner = above
            row[j + 1] = best
    return int(row[n_right])


@njit
def align(lens: Lens, n_left: int, cells: Codes, start: int, n_right: int) -> tuple[Codes, Codes]:
    """List the places of the events that the best alignment keeps, of the lens' sequence and of another.

    Of equally good moves the diagonal comes first, then the vertical: an event of nothing but roots stays.
    """
    nodes, fulls, rows = lens.nodes, lens.fulls, lens.rows
    moves = np.empty((n_left + 1, n_right + 1), np.uint8)
    row = np.zeros(n_right + 1, np.int64)
    for i in range(n_left):
        corner = 0
        for j in range(n_right):
            above = row[j + 1]
            best = corner + event_saving(nodes, fulls, rows, i, cells, start + j)
            move = DIAGONAL
            if above > best:
                best, move = above, VERTICAL
            if row[j] > best:
                best, move = row[j], HORIZONTAL
            corner = above
            row[j + 1] = best
            moves[i + 1, j + 1] = move
    ours = np.empty(min(n_left, n_right), np.int32)
    theirs = np.empty(min(n_left, n_right), np.int32)
    place = ours.size
    i, j = n_left, n_right
    while i > 0 and j > 0:
        if moves[i, j] == DIAGONAL:
            i -= 1
            j -= 1
            place -= 1
            ours[place] = i
            theirs[place] = j
        elif moves[i, j] == VERTICAL:
            i -= 1
        else:
            j -= 1
    return ours[place:], theirs[place:]


@njit
def mix(state: int, number: int) -> int:
    """Give a number below 2^32 that nobody foresees; 32 bits in 64, so that no product overflows."""
    state = ((int(state) + 0x9E3779B9) ^ int(number)) & _MASK
    state = (state * 0x45D9F3B) & _MASK
    state ^= state >> 16
    state = (state * 0x45D9F3B) & _MASK
    return state ^ (state >> 16)


@njit
def draw_pairs(
    lens: Lens, n_left: int, cells: Codes, start: int, n_right: int, key: int
) -> tuple[Codes, Codes, int]:
    """Suppress some events of the longer side, drawn by `key`, and pair the rest; and what that saves."""
    short, long = int(min(n_left, n_right)), int(max(n_left, n_right))
    ours = np.empty(short, np.int32)
    theirs = np.empty(short, np.int32)
    taken, kept, saving = 0, 0, 0
    for place in range(long):
        if mix(mix(0, key), place) % (long - place) < short - taken:
            i, j = (taken, place) if n_left <= n_right else (place, taken)
            taken += 1
            gain = event_saving(lens.nodes, lens.fulls, lens.rows, i, cells, start + j)
            if gain >= 0:
                ours[kept] = i
                theirs[kept] = j
                kept += 1
                saving += gain
    return ours[:kept], theirs[:kept], saving
