"""Suppress cells of single rows until everything that a row shows is shown by at least k persons.

A row is the history of one person or of several equal ones. What it shows are its g-sequences of cells as
they are released: every choice of up to p cells, in their order. All of them are counted in a table: an
*entry* is an entry it extends (0 is the empty sequence), whether its last item stands in the event of the one
before, and that item. Cells, events and rows are numbered through; cell ``place`` belongs to the column
``place % n_columns``.

In a series the first cells of a row were released before. What they show is shown by at least k persons for
good, so only choices that end in a new cell are counted, and one that would be rare is looked up in the past.

A row in which nothing is rare need not be looked at before something that it shows becomes rare. So entries
of few persons are linked to the rows that show them, except in a series. A row that is spared a look counts
as looked at wherever an item of it has fallen: how long a search goes on does not depend on links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.kernels.rows import ensure_capacity
from sequester.methods.halt._kernels import first_slot

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Amounts = npt.NDArray[np.float64]

ENTRIES, CLOCK, LISTED, PICKS, UNBREAKABLE, INFEASIBLE, LINKS, TIMED_ROW, N_STATE = range(9)
"""What the table keeps beside its arrays: entries in use, the clock of stamps, choices listed, picks made,
unbreakable entries listed, the last entry that nothing allowed breaks (0: none), links in use, and the row
whose `TIMES` entries have (-1: none)."""
FIRST, FIRST_NEW, WEIGHT, LOOKED_AT, LOOKED_AT_ALL, LINKED_AT, N_ROW_FIELDS = range(7)
"""Fields of a row: its first cell, its first cell that was not released before, its persons, and when none of
its g-sequences without a star, and none at all, was last found to be rare; `NEVER` where one is. The last one
is when none at all was and all of few persons were linked; `NEVER` also where a linked one became rare."""
IS_COUNTED, STAR, FALLEN, FALLEN_UNLINKED, N_ITEM_FIELDS = range(5)
"""Fields of an item: 1 where it is counted here; what its cell shows when it is suppressed, which is itself
for a star and -1 where stars are no items; when a g-sequence became rare of whose items it is the rarest, and
when such a one did that is not linked to its rows."""
KEY, COUNT, STAMP, TIMES, LINK, N_FIELDS = range(6)
"""Fields of an entry: what it stands for, the persons who show it, when it was last counted, how often the
row shows it that cells are given back to, and the last of its links (0: none; `UNLINKED`). In a series there
are no links, and an entry is `UNLINKED` once it was looked up in the past."""
ENTRY, CELL, ABOVE, N_CHOICE_FIELDS = range(4)
"""Fields of a choice: its entry, its last cell, and the place of the choice without it (-1: none)."""
PICKED, CAUSE, PERSONS, ITEM, N_PICK_FIELDS = range(5)
"""Fields of a pick: the cell, the entry it is suppressed for, the persons of that, and what it showed."""
LOW, HIGH, IS_SAME, PLACE, N_PATTERN_FIELDS = range(5)
"""Fields of an item of a pattern: its number, the first number that does not lie below it, 1 where it stands
in the event of the item before, and the cell that was tried last."""
ITEM_BITS = 32
NEVER = -1
"""When a row was last looked at that has to be looked at."""
UNLINKED = -1
"""In place of a link: not all rows that show the entry are linked."""
MOST_LINKED = 64
"""An entry is linked to its rows where fewer than so many times k persons show it."""


class CountedRows(NamedTuple):
    """Rows of cells, and how many persons show each sequence of them.

    What is known of rows, items and entries stands side by side, for the cache and because every array makes
    kernels slower to compile.
    """

    cells: Codes
    """The item of each cell; -1 where nothing is known."""
    is_locked: Mask
    """Cell to whether it may not be suppressed."""
    rows: Counts
    """The fields of each row; behind the last one, the end of its cells."""
    items: Counts
    """The fields of each item."""
    prices: Amounts
    """Item to the cost of its suppression in one cell of one person."""
    slots: Counts
    """A hash table, at most half filled: where the entry of a key is, 0 for nowhere."""
    entries: Counts
    """The fields of each entry."""
    links: Codes
    """A row that shows an entry, and the link of the entry before this one."""
    choices: Counts
    """The choices of cells that were listed last, shorter ones first."""
    spent: Amounts
    """What all suppression has cost, in its only place."""
    state: Counts
    n_columns: int
    length: int
    """The most cells of a choice."""
    k: int


class Past(NamedTuple):
    """What was released before; kernels are compiled without it where there is none."""

    rows: Codes
    """The rows in which each item was released before, item by item."""
    offsets: Offsets
    """Item ``i`` has ``rows[offsets[i]:offsets[i + 1]]``."""
    pairs: Mask
    """Two items, and 1 for the same event, to whether they were released before; empty where not known."""


@inner
def find_slot(slots: Counts, entries: Counts, key: int) -> int:
    """Return the slot of the entry of a key, or the empty one where it belongs."""
    last = slots.size - 1
    slot = first_slot(key, last)
    while slots[slot] > 0 and entries[slots[slot], KEY] != key:
        slot = (slot + 1) & last
    return int(slot)


@njit
def index_entries(slots: Counts, entries: Counts, n_entries: int) -> None:
    """Enter all keys into an empty hash table."""
    for entry in range(1, n_entries):
        slots[find_slot(slots, entries, entries[entry, KEY])] = entry


@inner
def is_past_pair(past: Past, first: int, second: int, is_same: bool) -> bool:
    """Return whether two items, the second in the event of the first or later, are known to be released."""
    return bool(past.pairs.size > 0 and past.pairs[first, second, np.int64(is_same)])


@inner
def list_choices(shown: CountedRows, past: Past | None, row: int, cell: int) -> int:
    """List the choices of cells of a row, or only those with a cell and what they extend; return how many.

    All that end in a new cell are listed, and what they extend, where `cell` is -1. Those that are asked for
    have a last cell at or behind `cell`, or a new one. Requires room for the row.
    """
    cells, items, slots, entries, choices = (
        shown.cells,
        shown.items,
        shown.slots,
        shown.entries,
        shown.choices,
    )
    first, stop, first_new = shown.rows[row, FIRST], shown.rows[row + 1, FIRST], shown.rows[row, FIRST_NEW]
    n_choices, start, end = 0, -1, 0
    for length in range(shown.length):
        n_before = n_choices
        for above in range(start, end):
            last, prefix, end_of_event = first - 1, np.int64(0), first
            if above >= 0:
                last = choices[above, CELL]
                prefix = choices[above, ENTRY] << (ITEM_BITS + 1)
                end_of_event = last - last % shown.n_columns + shown.n_columns
            low, high = last + 1, stop
            if length == shown.length - 1:
                low = max(low, first_new)
            if last < cell:
                low, high = cell if length == shown.length - 1 else low, cell + 1
            for place in range(low, high):
                item = np.int64(cells[place])
                if item < 0 or items[item, IS_COUNTED] == 0:
                    continue
                is_same = np.int64(place < end_of_event)
                # A pair of the past is never rare, and where there is nothing longer, nothing extends it.
                is_last = length == 1 and shown.length == 2
                if past is not None and is_last and is_past_pair(past, cells[last], item, is_same):
                    continue
                key = prefix | (is_same << ITEM_BITS) | item
                slot = find_slot(slots, entries, key)
                entry = slots[slot]
                if entry == 0:
                    entry = shown.state[ENTRIES]
                    shown.state[ENTRIES] += 1
                    slots[slot], entries[entry, KEY] = entry, key
                    entries[entry, COUNT], entries[entry, STAMP], entries[entry, LINK] = 0, 0, 0
                choices[n_choices, ENTRY], choices[n_choices, CELL] = entry, place
                choices[n_choices, ABOVE] = above
                n_choices += 1
        start, end = n_before, n_choices
    shown.state[LISTED] += n_choices
    return n_choices


@inner
def _note_fallen(shown: CountedRows, entry: int) -> None:
    """Note that an entry became rare with its rarest item, which few rows have beside those that show it.

    Rows that it is linked to are noted, too.
    """
    rarest, fewest, link = np.int64(0), np.int64(1) << ITEM_BITS, shown.entries[entry, LINK]
    while entry > 0:
        key = shown.entries[entry, KEY]
        item = key & ((np.int64(1) << ITEM_BITS) - 1)
        n_persons = shown.entries[shown.slots[find_slot(shown.slots, shown.entries, item)], COUNT]
        if n_persons < fewest:
            rarest, fewest = item, n_persons
        entry = key >> (ITEM_BITS + 1)
    shown.items[rarest, FALLEN] = shown.state[CLOCK]
    if link == UNLINKED:
        shown.items[rarest, FALLEN_UNLINKED] = shown.state[CLOCK]
    while link > 0:
        shown.rows[shown.links[link, 0], LINKED_AT] = NEVER
        link = np.int64(shown.links[link, 1])


@inner
def _link(shown: CountedRows, row: int, entry: int) -> None:
    """Link an entry to a row, once at a time of the clock, unless many persons show it or none fits."""
    entries, links, n_links = shown.entries, shown.links, shown.state[LINKS]
    if entries[entry, LINK] == UNLINKED or entries[entry, STAMP] == shown.state[CLOCK]:
        return
    entries[entry, STAMP] = shown.state[CLOCK]
    if n_links >= links.shape[0] or entries[entry, COUNT] >= MOST_LINKED * shown.k:
        entries[entry, LINK] = UNLINKED
        return
    links[n_links, 0], links[n_links, 1] = row, entries[entry, LINK]
    entries[entry, LINK] = n_links
    shown.state[LINKS] += 1


@inner
def tally(shown: CountedRows, past: Past | None, row: int, change: int) -> None:
    """Add a row's persons, times `change`, to everything that the row shows, once each."""
    n_choices, choices, entries = list_choices(shown, past, row, np.int64(-1)), shown.choices, shown.entries
    shown.state[CLOCK] += 1
    clock, amount = shown.state[CLOCK], change * shown.rows[row, WEIGHT]
    first_new = shown.rows[row, FIRST_NEW]
    for i in range(n_choices):
        entry = choices[i, ENTRY]
        if choices[i, CELL] >= first_new and entries[entry, STAMP] != clock:
            entries[entry, STAMP] = clock
            entries[entry, COUNT] += amount
            if 0 < entries[entry, COUNT] < shown.k <= entries[entry, COUNT] - amount:
                _note_fallen(shown, entry)


