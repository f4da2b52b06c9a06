"""What an adversary who knows a few items of a person finds in a table, by enumeration.

A person is a list of events, in order; an event is a list of items, at most one per attribute. What is known
is of one of three kinds. ``ordered``: a tuple of items of different events, in the order of the events, with
gaps. ``event``: a set of items of one event. ``anywhere``: a set of items, wherever they are.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

KINDS = ("ordered", "event", "anywhere")


def pieces(person, kind, known):
    """Everything of at most `known` items, and at least one, that could be known of a person."""
    found = set()
    for size in range(1, known + 1):
        if kind == "ordered":
            for events in combinations(person, size):
                found.update(product(*events))
        elif kind == "event":
            for event in person:
                found.update(map(frozenset, combinations(event, size)))
        else:
            everything = {item for event in person for item in event}
            found.update(map(frozenset, combinations(everything, size)))
    return found


def fits(piece, person, kind):
    """Whether what is known is true of a person."""
    if kind == "ordered":
        return any(
            all(item in event for item, event in zip(piece, events, strict=True))
            for events in combinations(person, len(piece))
        )
    if kind == "event":
        return any(all(item in event for item in piece) for event in person)
    return all(any(item in event for event in person) for item in piece)


def candidate_set(piece, persons, kind):
    """The numbers of the persons of whom it is true."""
    return [number for number, person in enumerate(persons) if fits(piece, person, kind)]


def fewest(person, persons, kind, known):
    """The size of the smallest candidate set of a person for at most `known` items; everybody for none."""
    sizes = [len(candidate_set(piece, persons, kind)) for piece in pieces(person, kind, known)]
    return min(sizes, default=len(persons))


def share_below(bound, persons, kind, known):
    """The share of persons whom something leaves in a candidate set of fewer than `bound`."""
    below = sum(fewest(person, persons, kind, known) < bound for person in persons)
    return Fraction(below, len(persons))


def confidence(value, numbers, protected):
    """The share of the persons with these numbers who have the protected value."""
    return Fraction(sum(value in protected[number] for number in numbers), len(numbers))


def surest(number, persons, protected, kind, known):
    """The largest confidence in a value of a person's own that anything of them gives, nothing included."""
    candidate_sets = [range(len(persons))]
    candidate_sets += [candidate_set(piece, persons, kind) for piece in pieces(persons[number], kind, known)]
    return max(
        confidence(value, numbers, protected) for value in protected[number] for numbers in candidate_sets
    )


def share_above(bound, persons, protected, kind, known):
    """Of the persons with a protected value, the share for whom the confidence in one rises above `bound`."""
    concerned = [number for number in range(len(persons)) if protected[number]]
    above = sum(surest(number, persons, protected, kind, known) > bound for number in concerned)
    return Fraction(above, len(concerned))
