"""Inference channels and what HALT does about them, as the definitions read: slow and obvious.

A person is a list of events; an event leads from each quasi-identifier to its leaf. ``trees`` leads from each
quasi-identifier, in their order, to its tree: a dict from child to parent with the root ``"*"``.
``protected`` lists for each person the protected values that they have in any event. A g-item is a pair of
quasi-identifier and label; a g-sequence is a tuple of g-itemsets, a g-itemset a tuple of g-items in the order
of ``trees``.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

from oracles import hierarchy, kcp
from oracles.hierarchy import ROOT, leaf_labels

_ANSWERS = {}


def _once(function):
    """Ask about a tree only once; it is kept, so that no other tree takes its place."""

    def answer(tree, *rest):
        key = function, id(tree), *rest
        if key not in _ANSWERS:
            _ANSWERS[key] = function(tree, *rest), tree
        return _ANSWERS[key][0]

    return answer


chain = _once(hierarchy.chain)
height = _once(hierarchy.height)
ancestor_at_level = _once(hierarchy.ancestor_at_level)


def length(sequence):
    """The number of g-items."""
    return sum(len(itemset) for itemset in sequence)


def itemsets(event, trees, most):
    """Every g-itemset of at most `most` g-items that an event contains."""
    found = []
    for size in range(1, most + 1):
        for names in combinations(trees, size):
            above = [[(name, node) for node in chain(trees[name], event[name])[:-1]] for name in names]
            found.extend(product(*above))
    return found


@_once
def cuts(tree):
    """For each generalization level below the root the nodes that stand for the leaves."""
    return [
        {ancestor_at_level(tree, leaf, level) for leaf in leaf_labels(tree)} for level in range(height(tree))
    ]


def is_level(sequence, trees):
    """All g-items of a quasi-identifier are at one level, whatever that level is (Definition 4.4)."""
    return all(
        any({node for itemset in sequence for q, node in itemset if q == name} <= cut for cut in cuts(tree))
        for name, tree in trees.items()
    )


def occurring(persons, trees, p, levels="same"):
    """Every g-sequence of 1 to `p` g-items that somebody contains."""
    found = set()
    for person in persons:
        for size in range(1, p + 1):
            for events in combinations(person, size):
                for sequence in product(*(itemsets(event, trees, p) for event in events)):
                    if length(sequence) <= p:
                        found.add(sequence)
    return {sequence for sequence in found if levels == "mixed" or is_level(sequence, trees)}


def is_within(itemset, other, trees):
    """Each g-item has one at or below it in the other g-itemset (Definition 4.5)."""
    return all(
        any(name == q and node in chain(trees[name], below) for q, below in other) for name, node in itemset
    )


def is_more_general(sequence, other, trees):
    """There are places j1 < j2 < ... of `other` whose g-itemsets are more specific (Definition 4.7)."""
    return any(
        all(is_within(mine, other[place], trees) for mine, place in zip(sequence, places, strict=True))
        for places in combinations(range(len(other)), len(sequence))
    )


def supporters(sequence, persons, trees):
    """The numbers of the persons who contain a g-sequence."""
    as_sequences = [tuple(tuple(event.items()) for event in person) for person in persons]
    return [n for n, events in enumerate(as_sequences) if is_more_general(sequence, events, trees)]


def is_channel(sequence, persons, trees, protected, k, c):
    """Fewer than `k` persons contain it, or more than the share `c` of them have one protected value."""
    numbers = supporters(sequence, persons, trees)
    values = {value for number in numbers for value in protected[number]}
    return len(numbers) < k or any(
        Fraction(sum(value in protected[number] for number in numbers), len(numbers)) > c for value in values
    )


def channels(persons, trees, protected, k, c, p, levels="same"):
    """Every inference channel (Definition 4.9)."""
    return {
        sequence
        for sequence in occurring(persons, trees, p, levels)
        if is_channel(sequence, persons, trees, protected, k, c)
    }


def minimal_channels(persons, trees, protected, k, c, p, levels="same"):
    """Every inference channel without a more general one (Definition 4.11)."""
    found = channels(persons, trees, protected, k, c, p, levels)
    return {
        sequence
        for sequence in found
        if not any(other != sequence and is_more_general(other, sequence, trees) for other in found)
    }


def coarsest_levels(sequence, trees):
    """The level signature: per quasi-identifier the coarsest level that all its g-items reach.

    A g-item reaches the level of its depth; leaves of short branches do so, too. A quasi-identifier without
    g-items is at its root.
    """
    signature = []
    for name, tree in trees.items():
        nodes = [node for itemset in sequence for q, node in itemset if q == name]
        signature.append(
            min((height(tree) - len(chain(tree, node)) + 1 for node in nodes), default=height(tree))
        )
    return tuple(signature)


def generalizations(sequence, trees, levels="same"):
    """The next more general g-sequences: one g-item less, or one quasi-identifier (one g-item) a level up."""
    found = set()
    for i, itemset in enumerate(sequence):
        for j in range(len(itemset)):
            rest = itemset[:j] + itemset[j + 1 :]
            found.add(sequence[:i] + ((rest,) if rest else ()) + sequence[i + 1 :])
            if levels == "mixed":
                name, node = itemset[j]
                if trees[name][node] != ROOT:
                    up = (*itemset[:j], (name, trees[name][node]), *itemset[j + 1 :])
                    found.add((*sequence[:i], up, *sequence[i + 1 :]))
    if levels == "same":
        for name, level in zip(trees, coarsest_levels(sequence, trees), strict=True):
            if level < height(trees[name]) - 1:
                found.add(
                    tuple(
                        tuple(
                            (q, ancestor_at_level(trees[q], node, level + 1) if q == name else node)
                            for q, node in itemset
                        )
                        for itemset in sequence
                    )
                )
    return found - {()}


def mine(persons, trees, protected, k, c, p, levels="same"):
    """The minimal channels by growing: breadth first by length, coarse first among equals.

    A g-sequence is *open* if neither it nor anything more general is a channel. Only what has nothing but
    open generalizations can be open or a minimal channel; so each open g-sequence is extended by one g-item
    at its end, as a new event or in the last one. That is complete, because all but the last g-item of an
    open g-sequence or a minimal channel is open. A straightforward miner: it projects, but it counts in
    Python.
    """
    above = {
        (name, leaf): tuple((name, node) for node in reversed(chain(tree, leaf)[:-1]))
        for name, tree in trees.items()
        for leaf in leaf_labels(tree)
    }
    place = {name: i for i, name in enumerate(trees)}
    rows = [[[above[name, event[name]] for name in trees] for event in person] for person in persons]
    opened, minimal = set(), set()
    frontier = {(): {number: [-1] for number in range(len(rows))}}
    for _ in range(p):
        found = {}
        for sequence, ends in frontier.items():
            last = place[sequence[-1][-1][0]] if sequence else None
            for number, events in ends.items():
                for event in range(events[0] + 1, len(rows[number])):
                    for item in (item for items in rows[number][event] for item in items):
                        longer = (*sequence, (item,))
                        found.setdefault(longer, {}).setdefault(number, []).append(event)
                for event in events if sequence else []:
                    for item in (item for items in rows[number][event][last + 1 :] for item in items):
                        longer = (*sequence[:-1], (*sequence[-1], item))
                        found.setdefault(longer, {}).setdefault(number, []).append(event)
        frontier = {}
        fitting = [sequence for sequence in found if levels == "mixed" or is_level(sequence, trees)]
        # What is more general by levels is counted before, because its levels add up to more.
        for sequence in sorted(fitting, key=lambda each: -sum(_levels(each, trees))):
            if generalizations(sequence, trees, levels) <= opened:
                numbers = found[sequence]
                counts = {}
                for number in numbers:
                    for value in protected[number]:
                        counts[value] = counts.get(value, 0) + 1
                if len(numbers) < k or any(Fraction(n, len(numbers)) > c for n in counts.values()):
                    minimal.add(sequence)
                else:
                    opened.add(sequence)
                    frontier[sequence] = numbers
    return minimal


def _levels(sequence, trees):
    return [-len(chain(trees[name], node)) for itemset in sequence for name, node in itemset]


def local_optimum(persons, trees, protected, k, c, p, levels="same", stars="counted"):
    """The least loss of a release with one level per quasi-identifier and any cells suppressed, or None.

    All combinations of levels and all sets of cells are gone through, the cheapest first. The loss is that of
    Eq. 4.8: the mean over all cells of the share of leaves that are below what is released, 0 for a leaf.
    """
    shape = [
        (number, place, name)
        for number, events in enumerate(persons)
        for place in range(len(events))
        for name in trees
    ]
    options = []
    for node in product(*(range(height(tree) + 1) for tree in trees.values())):
        released = {
            (number, place, name): ancestor_at_level(trees[name], persons[number][place][name], level)
            for level, chosen in zip(node, trees, strict=True)
            for number, place, name in shape
            if name == chosen
        }
        losses = {cell: _share(trees[cell[2]], label) for cell, label in released.items()}
        shown = [cell for cell in shape if released[cell] != ROOT]
        for size in range(len(shown) + 1):
            for suppressed in combinations(shown, size):
                loss = sum(losses.values()) + sum(1 - losses[cell] for cell in suppressed)
                options.append((loss, node, suppressed, released))
    for loss, _, suppressed, released in sorted(options, key=lambda each: each[:2]):
        cells = released | dict.fromkeys(suppressed, ROOT)
        if _is_local_release(cells, persons, trees, protected, k, c, p, levels, stars):
            return loss / len(shape)
    return None


@_once
def _share(tree, label):
    below = hierarchy.leaves(tree, label)
    return Fraction(0) if label in leaf_labels(tree) else Fraction(below, len(leaf_labels(tree)))


def _is_local_release(cells, persons, trees, protected, k, c, p, levels, stars):
    """Whether a table with these cells is private."""
    owners = {}
    for (number, _, name), label in cells.items():
        owners.setdefault((name, label), set()).add(number)
    # Most tables fail by a single value, which is quicker to see.
    if any(len(numbers) < k for (_, label), numbers in owners.items() if label != ROOT):
        return False
    table = kcp.Table(
        [
            [
                ({name: cells[number, place, name] for name in trees}, {"ill": set(protected[number])})
                for place in range(len(events))
            ]
            for number, events in enumerate(persons)
        ],
        trees,
        {"ill": {value for values in protected for value in values}},
        levels=levels,
        stars=stars,
    )
    return kcp.is_private(table, k, c, p)
