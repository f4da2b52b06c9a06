"""Show suppressed cells again where nothing becomes rare by that, looking only at choices with the cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.methods.halt._local_kernels import (
    CELL,
    CLOCK,
    COUNT,
    ENTRY,
    ITEM_BITS,
    NEVER,
    STAMP,
    TIMES,
    Shown,
    count_persons,
    find_slot,
    has_room,
    is_past_pair,
    list_choices,
)

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask


@inner
def _count_times(shown: Shown, row: int) -> None:
    """Count how often a row shows each of its choices."""
    n_choices, choices, entries = list_choices(shown, row, np.int64(-1)), shown.choices, shown.entries
    shown.state[CLOCK] += 1
    clock = shown.state[CLOCK]
    for i in range(n_choices):
        if choices[i, CELL] >= shown.first_new[row]:
            entry = choices[i, ENTRY]
            if entries[entry, STAMP] != clock:
                entries[entry, STAMP], entries[entry, TIMES] = clock, 0
            entries[entry, TIMES] += 1


@inner
def _exchange(shown: Shown, row: int, place: int, item: int, change: int) -> None:
    """Let a cell show an item, and add the choices with it `change` times to what the row shows."""
    shown.cells[place] = item
    n_choices, choices, entries = list_choices(shown, row, place), shown.choices, shown.entries
    clock, amount = shown.state[CLOCK], change * shown.weights[row]
    for i in range(n_choices):
        if choices[i, CELL] >= place:
            entry = choices[i, ENTRY]
            if entries[entry, STAMP] != clock:
                entries[entry, STAMP], entries[entry, TIMES] = clock, 0
            before = entries[entry, TIMES]
            entries[entry, TIMES] += change
            if before == 0 or entries[entry, TIMES] == 0:
                entries[entry, COUNT] += amount


@inner
def _is_enough(shown: Shown, row: int, place: int, item: int, or_none: bool) -> bool:
    """Return whether enough persons show every choice with an item in a cell; or nobody, if that will do."""
    shown.cells[place] = item
    n_choices, choices = list_choices(shown, row, place), shown.choices
    for i in range(n_choices):
        if choices[i, CELL] >= place:
            n_persons = count_persons(shown, choices[i, ENTRY])
            if n_persons < shown.k and not (or_none and n_persons == 0):
                return False
    return True


@inner
def _give_back(shown: Shown, row: int, place: int, item: int) -> bool:
    """Show a suppressed cell again if nothing becomes rare by that; return whether it is shown.

    Requires room for the row, and that `_count_times` has counted it last.
    """
    star = shown.cells[place]
    _exchange(shown, row, place, star, np.int64(-1))
    _exchange(shown, row, place, item, np.int64(1))
    # What the row shows now, and what it showed before and others may still show.
    is_fine = _is_enough(shown, row, place, item, False) and _is_enough(shown, row, place, star, True)
    shown.cells[place] = item
    if is_fine:
        shown.looked_at[row, 0], shown.looked_at[row, 1] = NEVER, NEVER
    else:
        _exchange(shown, row, place, item, np.int64(-1))
        _exchange(shown, row, place, star, np.int64(1))
    return bool(is_fine)


@inner
def _find_pair(shown: Shown, first: int, second: int, is_same: bool) -> int:
    """Return how many persons show two items one after the other, or in the same event; 0 where unknown."""
    if is_past_pair(shown, first, second, is_same):
        return int(shown.k)
    entry = shown.slots[find_slot(shown.slots, shown.entries, np.int64(first))]
    if entry > 0:
        key = (entry << (ITEM_BITS + 1)) | (np.int64(is_same) << ITEM_BITS) | np.int64(second)
        entry = shown.slots[find_slot(shown.slots, shown.entries, key)]
    return int(count_persons(shown, entry))


@inner
def _may_return(shown: Shown, row: int, place: int, item: int) -> bool:
    """Return whether an item may be shown again as far as pairs say: quicker than to try it."""
    for other in range(shown.offsets[row], shown.offsets[row + 1]):
        beside = shown.cells[other]
        if shown.length > 1 and other != place and beside >= 0 and shown.is_item[beside]:
            is_same = other // shown.n_columns == place // shown.n_columns
            n_persons = (
                _find_pair(shown, beside, item, is_same)
                if other < place
                else _find_pair(shown, item, beside, is_same)
            )
            if n_persons + shown.weights[row] < shown.k:
                return False
    return True


@njit
def give_back_all(shown: Shown, rows: Counts, places: Counts, items: Codes, is_back: Mask) -> None:
    """Show suppressed cells again, one after the other, wherever nothing becomes rare by that."""
    counted = -1
    for i in range(places.size):
        if _may_return(shown, rows[i], places[i], items[i]) and has_room(shown, rows[i]):
            if counted != rows[i]:
                _count_times(shown, rows[i])
                counted = rows[i]
            is_back[i] = _give_back(shown, rows[i], places[i], items[i])
