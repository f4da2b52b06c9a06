"""What somebody who knows at most p generalized items of a person finds in a table, by enumeration.

A table is a list of persons, a person a list of events in order, an event a pair: the cells, quasi-identifier
to label, and the values, sensitive attribute to the set of labels that the event has of it. A tree is a
mapping of every label but the root ``*`` to the label above it.

An item is a pair (quasi-identifier, label): a cell has its label and every label above it. In a column that
is sensitive, too, protected labels are no items, and what is above them is. Which inner labels have nothing
but protected leaves below them is for ``protect`` to say. A g-sequence is a tuple of events, each a tuple of
items in the order of the quasi-identifiers, at most one item of each. Its length is its number of items.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, product

ROOT = "*"


@dataclass(frozen=True)
class Table:
    """A release, or any other table, and how it is looked at."""

    persons: list
    trees: dict
    """Quasi-identifier to its tree, in the order of the columns."""
    protect: dict = field(default_factory=dict)
    """Sensitive attribute to its protected labels."""
    levels: str = "same"
    stars: str = "counted"
    both: dict = field(default_factory=dict)
    """A quasi-identifier that is sensitive, too, to its attribute."""

    def column(self, quasi):
        """All labels that stand in a column."""
        return [cells[quasi] for person in self.persons for cells, _ in person]

    def is_knowledge(self, quasi, label):
        """A protected value is what somebody wants to learn, not what they know.

        A protected node that has an unprotected value at it or below it is knowledge all the same.
        """
        protected = self.protect.get(self.both.get(quasi), ())
        return label not in protected or any(
            each not in protected and label in above(self.trees[quasi], each) for each in self.column(quasi)
        )


def above(tree, label):
    """The label and everything above it, the root excluded."""
    found = []
    while label != ROOT:
        found.append(label)
        label = tree[label]
    return found


def with_nodes(tree, protected):
    """The protected leaves, and the inner labels that have nothing but such leaves below them."""
    leaves = set(tree) - set(tree.values())
    inner = {
        label
        for label in set(tree) - leaves
        if all(leaf in protected for leaf in leaves if label in above(tree, leaf))
    }
    return set(protected) | inner


def depth(tree, label):
    """Steps from the root."""
    return len(above(tree, label))


def items(table, cells):
    """Everything that could be known of a single event, item by item."""
    found = []
    for quasi, tree in table.trees.items():
        label = cells[quasi]
        found += [(quasi, each) for each in above(tree, label) if table.is_knowledge(quasi, each)]
        if label == ROOT and table.stars == "counted" and set(table.column(quasi)) != {ROOT}:
            found.append((quasi, ROOT))
    return found


def itemsets(table, cells, size):
    """Every set of `size` items of one event, at most one item of each quasi-identifier."""
    return [
        chosen
        for chosen in combinations(items(table, cells), size)
        if len({quasi for quasi, _ in chosen}) == size
    ]


def stands_at(table, quasi, label, level):
    """Whether a label is one of those at a level, counted from the root.

    A short branch is padded: what has nothing below it in the table stands at every finer level as well. A
    star stands at any level.
    """
    tree = table.trees[quasi]
    if label == ROOT or depth(tree, label) == level:
        return True
    below = [each for each in table.column(quasi) if each != label and label in above(tree, each)]
    return depth(tree, label) < level and not below


def is_legal(table, sequence):
    """Whether all items of a quasi-identifier are at one level; with mixed levels everything is legal."""
    if table.levels == "mixed":
        return True
    for quasi, tree in table.trees.items():
        labels = [label for event in sequence for name, label in event if name == quasi]
        deepest = max((depth(tree, label) for label in [*tree, *labels]), default=0)
        levels = range(1, deepest + 1)
        if levels and not any(
            all(stands_at(table, quasi, label, level) for label in labels) for level in levels
        ):
            return False
    return True


def sizes(most, n_events):
    """Every way to take 1 to `most` items of `n_events` events, at least one of each."""
    return [each for each in product(range(1, most + 1), repeat=n_events) if sum(each) <= most]


def known_of(table, person, p):
    """Every g-sequence of 1 to `p` items that a person has."""
    found = set()
    for n_events in range(1, min(p, len(person)) + 1):
        for events in combinations(person, n_events):
            for taken in sizes(p, n_events):
                choices = [
                    itemsets(table, cells, size) for (cells, _), size in zip(events, taken, strict=True)
                ]
                found.update(product(*choices))
    return {sequence for sequence in found if is_legal(table, sequence)}


def knowledge(table, p):
    """Every g-sequence of at most `p` items that occurs, the empty one included where there is anybody."""
    found = {()} if table.persons else set()
    for person in table.persons:
        found |= known_of(table, person, p)
    return found


def matches(table, sequence, person):
    """Whether strictly increasing events of a person have the events of a g-sequence."""
    shown = [set(items(table, cells)) for cells, _ in person]
    return any(
        all(set(known) <= there for known, there in zip(sequence, events, strict=True))
        for events in combinations(shown, len(sequence))
    )


def supporters(table, sequence):
    """The numbers of the persons who match."""
    return [number for number, person in enumerate(table.persons) if matches(table, sequence, person)]


def support(table, sequence):
    """How many persons match."""
    return len(supporters(table, sequence))


def with_value(table, sequence, attribute, value):
    """How many of the persons who match have a value in any event."""
    return sum(
        any(value in values.get(attribute, ()) for _, values in table.persons[number])
        for number in supporters(table, sequence)
    )


def confidence(table, sequence, attribute, value):
    """The share of the persons who match that have a value."""
    return Fraction(with_value(table, sequence, attribute, value), support(table, sequence))


def length(sequence):
    """Number of items."""
    return sum(map(len, sequence))


def in_order(table, sequence):
    """The key of label order: quasi-identifiers as columns, labels from the root down, ancestors first."""
    names = list(table.trees)
    return tuple(
        tuple((names.index(quasi), above(table.trees[quasi], label)[::-1]) for quasi, label in event)
        for event in sequence
    )


def broken(table, sequence, k, c):
    """How a g-sequence breaks the promise: persons, value (None where they are too few), persons with it.

    None where it does not. Of several values the one that most persons have is named, then the first.
    """
    persons = support(table, sequence)
    if persons < k:
        return persons, None, 0
    above_c = [
        (-count, attribute, value)
        for attribute, values in table.protect.items()
        for value in sorted(values)
        if (count := with_value(table, sequence, attribute, value))
        > Fraction(c) * persons + Fraction(persons, 10**9)
    ]
    if not above_c:
        return None
    count, attribute, value = min(above_c, key=lambda each: each[0])
    return persons, (attribute, value), -count


def channels(table, k, c, p):
    """Every g-sequence that breaks the promise and how, shortest first, then in label order."""
    found = [(sequence, broken(table, sequence, k, c)) for sequence in knowledge(table, p)]
    return sorted(
        ((sequence, how) for sequence, how in found if how is not None),
        key=lambda each: (length(each[0]), in_order(table, each[0])),
    )


def is_more_general(table, one, other):
    """Whether `one` is what is left of `other` by taking items away and coarsening items; also if equal."""

    def covers(general, special):
        return all(
            any(
                name == quasi and (label == each or label in above(table.trees[quasi], each))
                for name, each in special
            )
            for quasi, label in general
        )

    return any(
        all(covers(general, special) for general, special in zip(one, events, strict=True))
        for events in combinations(other, len(one))
    )


def minimal_channels(table, k, c, p):
    """The channels that no other channel is more general than, in the same order."""
    found = [sequence for sequence, _ in channels(table, k, c, p)]
    return [
        each
        for each in found
        if not any(other != each and is_more_general(table, other, each) for other in found)
    ]


def reached(table, p):
    """The smallest support and the largest confidence over all that could be known."""
    everything = knowledge(table, p)
    smallest = min(support(table, sequence) for sequence in everything)
    largest = max(
        (
            confidence(table, sequence, attribute, value)
            for sequence in everything
            for attribute, values in table.protect.items()
            for value in values
        ),
        default=Fraction(0),
    )
    return smallest, largest


def is_private(table, k, c, p):
    """Whether nothing of at most `p` items breaks the promise."""
    return not channels(table, k, c, p)
