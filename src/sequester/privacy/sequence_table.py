"""A table of the sequences of items that rows of events hold, and how many persons have each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.privacy import _sequence_kernels as kernel

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask
    from sequester.privacy._sequence_kernels import Rows, Table, Views

NO_LIMIT = 1 << 40
NOTHING_KNOWN: Table = np.empty((0, kernel.N_WORST_FIELDS), np.int64)
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
        self._nodes: Table = np.full((1 << 8, kernel.N_NODE_FIELDS), -1, np.int64)
        self._held: Table = np.full((1 << 8, 2), -1, np.int64)

    def walk(
        self,
        rows: Rows,
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
        path = np.zeros((self._most, kernel.N_PATH_FIELDS), np.int64)
        path[0, kernel.P_FIRST] = 1
        self._nodes, self._held, self._n_sequences, self._n_held = kernel.walk_rows(
            rows,
            self._views,
            kernel.Task(
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
            kernel.Scratch(path, np.zeros(len(self._views.marks), np.int64), worst),
        )
        return self._n_sequences >= 0

    def list_nodes(self) -> Nodes:
        """Return what is known of each sequence, by its number; nothing of the empty one."""
        listed = np.zeros((4, self._n_sequences), np.int64)
        kernel.list_nodes(self._nodes, listed)
        keys, counts, is_complete, slots = listed
        return Nodes(keys, counts & (kernel.WITH_VALUE - 1), counts >> 32, is_complete == 1, slots)

    def forget_rows(self) -> None:
        """Have no row seen yet, before rows of other numbers are walked over."""
        self._nodes[:, kernel.SEEN] = -1

    def look_only_for(self, nodes: Nodes, is_wanted: Mask) -> None:
        """Have no row seen yet, and look neither for sequences that are not wanted nor for longer ones."""
        seen = np.where(is_wanted, -1, kernel.UNWANTED)
        self._nodes[nodes.slots[1:], kernel.SEEN] = seen[1:]

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
