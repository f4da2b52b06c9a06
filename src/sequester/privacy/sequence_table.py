"""A table of the sequences of items that rows of events hold, and how many persons have each.

Nothing is projected and nothing is joined. Every row is walked through on its own, and each sequence that it
holds, within events and across them, is looked up in a hash table: a tree whose nodes are sequences, found by
the node of the sequence without its last item and by that item. So a key is a pair of whole numbers, and no
two sequences share one.

The same walk makes nodes, counts their persons, counts those with each protected value, or compares what was
counted with the worst that is known of an owner: `walk_rows` goes, `_find_next` and `_list_last` look where,
`_hold` and `_compare` do the latter two, and `_grown` makes tables grow.
Constants that are passed on are made by ``np.int64(0)``: numba compiles a function once more for a literal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.kernels.rows import fold_rows
from sequester.ragged import gather_rows, keep_values

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

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


class OwnedRows(NamedTuple):
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


class WalkTask(NamedTuple):
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


class WalkScratch(NamedTuple):
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
def _hold(
    rows: OwnedRows, owner: int, number: int, n_values: int, held: Table, n_held: int
) -> tuple[Table, int]:
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
    rows: OwnedRows, owner: int, number: int, n_values: int, persons: int, held: Table, worst: Table
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


class RowScope(NamedTuple):
    """What a walk looks for in one row."""

    row: int
    start: int
    stop: int
    """Its events."""
    owner_start: int
    """The first row of its owner."""
    first_item: int
    stop_item: int
    """Only sequences that begin with an item from the one to the other."""
    everything: int
    """The set of all views."""
    makes: bool
    """Make nodes."""


class Prefix(NamedTuple):
    """The sequence that the walk stands on; see the fields of a path."""

    size: int
    number: int
    used: int
    is_first: bool
    at_event: int
    at_view: int


class LastItems(NamedTuple):
    """Where the last item of a sequence is looked for, when, and the number of the next new sequence."""

    low: int
    high: int
    """Views from the one to the other."""
    until: int
    """Events before this one."""
    clock: np.int64
    n_sequences: np.int64


# What runs in loops takes arrays, and tuples of numbers alone: to take an array out of a tuple, or to return
# one, counts references, which costs more than what is done with it.


@inner
def _read_prefix(path: Table, size: int) -> Prefix:
    """Return the sequence of so many items that the walk stands on."""
    number, used, is_first = path[size, P_NUMBER], path[size, P_USED], path[size, P_FIRST] != 0
    return Prefix(size, number, used, is_first, path[size, P_AT_EVENT], path[size, P_AT_VIEW])


@inner
def _write_prefix(path: Table, prefix: Prefix) -> None:
    """Step to a sequence; the next item is looked for behind its last one."""
    size = prefix.size
    path[size, P_NUMBER], path[size, P_USED], path[size, P_FIRST] = (
        prefix.number,
        prefix.used,
        prefix.is_first,
    )
    path[size, P_AT_EVENT], path[size, P_AT_VIEW] = prefix.at_event, prefix.at_view
    path[size, P_EVENT], path[size, P_VIEW] = prefix.at_event, prefix.at_view + 1


@inner
def _find_last_views(missing: Counts, used: int, n_views: int) -> tuple[int, int]:
    """Return the bounds of the views that may have the last item: the one that is missing, if one is."""
    if missing[used] == 0:
        return 0, n_views
    low = 0
    while (used >> low) & 1:
        low += 1
    return low, low + 1


@inner
def _list_last(
    kinds: Codes,
    items: Codes,
    columns: Codes,
    marks: Counts,
    tried: Counts,
    nodes: Table,
    found: Counts,
    scope: RowScope,
    prefix: Prefix,
    last: LastItems,
) -> tuple[int, np.int64]:
    """List the slots of sequences of one item more, the last, that the owner is not known to have yet.

    Each item is tried once in later events. Returns how many are listed, and how many sequences there are.
    """
    n_found, n_sequences, base = 0, last.n_sequences, prefix.number * 2 * marks.size
    for here in range(max(prefix.at_event, scope.start), last.until):
        same = here == prefix.at_event
        for view in range(max(last.low, prefix.at_view + 1) if same else last.low, last.high):
            item = np.int64(items[kinds[here], view])
            if item < 0 or (prefix.used | marks[item]) != scope.everything:
                continue
            if same:
                if columns[view] == columns[prefix.at_view]:
                    continue
            else:
                is_outside = prefix.size == 0 and not scope.first_item <= item < scope.stop_item
                if tried[item] == last.clock or is_outside:
                    continue
                tried[item] = last.clock
            slot = _enter(nodes, base + 2 * item + same, 2 * n_sequences + 1, scope.makes)
            if slot < 0 or nodes[slot, SEEN] >= scope.owner_start:
                continue
            nodes[slot, SEEN] = scope.row
            n_sequences += nodes[slot, NAME] >> 1 == n_sequences
            found[n_found] = slot
            n_found += 1
    return n_found, n_sequences


@inner
def _find_next(
    kinds: Codes,
    items: Codes,
    columns: Codes,
    marks: Counts,
    missing: Counts,
    path: Table,
    scope: RowScope,
    prefix: Prefix,
) -> tuple[int, int, int]:
    """Return event, view and item of the next item that may follow and is not the last; -1 for no item."""
    here, view, most = path[prefix.size, P_EVENT], path[prefix.size, P_VIEW], path.shape[0]
    while here < scope.stop:
        if view == columns.size:
            # Whatever follows a later place of the sequence follows its first one, too.
            here, view = here + 1 if prefix.is_first else scope.stop, view - columns.size
            continue
        item = np.int64(items[kinds[here], view])
        view += 1
        if item < 0 or (prefix.size == 0 and not scope.first_item <= item < scope.stop_item):
            continue
        if here == prefix.at_event and columns[view - 1] == columns[prefix.at_view]:
            continue
        now_used = prefix.used | marks[item]
        if prefix.size + 1 + missing[now_used] > most:
            continue
        # Views before this one are left to later events, of which there must be one.
        if here == scope.stop - 1 and (scope.everything & ~now_used) & ((1 << view) - 1):
            continue
        return here, view - 1, int(item)
    return here, view, -1


@njit
def walk_rows(
    rows: OwnedRows, views: Views, task: WalkTask, nodes: Table, held: Table, scratch: WalkScratch
) -> tuple[Table, Table, int, int]:
    """Walk through every sequence of at most `most` items that uses all views, and do what the task is.

    Without ``MAKES`` only sequences that have nodes are followed. ``HOLDS`` adds to `held`, by the key
    ``number * n_values + value``. ``COMPARES`` writes to `worst`, about sequences of `most` items.

    Returns the nodes and what they hold, in larger tables where need be; the number of sequences, the empty
    one included, -1 where there are more than `room`; and that of what is held.
    """
    items, columns, marks, missing = views.items, views.columns, views.marks, views.missing
    kinds, offsets, path, tried, worst = rows.kinds, rows.offsets, scratch.path, scratch.tried, scratch.worst
    makes, counts = task.mode & MAKES != 0, task.mode & COUNTS != 0
    holds, compares = task.mode & HOLDS != 0, task.mode & COMPARES != 0
    n_views, everything, n_values = columns.size, missing.size - 1, task.n_values
    n_sequences, n_held = np.int64(task.n_sequences), np.int64(task.n_held)
    clock, owner, owner_start, found = np.int64(0), np.int64(-1), 0, np.empty(0, np.int64)
    for row in range(task.first_row, task.stop_row):
        start, stop = offsets[row], offsets[row + 1]
        if rows.owners[row] != owner:
            owner, owner_start = np.int64(rows.owners[row]), row
        scope = RowScope(row, start, stop, owner_start, task.first_item, task.stop_item, everything, makes)
        if (stop - start + 1) * n_views > found.size:
            found = np.empty(2 * (stop - start + 1) * n_views, np.int64)
        path[0, P_AT_EVENT], path[0, P_EVENT], path[0, P_VIEW] = start - 1, start, 0
        size = 0
        while size >= 0:
            prefix = _read_prefix(path, size)
            if size == task.most - 1:
                # In later events only where the row has what comes before for the first time.
                until = stop if prefix.is_first else prefix.at_event + 1
                low, high = _find_last_views(missing, prefix.used, n_views)
                n_needed = 2 * (n_sequences + (until - prefix.at_event) * (high - low)) + 2
                if makes and n_needed > nodes.shape[0]:
                    nodes = _grown(nodes, n_needed)
                clock += 1
                last = LastItems(low, high, until, clock, n_sequences)
                n_found, n_sequences = _list_last(
                    kinds, items, columns, marks, tried, nodes, found, scope, prefix, last
                )
                for i in range(n_found):
                    child = nodes[found[i], NAME] >> 1
                    if counts:
                        nodes[found[i], COUNT] += rows.weights[owner]
                    elif holds:
                        held, n_held = _hold(rows, owner, child, n_values, held, n_held)
                    elif compares:
                        persons = nodes[found[i], COUNT] & (WITH_VALUE - 1)
                        if persons < worst[owner, FEWEST] or worst[owner, HAVE] < worst[owner, AMONG]:
                            _compare(rows, owner, child, n_values, persons, held, worst)
                size -= 1
                continue
            if n_sequences > task.room:
                return nodes, held, -1, int(n_held)
            here, view, item = _find_next(kinds, items, columns, marks, missing, path, scope, prefix)
            if item < 0:
                size -= 1
                continue
            path[size, P_EVENT], path[size, P_VIEW] = here, view + 1
            if makes and 2 * n_sequences + 2 > nodes.shape[0]:
                nodes = _grown(nodes, 2 * n_sequences + 2)
            key = prefix.number * 2 * marks.size + 2 * item + (here == prefix.at_event)
            now_used = prefix.used | marks[item]
            slot = _enter(nodes, key, 2 * n_sequences + (now_used == everything), makes)
            if slot < 0:
                continue
            child, seen = nodes[slot, NAME] >> 1, nodes[slot, SEEN]
            n_sequences += child == n_sequences
            nodes[slot, SEEN] = row
            if now_used == everything and seen < owner_start:
                if counts:
                    nodes[slot, COUNT] += rows.weights[owner]
                elif holds:
                    held, n_held = _hold(rows, owner, child, n_values, held, n_held)
            if seen != row or columns[view] < columns[n_views - 1]:
                size += 1
                _write_prefix(path, Prefix(size, child, now_used, seen != row, here, view))
    return nodes, held, int(n_sequences), int(n_held)


@njit
def _list_nodes(nodes: Table, listed: Table) -> None:
    """Write, for each number in a column, the key, the count, 1 where all views are used, and the slot."""
    for slot in range(nodes.shape[0]):
        if nodes[slot, KEY] >= 0:
            number = nodes[slot, NAME] >> 1
            listed[0, number], listed[1, number] = nodes[slot, KEY], nodes[slot, COUNT]
            listed[2, number], listed[3, number] = nodes[slot, NAME] & 1, slot


@dataclass(frozen=True)
class PersonRows:
    """Rows of events, the persons who have each, and how many of them have which protected value."""

    kinds: Codes
    offsets: Counts
    persons: Counts
    """Persons of each row."""
    at_risk: Counts
    """Those of them with any protected value."""
    values: Counts
    """Row, protected value, and the persons who have it, in this order."""

    def project(self, kind_of: Codes) -> PersonRows:
        """Set new kinds of events, leave out those of kind -1, and fold equal rows, those at risk first."""
        kinds, offsets = kind_of[self.kinds], self.offsets
        if (kind_of < 0).any():
            kinds, offsets = keep_values(kinds, offsets, kinds >= 0)
        group_of, first = fold_rows(kinds, offsets)
        at_risk = np.bincount(group_of, self.at_risk, len(first)).astype(np.int64)
        order = np.concatenate([np.flatnonzero(at_risk > 0), np.flatnonzero(at_risk == 0)])
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        kinds, offsets = gather_rows(kinds, offsets, first[order])
        return PersonRows(
            kinds,
            offsets,
            np.bincount(group_of, self.persons, len(first)).astype(np.int64)[order],
            at_risk[order],
            _add_up(rank[group_of[self.values[:, 0]]], self.values[:, 1], self.values[:, 2]),
        )

    def rows(self) -> OwnedRows:
        """Return the rows as a table of sequences reads them."""
        return OwnedRows(
            self.kinds,
            self.offsets,
            np.arange(len(self.persons), dtype=np.int32),
            self.persons + self.at_risk * WITH_VALUE,
            np.searchsorted(self.values[:, 0], np.arange(len(self.persons) + 1)).astype(np.int64),
            self.values[:, 1:].copy(),
        )


def _add_up(rows: Counts, values: Counts, counts: Counts) -> Counts:
    """Add up the counts of each pair of a row and a value; pairs come in order."""
    size = int(values.max(initial=0)) + 1
    keys = rows * size + values
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    totals = np.add.reduceat(counts, firsts) if len(firsts) else counts
    return np.column_stack([keys[firsts] // size, keys[firsts] % size, totals])


NO_LIMIT = 1 << 40
NOTHING_KNOWN: Table = np.empty((0, N_WORST_FIELDS), np.int64)
"""What a walk that compares nothing writes to."""


class Nodes(NamedTuple):
    """Sequences by their number."""

    keys: Counts
    """The number of the sequence without its last item, and that item; see `SequenceTable.parents`."""
    persons: Counts
    at_risk: Counts
    """Persons with any protected value."""
    is_complete: Mask
    """Sequences that use all views; others are the beginnings of such."""
    slots: Counts
    """Where each is found."""


class SequenceTable:
    """The sequences that some rows hold: which ones are there, their persons, and what these have.

    Sequences are numbered; the empty one is number 0, and a sequence comes after its beginnings. Those of
    `most` items and fewer are in the table that begin with one of the items `firsts` and use all views.
    """

    def __init__(self, views: Views, *, most: int, n_values: int, firsts: range) -> None:
        """Start with the empty sequence."""
        self._views = views
        self._most = most
        self._n_values = n_values
        self._firsts = firsts
        self._n_sequences, self._n_held = 1, 0
        self._nodes: Table = np.full((1 << 8, N_NODE_FIELDS), -1, np.int64)
        self._held: Table = np.full((1 << 8, 2), -1, np.int64)

    def walk(
        self,
        rows: OwnedRows,
        mode: int,
        *,
        span: range | None = None,
        room: int = NO_LIMIT,
        worst: Table = NOTHING_KNOWN,
    ) -> bool:
        """Walk over all rows, or over some; return False where there would be more sequences than `room`.

        A walk that compares writes to `worst`, a row per owner.
        """
        span = range(len(rows.offsets) - 1) if span is None else span
        path = np.zeros((self._most, N_PATH_FIELDS), np.int64)
        path[0, P_FIRST] = 1
        self._nodes, self._held, self._n_sequences, self._n_held = walk_rows(
            rows,
            self._views,
            WalkTask(
                mode=mode,
                most=self._most,
                first_item=self._firsts.start,
                stop_item=self._firsts.stop,
                first_row=span.start,
                stop_row=span.stop,
                room=room,
                n_values=self._n_values,
                n_sequences=self._n_sequences,
                n_held=self._n_held,
            ),
            self._nodes,
            self._held,
            WalkScratch(path, np.zeros(len(self._views.marks), np.int64), worst),
        )
        return self._n_sequences >= 0

    def list_nodes(self) -> Nodes:
        """Return what is known of each sequence, by its number; nothing of the empty one."""
        listed = np.zeros((4, self._n_sequences), np.int64)
        _list_nodes(self._nodes, listed)
        keys, counts, is_complete, slots = listed
        return Nodes(keys, counts & (WITH_VALUE - 1), counts >> 32, is_complete == 1, slots)

    def forget_rows(self) -> None:
        """Mark all sequences as not seen, before rows of other numbers are walked over."""
        self._nodes[:, SEEN] = -1

    def look_only_for(self, nodes: Nodes, is_wanted: Mask) -> None:
        """Mark sequences as not seen; leave out those that are not wanted, and what begins with them."""
        seen = np.where(is_wanted, -1, UNWANTED)
        self._nodes[nodes.slots[1:], SEEN] = seen[1:]

    def with_beginnings(self, nodes: Nodes, is_marked: Mask) -> Mask:
        """Mark the sequences that marked ones begin with, too."""
        marked = np.flatnonzero(is_marked)
        while (marked := marked[marked > 0]).size:
            is_marked[marked] = True
            marked = self.parents(nodes.keys[marked])
        return is_marked

    def list_values(self) -> tuple[Counts, Counts, Counts]:
        """Return the protected values that were counted: the sequence of each, the value, and its persons."""
        held = self._held[self._held[:, 0] >= 0]
        numbers, values = np.divmod(held[:, 0], max(self._n_values, 1))
        return numbers, values, held[:, 1]

    def parents(self, keys: Counts) -> Counts:
        """Return the number of each sequence without its last item."""
        return keys // (2 * len(self._views.marks))

    def paths(self, keys: Counts, numbers: Counts) -> tuple[Codes, Mask]:
        """Return the items of sequences, to the right, -1 before them; and which share the event before."""
        base = 2 * len(self._views.marks)
        items = np.full((len(numbers), self._most), -1, np.int32)
        is_same = np.zeros((len(numbers), self._most), np.bool_)
        for place in range(self._most - 1, -1, -1):
            left = np.flatnonzero(numbers > 0)
            if not len(left):
                break
            key = keys[numbers[left]]
            items[left, place], is_same[left, place] = key % base >> 1, key & 1
            numbers = np.where(numbers > 0, keys[numbers] // base, 0)
        return items, is_same
