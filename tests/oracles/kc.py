"""(K,C)-privacy as the definition reads: classes of persons who look alike, counted one by one.

A table is that of `oracles.kcp`: a list of persons, a person a list of events in order, an event a pair of
the cells (quasi-identifier to label) and the values (sensitive attribute to the set of labels that it has).
"""

from __future__ import annotations

from fractions import Fraction


def looks(table, person):
    """What can be seen of a person: all cells of all events, in their order."""
    return tuple(tuple((quasi, cells[quasi]) for quasi in table.trees) for cells, _ in person)


def classes(table):
    """What can be seen to the persons who show it."""
    found = {}
    for person in table.persons:
        found.setdefault(looks(table, person), []).append(person)
    return found


def protected_values(table, person):
    """The protected values that a person has in any event."""
    return {
        (attribute, value)
        for attribute, protect in table.protect.items()
        for value in protect
        if any(value in values.get(attribute, ()) for _, values in person)
    }


def at_risk(table, persons, reading):
    """How many persons are at risk: for any value (None), or for each."""
    if reading == "any":
        return {None: sum(bool(protected_values(table, person)) for person in persons)}
    counts = {}
    for attribute, protect in table.protect.items():
        for value in protect:
            counts[attribute, value] = sum(
                (attribute, value) in protected_values(table, person) for person in persons
            )
    return counts


def broken(table, persons, k, c, reading):
    """How a class breaks the promise: persons, how many at risk (0: too few persons) and by which value."""
    if len(persons) < k:
        return len(persons), 0, None
    counts = at_risk(table, persons, reading)
    above = [
        count
        for count in counts.values()
        if count > Fraction(c) * len(persons) + Fraction(len(persons), 10**9)
    ]
    if not above:
        return None
    worst = max(counts.values())
    return len(persons), worst, next(value for value, count in counts.items() if count == worst)


def violations(table, k, c, reading):
    """The classes that break the promise, and how, those with the fewest events first."""
    found = [(shown, broken(table, persons, k, c, reading)) for shown, persons in classes(table).items()]
    return sorted(
        ((shown, how) for shown, how in found if how is not None), key=lambda each: (len(each[0]), each[0])
    )


def is_private(table, k, c, reading):
    """Whether every class keeps the promise."""
    return not violations(table, k, c, reading)


def reached(table, reading):
    """The size of the smallest class, and the largest share at risk."""
    sizes = [len(persons) for persons in classes(table).values()]
    shares = [
        Fraction(count, len(persons))
        for persons in classes(table).values()
        for count in at_risk(table, persons, reading).values()
    ]
    return min(sizes), max(shares, default=Fraction(0))
