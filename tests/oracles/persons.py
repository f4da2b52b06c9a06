"""What somebody who knows attributes of a person and items of their events finds, by enumeration.

The events are a table of `oracles.kcp`, in which a person may have none. The attributes are another such
table of the same persons, each with one event. Knowledge is a pair: items of the attributes, at most one of
each, and a g-sequence of the events; its length is the number of all items.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from oracles import kc, kcp


@dataclass(frozen=True)
class Tables:
    """Two tables of the same persons, in the same order."""

    attributes: kcp.Table
    events: kcp.Table

    def __post_init__(self):
        assert len(self.attributes.persons) == len(self.events.persons)
        assert all(len(person) == 1 for person in self.attributes.persons)

    @property
    def numbers(self):
        return range(len(self.events.persons))


def cells_of(tables, number):
    """The attributes of a person."""
    return tables.attributes.persons[number][0][0]


def known_of(tables, number, p):
    """Everything of 1 to `p` items that could be known of a person."""
    found = set()
    for size in range(p + 1):
        of_events = {()} | (
            kcp.known_of(tables.events, tables.events.persons[number], p - size) if size < p else set()
        )
        for items in kcp.itemsets(tables.attributes, cells_of(tables, number), size):
            found |= {(items, sequence) for sequence in of_events}
    return found - {((), ())}


def knowledge(tables, p):
    """Everything of at most `p` items that could be known of anybody, and knowing nothing."""
    found = {((), ())}
    for number in tables.numbers:
        found |= known_of(tables, number, p)
    return found


def supporters(tables, known):
    """The numbers of the persons who have the attributes and match the g-sequence."""
    items, sequence = known
    return [
        number
        for number in tables.numbers
        if set(items) <= set(kcp.items(tables.attributes, cells_of(tables, number)))
        and kcp.matches(tables.events, sequence, tables.events.persons[number])
    ]


def protected_values(tables, number):
    """The protected values that a person has, as an attribute or in any event."""
    return kc.protected_values(tables.attributes, tables.attributes.persons[number]) | kc.protected_values(
        tables.events, tables.events.persons[number]
    )


def all_values(tables):
    """Every protected value."""
    return {
        (attribute, value)
        for table in (tables.attributes, tables.events)
        for attribute, values in table.protect.items()
        for value in values
    }


def shares(tables, numbers):
    """The share of some persons that has each protected value."""
    return {
        value: Fraction(sum(value in protected_values(tables, number) for number in numbers), len(numbers))
        for value in all_values(tables)
    }


def channels(tables, k, c, p):
    """All knowledge that breaks (K,C)^P-privacy."""
    found = set()
    for known in knowledge(tables, p):
        numbers = supporters(tables, known)
        surest = max(shares(tables, numbers).values(), default=Fraction(0))
        if len(numbers) < k or surest > Fraction(c) + Fraction(1, 10**9):
            found.add(known)
    return found


def reached(tables, p):
    """The smallest support and the largest confidence over all that could be known."""
    found = [supporters(tables, known) for known in knowledge(tables, p)]
    surest = [max(shares(tables, numbers).values(), default=Fraction(0)) for numbers in found]
    return min(map(len, found)), max(surest)


def classes(tables):
    """What can be seen of persons, to those who show it: attributes and events, in their order."""
    found = {}
    for number in tables.numbers:
        shown = (
            tuple((name, cells_of(tables, number)[name]) for name in tables.attributes.trees),
            kc.looks(tables.events, tables.events.persons[number]),
        )
        found.setdefault(shown, []).append(number)
    return found


def broken_classes(tables, k, c, reading):
    """The classes that break (K,C)-privacy."""
    return [
        shown for shown, numbers in classes(tables).items() if not _is_safe(tables, numbers, k, c, reading)
    ]


def _is_safe(tables, numbers, k, c, reading):
    return len(numbers) >= k and risk(tables, numbers, reading) <= Fraction(c) + Fraction(1, 10**9)


def risk(tables, numbers, reading):
    """The share of some persons that has any protected value, or the most common one."""
    if reading == "any":
        return Fraction(sum(bool(protected_values(tables, number)) for number in numbers), len(numbers))
    return max(shares(tables, numbers).values(), default=Fraction(0))