@inner
def price_match(
    shown: CountedRows,
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
        if pattern[depth, LOW] <= item < pattern[depth, HIGH]:
            cost = 0.0
        elif (
            may_star
            and item >= 0
            and shown.items[item, STAR] == pattern[depth, LOW]
            and shown.items[item, IS_COUNTED] > 0
            and is_free(shown, place)
        ):
            # A protected value does not count: it makes a star no safer.
            cost = shown.prices[item]
        if cost < np.inf and not is_same and place // n_columns == event:
            cost = np.inf
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
def _look_up(shown: CountedRows, past: Past, entry: int) -> None:
    """Count so many persons for an entry that the past shows that it is never rare; once."""
    if shown.entries[entry, LINK] == UNLINKED:
        return
    shown.entries[entry, LINK] = UNLINKED
    length, above = 0, entry
    while above > 0:
        length += 1
        above = shown.entries[above, KEY] >> (ITEM_BITS + 1)
    pattern, spent = np.empty((length, N_PATTERN_FIELDS), np.int64), np.zeros(length + 1)
    places = np.empty((1, length), np.int64)
    above, rarest, fewest = entry, np.int64(0), np.int64(past.rows.size + 1)
    for j in range(length - 1, -1, -1):
        key = shown.entries[above, KEY]
        item = key & ((np.int64(1) << ITEM_BITS) - 1)
        pattern[j, LOW], pattern[j, HIGH], pattern[j, IS_SAME] = item, item + 1, (key >> ITEM_BITS) & 1
        above = key >> (ITEM_BITS + 1)
        n_rows = past.offsets[item + 1] - past.offsets[item]
        if n_rows < fewest:
            rarest, fewest = item, n_rows
    for i in range(past.offsets[rarest], past.offsets[rarest + 1]):
        row = np.int64(past.rows[i])
        first_new = shown.rows[row, FIRST_NEW]
        if price_match(shown, row, first_new, pattern, np.bool_(False), spent, places, np.int64(0)) == 0.0:
            shown.entries[entry, COUNT] += np.int64(1) << ITEM_BITS
            break


@inner
def count_persons(shown: CountedRows, past: Past | None, entry: int) -> int:
    """Return how many persons show an entry; where the past shows it, so many that it is never rare."""
    if past is not None and shown.entries[entry, COUNT] < shown.k:
        _look_up(shown, past, entry)
    return int(shown.entries[entry, COUNT])


@inner
def has_room(shown: CountedRows, row: int) -> bool:
    """Return whether all that a row may show fits into the table."""
    n_cells, total, ways = shown.rows[row + 1, FIRST] - shown.rows[row, FIRST], 1, 1.0
    for size in range(shown.length):
        ways = ways * (n_cells - size) / (size + 1)
        total += ways
    # Cells may become stars and other sequences with them; twice the room is enough for one change.
    is_counted = shown.state[ENTRIES] + 2 * total < shown.entries.shape[0]
    return bool(is_counted and total <= shown.choices.shape[0])


@njit
def count_rows(shown: CountedRows, past: Past | None, first: int, stop: int, change: int) -> int:
    """Add the persons of rows, times `change`, to what they show; return the row that has no room."""
    for row in range(first, stop):
        if not has_room(shown, row):
            return row
        tally(shown, past, row, change)
    return stop


@njit
def merge_entries(shown: CountedRows, found: Counts, numbers: Counts) -> None:
    """Add entries that were counted apart, a key and persons each, and write down which they are here.

    Entries that are new here follow each other as they do there. Requires room.
    """
    slots, entries, state = shown.slots, shown.entries, shown.state
    for i in range(1, found.shape[0]):
        above, last = found[i, 0] >> (ITEM_BITS + 1), found[i, 0] & ((np.int64(1) << (ITEM_BITS + 1)) - 1)
        key = (numbers[above] << (ITEM_BITS + 1)) | last
        slot = find_slot(slots, entries, key)
        if slots[slot] == 0:
            slots[slot] = state[ENTRIES]
            entries[state[ENTRIES], KEY] = key
            state[ENTRIES] += 1
        numbers[i] = slots[slot]
        entries[numbers[i], COUNT] += found[i, 1]


@njit
def find_links(shown: CountedRows, first: int, stop: int, is_fine: Mask, found: Codes) -> tuple[Codes, int]:
    """Mark the rows, from one up to another, in which nothing is rare, and list what is to be linked to them.

    Changes no entry. Returns pairs of a row and an entry, one after the other, and how many numbers they are.
    """
    n_found = 0
    for row in range(first, stop):
        n_choices, n_before = list_choices(shown, None, row, np.int64(-1)), n_found
        found = ensure_capacity(found, n_found, n_found + 2 * n_choices)
        is_fine[row - first] = True
        for i in range(n_choices):
            n_persons = shown.entries[shown.choices[i, ENTRY], COUNT]
            if n_persons < shown.k:
                is_fine[row - first] = False
                n_found = n_before
                break
            if n_persons < MOST_LINKED * shown.k:
                found[n_found], found[n_found + 1] = row, shown.choices[i, ENTRY]
                n_found += 2
    return found, n_found


@njit
def link_found(shown: CountedRows, found: Codes) -> None:
    """Link rows to entries as they were listed."""
    for i in range(0, found.size, 2):
        if i == 0 or found[i] != found[i - 2]:
            shown.state[CLOCK] += 1
        _link(shown, found[i], np.int64(found[i + 1]))


@inner
def is_free(shown: CountedRows, place: int) -> bool:
    """Return whether a cell may still be suppressed."""
    item = shown.cells[place]
    return bool(item >= 0 and shown.items[item, STAR] != item and not shown.is_locked[place])


@inner
def is_safe(shown: CountedRows, row: int, looked_at: int) -> bool:
    """Return whether nothing in a row can have become rare since it was last looked at.

    `looked_at` is the field that says when: without stars, with all, or with links.
    """
    since, fallen = shown.rows[row, looked_at], FALLEN_UNLINKED if looked_at == LINKED_AT else FALLEN
    if since == NEVER:
        return False
    for place in range(shown.rows[row, FIRST], shown.rows[row + 1, FIRST]):
        item = shown.cells[place]
        if item >= 0 and shown.items[item, fallen] > since:
            return False
    return True


@inner
def _count_choices(shown: CountedRows, row: int) -> int:
    """Return how many choices of cells a row has, without a past."""
    n_cells, ways, total = 0, 1, 0
    for place in range(shown.rows[row, FIRST], shown.rows[row + 1, FIRST]):
        item = shown.cells[place]
        if item >= 0 and shown.items[item, IS_COUNTED] > 0:
            n_cells += 1
    for size in range(shown.length):
        ways = ways * (n_cells - size) // (size + 1)
        total += ways
    return total


@inner
def _collect(
    shown: CountedRows, past: Past | None, row: int, with_stars: bool, rare: Counts, unbreakable: Counts
) -> int:
    """List the choices of cells of a row that too few persons show; return how many.

    Those with stars are left out unless asked for. What nothing in this row breaks is noted in the state, or
    listed as unbreakable where it has a star.
    """
    n_rare, width, state, choices = 0, rare.shape[1] - 1, shown.state, shown.choices
    first_new, is_rare = shown.rows[row, FIRST_NEW], False
    if past is None and is_safe(shown, row, np.int64(LINKED_AT)):
        state[LISTED] += _count_choices(shown, row)
        shown.rows[row, LOOKED_AT], shown.rows[row, LOOKED_AT_ALL] = state[CLOCK], state[CLOCK]
        return 0
    n_choices = list_choices(shown, past, row, np.int64(-1))
    for i in range(n_choices):
        entry = choices[i, ENTRY]
        if choices[i, CELL] < first_new or count_persons(shown, past, entry) >= shown.k:
            continue
        is_rare = True
        has_star, has_free, at = False, False, np.int64(i)
        for j in range(width):
            rare[n_rare, j] = -1
            if at >= 0:
                place = choices[at, CELL]
                rare[n_rare, j] = place
                item = shown.cells[place]
                has_star |= shown.items[item, STAR] == item
                has_free |= is_free(shown, place)
                at = choices[at, ABOVE]
        rare[n_rare, width] = entry
        if has_free and (with_stars or not has_star):
            n_rare += 1
            if n_rare == rare.shape[0]:
                break
        elif not has_star:
            state[INFEASIBLE] = entry
        elif not has_free and state[UNBREAKABLE] < unbreakable.size:
            unbreakable[state[UNBREAKABLE]] = entry
            state[UNBREAKABLE] += 1
    shown.rows[row, LOOKED_AT] = NEVER if n_rare > 0 else state[CLOCK]
    shown.rows[row, LOOKED_AT_ALL] = NEVER if is_rare else state[CLOCK]
    if past is None and not is_rare:
        state[CLOCK] += 1
        for i in range(n_choices):
            _link(shown, row, choices[i, ENTRY])
        shown.rows[row, LINKED_AT] = state[CLOCK]
    return n_rare


@inner
def _cover(
    shown: CountedRows, row: int, rare: Counts, n_rare: int, power: float, scores: Counts, picks: Counts
) -> None:
    """Pick cells of a row until every listed choice has one; each time the one in most of them per price.

    `scores` has a place for each cell, all 0, and is left so.
    """
    first, stop = shown.rows[row, FIRST], shown.rows[row + 1, FIRST]
    width, n_left = rare.shape[1] - 1, n_rare
    for i in range(n_rare):
        for j in range(width):
            if rare[i, j] >= 0 and is_free(shown, rare[i, j]):
                scores[rare[i, j] - first] += 1
    while n_left > 0:
        best, most = np.int64(0), -1.0
        for cell in range(stop - first):
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
                    if rare[i, j] >= 0 and is_free(shown, rare[i, j]):
                        scores[rare[i, j] - first] -= 1
        pick = shown.state[PICKS]
        picks[pick, PICKED], picks[pick, ITEM] = best, shown.cells[best]
        picks[pick, CAUSE], picks[pick, PERSONS] = cause, shown.entries[cause, COUNT]
        shown.state[PICKS] += 1


@inner
def _suppress_picks(shown: CountedRows, past: Past | None, row: int, picks: Counts, first_pick: int) -> None:
    """Suppress the cells of a row that were picked last, and count the row anew."""
    n_picks = shown.state[PICKS]
    for i in range(first_pick, n_picks):
        shown.spent[0] += shown.prices[picks[i, ITEM]] * shown.rows[row, WEIGHT]
    # What it shows no more is taken away last: only that can become rare.
    for change in range(1, -2, -2):
        for i in range(first_pick, n_picks):
            item = picks[i, ITEM]
            shown.cells[picks[i, PICKED]] = shown.items[item, STAR] if change > 0 else item
        tally(shown, past, row, change)
    for i in range(first_pick, n_picks):
        shown.cells[picks[i, PICKED]] = shown.items[picks[i, ITEM], STAR]
    for looked_at in range(LOOKED_AT, N_ROW_FIELDS):
        shown.rows[row, looked_at] = NEVER


@njit
def sweep(
    shown: CountedRows,
    past: Past | None,
    rows: Counts,
    with_stars: bool,
    power: float,
    enough: float,
    rare: Counts,
    unbreakable: Counts,
    scores: Counts,
    picks: Counts,
) -> int:
    """Break, from one row up to another, what too few persons show; return the row where it stops.

    That is one for which there is no room, or at which more than `enough` was spent.
    """
    for row in range(rows[0], rows[1]):
        n_rare = 0 if is_safe(shown, row, LOOKED_AT + np.int64(with_stars)) else rare.shape[0]
        while n_rare == rare.shape[0]:
            n_cells = shown.rows[row + 1, FIRST] - shown.rows[row, FIRST]
            first_pick = shown.state[PICKS]
            is_full = not has_room(shown, row) or first_pick + n_cells > picks.shape[0]
            if is_full or shown.spent[0] > enough:
                return row
            n_rare = _collect(shown, past, row, with_stars, rare, unbreakable)
            if n_rare > 0:
                _cover(shown, row, rare, n_rare, power, scores, picks)
                _suppress_picks(shown, past, row, picks, first_pick)
    return int(rows[1])
