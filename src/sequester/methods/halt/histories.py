"""The quasi-identifiers with their levels, and what persons have in them: histories, as rows of nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester import kernels
from sequester.kernels.shares import exceeds_share
from sequester.privacy.g_sequences import secret_nodes
from sequester.ragged import gather_rows, owners_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy


Signature = tuple[int, ...]
"""A level per quasi-identifier: 0 is the values as they are, the height of the tree is nothing at all.

A node of the lattice of releases is one, and so is the *level signature* of a g-sequence: per
quasi-identifier the coarsest level that all of its items reach, the root where it has none. A g-sequence can
be seen in the release of a node if its signature is at least as coarse everywhere.
"""


@dataclass(frozen=True, eq=False)
class QuasiIdentifier:
    """One quasi-identifier: its tree, and behind the tree's nodes one more, the star.

    A suppressed cell shows a star. Where stars are counted they are items of their own, which nothing but the
    root is above and which combine with items of any level: a star is a leaf directly below the root, as a
    missing value is. In every table here the star has the number ``len(tree)``.
    """

    name: str
    """The column."""
    tree: Hierarchy
    """Its hierarchy."""
    first: int
    """The number of its first item among those of all quasi-identifiers."""
    is_secret: Mask
    """Node to whether it is no background knowledge: a protected value, or nothing but such below it."""

    @property
    def height(self) -> int:
        """The level of the root."""
        return self.tree.height

    @property
    def star(self) -> int:
        """The node of a suppressed cell."""
        return len(self.tree)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, the star included."""
        return len(self.tree) + 1

    @cached_property
    def cuts(self) -> Codes:
        """Row ``g`` leads from each node to its ancestor at level ``g``, below the root's level."""
        stars = np.full((self.height, 1), self.star, np.int32)
        return np.hstack([self.tree.levels[: self.height], stars])

    @cached_property
    def reach(self) -> Codes:
        """Node to the coarsest level at which it stands for itself."""
        return np.append(self.height - self.tree.depth, self.height - 1).astype(np.int32)

    @cached_property
    def ends(self) -> Codes:
        """Node to the first one after its subtree; the star counts as below the root."""
        ends = np.append(self.tree.subtree_end, self.star + 1).astype(np.int32)
        ends[0] = self.star + 1
        return ends

    @cached_property
    def is_hidden(self) -> Mask:
        """Node to whether nothing can be known of it: it is secret, and so is all that is above it."""
        known = np.arange(self.n_nodes, dtype=np.int32)
        while (is_secret := self.is_secret[known]).any():
            known = np.where(is_secret, self.tree.parent[np.minimum(known, self.star - 1)], known)
        mask: Mask = self.is_secret & (known == 0)
        return mask

    def shown_at(self, level: int) -> Codes:
        """Return what a column shows of each node at a level: the star where that is the root's."""
        if level == self.height:
            return np.full(self.n_nodes, self.star, np.int32)
        shown: Codes = self.cuts[level].copy()
        return shown

    def leaves_as_it_is(self, level: int) -> Mask:
        """Node to whether it is a protected value that is released as it is when the column has a level.

        So it is as long as no other value becomes the same node. Beside others that do, it would tell them
        apart: a person with the node and not the protected value would be singled out.
        """
        above = np.append(self.tree.levels[level], self.star)
        mask: Mask = self.is_hidden | self.is_secret & self.is_secret[above]
        return mask

    def label(self, node: int) -> str:
        """Return the label of a node; that of the star is the root's."""
        return self.tree.labels[0 if node == self.star else node]


