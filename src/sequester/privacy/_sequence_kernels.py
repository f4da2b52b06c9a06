"""Walk through every sequence of items that a row of events holds, and look each up in one table.

Nothing is projected and nothing is joined. Every row is walked through on its own, and each sequence that it
holds, within events and across them, is looked up in a hash table: a tree whose nodes are sequences, found by
the node of the sequence without its last item and by that item. So a key is a pair of whole numbers, and no
two sequences share one.

The same walk makes nodes, counts their persons, counts those with each protected value, or compares what was
counted with the worst that is known of an owner: `walk_rows` goes, `_hold` and `_compare` do the latter two,
and `_grown` makes tables grow.
Constants that are passed on are made by ``np.int64(0)``: numba compiles a function once more for a literal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Table = npt.NDArray[np.int64]

KEY, NAME, SEEN, COUNT, N_NODE_FIELDS = range(5)
"""Fields of a node: its key, -1 where there is none; twice its number, plus 1 where it uses every view; the
last row that has it, -1 where none has; and its persons, plus those with any protected value times
`WITH_VALUE`. The empty sequence has the number 0 and no node."""
P_NUMBER, P_AT_EVENT, P_AT_VIEW, P_USED, P_FIRST, P_EVENT, P_VIEW, N_PATH_FIELDS = range(8)
"""Fields of the sequence that the walk stands on, by its length: its number, the event and the view of its
last item, the views that it uses, whether the row has it here for the first time; then where to look for the
next item."""
UNWANTED = -2
"""Seen by nobody, and not looked for."""
WITH_VALUE = 1 << 32
MAKES, COUNTS, HOLDS, COMPARES = 1, 2, 4, 8
"""What a walk does: make nodes, count persons, count protected values, compare counts with the worst so far.
Only the first two go together."""
FEWEST, RAREST, HAVE, AMONG, VALUE, SUREST, N_WORST_FIELDS = range(7)
"""The worst that is known of an owner: the fewest persons who have a sequence of theirs, and its number; the
largest share of such persons with a protected value of the owner's own, as two numbers, the value, and the
number of the sequence. Numbers are 0 where no sequence of the table is worse than what was known."""


class Rows(NamedTuple):
    """Rows of events, and the owners of rows: how many persons they are, and their protected values."""

    kinds: Codes
    """The kinds of the events of all rows, one after the other."""
    offsets: Offsets
    """Row ``r`` is ``kinds[offsets[r]:offsets[r + 1]]``."""
    owners: Codes
    """The owner of each row; rows of one owner follow each other."""
    weights: Counts
    """Persons of each owner, and those of them with any protected value, as in a count."""
    value_offsets: Offsets
    """Owner ``o`` has ``values[value_offsets[o]:value_offsets[o + 1]]``."""
    values: Counts
    """Protected value, each once, and the persons who have it."""


class Views(NamedTuple):
    """The views through which events are looked at: a column at a level each, in the order of columns."""

    items: Codes
    """The item of each kind of event in each view, -1 where it has none; views in the second dimension."""
    columns: Codes
    """The column of each view, not falling. Of one column, an event gives at most one item."""
    marks: Counts
    """The bit of its view for each item that makes a sequence use the view, 0 for others."""
    missing: Counts
    """Number of views that are not used, for each set of used views; the last set is all that have to be."""


class Task(NamedTuple):
    """What a walk does, and with what."""

    mode: int
    most: int
    """Items of a sequence, at most; at least 1."""
    first_item: int
    stop_item: int
    """Only sequences that begin with an item from the one to the other."""
    first_row: int
    stop_row: int
    """Only rows from the one to the other."""
    room: int
    """Nodes that may be made."""
    n_values: int
    """Number of protected values."""
    n_sequences: int
    """Number of sequences that have nodes already, and the empty one."""
    n_held: int
    """Number of what is held already."""


class Scratch(NamedTuple):
    """What a walk writes to, beside the nodes and what they hold."""

    path: Table
    """The fields of the sequence that the walk stands on, a row per length; ``P_FIRST`` of the first is 1."""
    tried: Counts
    """Per item, when it was last tried; all 0."""
    worst: Table
    """The worst that is known of each owner, where counts are compared."""


@njit
def find(table: Table, key: int) -> int:
    """Return the slot of a key, or the empty one where it belongs."""
    last = table.shape[0] - 1
    # Factors of 31 and 32 bits, so that no product overflows and the JIT may be off.
    mixed = ((key & 0x7FFFFFFF) * 2654435769) ^ (((key >> 31) & 0x7FFFFFFF) * 2246822519)
    slot = (mixed ^ (mixed >> 29)) & last
    while table[slot, 0] != key and table[slot, 0] >= 0:
        slot = (slot + 1) & last
    return int(slot)


@inner
def _grown(table: Table, n_slots: int) -> Table:
    """Return a larger table, with at least so many slots, that holds the same."""
    size = 2 * table.shape[0]
    while size < n_slots:
        size *= 2
    larger = np.empty((size, table.shape[1]), np.int64)
    for slot in range(size):
        larger[slot, 0] = -1
    for old in range(table.shape[0]):
        if table[old, 0] >= 0:
            slot = find(larger, table[old, 0])
            for j in range(table.shape[1]):
                larger[slot, j] = table[old, j]
    return larger


@inner
def _enter(nodes: Table, key: int, name: int, makes_nodes: bool) -> int:
    """Return the slot of a key, under a new name where there was none; -1 where none is made or wanted."""
    slot = find(nodes, key)
    if nodes[slot, KEY] < 0:
        if not makes_nodes:
            return -1
        nodes[slot, KEY], nodes[slot, NAME], nodes[slot, SEEN], nodes[slot, COUNT] = key, name, -1, 0
    return -1 if nodes[slot, SEEN] == UNWANTED else slot


@inner
def _hold(rows: Rows, owner: int, number: int, n_values: int, held: Table, n_held: int) -> tuple[Table, int]:
    """Add an owner's protected values to those of a sequence; return what is held, and its size."""
    for i in range(rows.value_offsets[owner], rows.value_offsets[owner + 1]):
        if 2 * n_held + 2 > held.shape[0]:
            held = _grown(held, 2 * n_held + 2)
        key = number * n_values + rows.values[i, 0]
        slot = find(held, key)
        if held[slot, 0] < 0:
            held[slot, 0], held[slot, 1] = key, 0
            n_held += 1
        held[slot, 1] += rows.values[i, 1]
    return held, n_held


