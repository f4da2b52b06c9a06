"""Count what rows show in parts, side by side, with the answer of counting one row after the other."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sequester.engine import LocalEngine
from sequester.methods.halt import _local_kernels as kernel
from sequester.methods.halt.extraction import TooMuchError

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.engine import Engine

MOST_ENTRIES = 1 << 26
"""Different g-sequences that are counted at one time: some 2 GB."""
PART = 2_000_000
"""Choices of cells that are worth a part of their own."""
WORTH_SENDING = 20_000_000
"""Choices of cells from which on parts go to other machines: estimated, so that sending them gains."""
FEWEST_ENTRIES, FEWEST_CHOICES = 1 << 12, 1 << 12


def count_choices(n_cells: int, length: int) -> int:
    """Return how many choices of up to so many of its cells a row has at most."""
    return sum(math.comb(n_cells, size) for size in range(1, length + 1))


def choices_of_rows(offsets: Offsets, length: int) -> Counts:
    """Return for each row how many choices of up to so many of its cells it has at most."""
    sizes, which = np.unique(np.diff(offsets), return_inverse=True)
    most = np.iinfo(np.int64).max // max(len(offsets), 1)
    choices = [min(count_choices(size, length), most) for size in sizes.tolist()]
    return np.array(choices, np.int64)[which.reshape(-1)]


def cut_rows(n_choices: Counts) -> list[range]:
    """Cut rows into parts of nearly equally many choices."""
    ends = np.cumsum(n_choices)
    total = int(n_choices.sum())
    bounds = np.searchsorted(ends, np.linspace(0, total, max(total // PART, 1) + 1)[1:-1])
    return [range(a, b) for a, b in pairwise([0, *bounds.tolist(), len(ends)]) if a < b]


def engine_for(engine: Engine, n_choices: int) -> Engine | None:
    """Return what runs the parts: this process where sending gains nothing, None where nothing does."""
    engine = engine if isinstance(engine, LocalEngine) or n_choices >= WORTH_SENDING else LocalEngine()
    return None if isinstance(engine, LocalEngine) and engine.n_threads == 1 else engine


def empty_table(shown: kernel.Shown) -> kernel.Shown:
    """Return rows with an empty table of entries of its own."""
    state = np.zeros(kernel.N_STATE, np.int64)
    state[[kernel.ENTRIES, kernel.LINKS]] = 1
    return shown._replace(
        slots=np.zeros(2 * FEWEST_ENTRIES, np.int64),
        entries=np.zeros((FEWEST_ENTRIES, kernel.N_FIELDS), np.int64),
        choices=np.empty((FEWEST_CHOICES, kernel.N_CHOICE_FIELDS), np.int64),
        state=state,
    )


def with_entries(shown: kernel.Shown, n_entries: int) -> kernel.Shown:
    """Return the table with room for so many entries."""
    n_used = int(shown.state[kernel.ENTRIES])
    entries = np.zeros((n_entries, kernel.N_FIELDS), np.int64)
    entries[:n_used] = shown.entries[:n_used]
    slots = np.zeros(1 << (2 * n_entries - 1).bit_length(), np.int64)
    kernel.index_entries(slots, entries, n_used)
    return shown._replace(slots=slots, entries=entries)


def with_room(shown: kernel.Shown, n_cells: int, *, grow: bool = False) -> kernel.Shown:
    """Return the table with room for one row of so many cells; at least twice as much with `grow`.

    Raises
    ------
    TooMuchError
        Where there is no room.
    """
    total = 1 + count_choices(n_cells, shown.length)
    needed = int(shown.state[kernel.ENTRIES]) + 2 * total + 1
    if max(needed, total) > MOST_ENTRIES:
        raise TooMuchError
    if total > len(shown.choices):
        shown = shown._replace(choices=np.empty((2 * total, kernel.N_CHOICE_FIELDS), np.int64))
    if needed > len(shown.entries) or grow:
        shown = with_entries(shown, min(max(needed, 2 * len(shown.entries)), MOST_ENTRIES))
    return shown


def count_in_parts(shown: kernel.Shown, parts: list[range], engine: Engine) -> kernel.Shown | None:
    """Count all rows; return None where there is no room.

    The table is the one of counting one row after the other: entries are numbered by the first row that shows
    them, and there is as much room for others.
    """
    # What a part does not read need not be sent.
    asked = empty_table(shown)._replace(links=np.empty((0, 2), np.int32))
    table, n_listed = empty_table(shown), 0
    n_new = np.zeros(len(shown.rows), np.int64)
    for rows, answer in zip(parts, engine.map(_count_part, parts, shared=asked), strict=True):
        if answer is None:
            return None
        found, ends, n_choices = answer
        n_listed += n_choices
        n_before = int(table.state[kernel.ENTRIES])
        if n_before + len(found) > len(table.entries):
            table = with_entries(table, 2 * (n_before + len(found)))
        numbers = np.zeros(len(found), np.int64)
        kernel.merge_entries(table, found, numbers)
        new_rows = np.searchsorted(ends, np.flatnonzero(numbers >= n_before), side="right")
        n_new[rows.start : rows.stop] = np.bincount(new_rows, minlength=len(rows))
    room = _find_room(shown, 1 + np.cumsum(n_new) - n_new)
    if room is None:
        return None
    n_entries, n_choices = room
    table = with_entries(table, n_entries)
    table.state[kernel.CLOCK], table.state[kernel.LISTED] = 1, n_listed
    return table._replace(choices=np.empty((n_choices, kernel.N_CHOICE_FIELDS), np.int64))


def _find_room(shown: kernel.Shown, n_before: Counts) -> tuple[int, int] | None:
    """Return the room for entries and choices when rows are counted one after the other, None for too much.

    `n_before` leads from a row to the entries in use before it.
    """
    totals = 1 + choices_of_rows(shown.rows[:, kernel.FIRST], shown.length)
    needed = n_before[:-1] + 2 * totals + 1
    n_entries, n_choices, row = FEWEST_ENTRIES, FEWEST_CHOICES, 0
    if max(needed.max(initial=0), totals.max(initial=0)) > MOST_ENTRIES:
        return None
    while (is_full := (needed[row:] > n_entries) | (totals[row:] > n_choices)).any():
        row += int(np.argmax(is_full))
        n_choices = 2 * int(totals[row]) if totals[row] > n_choices else n_choices
        n_entries = min(max(int(needed[row]), 2 * n_entries), MOST_ENTRIES)
    return n_entries, n_choices


def _count_part(rows: range, asked: kernel.Shown) -> tuple[Counts, Counts, int] | None:
    """Count some rows; return None where there is no room.

    That is keys and persons of their entries, the entries in use after each row, and the choices listed.
    """
    shown, row, ends = empty_table(asked), rows.start, np.zeros(len(rows), np.int64)
    while (row := kernel.count_apart(shown, row, rows.stop, rows.start, ends)) < rows.stop:
        try:
            n_cells = int(shown.rows[row + 1, kernel.FIRST] - shown.rows[row, kernel.FIRST])
            shown = with_room(shown, n_cells, grow=True)
        except TooMuchError:
            return None
    entries = shown.entries[: shown.state[kernel.ENTRIES]]
    return entries[:, [kernel.KEY, kernel.COUNT]], ends, int(shown.state[kernel.LISTED])


def link_in_parts(shown: kernel.Shown, parts: list[range], engine: Engine) -> None:
    """Find the rows in which nothing is rare, and link what few persons show to them."""
    counts, n_entries = shown.entries[:, kernel.COUNT], int(shown.state[kernel.ENTRIES])
    asked = shown._replace(
        entries=shown.entries[:n_entries],
        links=np.empty((0, 2), np.int32),
        choices=np.empty((0, kernel.N_CHOICE_FIELDS), np.int64),
    )
    shown.entries[counts >= kernel.MOST_LINKED * shown.k, kernel.LINK] = kernel.UNLINKED
    is_fine = np.zeros(len(shown.rows), np.bool_)
    for rows, (are_fine, found) in zip(parts, engine.map(_find_links, parts, shared=asked), strict=True):
        is_fine[rows.start : rows.stop] = are_fine
        kernel.link_found(shown, found)
    shown.rows[is_fine, kernel.LINKED_AT] = shown.state[kernel.CLOCK]


def _find_links(rows: range, asked: kernel.Shown) -> tuple[Mask, Codes]:
    """Mark the rows in which nothing is rare; return pairs of a row and an entry, one after the other."""
    sizes = np.diff(asked.rows[rows.start : rows.stop + 1, kernel.FIRST])
    n_choices = 1 + count_choices(int(sizes.max(initial=0)), asked.length)
    shown = asked._replace(
        choices=np.empty((n_choices, kernel.N_CHOICE_FIELDS), np.int64), state=asked.state.copy()
    )
    is_fine = np.zeros(len(rows), np.bool_)
    found, n_found = kernel.find_links(shown, rows.start, rows.stop, is_fine, np.empty(1 << 12, np.int32))
    return is_fine, found[:n_found].copy()
