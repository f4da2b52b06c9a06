"""The quasi-identifiers as the search sees them: nodes at every level, numbered through, and a star."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sequester.privacy.views import secret_nodes

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask
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
    def known_as(self) -> Codes:
        """Node to the finest that can be known of it: itself, or what is above where that is secret."""
        known = np.arange(self.n_nodes, dtype=np.int32)
        while (hidden := self.is_secret[known]).any():
            known = np.where(hidden, self.tree.parent[np.minimum(known, self.star - 1)], known)
        return known

    @cached_property
    def is_hidden(self) -> Mask:
        """Node to whether nothing can be known of it: it is secret, and so is all that is above it."""
        mask: Mask = self.is_secret & (self.known_as == 0)
        return mask

    def shown_at(self, level: int) -> Codes:
        """Lead from each node to what a column shows of it at a level; the star where that is the root's."""
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
    def of(cls, table: EventTable, *, sensitive_known: bool = False) -> QuasiIdentifiers:
        """Number the items of a table's quasi-identifiers; with `sensitive_known`, none is secret to all."""
        columns, first, protected = [], 0, {} if sensitive_known else table.protected_nodes
        for name in table.schema.quasi:
            tree = table.hierarchies[name]
            is_secret = np.append(secret_nodes(table, name, protected), False)
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

    def name_item(self, item: int) -> tuple[str, str]:
        """Return quasi-identifier and label of an item."""
        column = self.columns[self.owners[item]]
        return column.name, column.label(item - column.first)

    def name_events(self, items: list[int], kinds: int) -> tuple[tuple[tuple[str, str], ...], ...]:
        """Return the events of a g-sequence in labels; bit ``j``: item ``j`` joins the one before."""
        events: list[tuple[tuple[str, str], ...]] = []
        for place, item in enumerate(items):
            known = (self.name_item(item),)
            if kinds >> place & 1:
                events[-1] += known
            else:
                events.append(known)
        return tuple(events)
