"""Reposition by exhaustive search: every forward move of every record is tried, in plain Python."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

INFINITE = float("inf")


def suppress_most_frequent(values, level):
    """Suppress a record of the most frequent value until the rest is eligible; what is left, per value."""
    left = Counter(values)
    while left and max(left.values()) * Fraction(level) > sum(left.values()):
        left[max(left, key=left.__getitem__)] -= 1
        left = +left
    return left


def information_loss(published, held, mu, beta):
    """Equation 2: `published` are (slot, home, value), `held` are (home, value)."""
    return sum(mu[slot - home] for slot, home, _ in published) + sum(beta[value] for _, value in held)


def best_loss(published, held, newest, level, mu, beta):
    """The smallest loss that recycle reposition reaches with an eligible newest slot (Definition 2).

    Published records may move to later slots, suppressed ones to any slot from their home on; the number of
    records of each value in every slot but the newest stays as it is.
    """
    values = sorted({value for _, _, value in published} | {value for _, value in held})
    tables = [_losses_by_arrivals(value, published, held, newest, mu, beta[value]) for value in values]
    already = Counter(value for slot, _, value in published if slot == newest)
    best = INFINITE
    for arrivals in product(*(sorted(table) for table in tables)):
        counts = [already[value] + more for value, more in zip(values, arrivals, strict=True)]
        if counts and max(counts) * Fraction(level) > sum(counts):
            continue
        best = min(best, sum(table[more] for table, more in zip(tables, arrivals, strict=True)))
    return best


def _losses_by_arrivals(value, published, held, newest, mu, beta):
    """Number of records that newly reach the newest slot to the smallest loss of the value's records."""
    ours = [(slot, home) for slot, home, each in published if each == value]
    waiting = [home for home, each in held if each == value]
    before = Counter(slot for slot, _ in ours)
    choices = [range(slot, newest + 1) for slot, _ in ours]
    choices += [[None, *range(home, newest + 1)] for home in waiting]
    homes = [home for _, home in ours] + waiting
    best = {}
    for places in product(*choices):
        after = Counter(place for place in places if place is not None)
        if any(after[slot] != before[slot] for slot in {*before, *after} - {newest}):
            continue
        loss = sum(
            beta if place is None else mu[place - home] for place, home in zip(places, homes, strict=True)
        )
        arrivals = after[newest] - before[newest]
        best[arrivals] = min(best.get(arrivals, INFINITE), loss)
    return best


def best_first_window(snapshots, level, mu, beta, persons=None):
    """The smallest loss over a whole window when every record may go to any slot from its home on.

    With `persons`, one per record of each snapshot, nobody has two records in a slot.
    """
    n_slots = len(snapshots)
    values = sorted({value for values in snapshots for value in values})
    best = INFINITE
    records = [(home, value) for home, values_ in enumerate(snapshots) for value in values_]
    owners = None if persons is None else [person for day in persons for person in day]
    for places in product(*([None, *range(home, n_slots)] for home, _ in records)):
        if owners is not None:
            seen = [(place, who) for place, who in zip(places, owners, strict=True) if place is not None]
            if len({*seen}) < len(seen):
                continue
        slots = [Counter() for _ in range(n_slots)]
        loss = 0
        for place, (home, value) in zip(places, records, strict=True):
            if place is None:
                loss += beta[value]
            else:
                loss += mu[place - home]
                slots[place][value] += 1
        if loss < best and all(
            max((slot[value] for value in values), default=0) * Fraction(level) <= sum(slot.values())
            for slot in slots
        ):
            best = loss
    return best


def keeps_timestamp_order(published):
    """Of two records of one value, the one in the earlier slot came no later (Theorem 1)."""
    return all(
        first_home <= second_home
        for first_slot, first_home, first in published
        for second_slot, second_home, second in published
        if first == second and first_slot < second_slot
    )
