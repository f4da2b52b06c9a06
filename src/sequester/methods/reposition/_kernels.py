"""Which record of a reposition window is published in which snapshot, and how records are relayed.

A *slot* is a published snapshot, a *home* the snapshot that a record came with. Numbers of snapshots count
from 0; slot ``j`` stands at ``j % w`` in what has `w` rows, home ``h`` at ``h % (2 w)`` in what has ``2 w``
rows, because a record may stay in a slot for up to ``w - 1`` snapshots after its own is gone.

Records of one value, slot and home are a linked list: ``heads[j % w, d, s]`` is the first record of value `s`
in slot `j` whose home is ``j - d``, ``held_heads[h % w, s]`` the first suppressed one of home `h`, and
``links[h % (2 w), row]`` the next one in the same list, -1 at its end. ``counts`` and ``held_counts`` are the
lengths of the lists, ``totals[j % w, s]`` sums over `d`.

The persons of a slot are a hash table, a power of two of cells. A cell is 0 where it is free; otherwise its
upper 62 bits tell who stands there and its lower two whether they have a record in the slot. Persons who
share these bits of their mixed number count as one, which keeps them apart and breaks no promise.

What a relay gains depends on counts alone; which records it takes, on who is where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts

    Cells = npt.NDArray[np.uint64]
    Costs = npt.NDArray[np.float64]
    State = npt.NDArray[np.uint64]

END = -1
"""No further record."""
TRIES = 64
"""Records of a list that are looked at for one whose person may move."""
NEVER = -1e300
"""The gain of a relay that cannot be."""
TINY = 1e-9
"""Gains up to this are none: sums of decimal costs are not exact."""
FREE = np.uint64(0)
"""Nobody."""
SEEN = np.uint64(1)
"""Somebody without a record in the slot."""
IN = np.uint64(2)
"""Somebody with a record in the slot."""

ANY, HELD = -2, -1
"""Where a record is to go: wherever one of its home and value is wanted, or nowhere."""

_MARK = np.uint64(3)
_WHO = np.uint64(0xFFFFFFFFFFFFFFFC)
_7, _13, _17, _11 = np.uint64(7), np.uint64(13), np.uint64(17), np.uint64(11)


class SlotLists(NamedTuple):
    """The arrays of a window, as the module describes them."""

    links: Codes
    """Home and row to the next row of its list."""
    people: Counts
    """Home and row to its person."""
    heads: Codes
    """Slot, distance and value to the first row of the list."""
    counts: Counts
    """Slot, distance and value to the length of the list."""
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
    state: npt.NDArray[np.uint64]
    """What everything random is drawn from."""


@njit
def xorshift(number: np.uint64) -> np.uint64:
    """Spread the bits of a number: one step of Marsaglia's xorshift, which leaves only 0 where it is."""
    # Shifts alone: what a product would lose is an error where kernels run without the compiler.
    number ^= number << _13
    number ^= number >> _7
    return number ^ (number << _17)


@njit
def draw(state: npt.NDArray[np.uint64], below: int) -> int:
    """Draw a number from 0 to `below` - 1 and move the state on. Requires ``below > 0`` and ``state > 0``."""
    state[0] = xorshift(state[0])
    return int((state[0] >> _11) % np.uint64(below))


@njit
def place_of(cells: Cells, person: int) -> int:
    """Return the place of a person in a set, or the free place where they would stand. Requires one."""
    mask = cells.size - 1
    mixed = xorshift(xorshift(np.uint64(person)))
    who = mixed & _WHO
    place = int(mixed >> _11) & mask
    while cells[place] != FREE and cells[place] & _WHO != who:
        place = (place + 1) & mask
    return place


@njit
def is_in(cells: Cells, person: int) -> bool:
    """Return whether a person has a record in the slot."""
    return bool(cells[place_of(cells, person)] & _MARK == IN)


@inner
def see(cells: Cells, person: int) -> int:
    """Note somebody without a record; returns their place, or -1 where they were known already."""
    place = int(place_of(cells, person))
    if cells[place] != FREE:
        return -1
    cells[place] = xorshift(xorshift(np.uint64(person))) & _WHO | SEEN
    return place


