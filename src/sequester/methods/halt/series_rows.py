"""Rows of an accumulated table in which new cells are suppressed, and new events held back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sequester.methods.halt import _series_kernels as kernel
from sequester.methods.halt._local_kernels import Past
from sequester.methods.halt.local_rows import Cause, LocalRows

if TYPE_CHECKING:
    from sequester._typing import Counts, Mask

NOT_CUT = np.iinfo(np.int64).max
MOST_PAIRS = 1 << 25
"""Pairs of items up to which those of the past are marked: some 64 MB."""


@dataclass(eq=False)
class SeriesRows(LocalRows):
    """Rows of an accumulated table: first those with something new, one per person, then all others."""

    starts: Counts = field(default_factory=lambda: np.empty(0, np.int64))
    """Row with something new to its first new cell."""
    cuts: Counts = field(init=False)
    """Row to the cell from which it is held back; beyond all cells where it is not."""
    held_for: dict[int, Cause] = field(default_factory=dict)
    """Row to what it was held back for."""
    _listed: list[Cause] = field(default_factory=list)

    def __post_init__(self) -> None:
        LocalRows.__post_init__(self)
        self.cuts = np.full(self.n_free, NOT_CUT)
        self._first_new = np.concatenate([self.starts, self.offsets[self.n_free + 1 :]])
        offsets, rows = np.zeros(self.quasi.n_items + 1, np.int64), np.empty(0, np.int32)
        kernel.index_past(self.items, self.offsets, self._first_new, offsets, rows)
        offsets, rows = np.cumsum(offsets), np.empty(int(offsets.sum()), np.int32)
        if len(rows):
            kernel.index_past(self.items, self.offsets, self._first_new, offsets[:-1].copy(), rows)
        n_items = self.quasi.n_items if self.p == 2 and self.quasi.n_items**2 <= MOST_PAIRS else 0
        pairs = np.zeros((n_items, n_items, 2), np.bool_)
        if n_items:
            kernel.mark_pairs(self.items, self.offsets, self._first_new, len(self.quasi), pairs)
        self.past = Past(rows, offsets, pairs, np.empty(0, np.bool_))

    @property
    def n_free(self) -> int:
        """Rows in which anything can be suppressed: those with something new, which come first."""
        return len(self.starts)

    @property
    def first_new(self) -> Counts:
        """Row to its first cell that was not released before."""
        return self._first_new

    def settle_new(self, *, suppress: bool) -> None:
        """Suppress new cells, then hold back new events, until at least k persons show all that is shown."""
        is_changed = True
        while is_changed:
            while suppress and self._sweep(1.0, math.inf, with_stars=False):
                pass
            # A star that nobody joins is held back: to suppress cells of others would cost them more.
            is_changed = (suppress and self._sweep(1.0, math.inf, with_stars=True)) or self._cut_rare() > 0

    def _cut_rare(self) -> int:
        places = np.full(self.n_free, NOT_CUT)
        causes = np.zeros(self.n_free, np.int64)
        n_cut: int = kernel.cut_rare(self._shown, self.past, self.n_free, places, causes)
        for row in np.flatnonzero(places < NOT_CUT).tolist():
            cause = self._cause(int(causes[row]))
            # It shows it no more.
            self._note_cut(row, int(places[row]), Cause(cause.items, cause.kinds, cause.persons + 1))
        return n_cut

    def cut(self, row: int, place: int, cause: Cause) -> None:
        """Hold back a row from the event of a cell on."""
        kernel.cut_row(self._shown, self.past, row, place)
        self._note_cut(row, place, cause)

    def _note_cut(self, row: int, place: int, cause: Cause) -> None:
        begin = place - place % len(self.quasi)
        self.cuts[row] = begin
        # A star is what was done about a channel, which says more.
        because = self.cause_of[begin : begin + len(self.quasi)].max()
        if because >= len(self._listed):
            self._listed = list(self.causes)
        self.held_for[row] = cause if because < 0 else self._listed[because]
        self.cause_of[begin : self.offsets[row + 1]] = -1

    def matches(self, cause: Cause, rows: Counts, stops: Counts) -> Mask:
        """Mark the rows that show a channel before some cells."""
        found = np.zeros(len(rows), np.bool_)
        pattern = self.pattern(cause)
        spent, places = np.zeros(len(pattern) + 1), np.empty((1, len(pattern)), np.int64)
        kernel.match_rows(self._shown, rows, stops, pattern, spent, places, found)
        return found

    def end_of(self, cause: Cause, row: int) -> int:
        """Return the cell at which a row first completes a channel."""
        pattern = self.pattern(cause)
        spent, places = np.zeros(len(pattern) + 1), np.empty((1, len(pattern)), np.int64)
        return int(kernel.find_end(self._shown, row, pattern, spent, places))
