"""Count, person by person, what occurs in each: generalized items in order, within events and across them.

Nothing is projected and nothing is joined. Every row is walked through on its own, and each sequence that it
holds is looked up in one hash table: a tree whose nodes are sequences, found by the node of the sequence
without its last item and by that item. So a key is a pair of whole numbers, and no two sequences share one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts
    from sequester.kernels.occurrence_rows import Rows

    Nodes = npt.NDArray[np.int64]

KEY, NAME, SEEN, COUNT = 0, 1, 2, 3
"""Columns of a node: its key, -1 where there is none; twice its number, plus 1 where it uses every view; the
last row that has it, -1 where none has; and the persons who have it, see `WITH_VALUE`."""
UNWANTED = -2
"""Seen by nobody, and not looked for."""


class Signature(NamedTuple):
    """The views through which events are looked at: a column at a level each, in the order of columns."""

    items: Codes
    """The item of each kind of event in each view, -1 where it has none; views in the second dimension."""
    columns: Codes
    """The column of each view, not falling. Of one column, an event gives at most one item."""
    marks: Counts
    """The bit of its view for each item that makes a sequence use the view, 0 for others."""
    ranks: Counts
    """The place of each item in label order."""
    n_values: int
    """Number of protected values."""


@njit
def find(nodes: Nodes, key: int) -> int:
    """Give the slot of a key, or the empty one where it belongs."""
    last = nodes.shape[0] - 1
    # Factors of 31 and 32 bits, so that no product overflows and the JIT may be off.
    mixed = ((key & 0x7FFFFFFF) * 2654435769) ^ (((key >> 31) & 0x7FFFFFFF) * 2246822519)
    slot = (mixed ^ (mixed >> 29)) & last
    while nodes[slot, KEY] != key and nodes[slot, KEY] >= 0:
        slot = (slot + 1) & last
    return int(slot)


@njit
def _grown(nodes: Nodes) -> Nodes:
    """Give a table with twice as many slots that holds the same nodes."""
    larger = np.full((2 * nodes.shape[0], nodes.shape[1]), -1, np.int64)
    for old in range(nodes.shape[0]):
        if nodes[old, KEY] >= 0:
            larger[find(larger, nodes[old, KEY])] = nodes[old]
    return larger


@njit
def no_nodes(n_columns: int) -> Nodes:
    """Give a table without nodes."""
    return np.full((1 << 8, n_columns), -1, np.int64)


@njit
def _count_missing(n_views: int) -> Counts:
    """Count, for each set of views, the views that are not in it."""
    missing = np.full(1 << n_views, n_views, np.int64)
    for used in range(1 << n_views):
        for view in range(n_views):
            missing[used] -= (used >> view) & 1
    return missing


@njit
def _enter(nodes: Nodes, key: int, new_name: int, makes_nodes: bool) -> int:
    """Give the slot of a key, under a new name where there was none; -1 where none is made or wanted."""
    slot = find(nodes, key)
    if nodes[slot, KEY] < 0:
        if not makes_nodes:
            return -1
        nodes[slot, KEY], nodes[slot, NAME], nodes[slot, COUNT] = key, new_name, 0
    return -1 if nodes[slot, SEEN] == UNWANTED else slot


@njit
def _hold(held: Nodes, n_held: int, number: int, rows: Rows, row: int, n_values: int) -> tuple[Nodes, int]:
    """Add the protected values of a row to those of a sequence."""
    for i in range(rows.value_offsets[row], rows.value_offsets[row + 1]):
        if 2 * n_held >= held.shape[0]:
            held = _grown(held)
        key = number * n_values + rows.values[i]
        slot = find(held, key)
        if held[slot, KEY] < 0:
            held[slot, KEY], held[slot, 1] = key, 0
            n_held += 1
        held[slot, 1] += rows.counts[i]
    return held, n_held


@njit
def count_occurrences(
    rows: Rows,
    signature: Signature,
    most: int,
    nodes: Nodes,
    n_counted: int,
    part: int,
    n_parts: int,
    room: int,
) -> tuple[Nodes, Nodes, int]:
    """Count the persons of every sequence of at most `most` items that uses all views of the signature.

    The first `n_counted` rows make nodes; the others only add to nodes that are there. Of the items that a
    sequence can begin with, only every `n_parts`-th is taken, from `part` on.

    With ``n_counted < 0`` the nodes are there already; then not they are counted but, for each of them that
    is wanted, the protected values of those who have it, by the key ``number * n_values + value``.

    Gives the nodes, the protected values, and the number of sequences; -1 where they are more than `room`.
    Requires ``most > 0``.
    """
    items, marks, columns = signature.items, signature.marks, signature.columns
    n_views = columns.size
    base = 2 * marks.size
    missing = _count_missing(n_views)
    everything = missing.size - 1
    tells = n_counted < 0
    held = no_nodes(2)
    n_sequences, n_held = 1, 0
    # What is known at each length: the number of the sequence, its last item's event and view, the views it
    # uses, and whether the row has it here for the first time; then where to look for the next item.
    name = np.zeros(most, np.int64)
    at_event = np.zeros(most, np.int64)
    at_view = np.zeros(most, np.int64)
    used = np.zeros(most, np.int64)
    is_first = np.ones(most, np.bool_)
    event = np.zeros(most, np.int64)
    view = np.zeros(most, np.int64)
    tried = np.zeros(marks.size, np.int64)
    clock = 0
    for row in range(rows.weights.size):
        if tells and rows.value_offsets[row] == rows.value_offsets[row + 1]:
            continue
        start, stop = rows.offsets[row], rows.offsets[row + 1]
        weight = rows.weights[row]
        makes_nodes = row < n_counted
        size = 0
        at_event[0] = start - 1
        event[0], view[0] = start, 0
        while size >= 0:
            if size == most - 1:
                # The last item: each is tried once, and in later events only where the row has what comes
                # before it for the first time, as early as it can.
                last_event, last_view, now_used = at_event[size], at_view[size], used[size]
                low, high = 0, n_views
                if missing[now_used] > 0:
                    while (now_used >> low) & 1:
                        low += 1
                    high = low + 1
                until = stop if is_first[size] else last_event + 1
                clock += 1
                if makes_nodes:
                    while 2 * (n_sequences + (until - last_event) * (high - low)) >= nodes.shape[0]:
                        nodes = _grown(nodes)
                for here in range(max(last_event, start), until):
                    same = here == last_event
                    for through in range(max(low, last_view + 1) if same else low, high):
                        item = items[rows.events[here], through]
                        if item < 0 or (now_used | marks[item]) != everything:
                            continue
                        if same:
                            if columns[through] == columns[last_view]:
                                continue
                        else:
                            if tried[item] == clock or (size == 0 and item % n_parts != part):
                                continue
                            tried[item] = clock
                        key = name[size] * base + 2 * item + same
                        slot = _enter(nodes, key, 2 * n_sequences + 1, makes_nodes)
                        if slot < 0 or nodes[slot, SEEN] == row:
                            continue
                        nodes[slot, SEEN] = row
                        number = nodes[slot, NAME] >> 1
                        n_sequences += number == n_sequences
                        if tells:
                            held, n_held = _hold(held, n_held, number, rows, row, signature.n_values)
                        else:
                            nodes[slot, COUNT] += weight
                size -= 1
                continue
            if n_sequences > room:
                return nodes, held, -1
            if view[size] == n_views:
                # Whatever follows a later place of the sequence follows its first one, too.
                event[size] = event[size] + 1 if is_first[size] else stop
                view[size] = 0
            here, through = event[size], view[size]
            if here >= stop:
                size -= 1
                continue
            view[size] += 1
            item = items[rows.events[here], through]
            if item < 0 or (size == 0 and item % n_parts != part):
                continue
            same = here == at_event[size]
            if same and columns[through] == columns[at_view[size]]:
                continue
            now_used = used[size] | marks[item]
            if size + 1 + missing[now_used] > most:
                continue
            # Views before this one are left to later events, of which there must be one.
            if here == stop - 1 and (everything & ~now_used) & ((2 << through) - 1):
                continue
            if makes_nodes and 2 * n_sequences >= nodes.shape[0]:
                nodes = _grown(nodes)
            key = name[size] * base + 2 * item + same
            slot = _enter(nodes, key, 2 * n_sequences + (now_used == everything), makes_nodes)
            if slot < 0:
                continue
            first = nodes[slot, SEEN] != row
            number = nodes[slot, NAME] >> 1
            n_sequences += number == n_sequences
            if first:
                nodes[slot, SEEN] = row
                if now_used == everything:
                    if tells:
                        held, n_held = _hold(held, n_held, number, rows, row, signature.n_values)
                    else:
                        nodes[slot, COUNT] += weight
            if first or through + 1 < n_views:
                size += 1
                name[size], at_event[size], at_view[size] = number, here, through
                used[size], is_first[size] = now_used, first
                event[size], view[size] = here, through + 1
    return nodes, held, n_sequences
