"""Match g-sequences in rows: who shows one, who could by further stars, and who is to show it no more.

Rows, cells and g-sequences are those of `_local_kernels`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.methods.halt._local_kernels import FIRST, IS_COUNTED, STAR, WEIGHT, Shown, is_free

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts

    Amounts = npt.NDArray[np.float64]

LOW, HIGH, COLUMN, IS_SAME, PLACE, N_PATTERN_FIELDS = range(6)
"""Fields of an item of a pattern: its number, the first number that does not lie below it, its column, 1
where it stands in the event of the item before, and the cell that was tried last."""


@inner
def price_match(
    shown: Shown,
    row: int,
    stop: int,
    pattern: Counts,
    may_star: bool,
    spent: Amounts,
    places: Counts,
    match: int,
) -> float:
    """Return the least cost at which a row shows a pattern before `stop`, infinite if it cannot.

    The cells are written to ``places[match]``. With `may_star`, cells may be suppressed to show the stars of
    the pattern. `spent` has a place more than the pattern, and begins with 0.
    """
    depth, place, n_columns, length = 0, shown.rows[row, FIRST], shown.n_columns, pattern.shape[0]
    best = np.inf
    while True:
        event = pattern[depth - 1, PLACE] // n_columns if depth > 0 else np.int64(-1)
        is_same = depth > 0 and pattern[depth, IS_SAME] == 1
        if place >= stop or (is_same and place // n_columns > event):
            if depth == 0:
                return best
            depth -= 1
            place = pattern[depth, PLACE] + 1
            continue
        item, cost = np.int64(shown.cells[place]), np.inf
        if (
            item >= 0
            and place % n_columns == pattern[depth, COLUMN]
            and (is_same or place // n_columns > event)
        ):
            if pattern[depth, LOW] <= item < pattern[depth, HIGH]:
                cost = 0.0
            elif (
                may_star
                and shown.items[item, IS_COUNTED] > 0
                and is_free(shown, place)
                and shown.items[item, STAR] == pattern[depth, LOW]
            ):
                # A protected value is no company: it makes a star no safer.
                cost = shown.prices[item]
        if spent[depth] + cost < best:
            pattern[depth, PLACE] = place
            spent[depth + 1] = spent[depth] + cost
            if depth + 1 < length:
                depth += 1
            else:
                best = float(spent[length])
                for j in range(length):
                    places[match, j] = pattern[j, PLACE]
                if best == 0.0:
                    return best
        place += 1


@inner
def _may_match(shown: Shown, row: int, pattern: Counts, may_star: bool) -> bool:
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
    shown: Shown,
    pattern: Counts,
    may_star: bool,
    most: int,
    spent: Amounts,
    rows: Counts,
    costs: Amounts,
    places: Counts,
) -> int:
    """List the rows that show a pattern; with `may_star`, those that do not yet, and what it would cost.

    `rows` begins with the first row to look at, and has a place for each. Ends as soon as those that are
    listed stand for so many persons. Writes the cells of each match, too, and returns how many there are.
    """
    n_rows, n_persons, first = 0, 0, rows[0] if rows.size else 0
    for row in range(first, first + rows.size):
        if n_persons >= most:
            break
        if _may_match(shown, row, pattern, may_star):
            stop = shown.rows[row + 1, FIRST]
            cost = price_match(shown, row, stop, pattern, may_star, spent, places, n_rows)
            if cost < np.inf and (cost > 0.0) == may_star:
                rows[n_rows], costs[n_rows] = row, cost
                n_rows += 1
                n_persons += shown.rows[row, WEIGHT]
    return n_rows
