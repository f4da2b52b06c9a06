"""Align two sequences of events, each cell a path down its tree, so that the most is left of both.

A cell is the path from below the root down to its node, node by node, -1 behind it; the root is nothing but
-1. Quasi-identifier ``q`` has the columns ``tops[q]`` to ``tops[q + 1]`` of a row, and a row is an event.
What two cells have in common is the longest common beginning of their paths, which is their lowest common
ancestor, and it is worth ``worth[node]``: nothing for the root. Worths are whole numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts

FORBIDDEN = -(1 << 60)
"""Saves less than nothing: two events that may not become one."""
DIAGONAL, VERTICAL, HORIZONTAL = 0, 1, 2
"""Moves: keep both events as one, suppress the left one, suppress the right one."""
_MASK = 0xFFFFFFFF


class Forest(NamedTuple):
    """The trees of all quasi-identifiers, their nodes numbered through."""

    parent: Codes
    """Node to the node above it; roots to themselves."""
    depth: Codes
    """Node to its steps from the root."""
    worth: Counts
    """Node to what is left of a cell that shows it."""
    tops: Codes
    """Quasi-identifier to its first column in a path, and the number of all columns."""
    least: Codes
    """Quasi-identifier to the smallest depth that different nodes may be generalized to; 0 allows any."""


@njit(cache=True, nogil=True)
def write_path(forest: Forest, node: int, quasi: int, row: Codes) -> None:
    """Write the path of a node into its columns of a row."""
    first = forest.tops[quasi]
    for column in range(first, forest.tops[quasi + 1]):
        row[column] = -1
    while forest.depth[node] > 0:
        row[first + forest.depth[node] - 1] = node
        node = forest.parent[node]


@njit(cache=True, nogil=True)
def event_worth(forest: Forest, paths: Codes, row: int) -> int:
    """Add up what the cells of an event are worth."""
    total = 0
    for quasi in range(forest.tops.size - 1):
        column = forest.tops[quasi]
        stop = forest.tops[quasi + 1]
        while column < stop and paths[row, column] >= 0:
            column += 1
        if column > forest.tops[quasi]:
            total += forest.worth[paths[row, column - 1]]
    return total


@njit(cache=True, nogil=True)
def event_saving(forest: Forest, paths: Codes, left: int, right: int) -> int:
    """Add up what two events as one are worth; `FORBIDDEN` where a cell would become too coarse."""
    total = 0
    for quasi in range(forest.tops.size - 1):
        first = forest.tops[quasi]
        stop = forest.tops[quasi + 1]
        column = first
        while column < stop and paths[left, column] >= 0 and paths[left, column] == paths[right, column]:
            column += 1
        if column > first:
            total += forest.worth[paths[left, column - 1]]
        # Equal cells stay as they are, however coarse.
        if (
            column - first < forest.least[quasi]
            and column < stop
            and (paths[left, column] >= 0 or paths[right, column] >= 0)
        ):
            return FORBIDDEN
    return total


@njit(cache=True, nogil=True)
def event_bound(forest: Forest, paths: Codes, left: int, boxes: Codes, right: int) -> int:
    """Add up what an event and any event below the cells of a box could be worth as one, at most."""
    total = 0
    for quasi in range(forest.tops.size - 1):
        first = forest.tops[quasi]
        stop = forest.tops[quasi + 1]
        column = first
        while column < stop and paths[left, column] >= 0 and paths[left, column] == boxes[right, column]:
            column += 1
        if column < stop and boxes[right, column] < 0:
            # Below the box may be the very same cell.
            while column < stop and paths[left, column] >= 0:
                column += 1
        if column > first:
            total += forest.worth[paths[left, column - 1]]
    return total


@njit(cache=True, nogil=True)
def best_saving(
    forest: Forest, paths: Codes, left: int, n_left: int, right: int, n_right: int, row: Counts
) -> int:
    """Find what the best alignment of two sequences saves; they begin at the rows `left` and `right`."""
    if n_left == 1 and n_right == 1:
        return int(max(event_saving(forest, paths, left, right), 0))
    for j in range(n_right + 1):
        row[j] = 0
    for i in range(n_left):
        corner = 0
        for j in range(n_right):
            above = row[j + 1]
            best = max(above, row[j])
            best = max(best, corner + event_saving(forest, paths, left + i, right + j))
            corner = above
            row[j + 1] = best
    return int(row[n_right])


@njit(cache=True, nogil=True)
def best_bound(
    forest: Forest, paths: Codes, left: int, n_left: int, boxes: Codes, right: int, n_right: int, row: Counts
) -> int:
    """Find what the best alignment with any sequence inside the boxes saves, at most."""
    if n_left == 1 and n_right == 1:
        return int(event_bound(forest, paths, left, boxes, right))
    for j in range(n_right + 1):
        row[j] = 0
    for i in range(n_left):
        corner = 0
        for j in range(n_right):
            above = row[j + 1]
            best = max(above, row[j])
            best = max(best, corner + event_bound(forest, paths, left + i, boxes, right + j))
            corner = above
            row[j + 1] = best
    return int(row[n_right])


@njit(cache=True, nogil=True)
def align(
    forest: Forest, paths: Codes, left: int, n_left: int, right: int, n_right: int
) -> tuple[Codes, Codes]:
    """List the places of the events that the best alignment keeps, on the left and on the right.

    Of equally good moves the diagonal comes first, then the vertical: an event of nothing but roots stays.
    """
    moves = np.empty((n_left + 1, n_right + 1), np.uint8)
    row = np.zeros(n_right + 1, np.int64)
    for i in range(n_left):
        corner = 0
        for j in range(n_right):
            above = row[j + 1]
            best = corner + event_saving(forest, paths, left + i, right + j)
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


@njit(cache=True, nogil=True)
def mix(state: int, number: int) -> int:
    """Give a number below 2^32 that nobody foresees; 32 bits in 64, so that no product overflows."""
    state = ((int(state) + 0x9E3779B9) ^ int(number)) & _MASK
    state = (state * 0x45D9F3B) & _MASK
    state ^= state >> 16
    state = (state * 0x45D9F3B) & _MASK
    return state ^ (state >> 16)


@njit(cache=True, nogil=True)
def draw_pairs(
    forest: Forest, paths: Codes, left: int, n_left: int, right: int, n_right: int, key: int
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
            gain = event_saving(forest, paths, left + i, right + j)
            if gain >= 0:
                ours[kept] = i
                theirs[kept] = j
                kept += 1
                saving += gain
    return ours[:kept], theirs[:kept], saving
