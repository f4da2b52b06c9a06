"""Groups within a snapshot: of different values as Anatomy makes them, or by partition along hierarchies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.methods.reposition._kernels import draw

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Level = tuple[int, int]
    Losses = npt.NDArray[np.float64]
    State = npt.NDArray[np.uint64]


@njit
def shuffle(order: Counts, n_rows: int, state: State) -> None:
    """Write the numbers below `n_rows` to `order`, in a random order."""
    for row in range(n_rows):
        order[row] = row
    for last in range(n_rows - 1, 0, -1):
        other = draw(state, last + 1)
        order[last], order[other] = order[other], order[last]


def shuffled_within(places: Counts, state: State) -> Counts:
    """Return the rows ordered by their place, in a random order within it."""
    chance = np.empty(len(places), np.int64)
    shuffle(chance, len(places), state)
    # Row `r` comes as number `chance[r]` of all.
    rows = np.argsort(chance)
    order: Counts = rows[np.argsort(places[rows], kind="stable")]
    return order


@njit
def largest_buckets(counts: Counts, chosen: Counts, chosen_in: Counts, group: int, state: State) -> bool:
    """Choose the values with most records, equals by chance, until `chosen` is full; False if it cannot be.

    What is chosen has ``chosen_in[value] == group``; requires that nothing has before.
    """
    for place in range(chosen.size):
        best, n_equal = -1, 0
        for value in range(counts.size):
            if chosen_in[value] == group or counts[value] == 0:
                continue
            if best < 0 or counts[value] > counts[best]:
                best, n_equal = value, 1
            elif counts[value] == counts[best]:
                n_equal += 1
                if draw(state, n_equal) == 0:
                    best = value
        if best < 0:
            return False
        chosen_in[best] = group
        chosen[place] = best
    return True


@njit
def form_groups(
    values: Codes, offsets: Offsets, n_values: int, size: int, state: State, groups: Counts
) -> None:
    """Write groups of records to `groups`, numbered from 1, snapshot after snapshot.

    A group has `size` records of different values. What is left of a snapshot joins a random group that has
    not its value. Snapshot ``i`` has the records ``offsets[i]`` to ``offsets[i + 1]``. Requires that every
    snapshot is eligible for l = `size`, and `groups` of 0.
    """
    chosen, chosen_in = np.empty(size, np.int64), np.empty(n_values, np.int64)
    order, links = np.empty(values.size, np.int64), np.empty(values.size, np.int64)
    heads, counts = np.empty(n_values, np.int64), np.empty(n_values, np.int64)
    last_group, n_tries = 0, 0
    for value in range(n_values):
        chosen_in[value] = 0
    for snapshot in range(offsets.size - 1):
        start, n_rows = offsets[snapshot], offsets[snapshot + 1] - offsets[snapshot]
        first_group = last_group
        for value in range(n_values):
            heads[value], counts[value] = -1, 0
        shuffle(order, n_rows, state)
        for place in range(n_rows):
            row = order[place]
            value = values[start + row]
            links[row] = heads[value]
            heads[value] = row
            counts[value] += 1
        n_tries += 1
        while largest_buckets(counts, chosen, chosen_in, n_tries, state):
            n_tries += 1
            last_group += 1
            for place in range(size):
                value = chosen[place]
                groups[start + heads[value]] = last_group
                heads[value] = links[heads[value]]
                counts[value] -= 1
        for value in range(n_values):
            # Eligibility leaves at most one record of a value, and a group without it.
            while heads[value] >= 0:
                row = heads[value]
                heads[value] = links[row]
                _join(values, groups, start, n_rows, row, first_group, last_group, state)


@inner
def _join(
    values: Codes,
    groups: Counts,
    start: int,
    n_rows: int,
    row: int,
    first_group: int,
    last_group: int,
    state: State,
) -> None:
    """Let a record that is left join a random group of its snapshot without its value."""
    n_groups = last_group - first_group
    has = np.empty(n_groups, np.int64)
    for group in range(n_groups):
        has[group] = 0
    for other in range(start, start + n_rows):
        if values[other] == values[start + row] and groups[other] > 0:
            has[groups[other] - first_group - 1] = 1
    n_without = n_groups
    for group in range(n_groups):
        n_without -= has[group]
    skip = draw(state, n_without)
    for group in range(n_groups):
        if has[group] == 0:
            if skip == 0:
                groups[start + row] = first_group + group + 1
                break
            skip -= 1


@njit
def common_node(low: int, high: int, parent: Codes, subtree_end: Codes) -> int:
    """Return the lowest node at or above all nodes from `low` to `high`, which are numbered depth first."""
    node = low
    while subtree_end[node] <= high:
        node = parent[node]
    return node


@njit
def add_up(rows: Counts, values: Codes, counts: Counts, sign: int) -> None:
    """Count the values of rows in, or out again."""
    for row in rows:
        counts[values[row]] += sign


@njit
def is_eligible(rows: Counts, values: Codes, counts: Counts, level_parts: Level) -> bool:
    """Return whether no value has more than 1/l of the rows and of what is in `counts` already."""
    add_up(rows, values, counts, 1)
    level, size = 0, 0
    for count in counts:
        level = max(level, count)
        size += count
    add_up(rows, values, counts, -1)
    return bool(level * level_parts[0] <= size * level_parts[1])


@njit
def cut(
    rows: Counts, nodes: Codes, top: int, subtree_end: Codes, values: Codes, n_values: int, level: Level
) -> tuple[Counts, Counts]:
    """Cut rows into the children of node `top` that can be a group, and the rest together, last.

    Returns the rows in their new order and the bounds of the parts; one part where nothing can be a group.
    Requires rows whose nodes are all below `top`.
    """
    order = rows[np.argsort(nodes[rows], kind="mergesort")]
    starts = np.empty(order.size + 1, np.int64)
    n_children, child_end = 0, -1
    for place in range(order.size):
        node = nodes[order[place]]
        if node >= child_end:
            child = top + 1
            while subtree_end[child] <= node:
                child = subtree_end[child]
            child_end = subtree_end[child]
            starts[n_children] = place
            n_children += 1
    starts[n_children] = order.size
    counts = np.zeros(n_values, np.int64)
    alone = np.zeros(n_children, np.bool_)
    n_pooled = 0
    for child in range(n_children):
        part = order[starts[child] : starts[child + 1]]
        alone[child] = is_eligible(part, values, counts, level)
        if not alone[child]:
            n_pooled += part.size
    for child in range(n_children):
        if not alone[child]:
            add_up(order[starts[child] : starts[child + 1]], values, counts, 1)
    empty = order[:0]
    while n_pooled and not is_eligible(empty, values, counts, level):
        # The rest cannot be a group: the smallest child that could joins it.
        smallest = -1
        for child in range(n_children):
            size = starts[child + 1] - starts[child]
            if alone[child] and (smallest < 0 or size < starts[smallest + 1] - starts[smallest]):
                smallest = child
        if smallest < 0:
            break
        alone[smallest] = False
        part = order[starts[smallest] : starts[smallest + 1]]
        add_up(part, values, counts, 1)
        n_pooled += part.size
    arranged = np.empty_like(order)
    bounds = np.empty(n_children + 2, np.int64)
    bounds[0], n_parts, at = 0, 0, 0
    for is_pooled in range(2):
        for child in range(n_children):
            if alone[child] != is_pooled:
                size = starts[child + 1] - starts[child]
                arranged[at : at + size] = order[starts[child] : starts[child + 1]]
                at += size
                if not is_pooled:
                    n_parts += 1
                    bounds[n_parts] = at
    if n_pooled:
        n_parts += 1
        bounds[n_parts] = at
    return arranged, bounds[: n_parts + 1]


@njit
def loss_of(
    rows: Counts, bounds: Counts, nodes: Codes, parent: Codes, subtree_end: Codes, losses: Losses
) -> float:
    """Add up the losses of rows that are published, part by part, as the lowest node above their part."""
    total = 0.0
    for part in range(bounds.size - 1):
        low, high = nodes[rows[bounds[part]]], nodes[rows[bounds[part]]]
        for row in rows[bounds[part] : bounds[part + 1]]:
            low, high = min(low, nodes[row]), max(high, nodes[row])
        size = bounds[part + 1] - bounds[part]
        total += size * losses[common_node(low, high, parent, subtree_end)]
    return total


@njit
def partition(
    nodes: Codes,
    tree_offsets: Offsets,
    parent: Codes,
    subtree_end: Codes,
    losses: Losses,
    values: Codes,
    n_values: int,
    offsets: Offsets,
    level_parts: Level,
) -> tuple[Counts, Codes]:
    """Number groups of records from 1, and give the published node of each record and attribute.

    ``nodes[a]`` are the nodes of attribute `a`, whose tree stands in the arrays from ``tree_offsets[a]`` on.
    A group is split along the attribute that saves most loss, into children that are eligible by themselves
    and the rest together, as long as that is possible. Requires that every snapshot is eligible.
    """
    n_attributes, n_rows = nodes.shape
    groups = np.zeros(n_rows, np.int64)
    published = np.empty_like(nodes)
    order = np.arange(n_rows)
    waiting = [(offsets[i], offsets[i + 1]) for i in range(offsets.size - 2, -1, -1)]
    n_groups = 0
    tight = np.zeros(n_attributes, np.int64)
    while waiting:
        start, stop = waiting.pop()
        if start == stop:
            continue
        rows = order[start:stop].copy()
        best_saving = 1e-12
        best_rows, best_bounds = rows, np.empty(0, np.int64)
        for attribute in range(n_attributes):
            first, last = tree_offsets[attribute], tree_offsets[attribute + 1]
            ups, ends, costs = parent[first:last], subtree_end[first:last], losses[first:last]
            ours = nodes[attribute]
            low, high = ours[rows[0]], ours[rows[0]]
            for row in rows:
                low, high = min(low, ours[row]), max(high, ours[row])
            top = common_node(low, high, ups, ends)
            tight[attribute] = top
            if low == high or costs[top] == 0.0:
                continue
            cut_rows, bounds = cut(rows, ours, top, ends, values, n_values, level_parts)
            if bounds.size < 3:
                continue
            saving = rows.size * costs[top] - loss_of(cut_rows, bounds, ours, ups, ends, costs)
            if saving > best_saving:
                best_saving, best_rows, best_bounds = saving, cut_rows, bounds
        if best_bounds.size:
            order[start:stop] = best_rows
            for part in range(best_bounds.size - 2, -1, -1):
                part_start, part_stop = start + best_bounds[part], start + best_bounds[part + 1]
                waiting.append((part_start, part_stop))
        else:
            n_groups += 1
            for row in rows:
                groups[row] = n_groups
                for attribute in range(n_attributes):
                    published[attribute, row] = tight[attribute]
    return groups, published
