"""Match g-sequences in rows: who shows one, who could by further stars, and who is to show it no more.

Rows, cells and g-sequences are those of `_local_kernels`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.methods.halt._local_kernels import PICKS, Shown, is_free, suppress_picks

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts

    Amounts = npt.NDArray[np.float64]


@inner
def price_match(shown: Shown, row: int, stop: int, pattern: Counts, may_star: bool, places: Counts) -> float:
    """Return the least cost at which a row shows a pattern before `stop`, infinite if it cannot.

    The cells are written to `places`. A pattern has a row for each item: its number, the first number that
    does not lie below it, its column, and 1 where it stands in the event of the item before. With `may_star`,
    cells may be suppressed to show the stars of the pattern.
    """
    first = shown.offsets[row]
    depth, place, n_columns, length = 0, first, shown.n_columns, pattern.shape[0]
    best = np.inf
    at, spent = np.zeros(length, np.int64), np.zeros(length + 1)
    while True:
        if place >= stop or (
            depth > 0 and pattern[depth, 3] == 1 and place // n_columns > at[depth - 1] // n_columns
        ):
            if depth == 0:
                return best
            depth -= 1
            place = at[depth] + 1
            continue
        item, cost = shown.cells[place], np.inf
        is_later = depth == 0 or place // n_columns > at[depth - 1] // n_columns
        if item >= 0 and place % n_columns == pattern[depth, 2] and (is_later or pattern[depth, 3] == 1):
            if pattern[depth, 0] <= item < pattern[depth, 1]:
                cost = 0.0
            elif (
                may_star
                and shown.is_item[item]
                and is_free(shown, place)
                and shown.star_of[item] == pattern[depth, 0]
            ):
                # A protected value is no company: it makes a star no safer.
                cost = shown.prices[item]
        if spent[depth] + cost < best:
            at[depth] = place
            spent[depth + 1] = spent[depth] + cost
            if depth + 1 < length:
                depth += 1
            else:
                best = float(spent[length])
                for j in range(length):
                    places[j] = at[j]
                if best == 0.0:
                    return best
        place += 1


@inner
def _may_match(shown: Shown, row: int, pattern: Counts, may_star: bool) -> bool:
    """Return whether a row has a cell for every item of a pattern, in any order: quicker than to match it."""
    cells, star_of = shown.cells, shown.star_of
    for j in range(pattern.shape[0]):
        low, high, is_found = pattern[j, 0], pattern[j, 1], False
        # Cells may become a star that they do not show yet.
        is_found = may_star and star_of[low] == low
        for place in range(shown.offsets[row], shown.offsets[row + 1]):
            is_found |= low <= cells[place] < high
        if not is_found:
            return False
    return True


@njit
def price_rows(shown: Shown, pattern: Counts, may_star: bool, most: int, rows: Counts, costs: Amounts) -> int:
    """List the rows that show a pattern; with `may_star`, those that do not yet, and what it would cost.

    Ends as soon as those that are listed stand for so many persons. Returns how many there are.
    """
    places = np.empty(pattern.shape[0], np.int64)
    n_rows, n_persons = 0, 0
    for row in range(rows.size):
        if n_persons >= most:
            break
        if _may_match(shown, row, pattern, may_star):
            cost = price_match(shown, row, shown.offsets[row + 1], pattern, may_star, places)
            if cost < np.inf and (cost > 0.0) == may_star:
                rows[n_rows], costs[n_rows] = row, cost
                n_rows += 1
                n_persons += shown.weights[row]
    return n_rows


@njit
def join_row(shown: Shown, row: int, pattern: Counts, cause: int, picks: Counts) -> None:
    """Suppress the cells that let a row show the stars of a pattern at the least cost. Requires room."""
    places = np.empty(pattern.shape[0], np.int64)
    price_match(shown, row, shown.offsets[row + 1], pattern, True, places)
    first_pick = shown.state[PICKS]
    for j in range(places.size):
        if not pattern[j, 0] <= shown.cells[places[j]] < pattern[j, 1]:
            n_picks = shown.state[PICKS]
            picks[n_picks, 0], picks[n_picks, 1], picks[n_picks, 2] = places[j], cause, np.int64(-1)
            shown.state[PICKS] += 1
    suppress_picks(shown, row, picks, first_pick)


@njit
def break_row(shown: Shown, row: int, pattern: Counts, cause: int, picks: Counts) -> bool:
    """Suppress the cheapest cell of each match of a pattern in a row; return whether none is left.

    Requires room for the row, and for a pick per cell.
    """
    places = np.empty(pattern.shape[0], np.int64)
    while price_match(shown, row, shown.offsets[row + 1], pattern, False, places) == 0.0:
        best, least = np.int64(-1), np.inf
        for place in places:
            if is_free(shown, place) and shown.prices[shown.cells[place]] < least:
                best, least = place, shown.prices[shown.cells[place]]
        if best < 0:
            return False
        n_picks = shown.state[PICKS]
        picks[n_picks, 0], picks[n_picks, 1], picks[n_picks, 2] = best, cause, np.int64(-1)
        shown.state[PICKS] += 1
        suppress_picks(shown, row, picks, n_picks)
    return True
