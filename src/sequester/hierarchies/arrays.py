"""A tree as flat arrays that kernels read: nodes numbered depth first, children in label order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import HierarchyError, ParameterError
from sequester.hierarchies.labels import ROOT, in_label_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask


HIGHEST = 255
"""Levels that a tree may have above its leaves; more is a chain by mistake."""
MOST_LEAVES = (1 << 63) - 1
"""Leaves that can be counted."""


@dataclass(frozen=True, slots=True)
class TreeArrays:
    """The nodes of a tree, ancestors before descendants; node 0 is the root."""

    labels: tuple[str, ...]
    """Node to label."""
    parent: Codes
    """Node to the node above it; the root to itself."""
    depth: Codes
    """Node to its steps from the root."""
    subtree_end: Codes
    """Node to the first node after it that does not lie below it."""
    leaves: Counts
    """Node to its number of leaves."""


def number_nodes(parents: Mapping[str, str], sizes: Mapping[str, int]) -> TreeArrays:
    """Enumerate the nodes of a tree depth first, children in label order.

    `parents` leads from every label but the root to the label above it and has no cycle. `sizes` gives the
    leaf counts of nodes that stand for more leaves than lie below them here.

    Examples
    --------
    >>> tree = number_nodes({"9": "low", "10": "low", "low": "*", "high": "*"}, {"high": 5})
    >>> tree.labels
    ('*', 'high', 'low', '9', '10')
    >>> tree.parent.tolist(), tree.subtree_end.tolist(), tree.leaves.tolist()
    ([0, 0, 0, 2, 2], [5, 2, 5, 4, 5], [7, 5, 2, 1, 1])
    """
    children: dict[str, list[str]] = {}
    for label, above in parents.items():
        children.setdefault(above, []).append(label)
    labels: list[str] = []
    parent: list[int] = []
    depth: list[int] = []
    todo = [(ROOT, 0, 0)]
    while todo:
        label, above_node, steps = todo.pop()
        node = len(labels)
        labels.append(label)
        parent.append(above_node)
        depth.append(steps)
        if label in children:
            todo.extend((child, node, steps + 1) for child in reversed(in_label_order(children[label])))
    end = list(range(1, len(labels) + 1))
    leaves = [0] * len(labels)
    for node in range(len(labels) - 1, -1, -1):
        leaves[node] = sizes.get(labels[node], leaves[node] or 1)
        if node:
            leaves[parent[node]] += leaves[node]
            end[parent[node]] = max(end[parent[node]], end[node])
    if len(labels) == 1 and ROOT not in sizes:
        msg = "a hierarchy needs at least one leaf"
        raise HierarchyError(msg)
    if leaves[0] > MOST_LEAVES:
        msg = "the hierarchy stands for 2^63 leaves or more, which cannot be counted"
        raise HierarchyError(msg)
    return TreeArrays(
        tuple(labels),
        np.array(parent, np.int32),
        np.array(depth, np.int32),
        np.array(end, np.int32),
        np.array(leaves, np.int64),
    )


def level_table(parent: Codes, depth: Codes) -> Codes:
    """Return a table whose row ``g`` leads from a node to its ancestor at generalization level ``g``.

    Level 0 is the depth of the deepest leaf; a node that lies above the level stays itself.

    Examples
    --------
    >>> level_table(np.array([0, 0, 1, 0], np.int32), np.array([0, 1, 2, 1], np.int32)).tolist()
    [[0, 1, 2, 3], [0, 1, 1, 3], [0, 0, 0, 0]]
    """
    height = int(depth.max())
    table = np.empty((height + 1, depth.size), np.int32)
    table[0] = np.arange(depth.size)
    for level in range(1, height + 1):
        below = table[level - 1]
        table[level] = np.where(depth[below] > height - level, parent[below], below)
    return table


def cost_table(kind: str, *, leaves: Counts, depth: Codes, is_exact: Mask) -> npt.NDArray[np.float64]:
    """Return the costs of publishing nodes, by their name in a configuration; what is exact costs nothing.

    ``information-loss`` is the share of the domain that a node stands for, ``linear`` is ``(D - d) / D`` at
    depth ``d`` of a tree of height ``D``, ``exponential`` is ``2^-d``; all are 1 for the root.

    References
    ----------
    Bonomi (2016), utility loss UL; c(a, a) = 0.

    Examples
    --------
    >>> arrays = {"leaves": np.array([4, 3, 1]), "depth": np.array([0, 1, 2])}
    >>> cost_table("information-loss", **arrays, is_exact=np.array([False, False, True])).tolist()
    [1.0, 0.75, 0.0]
    """
    if kind == "information-loss":
        costs = leaves / leaves[0]
    elif kind == "linear":
        costs = 1 - depth / max(int(depth.max()), 1)  # a tree of nothing but its root costs what a root costs
    elif kind == "exponential":
        costs = np.exp2(-depth.astype(np.float64))
    else:
        msg = f"cost must be information-loss, linear or exponential, got {kind!r}"
        raise ParameterError(msg)
    return np.where(is_exact, 0.0, costs)
