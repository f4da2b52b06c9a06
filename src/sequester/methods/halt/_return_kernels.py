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
    FIRST,
    FIRST_NEW,
    IS_COUNTED,
    ITEM_BITS,
    LOOKED_AT,
    N_ROW_FIELDS,
    NEVER,
    STAMP,
    TIMES,
    WEIGHT,
    Past,
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
def _exchange(shown: Shown, past: Past | None, row: int, place: int, item: int, change: int) -> bool:
    """Let a cell show an item, and add the choices with it `change` times to what the row shows.

    Where `change` is 0, returns whether enough persons show each of them, or nobody.
    """
    shown.cells[place] = item
    n_choices, choices, entries = list_choices(shown, past, row, place), shown.choices, shown.entries
    clock, amount = shown.state[CLOCK], change * shown.rows[row, WEIGHT]
    for i in range(n_choices):
        if choices[i, CELL] >= place:
            entry = choices[i, ENTRY]
            if entries[entry, STAMP] != clock:
                entries[entry, STAMP], entries[entry, TIMES] = clock, 0
            before = entries[entry, TIMES]
            entries[entry, TIMES] += change
            if before == 0 or entries[entry, TIMES] == 0:
                entries[entry, COUNT] += amount
            if change == 0 and entries[entry, COUNT] > 0 and count_persons(shown, past, entry) < shown.k:
                return False
    return True


@inner
def _count_times(shown: Shown, past: Past | None, row: int) -> None:
    """Count how often a row shows each of its choices."""
    n_choices, choices, entries = list_choices(shown, past, row, np.int64(-1)), shown.choices, shown.entries
    shown.state[CLOCK] += 1
    clock, first_new = shown.state[CLOCK], shown.rows[row, FIRST_NEW]
    for i in range(n_choices):
        if choices[i, CELL] >= first_new:
            entry = choices[i, ENTRY]
            if entries[entry, STAMP] != clock:
                entries[entry, STAMP], entries[entry, TIMES] = clock, 0
            entries[entry, TIMES] += 1


@inner
def _find_pair(shown: Shown, past: Past | None, first: int, second: int, is_same: int) -> int:
    """Return how many persons show two items one after the other, or in the same event; 0 where unknown."""
    if past is not None and is_past_pair(past, first, second, is_same):
        return int(shown.k)
    entry = shown.slots[find_slot(shown.slots, shown.entries, first)]
    if entry > 0:
        key = (entry << (ITEM_BITS + 1)) | (is_same << ITEM_BITS) | second
        entry = shown.slots[find_slot(shown.slots, shown.entries, key)]
    return int(count_persons(shown, past, entry)) if entry > 0 else 0


@inner
def _may_return(shown: Shown, past: Past | None, row: int, place: int, item: int) -> bool:
    """Return whether an item may be shown again as far as pairs say: quicker than to try it."""
    if shown.length == 1:
        return True
    for other in range(shown.rows[row, FIRST], shown.rows[row + 1, FIRST]):
        beside = np.int64(shown.cells[other])
        if other != place and beside >= 0 and shown.items[beside, IS_COUNTED] > 0:
            is_same = np.int64(other // shown.n_columns == place // shown.n_columns)
            first, second = (beside, item) if other < place else (item, beside)
            n_persons = _find_pair(shown, past, first, second, is_same)
            if n_persons + shown.rows[row, WEIGHT] < shown.k:
                return False
    return True


@njit
def give_back_all(
    shown: Shown, past: Past | None, rows: Counts, places: Counts, items: Codes, is_back: Mask
) -> None:
    """Show suppressed cells again, one after the other, wherever nothing becomes rare by that."""
    counted = -1
    for i in range(places.size):
        row, place, item = rows[i], places[i], np.int64(items[i])
        if not (_may_return(shown, past, row, place, item) and has_room(shown, row)):
            continue
        if counted != row:
            _count_times(shown, past, row)
            counted = row
        star = np.int64(shown.cells[place])
        _exchange(shown, past, row, place, star, np.int64(-1))
        _exchange(shown, past, row, place, item, np.int64(1))
        # What the row shows now, and what it showed before and others may still show.
        is_back[i] = _exchange(shown, past, row, place, item, np.int64(0)) and _exchange(
            shown, past, row, place, star, np.int64(0)
        )
        shown.cells[place] = item
        if is_back[i]:
            for looked_at in range(LOOKED_AT, N_ROW_FIELDS):
                shown.rows[row, looked_at] = NEVER
        else:
            _exchange(shown, past, row, place, item, np.int64(-1))
            _exchange(shown, past, row, place, star, np.int64(1))
