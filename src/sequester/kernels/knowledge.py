"""Judge what follows a list of items that somebody knows: how small a crowd, how sure a guess.

The crowd is everybody: rows of items, each with its owner. What somebody knows is a list of items that some
row of a person holds in order, an item per group; a group is an event where order counts, and a single item
where rows are sets, listed from the rarest item on. It fits a person if one of their rows holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.buffers import ensure_capacity
from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Shares = npt.NDArray[np.float64]


class Rows(NamedTuple):
    """Rows of items, sorted by owner; no row is empty."""

    items: Codes
    """The codes of all rows, one after the other."""
    groups: Codes
    """The number of each item's group within its row, not falling."""
    offsets: Offsets
    """Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``."""
    owners: Codes
    """Whose row it is."""
    ahead: Codes
    """How many different items the row holds from a place on."""
    starts: Offsets
    """Item ``i`` is in the rows ``rows[starts[i]:starts[i + 1]]``."""
    rows: Codes
    """The rows that hold an item, ascending."""
    after: Offsets
    """The place after the item's first occurrence in that row."""


class Crowd(NamedTuple):
    """How many persons each owner stands for, and which protected values they have."""

    weights: Counts
    """Persons."""
    values: Codes
    """Protected values of all owners, one after the other, each once."""
    value_offsets: Offsets
    """Owner ``o`` has ``values[value_offsets[o]:value_offsets[o + 1]]``."""


class Found(NamedTuple):
    """What is known about each target so far; judging writes into it."""

    owners: Codes
    """Who the target is in the crowd."""
    enough: Counts
    """A crowd of fewer persons than this settles how rare the target is."""
    fewest: Counts
    """Persons in the smallest crowd."""
    rare: Codes
    """The items that lead to it, one row per target, -1 behind them."""
    surest: Shares
    """The largest confidence in a protected value of the target's own; 1 for those who have none."""
    among: Counts
    """Persons in the crowd that this confidence is about."""
    told: Codes
    """The value."""
    telling: Codes
    """The items that lead to it, one row per target, -1 behind them."""


class Projection(NamedTuple):
    """Rows that hold some items in order, each with the place from where on the next one may stand."""

    rows: Codes
    """Their numbers, ascending."""
    after: Offsets
    """The places."""


class Scratch(NamedTuple):
    """What a node says about each item or value; wiped before the next node."""

    counts: Counts
    """Persons who have the item next; -1 where no open target has it."""
    counts_with: Counts
    """Persons who have the item next and the protected value at hand; -1 as above."""
    seen: Counts
    """When the item was last met."""
    met: Codes
    """The items whose count is not -1."""
    place_of: Codes
    """The place of a protected value among those that matter at the node; -1 for others."""


@njit
def is_open(found: Found, target: int) -> bool:
    """Return whether another candidate set could still change what is known about a target."""
    return bool(found.fewest[target] >= found.enough[target] or found.surest[target] < 1.0)


@njit
def mark_next(targets: Rows, node: Projection, low: int, high: int, found: Found, scratch: Scratch) -> int:
    """Set the count of every item that an open target has next from -1 to 0, and give their number."""
    n_met = 0
    for entry in range(low, high):
        row = node.rows[entry]
        if is_open(found, targets.owners[row]):
            for i in range(node.after[entry], targets.offsets[row + 1]):
                item = targets.items[i]
                if scratch.counts[item] < 0:
                    scratch.counts[item] = 0
                    scratch.met[n_met] = item
                    n_met += 1
    return n_met


@njit
def weigh_next(
    rows: Rows,
    crowd: Crowd,
    node: Projection,
    chosen: Offsets,
    low: int,
    high: int,
    counts: Counts,
    seen: Counts,
    clock: int,
) -> int:
    """Add to every count that is not -1 the persons who have the item next; give the clock's new time.

    The entries of the projection are those numbered ``chosen[low:high]``, or all from `low` to `high` where
    `chosen` is empty.
    """
    last = -1
    for place in range(low, high):
        entry = chosen[place] if chosen.size > 0 else place
        row = node.rows[entry]
        owner = rows.owners[row]
        if owner != last:
            last = owner
            clock += 1
        weight = crowd.weights[owner]
        i, stop = node.after[entry], rows.offsets[row + 1]
        left = rows.ahead[i]
        while left > 0 and i < stop:
            item = rows.items[i]
            if seen[item] != clock:
                seen[item] = clock
                left -= 1
                if counts[item] >= 0:
                    counts[item] += weight
            i += 1
    return clock


