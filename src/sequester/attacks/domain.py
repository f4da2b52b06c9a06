"""The domain of an attack: the hierarchies of all columns in one numbering, and the protected values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.attacks._kernels import Trees
from sequester.errors import InputError, ParameterError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import ROOT, in_label_order
from sequester.hierarchies.outline import Outline
from sequester.ragged import offsets_of, owners_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.schema import Schema
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable


@dataclass(frozen=True, slots=True)
class Domain:
    """What can be known and shown of an event, column by column; node numbers run through all columns.

    The last node stands for a cell that holds nothing, which is no star and fits nothing; see
    `EventTable.histories`.
    """

    columns: tuple[str, ...]
    """The symbol or the quasi-identifiers, then the sensitive columns, then kept ones that are coded."""
    n_open: int
    """How many of them are the symbol or quasi-identifiers."""
    n_covered: int
    """How many of them are not kept."""
    trees: tuple[Hierarchy, ...]
    """The tree of each; a column without one has nothing between its labels and the root."""
    starts: Offsets
    """Column ``c`` has the nodes ``starts[c]`` to ``starts[c + 1]``, the root first."""
    parent: Codes
    """Node to the one above it; a root to itself."""
    depth: Codes
    """Node to its steps from the root."""
    is_item: Mask
    """Nodes that may be known: no root, no protected value, and none with only such leaves below it."""
    kernel: Trees
    """What matching needs."""
    names: ProtectedValues
    """Attribute and label of each protected value."""
    value_of: Codes
    """Node to the protected value that it is, by its number in `names`; -1 where it is none."""
    attributes: tuple[str, ...]
    """Column to its sensitive attribute; empty where it has none."""

    @classmethod
    def of(cls, original: EventTable, *others: EventTable, groups: Mapping[str, str] | None = None) -> Domain:
        """Number the nodes of the original's columns; a label of the other tables must be one of them."""
        if not original.n_events:
            msg = "original must have events, there are none"
            raise ParameterError(msg)
        schema = original.schema
        is_open = (original.symbol,) if original.symbol is not None else tuple(schema.quasi)
        if not is_open:
            msg = "original must have a symbol or quasi-identifiers, there is nothing that could be known"
            raise ParameterError(msg)
        closed = [name for name in schema.sensitive_columns if name not in is_open]
        kept = [name for name in schema.keep if name in original.labels]
        columns = tuple(name for name in (*is_open, *closed, *kept) if name is not None)
        trees = tuple(_tree(original, others, name) for name in columns)
        starts = offsets_of([len(tree) for tree in trees])

        nothing = int(starts[-1])

        def joined(name: str, last: int) -> Codes:
            parts = [getattr(tree, name) + start for tree, start in zip(trees, starts, strict=False)]
            return np.append(np.concatenate(parts), last).astype(np.int32)

        depth = np.append(np.concatenate([tree.depth for tree in trees]), 0).astype(np.int32)
        column_of = np.append(owners_of(starts), 0).astype(np.int32)
        parent = joined("parent", nothing)
        kernel = Trees(
            joined("subtree_end", nothing + 1), column_of, parent, np.full(len(trees), -1, np.int32)
        )
        names = value_names(original, groups)
        value_of, is_secret = _protected_nodes(original, columns, trees, names)
        return cls(
            columns,
            len(is_open),
            len(columns) - len(kept),
            trees,
            starts,
            parent,
            depth,
            (depth > 0) & (value_of < 0) & ~is_secret,
            kernel,
            names,
            value_of,
            tuple(next(iter(_attributes_of(original, column)), "") for column in columns),
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all columns, and that of nothing."""
        return self.nothing + 1

    @property
    def nothing(self) -> int:
        """The node of a cell that holds nothing."""
        return int(self.starts[-1])

    @property
    def values_of_columns(self) -> Counts:
        """For each column the first and the last protected value of its attribute; -1 where there is none."""
        owners = [name for name, _ in self.names]
        ranges = [
            (owners.index(name), len(owners) - 1 - owners[::-1].index(name)) if name in owners else (-1, -1)
            for name in self.attributes
        ]
        return np.array(ranges, np.int64)

    @property
    def is_other(self) -> Mask:
        """Nodes that are values of a sensitive attribute beside which others have protected values."""
        owners = {name for name, _ in self.names}
        own = range(self.n_open, self.n_covered)
        columns = [place for place in own if owners - {self.attributes[place]}]
        mask: Mask = (self.depth > 0) & np.isin(self.kernel.column, columns)
        mask[self.nothing] = False
        return mask

    def label(self, node: int) -> str:
        """Write a node as people read it."""
        column = int(self.kernel.column[node])
        label = self.trees[column].labels[node - int(self.starts[column])]
        return label if len(self.columns) == 1 else f"{self.columns[column]}={label}"

    def cells(self, sequences: Sequences) -> Codes:
        """Return the node of every event and column; a column that is not there shows nothing."""
        own = dict(zip(self.columns, self.columns, strict=True))
        if len(self.columns) == 1 and len(sequences.columns) == 1:
            # Plain symbols have one column, whatever its name.
            own[self.columns[0]] = next(iter(sequences.columns))
        cells = np.empty((sequences.n_events, len(self.columns)), np.int32)
        for place, (column, tree) in enumerate(zip(self.columns, self.trees, strict=True)):
            name, start = own[column], int(self.starts[place])
            if name not in sequences.columns:
                cells[:, place] = start
                continue
            nodes = tree.nodes(sequences.codebooks[name].labels) + np.int32(start)
            cells[:, place] = np.append(nodes, np.int32(self.nothing))[sequences.columns[name]]
        return cells

    def lift(self, nodes: Codes, depths: Counts) -> Codes:
        """Return the ancestor of each node at a depth, or the node itself where it lies higher."""
        lifted = nodes.copy()
        while (deeper := self.depth[lifted] > depths).any():
            lifted[deeper] = self.parent[lifted[deeper]]
        return lifted


def _tree(original: EventTable, others: Sequence[EventTable], column: str) -> Hierarchy:
    if column in original.hierarchies:
        tree = original.hierarchies[column]
        for other in others:
            if column in other.labels and not all(label in tree for label in other.labels[column]):
                tree = merged_tree(tree, other.hierarchies.get(column), column)
        return tree
    labels = set(original.labels[column])
    for other in others:
        if original.symbol is not None and other.symbol is not None:
            labels.update(other.labels[other.symbol])
        else:
            labels.update(other.labels.get(column, ()))
    return Hierarchy.from_edges((label, ROOT) for label in sorted(labels - {ROOT}))


def merged_tree(tree: Hierarchy, other: Hierarchy | None, column: str) -> Hierarchy:
    """Merge two trees of one column; what is in both must lie below the same."""
    parents: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for each in (tree, other):
        if each is None:
            msg = f"column {column!r} has values that the hierarchy of the original does not have"
            raise InputError(msg)
        for node in range(1, len(each)):
            label, above = each.labels[node], each.labels[each.parent[node]]
            if parents.setdefault(label, above) != above:
                msg = (
                    f"column {column!r} has two hierarchies: {label!r} lies below {parents[label]!r} in the "
                    f"original, and below {above!r} elsewhere"
                )
                raise InputError(msg)
            if each.subtree_end[node] > node + 1:
                sizes[label] = max(sizes.get(label, 0), int(each.leaves[node]))
    return Hierarchy.from_outline(Outline(parents, sizes=sizes))


def _attributes_of(original: EventTable, column: str) -> list[str]:
    """List the sensitive attributes that a column belongs to."""
    return [name for name, each in original.schema.sensitive.items() if column in each.columns]


def _protected_nodes(
    original: EventTable, columns: tuple[str, ...], trees: tuple[Hierarchy, ...], names: ProtectedValues
) -> tuple[Codes, Mask]:
    """Return the number of the protected value that each node is, -1 where it is none or nothing.

    Also mark the nodes that have nothing but protected leaves below them.
    """
    number_of = {name: number for number, name in enumerate(names)}
    protected = original.protected_nodes
    values, marks = [], []
    for column, tree in zip(columns, trees, strict=True):
        own = _attributes_of(original, column)
        for label in tree.labels:
            values.append(max((number_of.get((each, label), -1) for each in own), default=-1))
            marks.append(any(label in protected[each] for each in own))
    return np.array([*values, -1], np.int32), np.array([*marks, False], np.bool_)


def protected_labels(table: EventTable) -> dict[str, set[str]]:
    """Return the protected labels of each sensitive column, those of all its attributes."""
    found: dict[str, set[str]] = {}
    for attribute, sensitive in table.schema.sensitive.items():
        for column in sensitive.columns:
            found.setdefault(column, set()).update(table.protected[attribute])
    return found


ProtectedValues = tuple[tuple[str, str], ...]
"""Attribute and label of each protected value."""


def value_names(table: EventTable, groups: Mapping[str, str] | None = None) -> ProtectedValues:
    """List the protected values of a table by attribute, then by group, then in label order.

    `groups` leads from labels to the group of similar values that they belong to; others have their
    own. Groups follow each other as their first labels do.
    """
    names: list[tuple[str, str]] = []
    for attribute in table.schema.sensitive:
        labels = in_label_order(table.protected[attribute])
        if groups is not None:
            firsts: dict[str, int] = {}
            for place, label in enumerate(labels):
                firsts.setdefault(groups.get(label, label), place)
            labels.sort(key=lambda label: firsts[groups.get(label, label)])
        names += [(attribute, label) for label in labels]
    return tuple(names)


def values_of(sequences: Sequences, schema: Schema, names: ProtectedValues) -> tuple[Codes, Offsets]:
    """Return the values of `names` that each person has in any event, each once, ascending.

    Where a person has several sequences, what they have in one of them they have in all.
    """
    columns = {
        attribute: schema.sensitive[attribute].columns if attribute in schema.sensitive else ()
        for attribute, _ in names
    }
    return sequences.values_of_persons(names, columns)
