"""Everybody's events as nodes of trees, equal histories folded into one, with the protected values behind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.kernels.shares import exceeds_share
from sequester.ragged import gather_rows

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.table import EventTable
    from sequester.methods.halt.axes import Axes, Signature

HIDDEN = -1
"""The node of a cell that nothing can be known of."""


@dataclass(frozen=True, eq=False)
class Values:
    """Which protected values persons, or groups of persons, have."""

    names: tuple[tuple[str, str], ...]
    """Value to its attribute and label."""
    offsets: Offsets
    """Person ``i`` has ``codes[offsets[i]:offsets[i + 1]]``, each value once."""
    codes: Codes
    """Values."""
    counts: Counts
    """How many persons of a group have the value; 1 for a person."""

    @classmethod
    def of(cls, table: EventTable) -> Values:
        """Collect the protected values that each person has in any event."""
        names = table.protected_values
        codes, offsets = table.values_of_persons(names)
        return cls(names, offsets, codes, np.ones(len(codes), np.int64))

    @cached_property
    def totals(self) -> Counts:
        """Value to the number of persons who have it."""
        return np.bincount(self.codes, self.counts, minlength=len(self.names)).astype(np.int64)

    def only(self, is_kept: Mask) -> Values:
        """Leave out the values that are not kept; they keep their codes."""
        kept = is_kept[self.codes]
        before = np.concatenate([[0], np.cumsum(kept)])
        return Values(self.names, before[self.offsets], self.codes[kept], self.counts[kept])

    def fold(self, group_of_row: Codes, n_groups: int) -> Values:
        """Add up the persons of each group."""
        size = max(len(self.names), 1)
        owners = np.repeat(group_of_row.astype(np.int64), np.diff(self.offsets))
        keys, place = np.unique(owners * size + self.codes, return_inverse=True)
        return Values(
            self.names,
            np.searchsorted(keys, np.arange(n_groups + 1) * size),
            (keys % size).astype(np.int32),
            np.bincount(place, self.counts, minlength=len(keys)).astype(np.int64),
        )


@dataclass(frozen=True, eq=False)
class Histories:
    """Rows of events, each a row of cells; a row stands for one person or for several with equal cells."""

    cells: Codes
    """The node of every cell, event by event; `HIDDEN` where nothing can be known."""
    offsets: Offsets
    """Row ``r`` has the events ``offsets[r]`` to ``offsets[r + 1]``."""
    n_quasi: int
    """Cells of an event."""
    weights: Counts
    """Persons behind each row."""
    risks: Counts
    """Those of them with at least one protected value."""
    values: Values
    """Their protected values."""

    @classmethod
    def of(cls, table: EventTable, axes: Axes) -> Histories:
        """Read the cells of a table, one row per person.

        In a column that is a quasi-identifier and sensitive, protected values are what somebody wants to
        learn, and not what they know; what is above them is known, if that is not the root.
        """
        sequences = table.sequences
        columns = []
        for axis in axes.each:
            labels = sequences.codebooks[axis.name].labels
            node_of = axis.tree.nodes(labels) if labels else np.empty(0, np.int32)
            node_of[axis.is_hidden[node_of]] = HIDDEN
            columns.append(node_of[sequences.columns[axis.name]])
        values = Values.of(table)
        return cls(
            np.stack(columns, axis=1).reshape(-1),
            table.person_offsets.astype(np.int64),
            len(axes),
            np.ones(table.n_persons, np.int64),
            (np.diff(values.offsets) > 0).astype(np.int64),
            values,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        return int(self.weights.sum())

    def fold(self) -> tuple[Histories, Codes]:
        """Make one row of equal ones; the second answer leads from each row to its new one."""
        n_quasi = self.n_quasi
        group_of_row, first_rows = kernels.rows.fold_rows(self.cells, self.offsets * n_quasi)
        cells, offsets = gather_rows(self.cells, self.offsets * n_quasi, first_rows)
        n_groups = len(first_rows)
        return (
            Histories(
                cells,
                offsets // n_quasi,
                n_quasi,
                np.bincount(group_of_row, self.weights, minlength=n_groups).astype(np.int64),
                np.bincount(group_of_row, self.risks, minlength=n_groups).astype(np.int64),
                self.values.fold(group_of_row, n_groups),
            ),
            group_of_row,
        )

    def translate(self, shown: list[Codes]) -> Histories:
        """Show each cell as what `shown` leads to, per quasi-identifier from node to node or `HIDDEN`."""
        cells = self.cells.reshape(-1, self.n_quasi)
        columns = [
            np.where(cells[:, q] < 0, np.int32(HIDDEN), nodes[cells[:, q]]) for q, nodes in enumerate(shown)
        ]
        return replace(self, cells=np.stack(columns, axis=1).reshape(-1))

    def only_with(self, is_wanted: Mask, axes: Axes) -> Histories:
        """Keep the rows with a wanted item at or above one of their cells, and fold them."""
        above = is_wanted.copy()
        for item in range(len(above)):  # Ancestors come first.
            parent = axes.parents[item]
            above[item] |= parent >= 0 and above[parent]
        cells = self.cells.reshape(-1, self.n_quasi)
        is_hit = (above[axes.firsts + np.maximum(cells, 0)] & (cells >= 0)).any(axis=1)
        hits = np.concatenate([[0], np.cumsum(is_hit)])[self.offsets]
        kept = np.flatnonzero(np.diff(hits))
        return self.take(kept).fold()[0]

    def take(self, rows: Counts) -> Histories:
        """Give some of the rows."""
        cells, offsets = gather_rows(self.cells, self.offsets * self.n_quasi, rows)
        sizes = np.diff(self.values.offsets)[rows]
        offsets_of_values = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        place = np.arange(offsets_of_values[-1]) + np.repeat(
            self.values.offsets[rows] - offsets_of_values[:-1], sizes
        )
        values = Values(
            self.values.names, offsets_of_values, self.values.codes[place], self.values.counts[place]
        )
        return Histories(
            cells, offsets // self.n_quasi, self.n_quasi, self.weights[rows], self.risks[rows], values
        )

    def count_items(self, node: Signature, axes: Axes) -> Counts:
        """Give for each item the number of persons who have it when the table is released at a node."""
        cells = self.cells.reshape(-1, self.n_quasi)
        rows = np.repeat(np.arange(self.n_rows), np.diff(self.offsets))
        counts = np.zeros(axes.n_items, np.int64)
        for q, (axis, level) in enumerate(zip(axes.each, node, strict=True)):
            if level < axis.height:
                shown = cells[:, q] >= 0
                pairs = np.unique(rows[shown] * axis.n_nodes + axis.cuts[level][cells[shown, q]])
                row, item = np.divmod(pairs, axis.n_nodes)
                counts[axis.first : axis.first + axis.n_nodes] = np.bincount(
                    item, self.weights[row], minlength=axis.n_nodes
                )
        return counts

    def without_harmless(self, k: int, c: float) -> Histories:
        """Forget protected values so rare that no `k` persons can have them in more than the share `c`."""
        harmful = exceeds_share(self.values.totals, c, k)
        if harmful.all():
            return self
        values = self.values.only(harmful)
        # A row of several persons may keep some of its values: count anew only where it stands for one.
        risks = np.where(
            self.weights == 1,
            np.diff(values.offsets) > 0,
            np.where(np.diff(values.offsets) > 0, self.risks, 0),
        )
        return Histories(self.cells, self.offsets, self.n_quasi, self.weights, risks.astype(np.int64), values)