@njit
def judge_crowds(
    targets: Rows,
    node: Projection,
    low: int,
    high: int,
    path: Codes,
    depth: int,
    scratch: Scratch,
    found: Found,
) -> None:
    """Take note of crowds that are smaller than the smallest so far."""
    for entry in range(low, high):
        row = node.rows[entry]
        target = targets.owners[row]
        if found.fewest[target] >= found.enough[target]:
            for i in range(node.after[entry], targets.offsets[row + 1]):
                item = targets.items[i]
                if scratch.counts[item] < found.fewest[target]:
                    found.fewest[target] = scratch.counts[item]
                    found.rare[target, :depth] = path[:depth]
                    found.rare[target, depth] = item
                    found.rare[target, depth + 1 :] = -1


@njit
def _list_by_value(
    owners: Codes, node: Projection, low: int, high: int, crowd: Crowd, place_of: Codes, n_values: int
) -> tuple[Offsets, Offsets]:
    """List the entries whose owners have each value that matters, value by value."""
    starts = np.zeros(n_values + 1, np.int64)
    for entry in range(low, high):
        owner = owners[node.rows[entry]]
        for i in range(crowd.value_offsets[owner], crowd.value_offsets[owner + 1]):
            place = place_of[crowd.values[i]]
            if place >= 0:
                starts[place + 1] += 1
    for place in range(n_values):
        starts[place + 1] += starts[place]
    listed = np.empty(starts[-1], np.int64)
    filled = starts[:-1].copy()
    for entry in range(low, high):
        owner = owners[node.rows[entry]]
        for i in range(crowd.value_offsets[owner], crowd.value_offsets[owner + 1]):
            place = place_of[crowd.values[i]]
            if place >= 0:
                listed[filled[place]] = entry
                filled[place] += 1
    return starts, listed


@njit
def judge_guesses(
    rows: Rows,
    crowd: Crowd,
    node: Projection,
    low: int,
    high: int,
    targets: Rows,
    owner_of_row: Codes,
    t_node: Projection,
    t_low: int,
    t_high: int,
    path: Codes,
    depth: int,
    n_met: int,
    scratch: Scratch,
    clock: int,
    found: Found,
) -> int:
    """Take note of confidences in a target's own protected values that are larger than the largest so far.

    Of equal ones the one about the larger crowd is kept. Gives the clock's new time.
    """
    wanted = np.empty(16, np.int32)
    n_wanted = 0
    for entry in range(t_low, t_high):
        row = t_node.rows[entry]
        if found.surest[targets.owners[row]] < 1.0:
            owner = owner_of_row[row]
            for i in range(crowd.value_offsets[owner], crowd.value_offsets[owner + 1]):
                value = crowd.values[i]
                if scratch.place_of[value] < 0:
                    scratch.place_of[value] = n_wanted
                    wanted = ensure_capacity(wanted, n_wanted, n_wanted + 1)
                    wanted[n_wanted] = value
                    n_wanted += 1
    if n_wanted == 0:
        return clock
    starts, listed = _list_by_value(rows.owners, node, low, high, crowd, scratch.place_of, n_wanted)
    t_starts, t_listed = _list_by_value(
        owner_of_row, t_node, t_low, t_high, crowd, scratch.place_of, n_wanted
    )
    for place in range(n_wanted):
        for i in range(n_met):
            scratch.counts_with[scratch.met[i]] = 0
        clock = weigh_next(
            rows,
            crowd,
            node,
            listed,
            starts[place],
            starts[place + 1],
            scratch.counts_with,
            scratch.seen,
            clock,
        )
        for place_of_entry in range(t_starts[place], t_starts[place + 1]):
            entry = t_listed[place_of_entry]
            row = t_node.rows[entry]
            target = targets.owners[row]
            if found.surest[target] < 1.0:
                for i in range(t_node.after[entry], targets.offsets[row + 1]):
                    item = targets.items[i]
                    persons = scratch.counts[item]
                    share = scratch.counts_with[item] / persons
                    if share > found.surest[target] or (
                        share == found.surest[target] and persons > found.among[target]
                    ):
                        found.surest[target] = share
                        found.among[target] = persons
                        found.told[target] = wanted[place]
                        found.telling[target, :depth] = path[:depth]
                        found.telling[target, depth] = item
                        found.telling[target, depth + 1 :] = -1
        scratch.place_of[wanted[place]] = -1
    for i in range(n_met):
        scratch.counts_with[scratch.met[i]] = -1
    return clock