@dataclass(frozen=True, eq=False)
class QuasiIdentifiers:
    """All quasi-identifiers, in the order of the schema."""

    columns: tuple[QuasiIdentifier, ...]
    """One by one."""

    @classmethod
    def of(
        cls, table: EventTable, *others: EventTable, protect: Mapping[str, Collection[str]] | None = None
    ) -> QuasiIdentifiers:
        """Number the items of the quasi-identifiers of one table or of several.

        A node is secret only if it is so in all tables; those of the first are protected unless told.
        """
        columns, first, protect = [], 0, table.protected_nodes if protect is None else protect
        for name in table.schema.quasi:
            tree = table.hierarchies[name]
            secrets = [secret_nodes(each, name, protect) for each in (table, *others)]
            is_secret = np.append(np.logical_and.reduce(secrets), False)
            columns.append(QuasiIdentifier(name, tree, first, is_secret))
            first += len(tree) + 1
        return cls(tuple(columns))

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def root(self) -> Signature:
        """The signature of nothing."""
        return tuple(column.height for column in self.columns)

    @cached_property
    def firsts(self) -> Counts:
        """The number of each quasi-identifier's first item."""
        return np.array([column.first for column in self.columns], np.int64)

    @cached_property
    def n_items(self) -> int:
        """How many numbers there are, roots and stars included."""
        return sum(column.n_nodes for column in self.columns)

    @cached_property
    def reach(self) -> Codes:
        """Item to the coarsest level at which it stands for itself."""
        return np.concatenate([column.reach for column in self.columns])

    @cached_property
    def ends(self) -> Codes:
        """Item to the first number that does not lie below it; the star counts as below the root."""
        return np.concatenate([column.first + column.ends for column in self.columns]).astype(np.int32)

    @cached_property
    def parents(self) -> Codes:
        """Item to the item above it; -1 where that is the root and says nothing."""
        above = []
        for column in self.columns:
            parent = np.append(column.tree.parent, 0).astype(np.int32)
            above.append(np.where(parent == 0, -1, column.first + parent).astype(np.int32))
        return np.concatenate(above)

    @cached_property
    def has_secrets(self) -> bool:
        """Whether any node is no background knowledge."""
        return any(column.is_secret.any() for column in self.columns)

    @cached_property
    def is_root(self) -> Mask:
        """Item to whether it is the root of a tree."""
        mask = np.zeros(self.n_items, np.bool_)
        mask[self.firsts] = True
        return mask

    @cached_property
    def stars(self) -> Codes:
        """The star of each quasi-identifier."""
        return np.array([column.first + column.star for column in self.columns], np.int32)

    @cached_property
    def parents_with_roots(self) -> Codes:
        """Item to what lies above it, the root included; -1 above a root."""
        roots = self.firsts[self.owners].astype(np.int32)
        return np.where(self.is_root, np.int32(-1), np.where(self.parents < 0, roots, self.parents))

    @cached_property
    def groups(self) -> Codes:
        """Item to its group: those of one quasi-identifier and one level."""
        before = np.cumsum([0, *(column.height + 1 for column in self.columns)])
        groups = [column.reach + start for column, start in zip(self.columns, before, strict=False)]
        return np.concatenate(groups).astype(np.int32)

    @cached_property
    def owners(self) -> Codes:
        """Item to its quasi-identifier."""
        sizes = [column.n_nodes for column in self.columns]
        return np.repeat(np.arange(len(self), dtype=np.int32), sizes)

    def spread_down(self, is_marked: Mask, parents: Codes) -> Mask:
        """Mark the items that are marked, and those with a marked one above them, as `parents` leads up."""
        mask: Mask = is_marked
        for _ in range(max(self.root, default=0) + 1):
            mask = mask | ((parents >= 0) & mask[parents])
        return mask

    def name_events(self, items: Iterable[int], kinds: int) -> tuple[tuple[tuple[str, str], ...], ...]:
        """Return the events of a g-sequence in labels; bit ``j``: item ``j`` joins the one before."""
        events: list[tuple[tuple[str, str], ...]] = []
        for place, item in enumerate(items):
            column = self.columns[self.owners[item]]
            known = ((column.name, column.label(item - column.first)),)
            if kinds >> place & 1:
                events[-1] += known
            else:
                events.append(known)
        return tuple(events)


HIDDEN = -1
"""The node of a cell that nothing can be known of."""
NOTHING = -2
"""The node of a cell that holds nothing; see `EventTable.histories`."""
_DENSE, _FEW = 8, 1 << 16
"""Pairs of a group and a value that are counted in a table, per value and at least."""


