"""The trees of all quasi-identifiers as kernels read them, with whole numbers for what cells are worth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.kernels.alignment import Forest

FINEST = 10**6
"""The largest unit: a cell as it was is worth at most so much, and the rest is rounded to wholes."""
_ROOM = 1 << 62


@dataclass(frozen=True, eq=False)
class Trees:
    """The quasi-identifiers, one tree each, nodes numbered through."""

    names: tuple[str, ...]
    """Quasi-identifiers in the order of the schema."""
    hierarchies: tuple[Hierarchy, ...]
    """Their trees."""
    first: Counts
    """Quasi-identifier to the number of its root."""
    unit: int
    """What a cell of the weightiest quasi-identifier is worth as it was."""
    wholes: Counts
    """Quasi-identifier to what a cell is worth as it was."""
    kernel: Forest
    """All of it in flat arrays."""

    @classmethod
    def of(cls, table: EventTable) -> Trees:
        """Number the nodes, and say what each is worth: all for a leaf, nothing for the root (Eq. 5.3).

        Worths are exact where a unit of at most a million allows it. Weights count in proportion to the
        largest.
        """
        quasi = table.schema.quasi
        trees = tuple(table.hierarchies[name] for name in quasi)
        weights = _proportions([each.weight for each in quasi.values()])
        sizes = [len(tree) for tree in trees]
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        exact = math.lcm(
            *(int(tree.leaves[0]) * weight.denominator for tree, weight in zip(trees, weights, strict=True))
        )
        longest = int(np.diff(table.person_offsets).max(initial=1))
        unit = min(exact, FINEST, max(_ROOM // (max(table.n_persons, 1) * longest * len(trees)), 1))
        return cls(
            names=tuple(quasi),
            hierarchies=trees,
            first=first,
            unit=unit,
            wholes=np.array([round(unit * weight) for weight in weights], np.int64),
            kernel=_number_through(table, trees, weights, unit, first),
        )

    def nodes_of(self, table: EventTable) -> Codes:
        """Give the node of every cell, events by quasi-identifiers."""
        sequences = table.sequences
        columns = [
            (tree.nodes(sequences.codebooks[name].labels) + at)[sequences.columns[name]]
            for name, tree, at in zip(self.names, self.hierarchies, self.first, strict=False)
        ]
        return np.ascontiguousarray(np.stack(columns, axis=1), np.int32)


def _number_through(
    table: EventTable, trees: tuple[Hierarchy, ...], weights: list[Fraction], unit: int, first: Counts
) -> Forest:
    """Put all trees behind each other: nodes, and groups, which are the nodes that are no leaves."""
    is_group = [~tree.is_leaf | (tree.depth == 0) for tree in trees]
    counts = np.concatenate([[0], np.cumsum([each.sum() for each in is_group])])
    groups, ends = [], []
    for tree, mask, at in zip(trees, is_group, counts, strict=False):
        before = np.concatenate([[0], np.cumsum(mask)])
        groups.append(at + before[np.where(mask, np.arange(len(tree)), tree.parent)])
        ends.append(at + before[tree.subtree_end][mask])
    return kernels.alignment.Forest(
        parent=_codes([tree.parent + at for tree, at in zip(trees, first, strict=False)]),
        end=_codes([tree.subtree_end + at for tree, at in zip(trees, first, strict=False)]),
        worth=_codes([_worths(tree, weight, unit) for tree, weight in zip(trees, weights, strict=True)]),
        depth=_codes([tree.depth for tree in trees]),
        group=_codes(groups),
        group_end=_codes(ends),
        tops=counts.astype(np.int32),
        least=np.array([_least_depth(table, name) for name in table.schema.quasi], np.int32),
    )


def _codes(parts: list[Codes] | list[Counts]) -> Codes:
    return np.concatenate(parts).astype(np.int32)


def _proportions(weights: list[float]) -> list[Fraction]:
    """Give each weight as a share of the largest, as exactly as it was written."""
    exact = [Fraction(str(weight)) for weight in weights]
    largest = max(exact)
    return [weight / largest if largest else Fraction(0) for weight in exact]


def _worths(tree: Hierarchy, weight: Fraction, unit: int) -> Counts:
    whole = round(unit * weight)
    per_leaf = unit * weight / int(tree.leaves[0])
    is_exact = tree.is_leaf & (tree.leaves == 1)
    # What is not exact is always worth less, however finely the domain is divided.
    inner = [min(round(unit * weight - per_leaf * int(n)), max(whole - 1, 0)) for n in tree.leaves]
    return np.where(is_exact, whole, inner).astype(np.int64)


def _least_depth(table: EventTable, name: str) -> int:
    """Find the smallest depth that two different values may be generalized to."""
    quasi, tree = table.schema.quasi[name], table.hierarchies[name]
    least = 0 if quasi.max_level is None else max(tree.height - quasi.max_level, 0)
    if set(quasi.never_suppress).intersection(table.labels[name]):
        least = max(least, 1)
    return least
