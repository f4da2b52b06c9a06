"""The reposition window: which record is published in which snapshot, in bags of linked records.

A *slot* is a published snapshot, a *home* the snapshot that a record came with. Numbers of snapshots count
from 0; slot ``j`` stands at ``j % w`` in what has `w` rows, home ``h`` at ``h % (2 w)`` in what has ``2 w``
rows, because a record may stay in a slot for up to ``w - 1`` snapshots after its own is gone.

``heads[j % w, d, s]`` is the first record of value `s` in slot `j` whose home is ``j - d``, and
``held_heads[h % w, s]`` the first suppressed one of home `h`; ``links[h % (2 w), row]`` is the next one in
the same bag, -1 at its end. ``counts`` and ``held_counts`` are the sizes of the bags, ``totals[j % w, s]``
sums over `d`. What a relay gains depends on counts alone; which records it takes, on who is where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from sequester.kernels.person_sets import draw, enter, enter_at, is_in, leave, see

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts
    from sequester.kernels.person_sets import Cells

    Costs = npt.NDArray[np.float64]
    State = npt.NDArray[np.uint64]

END = -1
"""No further record."""
NEVER = -1e300
"""The gain of a relay that cannot be."""
TINY = 1e-9
"""Gains up to this are none: sums of decimal costs are not exact."""
TRIES = 64
"""Records of a bag that are looked at for one whose person may move."""


class Bags(NamedTuple):
    """The arrays of a window, as the module describes them."""

    links: Codes
    """Home and row to the next row of its bag."""
    people: Counts
    """Home and row to its person."""
    heads: Codes
    """Slot, distance and value to the first row of the bag."""
    counts: Counts
    """Slot, distance and value to the size of the bag."""
    totals: Counts
    """Slot and value to the number of records."""
    held_heads: Codes
    """Home and value to the first suppressed row."""
    held_counts: Counts
    """Home and value to the number of suppressed rows."""
    slots: npt.NDArray[np.uint16]
    """Home and row to 1 + the row of the slot in which it is published; 0 for those that are not."""
    sizes: Counts
    """Home to its number of records."""
    cells: Cells
    """Slot to the set of its persons."""
    used: Counts
    """Slot to the places that are taken in its set."""
    state: State
    """What everything random is drawn from."""


@njit(cache=True, nogil=True)
def largest_level(counts: Counts, numerator: int, denominator: int) -> int:
    """Give the largest level L with ``sum(min(counts, L)) >= l L``, for ``l = numerator / denominator``."""
    low, high = 0, 0
    for count in counts:
        high = max(high, count)
    while low < high:
        level = (low + high + 1) // 2
        size = 0
        for count in counts:
            size += min(count, level)
        if size * denominator >= level * numerator:
            low = level
        else:
            high = level - 1
    return low


@njit(cache=True, nogil=True)
def take_in(number: int, values: Codes, persons: Counts, level_parts: tuple[int, int], bags: Bags) -> None:
    """Add a snapshot: as many records of each value as are eligible are published, the rest is held back.

    Of a person with several records the first is a candidate; who is held back is drawn. Requires bags of
    this slot and home that are empty, and room for all persons.
    """
    window = bags.heads.shape[0]
    n_records, n_values = values.size, bags.heads.shape[2]
    slot, home = number % window, number % (2 * window)
    links, cells = bags.links[home], bags.cells[slot]
    heads, counts, totals = bags.heads[slot, 0], bags.counts[slot, 0], bags.totals[slot]
    held_heads, held_counts = bags.held_heads[slot], bags.held_counts[slot]
    candidates = np.zeros(n_values, np.int64)
    places = np.empty(n_records, np.int32)
    order = np.empty(n_records, np.int32)
    bags.sizes[home] = n_records
    for row in range(n_records):
        bags.people[home, row] = persons[row]
        places[row] = see(cells, persons[row])
        if places[row] != END:
            candidates[values[row]] += 1
            bags.used[slot] += 1
        # A random order, built from the front.
        other = draw(bags.state, row + 1)
        order[row] = order[other]
        order[other] = row
    level = largest_level(candidates, level_parts[0], level_parts[1])
    for place in range(n_records):
        row = order[place]
        value = values[row]
        if places[row] != END and totals[value] < level:
            enter_at(cells, places[row])
            bags.slots[home, row] = slot + 1
            links[row] = heads[value]
            heads[value] = row
            counts[value] += 1
            totals[value] += 1
        else:
            bags.slots[home, row] = 0
            links[row] = held_heads[value]
            held_heads[value] = row
            held_counts[value] += 1


@njit(cache=True, nogil=True)
def latest_home(value: int, number: int, before: int, bags: Bags) -> int:
    """Give the latest home before `before` with a suppressed record of the value; -1 where there is none."""
    window = bags.held_counts.shape[0]
    for home in range(before - 1, max(number - window, -1), -1):
        if bags.held_counts[home % window, value] > 0:
            return home
    return END


@njit(cache=True, nogil=True)
def next_home(value: int, slot: int, carried: int, bags: Bags) -> int:
    """Give the latest home in a slot that is later than that of the carried record; -1 without one.

    Records of the same home as the carried one are as good as it: it passes by.
    """
    row = slot % bags.counts.shape[0]
    for distance in range(slot - carried):
        if bags.counts[row, distance, value] > 0:
            return slot - distance
    return END


@njit(cache=True, nogil=True)
def relay_gain(value: int, home: int, number: int, mu: Costs, beta: float, bags: Bags) -> float:
    """Give the gain of relaying a suppressed record of `home` into slot `number` (Equations 5 and 6)."""
    if home == END:
        return NEVER
    cost = 0.0
    at, carried = home, home
    for slot in range(home + 1, number):
        onward = next_home(value, slot, carried, bags)
        if onward != END:
            cost += mu[slot - carried] - mu[at - carried]
            at, carried = slot, onward
    return float(beta - (cost + mu[number - carried] - mu[at - carried]))


@njit(cache=True, nogil=True)
def find_free(first: int, home: int, target: int, bags: Bags) -> tuple[int, int]:
    """Find a record of a bag whose person has no record in slot `target`: the one before it, and it."""
    window = bags.heads.shape[0]
    links, people = bags.links[home % (2 * window)], bags.people[home % (2 * window)]
    cells = bags.cells[target % window]
    before, row = END, first
    for _ in range(TRIES):
        if row == END:
            break
        if not is_in(cells, people[row]):
            return before, row
        before, row = row, links[row]
    return END, END


@njit(cache=True, nogil=True)
def relay(value: int, home: int, number: int, bags: Bags, log: Counts, logged: int) -> int:
    """Relay a suppressed record of `home` into slot `number`, each step on behalf of the one before it.

    Writes ``home, row, from, to`` of every step to `log` behind the first `logged` ones (from is -1 for the
    suppressed set) and gives the new number of steps; -1, and nothing is moved, where persons are in the way.
    """
    window = bags.heads.shape[0]
    n_steps = logged
    at, carried = END, home
    before = np.empty(window, np.int64)
    for slot in range(min(home + 1, number), number + 1):
        onward = END
        if slot < number:
            onward = next_home(value, slot, carried, bags)
            if onward == END:
                continue
        if at == END:
            first = bags.held_heads[carried % window, value]
        else:
            first = bags.heads[at % window, at - carried, value]
        previous, row = find_free(first, carried, slot, bags)
        if row == END:
            return END
        before[n_steps - logged] = previous
        log[n_steps, 0], log[n_steps, 1], log[n_steps, 2], log[n_steps, 3] = carried, row, at, slot
        n_steps += 1
        at, carried = slot, onward
    for step in range(logged, n_steps):
        move(value, log[step, 0], log[step, 1], before[step - logged], log[step, 2], log[step, 3], bags)
    return n_steps


@njit(cache=True, nogil=True)
def move(value: int, home: int, row: int, previous: int, source: int, target: int, bags: Bags) -> None:
    """Take a record out of its bag, where `previous` comes before it, and put it on top of another.

    `source` and `target` are slots, or -1 for the suppressed set of its home.
    """
    window = bags.heads.shape[0]
    links, person = bags.links[home % (2 * window)], bags.people[home % (2 * window), row]
    after = links[row]
    if previous != END:
        links[previous] = after
    elif source == END:
        bags.held_heads[home % window, value] = after
    else:
        bags.heads[source % window, source - home, value] = after
    if source == END:
        bags.held_counts[home % window, value] -= 1
    else:
        bags.counts[source % window, source - home, value] -= 1
        bags.totals[source % window, value] -= 1
        leave(bags.cells[source % window], person)
    if target == END:
        bags.slots[home % (2 * window), row] = 0
        links[row] = bags.held_heads[home % window, value]
        bags.held_heads[home % window, value] = row
        bags.held_counts[home % window, value] += 1
    else:
        slot = target % window
        links[row] = bags.heads[slot, target - home, value]
        bags.heads[slot, target - home, value] = row
        bags.counts[slot, target - home, value] += 1
        bags.totals[slot, value] += 1
        bags.slots[home % (2 * window), row] = slot + 1
        bags.used[slot] += enter(bags.cells[slot], person)


@njit(cache=True, nogil=True)
def undo(values: Counts, log: Counts, logged: int, bags: Bags) -> None:
    """Take back the first `logged` steps of the log, the last one first; `values` are theirs."""
    window = bags.heads.shape[0]
    for step in range(logged - 1, -1, -1):
        home, row, source, target = log[step, 0], log[step, 1], log[step, 2], log[step, 3]
        previous, here = END, bags.heads[target % window, target - home, values[step]]
        while here != row:
            previous, here = here, bags.links[home % (2 * window), here]
        move(values[step], home, row, previous, target, source, bags)


@njit(cache=True, nogil=True)
def best_value(gains: Costs, totals: Counts, below: int, least: float, random: bool, state: State) -> int:
    """Give the value with the largest gain above `least` among those with fewer than `below` records.

    The first of equals, or any of them where `random`; -1 where there is none.
    """
    best, n_equal = END, 0
    for value in range(gains.size):
        if totals[value] >= below or gains[value] <= least:
            continue
        if best == END or gains[value] > gains[best]:
            best, n_equal = value, 1
        elif random and gains[value] == gains[best]:
            n_equal += 1
            if draw(state, n_equal) == 0:
                best = value
    return best


@njit(cache=True, nogil=True)
def relay_all(
    number: int, level_parts: tuple[int, int], mu: Costs, betas: Costs, random: bool, bags: Bags
) -> tuple[int, int]:
    """Relay suppressed records into the newest slot as long as that lowers the cost (OptimalReposition).

    Level-preserving relays first, one by one; then as many as the next level needs, at least one, which are
    taken back where there are too few or they do not pay. Gives the number of relays, those that were taken
    back included, and the number of steps they took.
    """
    window, n_values = bags.heads.shape[0], bags.heads.shape[2]
    numerator, denominator = level_parts
    newest = bags.totals[number % window]
    starts = np.empty(n_values, np.int64)
    gains = np.empty(n_values, np.float64)
    size, level, n_held = 0, 0, 0
    for value in range(n_values):
        size += newest[value]
        level = max(level, newest[value])
        for home in range(window):
            n_held += bags.held_counts[home, value]
        starts[value] = latest_home(value, number, number + 1, bags)
        gains[value] = relay_gain(value, starts[value], number, mu, betas[value], bags)
    # A level needs at most l more records, rounded up, and there are not more than are held back.
    most = (min(-(-numerator // denominator), n_held) + 2) * window
    log = np.empty((most, 4), np.int64)
    log_values = np.empty(most, np.int64)
    n_relays, n_steps = 0, 0
    while True:
        lifting, wanted, gained, found, logged = False, 0, 0.0, 0, 0
        while True:
            if lifting:
                if found == wanted:
                    break
                value = best_value(gains, newest, level + 1, NEVER, random, bags.state)
                if value == END:
                    break
            else:
                logged = 0
                value = best_value(gains, newest, level, TINY, random, bags.state)
                if value == END:
                    # The paper has 0 here, and stops although a relay would pay (hole 1).
                    lifting, wanted = True, max(1, -(-(level + 1) * numerator // denominator) - size)
                    continue
            moved = relay(value, starts[value], number, bags, log, logged)
            if moved != END:
                if lifting:
                    gained += gains[value]
                    found += 1
                    log_values[logged:moved] = value
                n_relays += 1
                n_steps += moved - logged
                logged = moved
                size += 1
                starts[value] = latest_home(value, number, number + 1, bags)
            else:
                # Whoever waits longer may still find a place.
                starts[value] = latest_home(value, number, starts[value], bags)
            gains[value] = relay_gain(value, starts[value], number, mu, betas[value], bags)
        if found < wanted or gained <= TINY:
            undo(log_values, log, logged, bags)
            break
        for value in range(n_values):
            level = max(level, newest[value])
    return n_relays, n_steps


@njit(cache=True, nogil=True)
def hold_back(value: int, number: int, bags: Bags) -> None:
    """Take the nearest record of a value out of the newest slot, back to the suppressed set of its home."""
    slot = number % bags.heads.shape[0]
    for distance in range(bags.heads.shape[1]):
        row = bags.heads[slot, distance, value]
        if row != END:
            move(value, number - distance, row, END, number, END, bags)
            return


@njit(cache=True, nogil=True)
def trim(number: int, level_parts: tuple[int, int], bags: Bags) -> None:
    """Take records out of a slot until it is eligible: most frequent values first, farthest records first."""
    window = bags.heads.shape[0]
    slot = number % window
    totals = bags.totals[slot]
    level = largest_level(totals, level_parts[0], level_parts[1])
    for value in range(totals.size):
        for distance in range(window - 1, -1, -1):
            while totals[value] > level and bags.heads[slot, distance, value] != END:
                move(value, number - distance, bags.heads[slot, distance, value], END, number, END, bags)


@njit(cache=True, nogil=True)
def rearrange(wanted: Counts, level_parts: tuple[int, int], bags: Bags) -> None:
    """Publish ``wanted[home, slot, value]`` records as far as persons allow, and keep every slot eligible.

    Requires that all records of homes 0 to ``wanted.shape[0] - 1`` are in their own slot or suppressed.
    """
    n_homes = wanted.shape[0]
    for home in range(n_homes):
        for value in range(wanted.shape[2]):
            while bags.totals[home, value] > wanted[home, home, value]:
                move(value, home, bags.heads[home, 0, value], END, home, END, bags)
    for slot in range(n_homes):
        for home in range(slot + 1):
            for value in range(wanted.shape[2]):
                while bags.counts[slot, slot - home, value] < wanted[home, slot, value]:
                    previous, row = find_free(bags.held_heads[home, value], home, slot, bags)
                    if row == END:
                        break
                    move(value, home, row, previous, END, slot, bags)
        trim(slot, level_parts, bags)


@njit(cache=True, nogil=True)
def shake(number: int, level_parts: tuple[int, int], bags: Bags) -> None:
    """Add relays that nothing asks for, and hold back records that could stay, a few, by chance.

    Eligibility stays: a relay goes to a value below the level, what is held back one by one is to spare, and
    a whole level can go because the smaller levels of an eligible slot are eligible, too.
    """
    window, n_values = bags.heads.shape[0], bags.heads.shape[2]
    newest = bags.totals[number % window]
    log = np.empty((window, 4), np.int64)
    while draw(bags.state, 2) == 0:
        value = draw(bags.state, n_values)
        home = latest_home(value, number, number + 1, bags)
        if home != END and newest[value] < newest.max():
            relay(value, home, number, bags, log, 0)
    while draw(bags.state, 2) == 0:
        value = draw(bags.state, n_values)
        if (newest.sum() - 1) * level_parts[1] >= newest.max() * level_parts[0]:
            hold_back(value, number, bags)
    if draw(bags.state, 4) == 0:
        level = newest.max()
        for value in range(n_values):
            if level > 0 and newest[value] == level:
                hold_back(value, number, bags)


@njit(cache=True, nogil=True)
def gather_slot(number: int, bags: Bags) -> tuple[Counts, Codes]:
    """List the records of a slot by home and row."""
    window = bags.heads.shape[0]
    slot = number % window
    size = bags.totals[slot].sum()
    homes, rows = np.empty(size, np.int64), np.empty(size, np.int32)
    at = 0
    for home in range(max(number - window + 1, 0), number + 1):
        slots = bags.slots[home % (2 * window)]
        for row in range(bags.sizes[home % (2 * window)]):
            if slots[row] == slot + 1:
                homes[at], rows[at] = home, row
                at += 1
    return homes, rows


@njit(cache=True, nogil=True)
def count_repeated(homes: Counts, rows: Codes, first: int, stop: int, bags: Bags) -> int:
    """Count records whose persons are in one of the slots `first` to `stop` - 1."""
    window = bags.heads.shape[0]
    count = 0
    for place in range(rows.size):
        person = bags.people[homes[place] % (2 * window), rows[place]]
        for slot in range(first, stop):
            if is_in(bags.cells[slot % window], person):
                count += 1
                break
    return count


@njit(cache=True, nogil=True)
def enter_all(number: int, bags: Bags) -> None:
    """Note where the records of a slot are, and put their persons into its empty set, from its bags."""
    window, n_values = bags.heads.shape[0], bags.heads.shape[2]
    slot = number % window
    for distance in range(window):
        home = (number - distance) % (2 * window)
        for value in range(n_values):
            row = bags.heads[slot, distance, value]
            while row != END:
                bags.slots[home, row] = slot + 1
                bags.used[slot] += enter(bags.cells[slot], bags.people[home, row])
                row = bags.links[home, row]


@njit(cache=True, nogil=True)
def clear_slot(number: int, bags: Bags) -> None:
    """Empty the bags of a slot and of the home of its number, and the set of its persons."""
    window = bags.heads.shape[0]
    slot = number % window
    bags.heads[slot] = END
    bags.counts[slot] = 0
    bags.totals[slot] = 0
    bags.held_heads[slot] = END
    bags.held_counts[slot] = 0
    bags.cells[slot] = 0
    bags.used[slot] = 0
    # Rows of the next slot at this place must not be taken for rows of this one.
    for home in range(max(number - window + 1, 0), number + 1):
        slots = bags.slots[home % (2 * window)]
        for row in range(bags.sizes[home % (2 * window)]):
            if slots[row] == slot + 1:
                slots[row] = 0