@inner
def _compare(
    rows: Rows, owner: int, number: int, n_values: int, persons: int, held: Table, worst: Table
) -> None:
    """Keep a sequence that fewer persons have than the rarest so far, or that gives a larger share.

    Of equal shares the one among more persons is kept.
    """
    if persons < worst[owner, FEWEST]:
        worst[owner, FEWEST], worst[owner, RAREST] = persons, number
    if worst[owner, HAVE] == worst[owner, AMONG]:
        return
    for i in range(rows.value_offsets[owner], rows.value_offsets[owner + 1]):
        value = rows.values[i, 0]
        slot = find(held, number * n_values + value)
        if held[slot, 0] >= 0:
            more = held[slot, 1] * worst[owner, AMONG] - worst[owner, HAVE] * persons
            if more > 0 or (more == 0 and persons > worst[owner, AMONG]):
                worst[owner, HAVE], worst[owner, AMONG] = held[slot, 1], persons
                worst[owner, VALUE], worst[owner, SUREST] = value, number


@njit
def walk_rows(
    rows: Rows, views: Views, task: Task, nodes: Table, held: Table, scratch: Scratch
) -> tuple[Table, Table, int, int]:
    """Walk through every sequence of at most `most` items that uses all views, and do what the task is.

    Without ``MAKES`` only sequences that have nodes are followed. ``HOLDS`` adds to `held`, by the key
    ``number * n_values + value``. ``COMPARES`` writes to `worst`, about sequences of `most` items.

    Returns the nodes and what they hold, in larger tables where need be; the number of sequences, the empty
    one included, -1 where there are more than `room`; and that of what is held.
    """
    items, columns, marks, missing = views.items, views.columns, views.marks, views.missing
    kinds, offsets, owners, weights = rows.kinds, rows.offsets, rows.owners, rows.weights
    path, tried, worst = scratch.path, scratch.tried, scratch.worst
    most, first_item, stop_item, n_values = task.most, task.first_item, task.stop_item, task.n_values
    n_views, base, everything = columns.size, 2 * marks.size, missing.size - 1
    makes, counts = task.mode & MAKES != 0, task.mode & COUNTS != 0
    holds, compares = task.mode & HOLDS != 0, task.mode & COMPARES != 0
    n_sequences, n_held = np.int64(task.n_sequences), np.int64(task.n_held)
    clock, owner, owner_start = np.int64(0), np.int64(-1), np.int64(0)
    for row in range(task.first_row, task.stop_row):
        start, stop = offsets[row], offsets[row + 1]
        if owners[row] != owner:
            owner, owner_start = np.int64(owners[row]), np.int64(row)
        weight = weights[owner]
        size = 0
        path[0, P_AT_EVENT], path[0, P_EVENT], path[0, P_VIEW] = start - 1, start, 0
        while size >= 0:
            number, used, is_first = path[size, P_NUMBER], path[size, P_USED], path[size, P_FIRST] != 0
            at_event, at_view = path[size, P_AT_EVENT], path[size, P_AT_VIEW]
            if size == most - 1:
                # The last item: each is tried once, and in later events only where the row has what comes
                # before it for the first time, as early as it can.
                low, high = 0, n_views
                if missing[used] > 0:
                    while (used >> low) & 1:
                        low += 1
                    high = low + 1
                until = stop if is_first else at_event + 1
                clock += 1
                n_needed = 2 * (n_sequences + (until - at_event) * (high - low)) + 2
                if makes and n_needed > nodes.shape[0]:
                    nodes = _grown(nodes, n_needed)
                for here in range(max(at_event, start), until):
                    same = here == at_event
                    for view in range(max(low, at_view + 1) if same else low, high):
                        item = np.int64(items[kinds[here], view])
                        if item < 0 or (used | marks[item]) != everything:
                            continue
                        if same:
                            if columns[view] == columns[at_view]:
                                continue
                        else:
                            if tried[item] == clock or (size == 0 and not first_item <= item < stop_item):
                                continue
                            tried[item] = clock
                        key = number * base + 2 * item + same
                        slot = _enter(nodes, key, 2 * n_sequences + 1, makes)
                        if slot < 0 or nodes[slot, SEEN] >= owner_start:
                            continue
                        nodes[slot, SEEN] = row
                        child = nodes[slot, NAME] >> 1
                        n_sequences += child == n_sequences
                        if counts:
                            nodes[slot, COUNT] += weight
                        elif holds:
                            held, n_held = _hold(rows, owner, child, n_values, held, n_held)
                        elif compares and (
                            nodes[slot, COUNT] & (WITH_VALUE - 1) < worst[owner, FEWEST]
                            or worst[owner, HAVE] < worst[owner, AMONG]
                        ):
                            persons = nodes[slot, COUNT] & (WITH_VALUE - 1)
                            _compare(rows, owner, child, n_values, persons, held, worst)
                size -= 1
                continue
            if n_sequences > task.room:
                return nodes, held, -1, int(n_held)
            here, view = path[size, P_EVENT], path[size, P_VIEW]
            is_pushed = False
            while here < stop:
                if view == n_views:
                    # Whatever follows a later place of the sequence follows its first one, too.
                    here, view = here + 1 if is_first else stop, view - n_views
                    continue
                item = np.int64(items[kinds[here], view])
                view += 1
                if item < 0 or (size == 0 and not first_item <= item < stop_item):
                    continue
                same = here == at_event
                if same and columns[view - 1] == columns[at_view]:
                    continue
                now_used = used | marks[item]
                if size + 1 + missing[now_used] > most:
                    continue
                # Views before this one are left to later events, of which there must be one.
                if here == stop - 1 and (everything & ~now_used) & ((1 << view) - 1):
                    continue
                if makes and 2 * n_sequences + 2 > nodes.shape[0]:
                    nodes = _grown(nodes, 2 * n_sequences + 2)
                is_complete = now_used == everything
                key = number * base + 2 * item + same
                slot = _enter(nodes, key, 2 * n_sequences + is_complete, makes)
                if slot < 0:
                    continue
                child, seen = nodes[slot, NAME] >> 1, nodes[slot, SEEN]
                n_sequences += child == n_sequences
                nodes[slot, SEEN] = row
                if is_complete and seen < owner_start:
                    if counts:
                        nodes[slot, COUNT] += weight
                    elif holds:
                        held, n_held = _hold(rows, owner, child, n_values, held, n_held)
                if seen != row or columns[view - 1] < columns[n_views - 1]:
                    path[size, P_EVENT], path[size, P_VIEW] = here, view
                    size += 1
                    path[size, P_NUMBER], path[size, P_USED], path[size, P_FIRST] = (
                        child,
                        now_used,
                        seen != row,
                    )
                    path[size, P_AT_EVENT], path[size, P_AT_VIEW] = here, view - 1
                    path[size, P_EVENT], path[size, P_VIEW] = here, view
                    is_pushed = True
                    break
            if not is_pushed:
                size -= 1
    return nodes, held, int(n_sequences), int(n_held)


@njit
def list_nodes(nodes: Table, listed: Table) -> None:
    """Write, for each number in a column, the key, the count, 1 where all views are used, and the slot."""
    for slot in range(nodes.shape[0]):
        if nodes[slot, KEY] >= 0:
            number = nodes[slot, NAME] >> 1
            listed[0, number], listed[1, number] = nodes[slot, KEY], nodes[slot, COUNT]
            listed[2, number], listed[3, number] = nodes[slot, NAME] & 1, slot
