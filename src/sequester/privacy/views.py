"""How much of an event can be known: each quasi-identifier at each level, from the released one upwards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.schema import Quasi
from sequester.errors import SchemaError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import ROOT as ROOT_LABEL
from sequester.hierarchies.labels import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sequester._typing import Codes, Mask
    from sequester.data.table import EventTable

HIDDEN = -1
"""Stands for a cell that nothing is known of."""
ROOT = 0
"""The node of a suppressed cell."""


@dataclass(frozen=True, slots=True)
class View:
    """A quasi-identifier at one level: which item each cell shows."""

    column: int
    """Place of the quasi-identifier."""
    level: int
    """Steps from the root, 1 or more."""
    nodes: Codes
    """Item to node, ascending."""
    item_of_node: Codes
    """Node to item, -1 where a cell of that node shows none."""
    is_exact: Mask
    """Item to whether it belongs to this level; others are padded, and belong to a coarser one as well."""
    is_own: bool
    """Some cell stands at this level as it is, so that the view may be the finest that there is of it."""


def other_attributes(table: EventTable, protect: Mapping[str, Collection[str]], target: str) -> list[str]:
    """Return the sensitive attributes that may be known to an adversary who wants to learn one of `target`.

    They are all others; none where no value of `target` is protected.
    """
    return [name for name in table.schema.sensitive if name != target] if protect.get(target) else []


def with_known(table: EventTable, attributes: Sequence[str]) -> EventTable:
    """Return the table in which values of these sensitive attributes are items: nothing is above them.

    A column that is a quasi-identifier already stays what it is.
    """
    columns = [
        column
        for name in attributes
        for column in table.schema.sensitive[name].columns
        if column not in table.schema.quasi
    ]
    trees = {
        column: Hierarchy.from_edges((label, ROOT_LABEL) for label in labels if label != ROOT_LABEL)
        for column in columns
        if (labels := table.labels[column]) and labels != [ROOT_LABEL]
    }
    quasi = {**table.schema.quasi, **{column: Quasi(tree) for column, tree in trees.items()}}
    return table.replace(schema=replace(table.schema, quasi=quasi), hierarchies=table.hierarchies | trees)


def read_cells(
    table: EventTable, protect: Mapping[str, Sequence[str]], *, stars: bool
) -> tuple[Codes, list[Mask]]:
    """Return the node of every cell, events by quasi-identifiers, and of each column which nodes are secret.

    A protected value is what is to be learned, and not what is known. What is above it is knowledge,
    and the cell is a member of it; see `secret_nodes`.

    A suppressed cell is knowledge only if `stars` count and the column shows anything else; otherwise its
    cell is `HIDDEN`. So is a cell that holds nothing: see `EventTable.histories`.
    """
    sequences, columns, secrets = table.sequences, [], []
    for quasi in table.schema.quasi:
        if quasi not in table.hierarchies:
            msg = f"quasi-identifier {quoted(quasi)} has no hierarchy"
            raise SchemaError(msg)
        labels = sequences.codebooks[quasi].labels
        node_of = table.hierarchies[quasi].nodes(labels)
        if not stars or (node_of == ROOT).all():
            node_of[node_of == ROOT] = HIDDEN
        columns.append(np.append(node_of, np.int32(HIDDEN))[sequences.columns[quasi]])
        secrets.append(secret_nodes(table, quasi, protect))
    cells = np.stack(columns, axis=1) if columns else np.empty((table.n_events, 0), np.int32)
    return cells, secrets


def secret_nodes(table: EventTable, quasi: str, protect: Mapping[str, Collection[str]]) -> Mask:
    """Mark the nodes of a quasi-identifier that are no background knowledge.

    They are protected, and no unprotected value of the column stands at them or below them. Whether an inner
    node has protected leaves alone is for `protect` to say: a release does not show its leaves, and what is
    not named there is knowledge.
    """
    tree = table.hierarchies[quasi]
    protected = {
        label
        for name, sensitive in table.schema.sensitive.items()
        if quasi in sensitive.columns
        for label in protect.get(name, ())
    }
    is_secret: Mask = np.array([label in protected for label in tree.labels], np.bool_)
    for label in table.sequences.codebooks[quasi].labels:
        if label not in protected:
            is_secret[tree.ancestors(tree.node(label))] = False
    is_secret[ROOT] = False
    return is_secret


def views_of(column: int, tree: Hierarchy, cells: Codes, is_secret: Mask, *, mixed: bool) -> list[View]:
    """Return the views of a quasi-identifier whose cells have the nodes `cells`, coarse first.

    A cell shows the node above it at the level. Where its branch is shorter, it is padded and shows itself,
    unless something in the column lies below it: then it is no value of that level. With `mixed` levels
    nothing is padded, because every item has a level of its own. A star shows itself at any level, and is
    listed at the first. Where a cell would show a secret node, it shows nothing.
    """
    present = np.unique(cells)
    present = present[present != HIDDEN]
    if not present.size:
        return []
    stars, known = present[present == ROOT], present[present != ROOT]
    # Nodes are numbered depth first: what lies below a node comes next.
    has_below = np.zeros(known.size, np.bool_)
    has_below[:-1] = known[1:] < tree.subtree_end[known[:-1]]
    depths = tree.depth[known]
    # The finest that a cell shows: itself, or what is above where that is secret.
    own = known.copy()
    while is_secret[own].any():
        own = np.where(is_secret[own], tree.parent[own], own)
    own_depths = tree.depth[own]
    views = []
    for level in range(1, int(depths.max(initial=1)) + 1):
        shows = known.copy()
        while (deeper := tree.depth[shows] > level).any():
            shows[deeper] = tree.parent[shows[deeper]]
        shorter = depths < level
        shows[(shorter & (has_below | mixed)) | is_secret[shows]] = HIDDEN
        item_of_node = np.full(len(tree), -1, np.int32)
        with_star = stars.size > 0 and (level == 1 or not mixed)
        nodes = np.unique(shows[shows != HIDDEN])
        nodes = np.concatenate([stars, nodes]) if with_star else nodes
        number = np.full(len(tree), -1, np.int32)
        number[nodes] = np.arange(nodes.size)
        item_of_node[known] = np.where(shows == HIDDEN, -1, number[shows])
        if with_star:
            item_of_node[ROOT] = number[ROOT]
        views.append(
            View(
                column=column,
                level=level,
                nodes=nodes.astype(np.int32),
                item_of_node=item_of_node,
                is_exact=(tree.depth[nodes] == level) | (nodes == ROOT) & (level == 1),
                is_own=bool((own_depths == level).any() or (stars.size and level == 1)),
            )
        )
    return views
