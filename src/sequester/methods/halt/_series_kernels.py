"""Hold back the last events of single rows until everything that is left is shown by at least k persons.

Rows, cells and g-sequences are those of `_local_kernels`. A row is cut at an event: from there on it shows
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.methods.halt._local_kernels import (
    CELL,
    CLOCK,
    ENTRY,
    FIRST,
    FIRST_NEW,
    LOOKED_AT,
    LOOKED_AT_ALL,
    NEVER,
    Past,
    Shown,
    count_persons,
    is_safe,
    list_choices,
    tally,
)
from sequester.methods.halt._match_kernels import price_match

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Amounts = npt.NDArray[np.float64]


@njit
def index_past(
    cells: Codes, offsets: Offsets, first_new: Counts, past_offsets: Offsets, past_rows: Codes
) -> None:
    """List for each item the rows that show it before their first new cell, or only count them.

    They are counted, in ``past_offsets[item + 1]``, where `past_rows` has no room. Otherwise the item's place
    in `past_rows` begins at ``past_offsets[item]``, which is moved to its end.
    """
    last_row = np.full(past_offsets.size, -1, np.int64)
    for row in range(offsets.size - 1):
        for place in range(offsets[row], first_new[row]):
            item = cells[place]
            if item >= 0 and last_row[item] != row:
                last_row[item] = row
                if past_rows.size == 0:
                    past_offsets[item + 1] += 1
                else:
                    past_rows[past_offsets[item]] = row
                    past_offsets[item] += 1


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


@inner
def _cut(shown: Shown, past: Past, row: int, place: int) -> None:
    """Show nothing of a row from the event of a cell on, and count the row anew."""
    tally(shown, past, row, np.int64(-1))
    for at in range(place - place % shown.n_columns, shown.rows[row + 1, FIRST]):
        shown.cells[at] = -1
    shown.rows[row, LOOKED_AT], shown.rows[row, LOOKED_AT_ALL] = NEVER, NEVER
    tally(shown, past, row, np.int64(1))


@njit
def cut_row(shown: Shown, past: Past, row: int, place: int) -> None:
    """Show nothing of a row from the event of a cell on."""
    _cut(shown, past, row, place)


@njit
def cut_rare(shown: Shown, past: Past, n_rows: int, places: Counts, causes: Counts) -> int:
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
            _cut(shown, past, row, earliest)
            n_cut += 1
        else:
            shown.rows[row, LOOKED_AT] = shown.rows[row, LOOKED_AT_ALL] = shown.state[CLOCK]
    return n_cut


@njit
def match_rows(
    shown: Shown,
    rows: Counts,
    stops: Counts,
    pattern: Counts,
    spent: Amounts,
    places: Counts,
    is_match: Mask,
) -> None:
    """Mark the given rows that show a pattern before the given cells."""
    for i in range(rows.size):
        cost = price_match(shown, rows[i], stops[i], pattern, False, spent, places, np.int64(0))
        is_match[i] = cost == 0.0


@njit
def find_end(shown: Shown, row: int, pattern: Counts, spent: Amounts, places: Counts) -> int:
    """Return the cell at which a row first completes a pattern that it shows."""
    end = shown.rows[row + 1, FIRST]
    while price_match(shown, row, end, pattern, False, spent, places, np.int64(0)) == 0.0:
        end = places[0, -1]
    return int(end)
