"""The accumulated table of a series as rows: what was released, and everything new behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester import kernels
from sequester.hierarchies.labels import ROOT
from sequester.methods.halt.algorithm import rules_of
from sequester.methods.halt.costs import LatticeCosts
from sequester.methods.halt.histories import HIDDEN, WeightedRows, read_nodes
from sequester.methods.halt.quasi_identifiers import QuasiIdentifier, QuasiIdentifiers
from sequester.methods.prices import price_nodes
from sequester.privacy.views import secret_nodes
from sequester.ragged import gather_rows, offsets_of, owners_of
from sequester.release.certificate import rebuild_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask
    from sequester.data.table import EventTable
    from sequester.methods.halt.arrivals import Arrivals
    from sequester.methods.halt.quasi_identifiers import Signature
    from sequester.privacy.kcp import KCPPrivacy
    from sequester.release.series import Series

    Amounts = npt.NDArray[np.float64]
    Protect = Mapping[str, Sequence[str]]


@dataclass(frozen=True, eq=False)
class SeriesLevels:
    """The items of all parts, and the levels that the first part chose."""

    quasi: QuasiIdentifiers
    """Items of both tables."""
    node: Signature
    """The level of each quasi-identifier."""
    is_blank: tuple[bool, ...]
    """Quasi-identifier to whether nothing of it was ever shown."""

    @classmethod
    def of(
        cls, before: EventTable, new: EventTable, depths: Mapping[str, int], protect: Protect
    ) -> SeriesLevels:
        """Number the items of both tables; a node is secret only if it is in both."""
        columns, first = [], 0
        for name in new.schema.quasi:
            tree = new.hierarchies[name]
            is_secret = secret_nodes(before, name, protect) & secret_nodes(new, name, protect)
            columns.append(QuasiIdentifier(name, tree, first, np.append(is_secret, False)))
            first += len(tree) + 1
        is_blank = tuple(before.labels[column.name] == [ROOT] for column in columns)
        node = tuple(
            column.height if blank else max(column.height - depths[column.name], 0)
            for column, blank in zip(columns, is_blank, strict=True)
        )
        return cls(QuasiIdentifiers(tuple(columns)), node, is_blank)

    def read(self, cells: Codes, is_allowed: Mask | None, *, stars: bool) -> tuple[Codes, Mask, Mask]:
        """Return the items of cells, which may not be suppressed, and events that show what is never shown.

        `is_allowed` says it for items of new events; it is None for released ones.
        """
        items = np.full(cells.shape, HIDDEN, np.int32)
        is_locked = np.ones(items.shape, np.bool_)
        is_forbidden = np.zeros(len(items), np.bool_)
        for q, (column, level) in enumerate(zip(self.quasi.columns, self.node, strict=True)):
            own = cells[:, q]
            if self.is_blank[q]:
                is_forbidden |= (is_allowed is not None) & (own == HIDDEN)
                continue
            shown = column.first + column.shown_at(level)
            # A star of an earlier part stands at the root.
            shown[0] = column.first + column.star
            if not stars:
                shown[shown == column.first + column.star] = HIDDEN
            items[:, q] = np.where(own >= 0, shown[own], HIDDEN)
            if is_allowed is not None:
                is_locked[:, q] = ~is_allowed[column.first + np.maximum(own, 0)]
        return items, is_locked, is_forbidden


@dataclass(frozen=True, eq=False)
class TableItems:
    """What one of the two tables adds: items, which may be suppressed, and protected values."""

    items: Codes
    is_locked: Mask
    is_forbidden: Mask
    values: list[Counts]

    def take(self, events: Counts) -> TableItems:
        """Return some of the events."""
        return TableItems(
            self.items[events],
            self.is_locked[events],
            self.is_forbidden[events],
            [each[events] for each in self.values],
        )


@dataclass(frozen=True, eq=False)
class Accumulated:
    """The accumulated table with all that is new, as rows: those of `SeriesRows`."""

    levels: SeriesLevels
    """The levels of its columns."""
    names: tuple[tuple[str, str], ...]
    """Protected value to its attribute and label."""
    own_events: Counts
    """The events of the new table without attributes of known persons, which were released before."""
    prices: Amounts
    """Item to the cost of its suppression in one new cell."""
    items: Codes
    """The item of each cell, row by row."""
    offsets: Counts
    """Row ``r`` has the cells from ``offsets[r]`` to ``offsets[r + 1]``."""
    weights: Counts
    """Persons of each row."""
    is_locked: Mask
    """Cell to whether it may not be suppressed."""
    starts: Counts
    """Row with something new to its first new cell."""
    held: Counts
    """Protected values of such rows: row, value and first cell of its event, in the order of values."""
    sets: tuple[Codes, Counts]
    """Protected values of all other rows, each once, and where those of each row begin."""
    forbidden: Counts
    """Cells that would show a value in a column of which nothing was ever shown."""

    def shared(self, k: int) -> Accumulated:
        """Let one row stand for new ones that are equal, where `k` persons or more have no protected value.

        Nothing in such a row is ever rare, whatever becomes of others, and it tells nothing that is
        protected: there is nothing to change in it.
        """
        n_open = len(self.starts)
        offsets = self.offsets[: n_open + 1]
        is_free = np.ones(n_open, np.bool_)
        is_free[self.held[:, 0]] = False
        is_free[np.searchsorted(offsets, self.forbidden, side="right") - 1] = False
        groups, _ = kernels.rows.fold_rows(self.items[: offsets[-1]], offsets)
        sizes = np.bincount(groups[is_free], minlength=int(groups.max(initial=-1)) + 1)
        members = np.flatnonzero(is_free & (sizes[groups] >= k))
        _, firsts = np.unique(groups[members], return_index=True)
        weights, items, is_locked = self.weights.copy(), self.items.copy(), self.is_locked.copy()
        weights[members] = 0
        weights[members[firsts]] = sizes[groups[members[firsts]]]
        is_member = np.zeros(n_open, np.bool_)
        is_member[members] = True
        is_locked[: offsets[-1]] |= np.repeat(is_member, np.diff(offsets))
        is_member[members[firsts]] = False
        items[: offsets[-1]][np.repeat(is_member, np.diff(offsets))] = HIDDEN
        return replace(self, items=items, weights=weights, is_locked=is_locked)


def accumulate(
    arrivals: Arrivals, past: Series, model: KCPPrivacy, *, suppress: bool, stars: bool
) -> Accumulated:
    """Make one row of each person with something new, and fold equal ones of all others."""
    new = arrivals.table
    trees = {name: tree.to_frame() for name, tree in new.hierarchies.items()}
    before = rebuild_table(past.tables, past.certified, trees).histories
    before = before.replace(hierarchies=new.hierarchies)
    levels = SeriesLevels.of(before, new, past.depths, model.protect)
    n_columns = len(levels.quasi)
    names = tuple((name, label) for name, labels in model.protect.items() for label in labels)
    histories = WeightedRows.of(new, levels.quasi)
    rules = rules_of(new, levels.quasi, histories, suppress=suppress, stars=stars)
    old_source = TableItems(
        *levels.read(read_nodes(before, levels.quasi), None, stars=stars),
        before.sequences.number_values(names, model.columns),
    )
    new_source = TableItems(
        *levels.read(histories.cells, rules.is_allowed & suppress, stars=stars),
        new.sequences.number_values(names, model.columns),
    )
    places = before.persons.alias("who").to_frame().with_row_index("place")
    found = (
        arrivals.pseudonyms.alias("who").to_frame().join(places, on="who", how="left", maintain_order="left")
    )
    numbers = found["place"].cast(pl.Int64).fill_null(-1).to_numpy()
    known = np.flatnonzero(numbers >= 0)
    own = np.ones(new.n_events, np.bool_)
    if new.of_persons:
        own[new.person_offsets[known]] = False
    own_events = np.flatnonzero(own)
    old, old_offsets = gather_rows(np.arange(before.n_events), before.person_offsets, numbers[known])
    owners = np.concatenate([known[owners_of(old_offsets)], owners_of(new.person_offsets)[own_events]])
    order = np.argsort(owners, kind="stable")
    parts = old_source.take(old), new_source.take(own_events)
    owners, is_old = owners[order], order < len(old)
    offsets = offsets_of(np.bincount(owners, minlength=new.n_persons)) * n_columns
    held = [np.empty((0, 3), np.int64)]
    for codes in map(np.concatenate, zip(*(each.values for each in parts), strict=True)):
        at = np.flatnonzero(codes[order] >= 0)
        held.append(np.column_stack([owners[at], codes[order][at], at * n_columns]))
    together = np.concatenate(held)
    is_closed = np.ones(before.n_persons, np.bool_)
    is_closed[numbers[known]] = False
    values = before.sequences.values_of_persons(names, model.columns)
    closed, closed_offsets, n_persons, sets = _fold(
        old_source.items.reshape(-1), before.person_offsets * n_columns, values, np.flatnonzero(is_closed)
    )
    items, locked, forbidden = (
        np.concatenate([getattr(each, name) for each in parts])[order]
        for name in ("items", "is_locked", "is_forbidden")
    )
    return Accumulated(
        levels=levels,
        names=names,
        own_events=own_events,
        prices=LatticeCosts(histories, levels.quasi, *price_nodes(new)).prices(levels.node),
        items=np.concatenate([items.reshape(-1), closed]),
        offsets=np.concatenate([offsets, offsets[-1] + closed_offsets[1:]]),
        weights=np.concatenate([np.ones(new.n_persons, np.int64), n_persons]),
        is_locked=np.concatenate([locked.reshape(-1), np.ones(len(closed), np.bool_)]),
        starts=offsets[:-1] + n_columns * np.bincount(owners[is_old], minlength=new.n_persons),
        held=together[np.lexsort((together[:, 2], together[:, 0], together[:, 1]))],
        sets=sets,
        forbidden=n_columns * np.flatnonzero(forbidden),
    )


def _fold(
    items: Codes, item_offsets: Counts, values: tuple[Codes, Counts], persons: Counts
) -> tuple[Codes, Counts, Counts, tuple[Codes, Counts]]:
    """Fold equal ones of some persons: cells, where rows begin, persons of each, and protected values."""
    cells, offsets = gather_rows(items, item_offsets, persons)
    sets, set_offsets = gather_rows(*values, persons)
    kinds, _ = kernels.rows.fold_rows(sets, set_offsets)
    rows, _ = kernels.rows.fold_rows(cells, offsets)
    keys = rows.astype(np.int64) * (int(kinds.max(initial=0)) + 1) + kinds
    _, firsts, counts = np.unique(keys, return_index=True, return_counts=True)
    folded, folded_offsets = gather_rows(cells, offsets, firsts)
    return folded, folded_offsets, counts.astype(np.int64), gather_rows(sets, set_offsets, firsts)
