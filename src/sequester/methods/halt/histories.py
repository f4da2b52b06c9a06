"""Everybody's events as nodes of trees, equal histories folded into one, with the protected values behind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester import kernels
from sequester.kernels.shares import exceeds_share
from sequester.ragged import gather_rows, owners_of

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.table import EventTable
    from sequester.methods.halt.quasi_identifiers import QuasiIdentifiers, Signature

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
        ones = np.ones(table.n_persons, np.int64)
        risks = (np.diff(offsets) > 0).astype(np.int64)
        return cls(ones, risks, names, offsets, values, np.ones(len(values), np.int64))

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

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        return int(self.persons.weights.sum())

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
