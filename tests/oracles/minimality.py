"""What somebody concludes who knows how a method decides, by doing everything again.

A person is a pair: a tuple of quasi-identifiers and a tuple of sensitive values, one for each event. A method
is a function from a list of persons to what is released of the quasi-identifiers of each, or None.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

from oracles.p2ka import closest, prefix_supports


def worlds(persons, method):
    """All ways to deal the values out among those who look the same that lead to the same release."""
    shown = method(persons)
    groups = [
        [number for number, each in enumerate(shown) if each == look]
        for look in sorted({each for each in shown if each is not None})
    ]
    published = sorted(
        (look, values) for look, (_, values) in zip(shown, persons, strict=True) if look is not None
    )
    for orders in product(*(permutations(group) for group in groups)):
        source = list(range(len(persons)))
        for group, order in zip(groups, orders, strict=True):
            for number, other in zip(group, order, strict=True):
                source[number] = other
        world = [(known, persons[other][1]) for (known, _), other in zip(persons, source, strict=True)]
        again = method(world)
        if again is None:
            continue
        told = sorted(
            (look, values) for look, (_, values) in zip(again, world, strict=True) if look is not None
        )
        if told == published:
            yield world


def beliefs(persons, method, protected):
    """Mean belief in protected values that persons have, and the largest belief: reasoned, and as shown."""
    shown = method(persons)
    left = list(worlds(persons, method))
    mean, plain, largest, widest = [], [], [Fraction(0)], [Fraction(0)]
    for number, (_, values) in enumerate(persons):
        if shown[number] is None:
            continue
        alike = [each for each, look in zip(persons, shown, strict=True) if look == shown[number]]
        for value in protected:
            believed = Fraction(sum(value in world[number][1] for world in left), len(left))
            share = Fraction(sum(value in others for _, others in alike), len(alike))
            largest.append(believed)
            widest.append(share)
            if value in values:
                mean.append(believed)
                plain.append(share)
    return {
        "minimality": (_mean(mean), _mean(plain)),
        "surest_minimality": (max(largest), max(widest)),
    }


def destinations(rows, released):
    """For each person the chance to pick them among records that became what their whole sequence becomes.

    Only the release is looked at: a sequence that is a path of its tree stays, others move to their closest
    path, and whoever became the same is a candidate.
    """
    kept = set(prefix_supports([row for row in released if row]))
    chances = []
    for row in rows:
        became = row if row in kept else closest(row, kept)
        chances.append(Fraction(1, released.count(became)) if became else Fraction(0))
    return chances


def containing(row, released):
    """The chance to pick somebody among records that contain a sequence, or among all."""

    def holds(other):
        rest = iter(other)
        return all(item in rest for item in row)

    records = [other for other in released if other]
    fitting = [other for other in records if holds(other)]
    return Fraction(1, len(fitting or records or [row]))


def _mean(values):
    return sum(values) / len(values) if values else Fraction(0)
