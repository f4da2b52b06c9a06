"""Match g-sequences in rows: who shows one, what can be shown again, and what a series holds back.

Rows, cells and g-sequences are those of `_local_kernels`. A row of a series is cut at an event: from there on
it shows nothing.
"""

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
    HIGH,
    IS_COUNTED,
    ITEM_BITS,
    LOOKED_AT,
    LOOKED_AT_ALL,
    LOW,
    N_ROW_FIELDS,
    NEVER,
    STAMP,
    STAR,
    TIMED_ROW,
    TIMES,
    WEIGHT,
    CountedRows,
    Past,
    count_persons,
    find_slot,
    has_room,
    is_past_pair,
    is_safe,
    list_choices,
    price_match,
    tally,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Amounts = npt.NDArray[np.float64]


@inner
def _may_match(shown: CountedRows, row: int, pattern: Counts, may_star: bool) -> bool:
    """Return whether a row has a cell for every item of a pattern, in any order: quicker than to match it."""
    for j in range(pattern.shape[0]):
        low, high = pattern[j, LOW], pattern[j, HIGH]
        # Cells may become a star that they do not show yet.
        is_found = may_star and shown.items[low, STAR] == low
        for place in range(shown.rows[row, FIRST], shown.rows[row + 1, FIRST]):
            is_found |= low <= shown.cells[place] < high
        if not is_found:
            return False
    return True


@njit
def price_rows(
    shown: CountedRows,
    pattern: Counts,
    may_star: bool,
    most: int,
    spent: Amounts,
    rows: Counts,
    stops: Counts,
    costs: Amounts,
    places: Counts,
) -> int:
    """List the rows that show a pattern; with `may_star`, those that do not yet, and what it would cost.

    `rows` has the rows to look at, each before its cell of `stops`, and then those that are listed. Ends as
    soon as these stand for so many persons. Writes the cells of each match, too, and returns how many there
    are.
    """
    n_rows, n_persons = 0, 0
    for i in range(rows.size):
        if n_persons >= most:
            break
        row = rows[i]
        if _may_match(shown, row, pattern, may_star):
            cost = price_match(shown, row, stops[i], pattern, may_star, spent, places, n_rows)
            if cost < np.inf and (cost > 0.0) == may_star:
                rows[n_rows], costs[n_rows] = row, cost
                n_rows += 1
                n_persons += shown.rows[row, WEIGHT]
    return n_rows


@inner
def _exchange(shown: CountedRows, past: Past | None, row: int, place: int, item: int, change: int) -> bool:
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
def _count_times(shown: CountedRows, past: Past | None, row: int) -> None:
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
def _find_pair(shown: CountedRows, past: Past | None, first: int, second: int, is_same: int) -> int:
    """Return how many persons show two items one after the other, or in the same event; 0 where unknown."""
    if past is not None and is_past_pair(past, first, second, is_same):
        return int(shown.k)
    entry = shown.slots[find_slot(shown.slots, shown.entries, first)]
    if entry > 0:
        key = (entry << (ITEM_BITS + 1)) | (is_same << ITEM_BITS) | second
        entry = shown.slots[find_slot(shown.slots, shown.entries, key)]
    return int(count_persons(shown, past, entry)) if entry > 0 else 0


@inner
def _may_return(shown: CountedRows, past: Past | None, row: int, place: int, item: int) -> bool:
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
def restore_cells(
    shown: CountedRows,
    past: Past | None,
    rows: Counts,
    places: Counts,
    items: Codes,
    is_restored: Mask,
    first: int,
) -> int:
    """Show suppressed cells again, one after the other, wherever nothing becomes rare by that.

    Begins with cell `first` of those that are listed; returns the one whose row has no room.
    """
    for i in range(first, places.size):
        row, place, item = rows[i], places[i], np.int64(items[i])
        if not _may_return(shown, past, row, place, item):
            continue
        if not has_room(shown, row):
            return i
        if shown.state[TIMED_ROW] != row:
            _count_times(shown, past, row)
            shown.state[TIMED_ROW] = row
        star = np.int64(shown.cells[place])
        _exchange(shown, past, row, place, star, np.int64(-1))
        _exchange(shown, past, row, place, item, np.int64(1))
        # What the row shows now, and what it showed before and others may still show.
        is_restored[i] = _exchange(shown, past, row, place, item, np.int64(0)) and _exchange(
            shown, past, row, place, star, np.int64(0)
        )
        shown.cells[place] = item
        if is_restored[i]:
            for looked_at in range(LOOKED_AT, N_ROW_FIELDS):
                shown.rows[row, looked_at] = NEVER
        else:
            _exchange(shown, past, row, place, item, np.int64(-1))
            _exchange(shown, past, row, place, star, np.int64(1))
    return int(places.size)


@njit
def mark_pairs(cells: Codes, offsets: Offsets, first_new: Counts, n_columns: int, past_pairs: Mask) -> None:
    """Mark the pairs of items that rows show before their first new cell, and which are of one event."""
    for row in range(offsets.size - 1):
        for place in range(offsets[row], first_new[row]):
            if cells[place] >= 0:
                event = place // n_columns
                for later in range(place + 1, first_new[row]):
                    if cells[later] >= 0:
                        is_same = np.int64(later // n_columns == event)
                        past_pairs[cells[place], cells[later], is_same] = True


@njit
def cut_row(shown: CountedRows, past: Past, row: int, place: int) -> None:
    """Show nothing of a row from the event of a cell on, and count the row anew."""
    tally(shown, past, row, np.int64(-1))
    for at in range(place - place % shown.n_columns, shown.rows[row + 1, FIRST]):
        shown.cells[at] = -1
    shown.rows[row, LOOKED_AT], shown.rows[row, LOOKED_AT_ALL] = NEVER, NEVER
    tally(shown, past, row, np.int64(1))


@njit
def cut_rare(shown: CountedRows, past: Past, n_rows: int, places: Counts, causes: Counts) -> int:
    """Cut each of the first rows where it first completes what too few persons show; return how many.

    Writes the cell at which a row is cut, and the entry that it is cut for.
    """
    n_cut = 0
    for row in range(n_rows):
        if is_safe(shown, row, np.int64(LOOKED_AT_ALL)):
            continue
        stop = shown.rows[row + 1, FIRST]
        earliest, cause = stop, np.int64(0)
        for i in range(list_choices(shown, past, row, np.int64(-1))):
            entry, place = shown.choices[i, ENTRY], shown.choices[i, CELL]
            if place < shown.rows[row, FIRST_NEW]:
                continue
            if count_persons(shown, past, entry) < shown.k and place < earliest:
                earliest, cause = place, entry
        if earliest < stop:
            places[row], causes[row] = earliest, cause
            cut_row(shown, past, row, earliest)
            n_cut += 1
        else:
            shown.rows[row, LOOKED_AT] = shown.rows[row, LOOKED_AT_ALL] = shown.state[CLOCK]
    return n_cut