@dataclass(frozen=True, eq=False)
class RowOwners:
    """How many persons stand behind each row, and which protected values they have."""

    weights: Counts
    """Persons behind each row."""
    risks: Counts
    """Those of them with at least one protected value."""
    names: tuple[tuple[str, str], ...]
    """Protected value to its attribute and label."""
    offsets: Offsets
    """Row ``r`` has ``values[offsets[r]:offsets[r + 1]]``, each value once."""
    values: Codes
    """Protected values."""
    counts: Counts
    """How many persons of the row have the value."""

    @classmethod
    def of(cls, table: EventTable) -> RowOwners:
        """Collect the protected values that each person has in any event."""
        names = table.protected_values
        values, offsets = table.values_of_persons(names)
        return cls.alike(np.ones(table.n_persons, np.int64), names, offsets, values)

    @classmethod
    def alike(
        cls, weights: Counts, names: tuple[tuple[str, str], ...], offsets: Offsets, values: Codes
    ) -> RowOwners:
        """Return rows whose persons all have the values of their row."""
        risks = np.where(np.diff(offsets) > 0, weights, 0)
        return cls(weights, risks, names, offsets, values, weights[owners_of(offsets)])

    @cached_property
    def totals(self) -> Counts:
        """Value to the number of persons who have it."""
        return np.bincount(self.values, self.counts, minlength=len(self.names)).astype(np.int64)

    def take(self, rows: Counts) -> RowOwners:
        """Return the persons of some rows."""
        values, offsets = gather_rows(self.values, self.offsets, rows)
        counts, _ = gather_rows(self.counts, self.offsets, rows)
        return RowOwners(self.weights[rows], self.risks[rows], self.names, offsets, values, counts)

    def fold(self, group_of_row: Codes, n_groups: int) -> RowOwners:
        """Add up the persons of each group of rows; those of group -1 are left out."""
        size = max(len(self.names), 1)
        # Group 0 is for those who are left out.
        groups = group_of_row.astype(np.int64) + 1
        keys = groups[self._owners] * size + self.values
        if (n_groups + 1) * size <= _DENSE * len(keys) + _FEW:
            totals = np.bincount(keys, self.counts, minlength=(n_groups + 1) * size)
            totals[:size] = 0
            keys = np.flatnonzero(totals)
            counts = totals[keys]
        else:
            keys, places = np.unique(keys, return_inverse=True)
            counts = np.bincount(places, self.counts, minlength=len(keys))
            counts, keys = counts[keys >= size], keys[keys >= size]
        return RowOwners(
            np.bincount(groups, self.weights, minlength=n_groups + 1)[1:].astype(np.int64),
            np.bincount(groups, self.risks, minlength=n_groups + 1)[1:].astype(np.int64),
            self.names,
            np.searchsorted(keys, np.arange(1, n_groups + 2) * size).astype(np.int64),
            (keys % size).astype(np.int32),
            counts.astype(np.int64),
        )

    @cached_property
    def _owners(self) -> Counts:
        """The row of each value."""
        return owners_of(self.offsets)

    def only(self, is_wanted: Mask) -> RowOwners:
        """Forget all protected values but those that are wanted."""
        kept = is_wanted[self.values]
        offsets = np.concatenate([[0], np.cumsum(kept)])[self.offsets]
        # A row of several persons may keep some of its values: count anew only where it stands for one.
        has_value = np.diff(offsets) > 0
        risks = np.where(self.weights == 1, has_value, np.where(has_value, self.risks, 0)).astype(np.int64)
        return RowOwners(self.weights, risks, self.names, offsets, self.values[kept], self.counts[kept])

    def without_harmless(self, k: int, c: float) -> RowOwners:
        """Forget protected values so rare that no `k` persons can have them in more than the share `c`."""
        is_harmful = exceeds_share(self.totals, c, k)
        return self if is_harmful.all() else self.only(is_harmful)