@inner
def enter(cells: Cells, person: int) -> int:
    """Put a person in, or mark them again; returns how many places this took, 0 or 1."""
    place = place_of(cells, person)
    taken = int(cells[place] == FREE)
    cells[place] = xorshift(xorshift(np.uint64(person))) & _WHO | IN
    return taken


@inner
def enter_at(cells: Cells, place: int) -> None:
    """Put in who stands at a place."""
    cells[place] = cells[place] & _WHO | IN


@njit
def leave(cells: Cells, person: int) -> None:
    """Take a person out who is in."""
    place = place_of(cells, person)
    cells[place] = cells[place] & _WHO | SEEN


@njit
def move_over(cells: Cells, larger: Cells) -> int:
    """Copy those who are in to an empty, larger set; returns how many."""
    count, mask = 0, larger.size - 1
    for cell in cells:
        if cell & _MARK == IN:
            # The lowest two bits are not part of a place, so the cell tells where it belongs.
            place = int(cell >> _11) & mask
            while larger[place] != FREE:
                place = (place + 1) & mask
            larger[place] = cell
            count += 1
    return count


@inner
def find_free(first: int, links: Codes, people: Counts, cells: Cells) -> tuple[int, int]:
    """Find a record of a list whose person has no record in a slot: the one before it, and it."""
    before, row = END, first
    for _ in range(TRIES):
        if row == END:
            break
        if not is_in(cells, people[row]):
            return before, row
        before, row = row, links[row]
    return END, END


@njit
def move(value: int, home: int, row: int, previous: int, source: int, target: int, lists: SlotLists) -> None:
    """Take a record out of its list, where `previous` comes before it, and put it on top of another.

    `source` and `target` are slots, or -1 for the suppressed set of its home.
    """
    window = lists.heads.shape[0]
    links, person = lists.links[home % (2 * window)], lists.people[home % (2 * window), row]
    after = links[row]
    if previous != END:
        links[previous] = after
    elif source == END:
        lists.held_heads[home % window, value] = after
    else:
        lists.heads[source % window, source - home, value] = after
    if source == END:
        lists.held_counts[home % window, value] -= 1
    else:
        lists.counts[source % window, source - home, value] -= 1
        lists.totals[source % window, value] -= 1
        leave(lists.cells[source % window], person)
    if target == END:
        lists.slots[home % (2 * window), row] = 0
        links[row] = lists.held_heads[home % window, value]
        lists.held_heads[home % window, value] = row
        lists.held_counts[home % window, value] += 1
    else:
        slot = target % window
        links[row] = lists.heads[slot, target - home, value]
        lists.heads[slot, target - home, value] = row
        lists.counts[slot, target - home, value] += 1
        lists.totals[slot, value] += 1
        lists.slots[home % (2 * window), row] = slot + 1
        lists.used[slot] += enter(lists.cells[slot], person)


@njit
def enter_all(number: int, lists: SlotLists) -> None:
    """Note where the records of a slot are, and put their persons into its empty set, from its lists."""
    window, n_values = lists.heads.shape[0], lists.heads.shape[2]
    slot = number % window
    for distance in range(window):
        home = (number - distance) % (2 * window)
        for value in range(n_values):
            row = lists.heads[slot, distance, value]
            while row != END:
                lists.slots[home, row] = slot + 1
                lists.used[slot] += enter(lists.cells[slot], lists.people[home, row])
                row = lists.links[home, row]


@njit
def largest_level(counts: Counts, numerator: int, denominator: int) -> int:
    """Return the largest level L with ``sum(min(counts, L)) >= l L``, for ``l = numerator / denominator``."""
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


