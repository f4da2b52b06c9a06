"""Whom knowledge fits, and what a location sequence attack risks, as the definitions read.

A person is a list of events, in order; an event is a dict from column to label. A tree is a dict from child
to parent; the root ``"*"`` is no key of it. Knowledge is a list of ``(column, label)`` in the order of the
events, with what else is known beside it.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

ROOT = "*"


def above(tree, label):
    """The label, its parent, and so on up to the root."""
    chain = [label]
    while chain[-1] != ROOT:
        chain.append(tree[chain[-1]])
    return chain


def cell_fits(tree, cell, label, *, shown):
    """Whether a cell may stand for a label: it is the label, or lies above it, or below it."""
    if shown and cell == ROOT:
        return False
    return cell in above(tree, label) or label in above(tree, cell)


def fits(kind, items, person, trees, *, shown=False, days=None, gaps=None, n_events=None, never=None):
    """Whether what is known may be true of a person.

    `days` are the first and the last day on which each event may have been; `gaps` the days between the
    events of items that follow each other.
    """
    if n_events is not None and len(person) != n_events:
        return False
    if never is not None:
        column, label = never
        if any(label in above(trees[column], event[column]) for event in person):
            return False

    def event_fits(place, item):
        column, label = item
        return cell_fits(trees[column], person[place][column], label, shown=shown)

    places = range(len(person))
    if kind in ("anywhere", "sensitive", "protected"):
        return all(any(event_fits(place, item) for place in places) for item in items)
    if kind in ("event", "kept", "released"):
        return any(all(event_fits(place, item) for item in items) for place in places)
    for chosen in combinations(places, len(items)):
        if not all(map(event_fits, chosen, items)):
            continue
        if kind == "consecutive" and any(b - a != 1 for a, b in pairwise(chosen)):
            continue
        if kind == "gaps" and not all(
            days[b][0] - days[a][1] <= gap <= days[b][1] - days[a][0]
            for a, b, gap in zip(chosen, chosen[1:], gaps, strict=False)
        ):
            continue
        return True
    return not items


def sequence_risk(rows, known):
    """The mean over persons of the largest risk of any `known` of their places, in order.

    This is the location sequence attack of scikit-mobility (Pellungrini and others, 2018): somebody knows a
    subsequence of exactly so many places (all of them, where there are fewer); whoever visited these places
    in this order matches; the risk is one over the number of matches; a person's risk is the largest of all
    that could be known of them.
    """

    def holds(row, piece):
        left = iter(row)
        return all(place in left for place in piece)

    total = Fraction(0)
    for row in rows:
        pieces = combinations(row, min(known, len(row)))
        total += max(Fraction(1, sum(holds(other, piece) for other in rows)) for piece in pieces)
    return total / len(rows)
