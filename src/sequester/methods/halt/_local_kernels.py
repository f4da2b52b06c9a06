"""Suppress cells of single rows until everything that a row shows is shown by at least k persons.

A row is the history of one person or of several equal ones. What it shows are its g-sequences of cells as
they are released: every choice of up to p cells, in their order. All of them are counted in a table: an
*entry* is an entry it extends (0 is the empty sequence), whether its last item stands in the event of the one
before, and that item. Cells, events and rows are numbered through; cell ``place`` belongs to the column
``place % n_columns``.

In a series the first cells of a row were released before. What they show is shown by at least k persons for
good, so only choices that end in a new cell are counted, and one that would be rare is looked up in the past.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Amounts = npt.NDArray[np.float64]

ENTRIES, CLOCK, DEPTH, PLACE, LENGTH, FIRST, PICKS, LONELY, HOPELESS, N_STATE = range(10)
"""What the table keeps beside its arrays: entries in use, the clock of stamps, where the walk over a row
stands, the length of the sequence there and the first new cell of the row, picks made, lonely entries listed,
and the last entry that nothing allowed breaks (0: none)."""
KEY, COUNT, STAMP, TIMES, N_FIELDS = range(5)
"""Fields of an entry: what it stands for, the persons who show it, when it was last counted, and how often
the row shows it that cells are given back to."""
ITEM_BITS = 32
NEVER = -1
"""The margin of a row that has to be looked at."""


class Shown(NamedTuple):
    """Rows of cells, and how many persons show each sequence of them."""

    cells: Codes
    """The item of each cell; -1 where nothing is known."""
    offsets: Offsets
    """Row ``r`` has the cells from ``offsets[r]`` to ``offsets[r + 1]``."""
    weights: Counts
    """Persons of each row."""
    is_item: Mask
    """Item to whether it is counted here."""
    star_of: Codes
    """Item to what its cell shows when it is suppressed: itself for a star, -1 where stars are no items."""
    is_locked: Mask
    """Cell to whether it may not be suppressed."""
    prices: Amounts
    """Item to the cost of its suppression in one cell of one person."""
    slots: Counts
    """A hash table, at most half filled: where the entry of a key is, 0 for nowhere."""
    entries: Counts
    """The fields of each entry, side by side for the cache."""
    lost: Counts
    """Item to the persons in whose rows a cell with it was suppressed, added up."""
    seen: Counts
    """Cell to what its item had lost when the row was last looked at."""
    margins: Counts
    """Row to how many persons any of its g-sequences without a star, or any at all, could lose then without
    becoming rare; `NEVER` where one is."""
    path: Counts
    """Cells and entries of the sequence that the walk stands on; there are as many places as items."""
    state: Counts
    first_new: Counts
    """Row to its first cell that was not released before."""
    past_rows: Codes
    """The rows in which each item was released before, item by item."""
    past_offsets: Offsets
    """Item ``i`` has ``past_rows[past_offsets[i]:past_offsets[i + 1]]``."""
    is_looked_up: Mask
    """Entry to whether it was looked up in the past."""
    n_columns: int
    k: int


@inner
def find_slot(slots: Counts, entries: Counts, key: int) -> int:
    last = slots.size - 1
    mixed = ((key & 0x7FFFFFFF) * 0x5D1B3A2F) ^ ((key >> 31) * 0x2C1B3C6D)
    mixed = (mixed ^ (mixed >> 29)) & 0x3FFFFFFF
    mixed *= 0x1B873593
    slot = (mixed ^ (mixed >> 31)) & last
    while slots[slot] > 0 and entries[slots[slot], KEY] != key:
        slot = (slot + 1) & last
    return int(slot)


@njit
def index_entries(slots: Counts, entries: Counts, n_entries: int) -> None:
    """Enter all keys into an empty hash table."""
    for entry in range(1, n_entries):
        slots[find_slot(slots, entries, entries[entry, KEY])] = entry


@inner
def start_walk(shown: Shown, row: int) -> None:
    """Set the walk to the beginning of a row."""
    shown.state[DEPTH], shown.state[PLACE] = 0, shown.offsets[row]
    shown.state[FIRST] = shown.first_new[row]


@inner
def next_choice(shown: Shown, stop: int) -> int:
    """Go to the next choice of cells of a row that ends in a new one, and return its entry; -1 for no more.

    The cells are ``path[0, :state[LENGTH]]``, all before `stop`.
    """
    cells, path, state = shown.cells, shown.path, shown.state
    while True:
        depth, place = state[DEPTH], state[PLACE]
        if depth == path.shape[1] - 1:
            place = max(place, state[FIRST])
        while place >= stop or cells[place] < 0 or not shown.is_item[cells[place]]:
            if place < stop:
                place += 1
            elif depth == 0:
                return -1
            else:
                depth -= 1
                place = path[0, depth] + 1
        entry = enter(shown, depth, place)
        if place >= state[FIRST]:
            return int(entry)


@inner
def enter(shown: Shown, depth: int, place: int) -> int:
    """Put a cell at a depth of the path, and return the entry of the choice that ends there."""
    cells, path, state = shown.cells, shown.path, shown.state
    key = np.int64(cells[place])
    if depth > 0:
        is_same = path[0, depth - 1] // shown.n_columns == place // shown.n_columns
        key |= (path[1, depth - 1] << (ITEM_BITS + 1)) | (np.int64(is_same) << ITEM_BITS)
    slot = find_slot(shown.slots, shown.entries, key)
    entry = shown.slots[slot]
    if entry == 0:
        entry = state[ENTRIES]
        state[ENTRIES] += 1
        shown.slots[slot], shown.entries[entry, KEY] = entry, key
        shown.entries[entry, COUNT], shown.entries[entry, STAMP] = 0, 0
    path[0, depth], path[1, depth] = place, entry
    state[LENGTH] = depth + 1
    state[DEPTH] = min(depth + 1, path.shape[1] - 1)
    state[PLACE] = place + 1
    return int(entry)


@inner
def tally(shown: Shown, row: int, change: int) -> None:
    """Add a row's persons, times `change`, to everything that the row shows, once each."""
    shown.state[CLOCK] += 1
    clock, stop, amount = shown.state[CLOCK], shown.offsets[row + 1], change * shown.weights[row]
    start_walk(shown, row)
    entry = next_choice(shown, stop)
    while entry >= 0:
        if shown.entries[entry, STAMP] != clock:
            shown.entries[entry, STAMP] = clock
            shown.entries[entry, COUNT] += amount
        entry = next_choice(shown, stop)


