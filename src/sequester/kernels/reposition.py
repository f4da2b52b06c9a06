"""Reposition: records that wait are relayed into the newest snapshot, as long as that lowers the cost.

The window is described in `kernels.bags`. What a relay gains depends on counts alone; which records it takes,
on who is where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.bags import END, find_free, move
from sequester.kernels.compiler import njit
from sequester.kernels.person_sets import draw, enter_at, see

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts
    from sequester.kernels.bags import Bags

    Costs = npt.NDArray[np.float64]
    State = npt.NDArray[np.uint64]

NEVER = -1e300
"""The gain of a relay that cannot be."""
TINY = 1e-9
"""Gains up to this are none: sums of decimal costs are not exact."""


@njit
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


@njit
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


@njit
def latest_home(value: int, number: int, before: int, bags: Bags) -> int:
    """Give the latest home before `before` with a suppressed record of the value; -1 where there is none."""
    window = bags.held_counts.shape[0]
    for home in range(before - 1, max(number - window, -1), -1):
        if bags.held_counts[home % window, value] > 0:
            return home
    return END


@njit
def next_home(value: int, slot: int, carried: int, bags: Bags) -> int:
    """Give the latest home in a slot that is later than that of the carried record; -1 without one.

    Records of the same home as the carried one are as good as it: it passes by.
    """
    row = slot % bags.counts.shape[0]
    for distance in range(slot - carried):
        if bags.counts[row, distance, value] > 0:
            return slot - distance
    return END


@njit
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


@njit
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


@njit
def undo(values: Counts, log: Counts, logged: int, bags: Bags) -> None:
    """Take back the first `logged` steps of the log, the last one first; `values` are theirs."""
    window = bags.heads.shape[0]
    for step in range(logged - 1, -1, -1):
        home, row, source, target = log[step, 0], log[step, 1], log[step, 2], log[step, 3]
        previous, here = END, bags.heads[target % window, target - home, values[step]]
        while here != row:
            previous, here = here, bags.links[home % (2 * window), here]
        move(values[step], home, row, previous, target, source, bags)


@njit
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


@njit
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
