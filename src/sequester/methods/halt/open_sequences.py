"""The g-sequences that are neither channels nor have one above them, in arrays that kernels read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import UnattainableError
from sequester.methods.halt import _kernels
from sequester.methods.halt import _search_kernels as search

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask

MOST_OPEN = 1 << 28
"""Open g-sequences that are held at most: some 3 GB."""


class OpenSequences:
    """A set of open g-sequences that grows: what may be extended, and what candidates are held against."""

    def __init__(self, groups: Codes) -> None:
        """Start with nothing but the empty g-sequence; `groups` leads from each item to its group."""
        self.group_of = groups
        self._groups = groups
        self.first_fresh = 0
        self.n_base = 1
        self.n_members: int = 1
        """One more than the highest number in use; 0 is the empty g-sequence."""
        self._n_runs = 0
        self._children: Codes = np.empty(1 << 10, np.int32)
        self._slots: Counts = np.full((1 << 10, 2), -1, np.int64)

    def with_fresh(self, is_fresh: Mask) -> OpenSequences:
        """Return a copy in which nothing with a fresh item is known yet.

        Fresh items have groups of their own, so that what was known of them is not found.
        """
        copy = OpenSequences(self._groups)
        copy.first_fresh = int(self.group_of.max()) + 1
        copy.group_of = np.where(is_fresh, self._groups + copy.first_fresh, self.group_of).astype(np.int32)
        copy.n_base = copy.n_members = self.n_members
        copy._n_runs = self._n_runs
        copy._children = self._children[: self.n_members - 1].copy()
        copy._slots = self._slots.copy()
        return copy

    @property
    def arrays(self) -> search.Known:
        """What kernels read."""
        return search.Known(self._slots, self._children, self.group_of, self.first_fresh, self.n_base)

    def add(self, members: Codes, children: Codes) -> None:
        """Add g-sequences: whom they extend, and by which step. Those of one member stand side by side."""
        groups = self.group_of[children & ((1 << _kernels.ITEM_BITS) - 1)]
        keys = members.astype(np.int64) << _kernels.GROUP_BITS | groups
        if self.first_fresh:
            order = np.argsort(keys, kind="stable")
            keys, children = keys[order], children[order]
        begins = np.flatnonzero(np.diff(keys, prepend=-1))
        used = self.n_members - 1
        sizes = np.diff(begins, append=len(keys))
        self._make_room(len(begins), used + len(keys))
        self._children[used : used + len(keys)] = children
        _kernels.add_runs(self._slots, keys[begins], (begins + used) << 32 | sizes)
        self._n_runs += len(begins)
        self.n_members += len(keys)

    def _make_room(self, n_runs: int, n_children: int) -> None:
        if n_children > MOST_OPEN:
            msg = f"more than {MOST_OPEN:,} g-sequences have to be held"
            raise UnattainableError(msg)
        if n_children > len(self._children):
            larger = np.empty(max(n_children, 2 * len(self._children)), np.int32)
            larger[: self.n_members - 1] = self._children[: self.n_members - 1]
            self._children = larger
        n_slots = len(self._slots)
        while 2 * (self._n_runs + n_runs) > n_slots:
            n_slots *= 2
        if n_slots > len(self._slots):
            held = self._slots[self._slots[:, 0] >= 0]
            self._slots = np.full((n_slots, 2), -1, np.int64)
            _kernels.add_runs(self._slots, held[:, 0].copy(), held[:, 1].copy())
