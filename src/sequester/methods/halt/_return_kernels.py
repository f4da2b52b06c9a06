"""Show suppressed cells again where nothing becomes rare by that, looking only at choices with the cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.methods.halt._local_kernels import (
    CLOCK,
    COUNT,
    DEPTH,
    ITEM_BITS,
    LENGTH,
    PLACE,
    STAMP,
    TIMES,
    Shown,
    count_persons,
    enter,
    find_slot,
    has_room,
    next_choice,
    start_walk,
)

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask


@inner
def _next_with(shown: Shown, stop: int, cell: int) -> int:
    """Do as `next_choice`, but go only to choices with a cell, and to what they extend.

    These are the ones that have the cell: ``path[0, state[LENGTH] - 1] >= cell``.
    """
    cells, path, state = shown.cells, shown.path, shown.state
    depth, place = state[DEPTH], state[PLACE]
    while True:
        has_cell = depth > 0 and path[0, depth - 1] >= cell
        end = stop if has_cell else cell + 1
        if not has_cell and depth == path.shape[1] - 1:
            place = max(place, cell)
        if place < end and cells[place] >= 0 and shown.is_item[cells[place]]:
            return int(enter(shown, depth, place))
        if place < end:
            place += 1
        elif depth == 0:
            return -1
        else:
            depth -= 1
            place = path[0, depth] + 1


@inner
def _count_times(shown: Shown, row: int) -> None:
    """Count how often a row shows each of its choices."""
    shown.state[CLOCK] += 1
    clock, stop = shown.state[CLOCK], shown.offsets[row + 1]
    start_walk(shown, row)
    entry = next_choice(shown, stop)
    while entry >= 0:
        if shown.entries[entry, STAMP] != clock:
            shown.entries[entry, STAMP], shown.entries[entry, TIMES] = clock, 0
        shown.entries[entry, TIMES] += 1
        entry = next_choice(shown, stop)


@inner
def _exchange(shown: Shown, row: int, place: int, item: int, change: int) -> None:
    """Let a cell show an item, and add the choices with it `change` times to what the row shows."""
    shown.cells[place] = item
    clock, stop, amount = shown.state[CLOCK], shown.offsets[row + 1], change * shown.weights[row]
    start_walk(shown, row)
    entry = _next_with(shown, stop, place)
    while entry >= 0:
        if shown.path[0, shown.state[LENGTH] - 1] >= place:
            if shown.entries[entry, STAMP] != clock:
                shown.entries[entry, STAMP], shown.entries[entry, TIMES] = clock, 0
            before = shown.entries[entry, TIMES]
            shown.entries[entry, TIMES] += change
            if before == 0 or shown.entries[entry, TIMES] == 0:
                shown.entries[entry, COUNT] += amount
        entry = _next_with(shown, stop, place)


@inner
def _is_enough(shown: Shown, row: int, place: int, item: int, or_none: bool) -> bool:
    """Return whether enough persons show every choice with an item in a cell; or nobody, if that will do."""
    shown.cells[place] = item
    stop = shown.offsets[row + 1]
    start_walk(shown, row)
    entry = _next_with(shown, stop, place)
    while entry >= 0:
        n_persons = count_persons(shown, entry)
        has_cell = shown.path[0, shown.state[LENGTH] - 1] >= place
        if has_cell and n_persons < shown.k and not (or_none and n_persons == 0):
            return False
        entry = _next_with(shown, stop, place)
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
    if not is_fine:
        _exchange(shown, row, place, item, np.int64(-1))
        _exchange(shown, row, place, star, np.int64(1))
    return bool(is_fine)


@inner
def _find_pair(shown: Shown, first: int, second: int, is_same: bool) -> int:
    """Return how many persons show two items one after the other, or in the same event; 0 where unknown."""
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
        if shown.path.shape[1] > 1 and other != place and beside >= 0 and shown.is_item[beside]:
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