class Target(NamedTuple):
    """What somebody wants to learn, and so does not know."""

    is_own: Mask
    """Column to whether it is of the attribute to be learned."""
    is_wanted: Mask
    """Protected value to whether it is one to be learned."""


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of events, each a row of cells; a row stands for one person or for several with equal cells."""

    cells: Codes
    """The node of every cell, events by quasi-identifiers; `HIDDEN` or `NOTHING` below 0."""
    offsets: Offsets
    """Row ``r`` has the events ``offsets[r]`` to ``offsets[r + 1]``."""
    persons: RowOwners
    """The persons behind each row."""

    @classmethod
    def of(cls, table: EventTable, quasi: QuasiIdentifiers) -> WeightedRows:
        """Read the cells of a table, one row per person."""
        return cls(read_nodes(table, quasi), table.person_offsets.astype(np.int64), RowOwners.of(table))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    @cached_property
    def columns(self) -> Codes:
        """The cells, quasi-identifiers by events, so that a column lies side by side."""
        return np.ascontiguousarray(self.cells.T)

    def fold(self) -> WeightedRows:
        """Make one row of equal ones."""
        n_quasi = self.cells.shape[1]
        group_of_row, first_rows = kernels.rows.fold_rows(self.cells.reshape(-1), self.offsets * n_quasi)
        folded = self.take(first_rows)
        return replace(folded, persons=self.persons.fold(group_of_row, len(first_rows)))

    def take(self, rows: Counts) -> WeightedRows:
        """Return some of the rows."""
        n_quasi = self.cells.shape[1]
        cells, offsets = gather_rows(self.cells.reshape(-1), self.offsets * n_quasi, rows)
        return WeightedRows(cells.reshape(-1, n_quasi), offsets // n_quasi, self.persons.take(rows))

    def seen_by(self, target: Target) -> WeightedRows:
        """Return the histories as they are known to somebody who wants to learn something."""
        cells = np.where(target.is_own, np.int32(HIDDEN), self.cells)
        return replace(self, cells=cells, persons=self.persons.only(target.is_wanted))

    def show(self, shown: list[Codes], is_wanted: Mask, quasi: QuasiIdentifiers) -> WeightedRows:
        """Show each cell as what `shown` leads to, keep rows with a wanted item at or above one, and fold.

        `shown` leads per quasi-identifier from node to node or `HIDDEN`.
        """
        visible = [q for q, nodes in enumerate(shown) if (nodes != HIDDEN).any()]
        above = quasi.spread_down(is_wanted, quasi.parents)
        cells = np.empty((len(self.cells), len(visible)), np.int32)
        is_hit = np.zeros(len(self.cells), np.bool_)
        for place, q in enumerate(visible):
            # Cells below 0 lead to the end.
            nodes = np.append(shown[q], [HIDDEN, HIDDEN]).astype(np.int32)
            is_above = (nodes >= 0) & above[quasi.firsts[q] + np.maximum(nodes, 0)]
            if is_above.any():
                is_hit |= is_above[self.cells[:, q]]
            cells[:, place] = nodes[self.cells[:, q]]
        hits = np.concatenate([[0], np.cumsum(is_hit)])[self.offsets]
        folded = replace(self, cells=cells).take(np.flatnonzero(np.diff(hits))).fold()
        known = np.full((len(folded.cells), len(shown)), HIDDEN, np.int32)
        known[:, visible] = folded.cells
        return replace(folded, cells=known)

    def count_items(self, node: Signature, quasi: QuasiIdentifiers) -> Counts:
        """Count for each item the persons who have it when the table is released at a node."""
        rows = owners_of(self.offsets)
        counts = np.zeros(quasi.n_items, np.int64)
        for q, (column, level) in enumerate(zip(quasi.columns, node, strict=True)):
            if level < column.height:
                if (q, level) not in self._counted:
                    shown = self.cells[:, q] >= 0
                    pairs = np.unique(rows[shown] * column.n_nodes + column.cuts[level][self.cells[shown, q]])
                    row, item = np.divmod(pairs, column.n_nodes)
                    self._counted[q, level] = np.bincount(
                        item, self.persons.weights[row], minlength=column.n_nodes
                    ).astype(np.int64)
                counts[column.first : column.first + column.n_nodes] = self._counted[q, level]
        return counts

    @cached_property
    def _counted(self) -> dict[tuple[int, int], Counts]:
        """Quasi-identifier and level to the persons who have each of its items."""
        return {}


def read_nodes(table: EventTable, quasi: QuasiIdentifiers) -> Codes:
    """Return the node of every cell of a table, events by quasi-identifiers.

    In a column that is a quasi-identifier and sensitive, protected values are what somebody wants to learn,
    and not what they know; what is above them is known, if that is not the root.
    """
    sequences = table.sequences
    columns = []
    for column in quasi.columns:
        labels = sequences.codebooks[column.name].labels
        node_of = column.tree.nodes(labels) if labels else np.empty(0, np.int32)
        node_of[column.is_hidden[node_of]] = HIDDEN
        columns.append(np.append(node_of, np.int32(NOTHING))[sequences.columns[column.name]])
    return np.stack(columns, axis=1)