@njit
def add_snapshot(
    number: int, values: Codes, persons: Counts, level_parts: tuple[int, int], lists: SlotLists
) -> None:
    """Add a snapshot: as many records of each value as are eligible are published, the rest is held back.

    Of a person with several records the first is a candidate; who is held back is drawn. Requires lists of
    this slot and home that are empty, and room for all persons.
    """
    window = lists.heads.shape[0]
    n_records, n_values = values.size, lists.heads.shape[2]
    slot, home = number % window, number % (2 * window)
    links, cells = lists.links[home], lists.cells[slot]
    heads, counts, totals = lists.heads[slot, 0], lists.counts[slot, 0], lists.totals[slot]
    held_heads, held_counts = lists.held_heads[slot], lists.held_counts[slot]
    candidates = np.empty(n_values, np.int64)
    for value in range(n_values):
        candidates[value] = 0
    places = np.empty(n_records, np.int32)
    order = np.empty(n_records, np.int32)
    lists.sizes[home] = n_records
    for row in range(n_records):
        lists.people[home, row] = persons[row]
        places[row] = see(cells, persons[row])
        if places[row] != END:
            candidates[values[row]] += 1
            lists.used[slot] += 1
        # A random order, built from the front.
        other = draw(lists.state, row + 1)
        order[row] = order[other]
        order[other] = row
    level = largest_level(candidates, level_parts[0], level_parts[1])
    for place in range(n_records):
        row = order[place]
        value = values[row]
        if places[row] != END and totals[value] < level:
            enter_at(cells, places[row])
            lists.slots[home, row] = slot + 1
            links[row] = heads[value]
            heads[value] = row
            counts[value] += 1
            totals[value] += 1
        else:
            lists.slots[home, row] = 0
            links[row] = held_heads[value]
            held_heads[value] = row
            held_counts[value] += 1


@inner
def latest_home(value: int, number: int, before: int, held_counts: Counts) -> int:
    """Return the latest home before `before` with a suppressed record of the value; -1 without one."""
    window = held_counts.shape[0]
    for home in range(before - 1, max(number - window, -1), -1):
        if held_counts[home % window, value] > 0:
            return home
    return END


@inner
def next_home(value: int, slot: int, carried: int, counts: Counts) -> int:
    """Return the latest home in a slot that is later than that of the carried record; -1 without one.

    Records of the same home as the carried one are as good as it: it passes by.
    """
    row = slot % counts.shape[0]
    for distance in range(slot - carried):
        if counts[row, distance, value] > 0:
            return slot - distance
    return END


@inner
def relay_gain(value: int, home: int, number: int, mu: Costs, beta: float, counts: Counts) -> float:
    """Return the gain of relaying a suppressed record of `home` into slot `number` (Equations 5 and 6)."""
    if home == END:
        return NEVER
    cost = 0.0
    at, carried = home, home
    for slot in range(home + 1, number):
        onward = next_home(value, slot, carried, counts)
        if onward != END:
            cost += mu[slot - carried] - mu[at - carried]
            at, carried = slot, onward
    return float(beta - (cost + mu[number - carried] - mu[at - carried]))


@inner
def relay(value: int, home: int, number: int, lists: SlotLists, log: Counts, logged: int) -> int:
    """Relay a suppressed record of `home` into slot `number`, each step on behalf of the one before it.

    Writes ``home, row, from, to`` of every step to `log` behind the first `logged` ones (from is -1 for the
    suppressed set) and returns the new number of steps; -1, and nothing moves, where persons are in the way.
    """
    window = lists.heads.shape[0]
    n_steps = logged
    at, carried = END, home
    before = np.empty(window, np.int64)
    for slot in range(min(home + 1, number), number + 1):
        onward = END
        if slot < number:
            onward = next_home(value, slot, carried, lists.counts)
            if onward == END:
                continue
        if at == END:
            first = lists.held_heads[carried % window, value]
        else:
            first = lists.heads[at % window, at - carried, value]
        home_row = carried % (2 * window)
        links, people = lists.links[home_row], lists.people[home_row]
        previous, row = find_free(first, links, people, lists.cells[slot % window])
        if row == END:
            return END
        before[n_steps - logged] = previous
        log[n_steps, 0], log[n_steps, 1], log[n_steps, 2], log[n_steps, 3] = carried, row, at, slot
        n_steps += 1
        at, carried = slot, onward
    for step in range(logged, n_steps):
        move(value, log[step, 0], log[step, 1], before[step - logged], log[step, 2], log[step, 3], lists)
    return n_steps


@njit
def undo(values: Counts, log: Counts, logged: int, lists: SlotLists) -> None:
    """Undo the first `logged` steps of the log, the last one first; `values` are theirs."""
    window = lists.heads.shape[0]
    for step in range(logged - 1, -1, -1):
        home, row, source, target = log[step, 0], log[step, 1], log[step, 2], log[step, 3]
        previous, here = END, lists.heads[target % window, target - home, values[step]]
        while here != row:
            previous, here = here, lists.links[home % (2 * window), here]
        move(values[step], home, row, previous, target, source, lists)


