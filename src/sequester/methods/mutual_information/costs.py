"""What it costs to release a symbol at each depth of its path, and what a release costs each person."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sequester._validation import is_number
from sequester.errors import ParameterError
from sequester.hierarchies.labels import counted, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy

    Numbers = npt.NDArray[np.float64]

CostTable = Mapping[str, Mapping[str, float]]
"""Leaf to node to cost."""


def costs_by_depth(tree: Hierarchy, labels: Sequence[str], cost: str | CostTable) -> Numbers:
    """Return in cell ``[i, d]`` the cost of releasing ``labels[i]`` as the node above it at depth ``d``.

    Beyond the depth of its leaf a symbol costs nothing.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> food = Hierarchy.from_tree({"Snack": ["Chips", "Cookies"], "Milk": {}})
    >>> costs_by_depth(food, ["Chips", "Milk"], "linear").tolist()
    [[1.0, 0.5, 0.0], [1.0, 0.0, 0.0]]
    """
    costs = np.zeros((len(labels), tree.height + 1))
    by_node = tree.cost(cost) if isinstance(cost, str) else None
    if by_node is None:
        check_table(tree, cost)  # type: ignore[arg-type]  # what is no name is a table
    for row, label in enumerate(labels):
        for node in tree.ancestors(tree.node(label))[1:]:
            costs[row, tree.depth[node]] = (
                by_node[node] if by_node is not None else cost[label][tree.labels[node]]  # type: ignore[index]
            )
    return costs


def check_table(tree: Hierarchy, table: CostTable) -> None:
    """Refuse a table that is no generalization cost (Definition 3), and name leaf and node.

    Every leaf needs a cost for every node above it: more than 0, and no less the higher the node. A cost for
    the leaf itself may be left out, and is 0.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> food = Hierarchy.from_tree({"Snack": ["Chips", "Cookies"]})
    >>> check_table(food, {"Chips": {"Snack": 2, "*": 1}, "Cookies": {"Snack": 0.8, "*": 1}})
    Traceback (most recent call last):
    sequester.errors.ParameterError: cost of 'Chips' at '*' must be at least 2, as at 'Snack' below, got 1
    """
    leaves = [tree.labels[node] for node in tree.leaf_nodes]
    missing = set(leaves) - set(table)
    if missing:
        are = counted(len(missing), "is", "are")
        msg = f"cost must have every leaf of the taxonomy, {are} missing: {listed(missing)}"
        raise ParameterError(msg)
    strange = set(table) - set(leaves)
    if strange:
        msg = f"cost must be given for leaves of the taxonomy, and there is no leaf {listed(strange)}"
        raise ParameterError(msg)
    for leaf in leaves:
        path = [tree.labels[node] for node in tree.ancestors(tree.node(leaf))]
        _check_path(leaf, path, {leaf: 0.0, **table[leaf]})


def _check_path(leaf: str, path: list[str], costs: Mapping[str, float]) -> None:
    outside = set(costs) - set(path)
    if outside:
        msg = f"cost of {quoted(leaf)} must be about nodes above it, and {listed(outside)} is none"
        raise ParameterError(msg)
    for node in path:
        where = f"cost of {quoted(leaf)} at {quoted(node)}"
        if node not in costs:
            msg = f"{where} is missing"
            raise ParameterError(msg)
        value: object = costs[node]
        if not is_number(value):
            msg = f"{where} must be a number, got {value!r}"
            raise ParameterError(msg)
        if node == leaf and value != 0:
            msg = f"{where} must be 0, which releases it as it is, got {value}"
            raise ParameterError(msg)
        if node != leaf and value <= 0:
            msg = f"{where} must be above 0, got {value}"
            raise ParameterError(msg)
    for below, above in pairwise(path):
        if costs[above] < costs[below]:
            msg = (
                f"cost of {quoted(leaf)} at {quoted(above)} must be at least {costs[below]}, as at "
                f"{quoted(below)} below, got {costs[above]}"
            )
            raise ParameterError(msg)


def losses(released: Sequences, table: EventTable, cost: str | CostTable) -> Numbers:
    """Return what the release of each event costs."""
    source = table.sequences
    column = source.symbol
    tree = table.hierarchies[column]
    by_depth = costs_by_depth(tree, source.codebooks[column].labels, cost)
    depths = tree.depth[tree.nodes(released.codebooks[column].labels)]
    spent: Numbers = by_depth[source.columns[column], depths[released.columns[column]]]
    return spent


def per_person(values: Numbers, table: EventTable, weights: Numbers | None) -> Numbers:
    """Return the mean over each person's events; 0 for a person whose events have no weight."""
    offsets = table.person_offsets
    owner = np.repeat(np.arange(table.n_persons), np.diff(offsets))
    weight = np.ones(len(values)) if weights is None else weights
    total = np.bincount(owner, weight, table.n_persons)
    means: Numbers = np.divide(
        np.bincount(owner, values * weight, table.n_persons),
        total,
        out=np.zeros(table.n_persons),
        where=total > 0,
    )
    return means
