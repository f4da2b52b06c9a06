"""How many persons are expected to have some events in order, by looking at every world of leaves.

A person is a list of events, an event leads from each column to its label. A tree leads from every label
but the root ``*`` to the label above it; a column without a tree shows what it shows. A query is a list of
events, an event leads from columns to the set of leaves (or values) that will do.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

ROOT = "*"


def leaves_below(tree, label):
    """The leaves that a label may stand for."""
    found = []
    for leaf in tree.keys() - set(tree.values()):
        above = leaf
        while above not in (label, ROOT):
            above = tree[above]
        if above == label:
            found.append(leaf)
    return sorted(found)


def worlds(person, trees):
    """Every way to read a person: each generalized cell as one of its leaves."""
    cells = [(place, column) for place, event in enumerate(person) for column in event]
    choices = [
        leaves_below(trees[column], person[place][column]) if column in trees else [person[place][column]]
        for place, column in cells
    ]
    for chosen in product(*choices):
        world = [{} for _ in person]
        for (place, column), leaf in zip(cells, chosen, strict=True):
            world[place][column] = leaf
        yield world


def fits(event, asked):
    return all(event[column] in accepted for column, accepted in asked.items())


def contains(world, query):
    """Whether events of a world fit those of the query, in order."""
    if not query:
        return True
    return any(
        fits(event, query[0]) and contains(world[place + 1 :], query[1:]) for place, event in enumerate(world)
    )


def expected(persons, trees, query):
    """The expected count: for each person the share of worlds that have what is asked for."""
    total = Fraction(0)
    for person in persons:
        possible = list(worlds(person, trees))
        total += Fraction(sum(contains(world, query) for world in possible), len(possible))
    return total


def relative_error(actual, estimate):
    return abs(actual - estimate) / max(actual, 1)