@inner
def best_value(gains: Costs, totals: Counts, below: int, least: float, random: bool, state: State) -> int:
    """Return the value with the largest gain above `least` among those with fewer than `below` records.

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


@njit
def relay_all(
    number: int, level_parts: tuple[int, int], mu: Costs, betas: Costs, random: bool, lists: SlotLists
) -> tuple[int, int]:
    """Relay suppressed records into the newest slot as long as that lowers the cost (OptimalReposition).

    Level-preserving relays first, one by one; then as many as the next level needs, at least one, which are
    undone where there are too few or they do not pay. Returns the number of relays, those that were undone
    included, and the number of steps they took.
    """
    window, n_values = lists.heads.shape[0], lists.heads.shape[2]
    numerator, denominator = level_parts
    newest = lists.totals[number % window]
    starts = np.empty(n_values, np.int64)
    gains = np.empty(n_values, np.float64)
    size, level, n_held = 0, 0, 0
    for value in range(n_values):
        size += newest[value]
        level = max(level, newest[value])
        for home in range(window):
            n_held += lists.held_counts[home, value]
        starts[value] = latest_home(value, number, number + 1, lists.held_counts)
        gains[value] = relay_gain(value, starts[value], number, mu, betas[value], lists.counts)
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
                value = best_value(gains, newest, level + 1, NEVER, random, lists.state)
                if value == END:
                    break
            else:
                logged = 0
                value = best_value(gains, newest, level, TINY, random, lists.state)
                if value == END:
                    # The paper has 0 here, and stops although a relay would pay (hole 1).
                    lifting, wanted = True, max(1, -(-(level + 1) * numerator // denominator) - size)
                    continue
            moved = relay(value, starts[value], number, lists, log, logged)
            if moved != END:
                if lifting:
                    gained += gains[value]
                    found += 1
                    for step in range(logged, moved):
                        log_values[step] = value
                n_relays += 1
                n_steps += moved - logged
                logged = moved
                size += 1
                starts[value] = latest_home(value, number, number + 1, lists.held_counts)
            else:
                # Records that wait longer may still find a place.
                starts[value] = latest_home(value, number, starts[value], lists.held_counts)
            gains[value] = relay_gain(value, starts[value], number, mu, betas[value], lists.counts)
        if found < wanted or gained <= TINY:
            undo(log_values, log, logged, lists)
            break
        for value in range(n_values):
            level = max(level, newest[value])
    return n_relays, n_steps


@inner
def hold_back(value: int, number: int, lists: SlotLists) -> None:
    """Take the nearest record of a value out of the newest slot, back to the suppressed set of its home."""
    slot = number % lists.heads.shape[0]
    for distance in range(lists.heads.shape[1]):
        row = lists.heads[slot, distance, value]
        if row != END:
            move(value, number - distance, row, END, number, END, lists)
            return


@inner
def trim(number: int, level_parts: tuple[int, int], lists: SlotLists) -> None:
    """Take records out of a slot until it is eligible: most frequent values first, farthest records first."""
    window = lists.heads.shape[0]
    slot = number % window
    totals = lists.totals[slot]
    level = largest_level(totals, level_parts[0], level_parts[1])
    for value in range(totals.size):
        for distance in range(window - 1, -1, -1):
            while totals[value] > level and lists.heads[slot, distance, value] != END:
                move(value, number - distance, lists.heads[slot, distance, value], END, number, END, lists)


@njit
def code_persons(people: Counts) -> Cells:
    """Return what the sets of slots tell persons apart by."""
    codes = np.empty(people.size, np.uint64)
    for place in range(people.size):
        codes[place] = xorshift(xorshift(np.uint64(people[place]))) & _WHO
    return codes


@njit
def read_values(number: int, newest: int, lists: SlotLists) -> Codes:
    """Return the value of each record of a home that is in the window, from its lists."""
    window, n_values = lists.heads.shape[0], lists.heads.shape[2]
    home = number % (2 * window)
    values = np.empty(lists.sizes[home], np.int32)
    for value in range(n_values):
        for slot in range(number - 1, newest + 1):
            if slot < number:
                row = lists.held_heads[number % window, value]
            else:
                row = lists.heads[slot % window, slot - number, value]
            while row != END:
                values[row] = value
                row = lists.links[home, row]
    return values


@inner
def hold_others(
    value: int, home: int, slot: int, wanted: int, first: int, targets: Counts, lists: SlotLists
) -> None:
    """Take out of a slot the records of a home and value that are to go elsewhere, and leave `wanted` others.

    Requires ``targets`` of this home; home and slot count from `first`.
    """
    window, number = lists.heads.shape[0], first + home
    links, head = lists.links[number % (2 * window)], lists.heads[(first + slot) % window, slot - home, value]
    spare, row = -wanted, head
    while row != END:
        spare += targets[row] == ANY
        row = links[row]
    previous, row = END, head
    while row != END:
        after, is_spare = links[row], targets[row] == ANY and spare > 0
        if is_spare or (targets[row] != ANY and targets[row] != slot):
            move(value, number, row, previous, first + slot, END, lists)
            spare -= is_spare
        else:
            previous = row
        row = after


@inner
def publish_held(
    value: int, home: int, slot: int, wanted: int, first: int, targets: Counts, lists: SlotLists
) -> bool:
    """Publish the suppressed records of a home and value that are to go to a slot, and others up to `wanted`.

    Requires ``targets`` of this home; home and slot count from `first`. Returns whether there were enough.
    """
    window, number = lists.heads.shape[0], first + home
    links, people = lists.links[number % (2 * window)], lists.people[number % (2 * window)]
    here = (first + slot) % window
    missing, row = wanted, lists.heads[here, slot - home, value]
    while row != END:
        missing -= targets[row] == ANY
        row = links[row]
    previous, row, tries = END, lists.held_heads[number % window, value], 0
    while row != END:
        after, is_moved = links[row], targets[row] == slot
        if targets[row] == ANY and missing > 0 and tries < TRIES:
            is_moved = not is_in(lists.cells[here], people[row])
            tries = 0 if is_moved else tries + 1
            missing -= is_moved
        if is_moved:
            move(value, number, row, previous, END, first + slot, lists)
        else:
            previous = row
        row = after
    return bool(missing <= 0)


@njit
def rearrange(
    wanted: Counts, targets: Counts, first: int, level_parts: tuple[int, int], lists: SlotLists
) -> bool:
    """Publish records as planned, as far as persons allow, and keep every slot eligible.

    ``targets[home, row]`` is the slot of a record, `HELD`, or `ANY`: of those, any ``wanted[home, slot,
    value]`` are published. Homes and slots count from ``first``; records of earlier homes stay where they
    are. Returns whether all that is wanted is published.
    """
    n_homes, n_values, is_done = wanted.shape[0], wanted.shape[2], True
    for home in range(n_homes):
        for slot in range(home, n_homes):
            for value in range(n_values):
                hold_others(value, home, slot, wanted[home, slot, value], first, targets[home], lists)
    for slot in range(n_homes):
        for home in range(slot + 1):
            for value in range(n_values):
                count = wanted[home, slot, value]
                is_done &= publish_held(value, home, slot, count, first, targets[home], lists)
        # A plan that is carried out leaves nothing to take out.
        trim(first + slot, level_parts, lists)
    return is_done


@njit
def perturb(number: int, level_parts: tuple[int, int], lists: SlotLists) -> None:
    """Add relays that nothing asks for, and hold back records that could stay, a few, by chance.

    Eligibility stays: a relay goes to a value below the level, what is held back one by one is to spare, and
    a whole level can go because the smaller levels of an eligible slot are eligible, too.
    """
    window, n_values = lists.heads.shape[0], lists.heads.shape[2]
    newest = lists.totals[number % window]
    log = np.empty((window, 4), np.int64)
    while draw(lists.state, 2) == 0:
        value = draw(lists.state, n_values)
        home = latest_home(value, number, number + 1, lists.held_counts)
        if home != END and newest[value] < newest.max():
            relay(value, home, number, lists, log, 0)
    while draw(lists.state, 2) == 0:
        value = draw(lists.state, n_values)
        if (newest.sum() - 1) * level_parts[1] >= newest.max() * level_parts[0]:
            hold_back(value, number, lists)
    if draw(lists.state, 4) == 0:
        level = newest.max()
        for value in range(n_values):
            if level > 0 and newest[value] == level:
                hold_back(value, number, lists)
