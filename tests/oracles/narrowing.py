"""What columns that depend on each other leave of a generalized value, by trying all leaves.

A tree is a dict from child to parent; the root ``"*"`` is no key of it.
"""

from __future__ import annotations

from itertools import product

ROOT = "*"


def leaves_below(tree, label):
    """The leaves at or below a label."""
    children = [child for child, parent in tree.items() if parent == label]
    return {label} if not children else {leaf for child in children for leaf in leaves_below(tree, child)}


def lowest_above(tree, labels):
    """The lowest label at or above all of some labels."""
    chains = []
    for label in labels:
        chain = [label]
        while chain[-1] != ROOT:
            chain.append(tree[chain[-1]])
        chains.append(chain)
    return next(label for label in chains[0] if all(label in chain for chain in chains))


def left_over(cells, trees, is_possible):
    """For each cell of an event, its leaves in some choice of leaves of all cells that is possible."""
    choices = product(*(sorted(leaves_below(tree, cell)) for cell, tree in zip(cells, trees, strict=True)))
    possible = [choice for choice in choices if is_possible(*choice)]
    return [set(column) for column in zip(*possible, strict=True)]
