"""The open g-sequences found so far: what may be extended, and what every candidate is held against."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.errors import UnattainableError

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask
    from sequester.kernels.channels import Book
    from sequester.kernels.open_sequences import Runs

MOST_MEMBERS = 1 << 28
"""Open g-sequences that are held at most: some 3 GB."""


class OpenBook:
    """A set of open g-sequences that grows; on top of another one, those with a fresh item only."""

    def __init__(self, groups: Codes, *, below: OpenBook | None = None, is_fresh: Mask | None = None) -> None:
        """Start with nothing but the empty g-sequence; `groups` leads from each item to its group."""
        self._groups = groups
        self._below = below
        self._n_base = 1 if below is None else below.n_members
        self._is_fresh = np.ones(len(groups), np.bool_) if is_fresh is None else is_fresh
        self.runs: Runs = _table(1 << 10, np.empty(1 << 10, np.int32), self._n_base)
        """The children of all members that were added here."""
        self._n_runs = 0
        self.n_members: int = self._n_base
        """One more than the highest number in use; 0 is the empty g-sequence."""

    @property
    def arrays(self) -> Book:
        """What kernels read."""
        base = _table(2, np.empty(0, np.int32), 1) if self._below is None else self._below.runs
        return kernels.channels.Book(base, self.runs, self._is_fresh, self._n_base, self._groups)

    def add(self, members: Counts, groups: Codes, sizes: Codes, children: Codes) -> None:
        """Add runs of open g-sequences: whom they extend, by items of which group, how many, and how."""
        start = self.n_members - self._n_base
        self._make_room(start, len(members), len(children))
        self.runs.children[start : start + len(children)] = children
        kernels.open_sequences.add_runs(self.runs, members, groups, sizes, start)
        self._n_runs += len(members)
        self.n_members += len(children)

    def _make_room(self, n_used: int, n_runs: int, n_children: int) -> None:
        needed = n_used + n_children
        if needed > MOST_MEMBERS:
            msg = f"more than {MOST_MEMBERS:,} g-sequences have to be held"
            raise UnattainableError(msg)
        runs = self.runs
        if needed > len(runs.children):
            larger = np.empty(max(needed, 2 * len(runs.children)), np.int32)
            larger[:n_used] = runs.children[:n_used]
            self.runs = runs = runs._replace(children=larger)
        n_slots = len(runs.keys)
        if 2 * (self._n_runs + n_runs) > n_slots:
            while 2 * (self._n_runs + n_runs) > n_slots:
                n_slots *= 2
            self.runs = _table(n_slots, runs.children, runs.first)
            kernels.open_sequences.move_runs(runs, self.runs)


def _table(n_slots: int, children: Codes, first: int) -> Runs:
    return kernels.open_sequences.Runs(
        np.full(n_slots, -1, np.int64),
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.int32),
        children,
        first,
    )
