"""Walk through all that somebody could know of some persons, and skip what would tell nothing new."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.buffers import ensure_capacity
from sequester.kernels.compiler import njit
from sequester.kernels.knowledge import (
    Crowd,
    Found,
    Projection,
    Rows,
    Scratch,
    is_open,
    judge_crowds,
    judge_guesses,
    mark_next,
    weigh_next,
)

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts


@njit
def _next_group(rows: Rows, place: int, stop: int) -> int:
    """Return the place where the group after that of `place` begins."""
    group = rows.groups[place]
    place += 1
    while place < stop and rows.groups[place] == group:
        place += 1
    return place


@njit
def _holders(rows: Rows, item: int) -> tuple[Projection, int]:
    """Return the rows that hold an item with something behind it, and their number."""
    start, stop = rows.starts[item], rows.starts[item + 1]
    holders = np.empty(stop - start, np.int32)
    after = np.empty(stop - start, np.int64)
    size = 0
    for i in range(start, stop):
        row = rows.rows[i]
        end = rows.offsets[row + 1]
        place = _next_group(rows, rows.after[i] - 1, end)
        if place < end:
            holders[size] = row
            after[size] = place
            size += 1
    return Projection(holders, after), size


@njit
def _keep_open(targets: Rows, node: Projection, size: int, found: Found) -> int:
    """Move the rows of open targets to the front, and give their number."""
    kept = 0
    for entry in range(size):
        if is_open(found, targets.owners[node.rows[entry]]):
            node.rows[kept] = node.rows[entry]
            node.after[kept] = node.after[entry]
            kept += 1
    return kept


@njit
def _size_children(
    rows: Rows, node: Projection, low: int, high: int, scratch: Scratch, sizes: Counts, clock: int
) -> int:
    """Count, for each item with a count, the rows that have it next with something behind it."""
    for entry in range(low, high):
        row = node.rows[entry]
        clock += 1
        i, stop = node.after[entry], rows.offsets[row + 1]
        left = rows.ahead[i]
        while left > 0:
            item = rows.items[i]
            if scratch.seen[item] != clock:
                scratch.seen[item] = clock
                left -= 1
                if scratch.counts[item] >= 0 and _next_group(rows, i, stop) < stop:
                    sizes[item] += 1
            i += 1
    return clock


@njit
def _fill_children(
    rows: Rows, node: Projection, low: int, high: int, scratch: Scratch, fill_of: Counts, clock: int
) -> int:
    """Write the projections of the children behind those that wait; `fill_of` is -1 for other items."""
    for entry in range(low, high):
        row = node.rows[entry]
        clock += 1
        i, stop = node.after[entry], rows.offsets[row + 1]
        left = rows.ahead[i]
        while left > 0:
            item = rows.items[i]
            if scratch.seen[item] != clock:
                scratch.seen[item] = clock
                left -= 1
                at = fill_of[item] if scratch.counts[item] >= 0 else -1
                if at >= 0:
                    place = _next_group(rows, i, stop)
                    if place < stop:
                        node.rows[at] = row
                        node.after[at] = place
                        fill_of[item] = at + 1
            i += 1
    return clock


@njit
def search(
    size: int,
    firsts: Codes,
    rows: Rows,
    crowd: Crowd,
    targets: Rows,
    n_items: int,
    n_values: int,
    found: Found,
) -> None:
    """Judge everything of exactly `size` items that targets have and that begins with one of `firsts`.

    The owners of the rows of `targets` are the numbers of targets in `found`. With ``size == 1`` every item
    is judged, whatever `firsts` are. A node of the search is a list of items with two projections, that of
    the crowd and that of the targets. Only items that an open target has next are followed, those with the
    smallest projection first: a target who is found to be alone is done with, and so is all that only such
    targets have. Projections of siblings that wait lie in one growing buffer below that of the current node.

    Requires codes below `n_items` and values below `n_values`.
    """
    scratch = Scratch(
        np.full(n_items, -1, np.int64),
        np.full(n_items, -1, np.int64),
        np.zeros(n_items, np.int64),
        np.empty(n_items, np.int32),
        np.full(n_values, -1, np.int32),
    )
    clock = 0
    everybody = np.empty(0, np.int64)
    owner_of_row = found.owners[targets.owners]
    path = np.empty(size, np.int32)
    # Children that wait: their item and the bounds of their projections.
    child_items = np.empty(64, np.int32)
    lows = np.empty(64, np.int64)
    highs = np.empty(64, np.int64)
    t_lows = np.empty(64, np.int64)
    t_highs = np.empty(64, np.int64)
    # Depth d walks through the children turns[d] to stops[d].
    turns = np.zeros(size, np.int64)
    stops = np.zeros(size, np.int64)
    sizes = np.zeros(n_items, np.int64)
    t_sizes = np.zeros(n_items, np.int64)
    fill_of = np.zeros(n_items, np.int64)
    t_fill_of = np.zeros(n_items, np.int64)

    root = min(size - 1, 1)
    for turn in range(firsts.size if root else 1):
        if root:
            path[0] = firsts[turn]
            t_node, t_high = _holders(targets, path[0])
            t_high = _keep_open(targets, t_node, t_high, found)
            if t_high == 0:
                continue
            node, high = _holders(rows, path[0])
        else:
            high, t_high = rows.offsets.size - 1, targets.offsets.size - 1
            node = Projection(np.arange(high).astype(np.int32), rows.offsets[:-1].copy())
            t_node = Projection(np.arange(t_high).astype(np.int32), targets.offsets[:-1].copy())
        low, t_low = 0, 0
        depth = root
        while True:
            n_met = mark_next(targets, t_node, t_low, t_high, found, scratch)
            first = stops[depth - 1] if depth > root else 0
            n_children = 0
            if n_met > 0 and depth == size - 1:
                clock = weigh_next(
                    rows, crowd, node, everybody, low, high, scratch.counts, scratch.seen, clock
                )
                judge_crowds(targets, t_node, t_low, t_high, path, depth, scratch, found)
                clock = judge_guesses(
                    rows,
                    crowd,
                    node,
                    low,
                    high,
                    targets,
                    owner_of_row,
                    t_node,
                    t_low,
                    t_high,
                    path,
                    depth,
                    n_met,
                    scratch,
                    clock,
                    found,
                )
            elif n_met > 0:
                clock = _size_children(rows, node, low, high, scratch, sizes, clock)
                clock = _size_children(targets, t_node, t_low, t_high, scratch, t_sizes, clock)
                met = scratch.met[:n_met]
                met.sort()
                order = np.argsort(sizes[met], kind="mergesort")
                top = highs[first - 1] if depth > root else high
                t_top = t_highs[first - 1] if depth > root else t_high
                bottom, t_bottom = top, t_top
                child_items = ensure_capacity(child_items, first, first + n_met)
                lows = ensure_capacity(lows, first, first + n_met)
                highs = ensure_capacity(highs, first, first + n_met)
                t_lows = ensure_capacity(t_lows, first, first + n_met)
                t_highs = ensure_capacity(t_highs, first, first + n_met)
                for j in range(n_met):
                    item = met[order[j]]
                    fill_of[item], t_fill_of[item] = -1, -1
                    if t_sizes[item] > 0:
                        at = first + n_children
                        child_items[at] = item
                        fill_of[item], t_fill_of[item] = top, t_top
                        lows[at], t_lows[at] = top, t_top
                        top += sizes[item]
                        t_top += t_sizes[item]
                        highs[at], t_highs[at] = top, t_top
                        n_children += 1
                    sizes[item], t_sizes[item] = 0, 0
                node = Projection(
                    ensure_capacity(node.rows, bottom, top), ensure_capacity(node.after, bottom, top)
                )
                t_node = Projection(
                    ensure_capacity(t_node.rows, t_bottom, t_top),
                    ensure_capacity(t_node.after, t_bottom, t_top),
                )
                clock = _fill_children(rows, node, low, high, scratch, fill_of, clock)
                clock = _fill_children(targets, t_node, t_low, t_high, scratch, t_fill_of, clock)
            for i in range(n_met):
                scratch.counts[scratch.met[i]] = -1
            # Go on with the next child that waits, here or further up.
            turns[depth], stops[depth] = first, first + n_children
            while turns[depth] == stops[depth]:
                if depth == root:
                    break
                depth -= 1
                turns[depth] += 1
            if turns[depth] == stops[depth]:
                break
            child = turns[depth]
            path[depth] = child_items[child]
            low, high, t_low, t_high = lows[child], highs[child], t_lows[child], t_highs[child]
            depth += 1