@inner
def _was_shown(shown: Shown, row: int, pattern: Counts, at: Counts) -> bool:
    """Return whether a row showed items before, each in the event of the one before it or in a later one."""
    depth, place, n_columns = 0, shown.offsets[row], shown.n_columns
    while True:
        event = at[depth - 1] // n_columns if depth > 0 else np.int64(-1)
        is_same = depth > 0 and pattern[depth, 1] == 1
        if place >= shown.first_new[row] or (is_same and place // n_columns > event):
            if depth == 0:
                return False
            depth -= 1
            place = at[depth] + 1
            continue
        if shown.cells[place] == pattern[depth, 0] and (is_same or place // n_columns > event):
            if depth + 1 == pattern.shape[0]:
                return True
            at[depth] = place
            depth += 1
        place += 1


@inner
def count_persons(shown: Shown, entry: int) -> int:
    """Return how many persons show an entry; some k more, from when this was needed, if the past shows it."""
    if shown.entries[entry, COUNT] >= shown.k or shown.is_looked_up[entry] or shown.past_rows.size == 0:
        return int(shown.entries[entry, COUNT])
    shown.is_looked_up[entry] = True
    length, above = 0, entry
    while above > 0:
        length += 1
        above = shown.entries[above, KEY] >> (ITEM_BITS + 1)
    pattern, at = np.empty((length, 2), np.int64), np.empty(length, np.int64)
    above, rarest, fewest = entry, np.int64(0), np.int64(shown.past_rows.size + 1)
    for j in range(length - 1, -1, -1):
        key = shown.entries[above, KEY]
        item = key & ((np.int64(1) << ITEM_BITS) - 1)
        pattern[j, 0], pattern[j, 1] = item, (key >> ITEM_BITS) & 1
        above = key >> (ITEM_BITS + 1)
        n_rows = shown.past_offsets[item + 1] - shown.past_offsets[item]
        if n_rows < fewest:
            rarest, fewest = item, n_rows
    for i in range(shown.past_offsets[rarest], shown.past_offsets[rarest + 1]):
        if _was_shown(shown, shown.past_rows[i], pattern, at):
            shown.entries[entry, COUNT] += shown.k
            break
    return int(shown.entries[entry, COUNT])


@inner
def has_room(shown: Shown, row: int) -> bool:
    """Return whether all that a row may show fits into the table."""
    n_cells, total, ways = shown.offsets[row + 1] - shown.offsets[row], 1, 1.0
    for size in range(shown.path.shape[1]):
        ways = ways * (n_cells - size) / (size + 1)
        total += ways
    # Cells may become stars and other sequences with them; twice the room is enough for one change.
    return bool(shown.state[ENTRIES] + 2 * total < shown.entries.shape[0])


@njit
def count_rows(shown: Shown, first: int, stop: int) -> int:
    """Count the rows from one up to another; return the row for which there is no room."""
    for row in range(first, stop):
        if not has_room(shown, row):
            return row
        tally(shown, row, np.int64(1))
    return stop


@inner
def _is_free(shown: Shown, place: int) -> bool:
    """Return whether a cell may still be suppressed."""
    item = shown.cells[place]
    return bool(item >= 0 and shown.star_of[item] != item and not shown.is_locked[place])


@inner
def is_safe(shown: Shown, row: int, with_stars: bool) -> bool:
    """Return whether nothing in a row can have become rare since it was last looked at.

    A g-sequence loses no more persons than its items together.
    """
    most = np.int64(0)
    for place in range(shown.offsets[row], shown.offsets[row + 1]):
        item = shown.cells[place]
        if item >= 0:
            most = max(most, shown.lost[item] - shown.seen[place])
    return bool(most * shown.path.shape[1] <= shown.margins[row, np.int64(with_stars)])


@inner
def _collect(shown: Shown, row: int, with_stars: bool, rare: Counts, lonely: Counts) -> int:
    """List the choices of cells of a row that too few persons show; return how many.

    Those with stars are left out unless asked for. What nothing in this row breaks is noted in the state, or
    listed as lonely where it has a star.
    """
    n_rare, stop, state = 0, shown.offsets[row + 1], shown.state
    width = rare.shape[1] - 1
    fewest, fewest_free = np.int64(1) << ITEM_BITS, np.int64(1) << ITEM_BITS
    start_walk(shown, row)
    entry = next_choice(shown, stop)
    while entry >= 0 and n_rare < rare.shape[0]:
        n_persons = count_persons(shown, entry)
        if n_persons < max(fewest, fewest_free):
            has_star, has_free = False, False
            for j in range(width):
                place = shown.path[0, j] if j < state[LENGTH] else np.int64(-1)
                rare[n_rare, j] = place
                if place >= 0:
                    item = shown.cells[place]
                    has_star |= shown.star_of[item] == item
                    has_free |= _is_free(shown, place)
            rare[n_rare, width] = entry
            fewest = min(fewest, n_persons)
            if not has_star:
                fewest_free = max(min(fewest_free, n_persons), np.int64(shown.k))
            if n_persons >= shown.k:
                pass
            elif has_free and (with_stars or not has_star):
                n_rare += 1
            elif not has_star:
                state[HOPELESS] = entry
            elif not has_free and state[LONELY] < lonely.size:
                lonely[state[LONELY]] = entry
                state[LONELY] += 1
        entry = next_choice(shown, stop)
    shown.margins[row, 0] = NEVER if n_rare > 0 else fewest_free - shown.k
    shown.margins[row, 1] = NEVER if n_rare > 0 or fewest < shown.k else fewest - shown.k
    for place in range(shown.offsets[row], stop):
        shown.seen[place] = shown.lost[shown.cells[place]] if shown.cells[place] >= 0 else 0
    return n_rare


@inner
def _cover(shown: Shown, row: int, rare: Counts, n_rare: int, power: float, picks: Counts) -> None:
    """Pick cells of a row until every listed choice has one; each time the one in most of them per price.

    A pick is a cell, the entry that it is for, and the persons of that.
    """
    first = shown.offsets[row]
    scores = np.zeros(shown.offsets[row + 1] - first, np.int64)
    width, n_left = rare.shape[1] - 1, n_rare
    for i in range(n_rare):
        for j in range(width):
            if rare[i, j] >= 0 and _is_free(shown, rare[i, j]):
                scores[rare[i, j] - first] += 1
    while n_left > 0:
        best, most = np.int64(0), -1.0
        for cell in range(scores.size):
            if scores[cell] > 0:
                price = shown.prices[shown.cells[first + cell]] ** power
                worth = scores[cell] / price if price > 0 else np.inf
                if worth > most:
                    best, most = first + cell, worth
        cause = np.int64(0)
        for i in range(n_rare):
            is_hit = False
            for j in range(width):
                is_hit |= rare[i, j] == best
            if is_hit and rare[i, width] >= 0:
                cause = rare[i, width] if cause == 0 else cause
                rare[i, width] = -1
                n_left -= 1
                for j in range(width):
                    if rare[i, j] >= 0 and _is_free(shown, rare[i, j]):
                        scores[rare[i, j] - first] -= 1
        n_picks = shown.state[PICKS]
        picks[n_picks, 0], picks[n_picks, 1], picks[n_picks, 2] = best, cause, shown.entries[cause, COUNT]
        shown.state[PICKS] += 1


@inner
def suppress_picks(shown: Shown, row: int, picks: Counts, first_pick: int) -> None:
    """Suppress the cells of a row that were picked last, and count the row anew."""
    tally(shown, row, np.int64(-1))
    for i in range(first_pick, shown.state[PICKS]):
        item = shown.cells[picks[i, 0]]
        shown.cells[picks[i, 0]] = shown.star_of[item]
        shown.lost[item] += shown.weights[row]
    shown.margins[row, 0], shown.margins[row, 1] = NEVER, NEVER
    tally(shown, row, np.int64(1))


@njit
def sweep(
    shown: Shown, rows: Counts, with_stars: bool, power: float, rare: Counts, lonely: Counts, picks: Counts
) -> int:
    """Break, from one row up to another, what too few persons show; return the row without room for it."""
    for row in range(rows[0], rows[1]):
        n_rare = 0 if is_safe(shown, row, with_stars) else rare.shape[0]
        while n_rare == rare.shape[0]:
            n_cells = shown.offsets[row + 1] - shown.offsets[row]
            first_pick = shown.state[PICKS]
            if not has_room(shown, row) or first_pick + n_cells > picks.shape[0]:
                return row
            n_rare = _collect(shown, row, with_stars, rare, lonely)
            if n_rare > 0:
                _cover(shown, row, rare, n_rare, power, picks)
                suppress_picks(shown, row, picks, first_pick)
    return int(rows[1])


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
                and _is_free(shown, place)
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


@njit
def price_rows(shown: Shown, pattern: Counts, may_star: bool, most: int, costs: Amounts) -> None:
    """Write for each row the least cost at which it shows a pattern.

    Rows are left out once those that could show it stand for so many persons.
    """
    places = np.empty(pattern.shape[0], np.int64)
    n_persons = 0
    for row in range(costs.size):
        costs[row] = np.inf
        if n_persons < most:
            costs[row] = price_match(shown, row, shown.offsets[row + 1], pattern, may_star, places)
            if 0.0 < costs[row] < np.inf:
                n_persons += shown.weights[row]


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
            if _is_free(shown, place) and shown.prices[shown.cells[place]] < least:
                best, least = place, shown.prices[shown.cells[place]]
        if best < 0:
            return False
        n_picks = shown.state[PICKS]
        picks[n_picks, 0], picks[n_picks, 1], picks[n_picks, 2] = best, cause, np.int64(-1)
        shown.state[PICKS] += 1
        suppress_picks(shown, row, picks, n_picks)
    return True
