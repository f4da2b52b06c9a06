"""Continue a series: levels are given, and what is new is suppressed or held back until the promise holds.

What was published stays. So of the accumulated table only the new cells and events can change: a cell can
become a star, and a person's new events can be held back from one of them on, so that what comes later stays
in order. Each step shows less that is new. Without anything new the table is the one before, which keeps the
promise; and where the promise is broken, some new event of those concerned is shown (docs/series.md has the
proof). So the search ends, and always with a release.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from sequester import kernels
from sequester.engine import part
from sequester.errors import InputError, UnattainableError
from sequester.hierarchies.labels import ROOT
from sequester.kernels.shares import exceeds_share
from sequester.methods.halt import _series_kernels as kernel
from sequester.methods.halt.algorithm import rules_of
from sequester.methods.halt.costs import LatticeCosts
from sequester.methods.halt.elimination import StepProgress
from sequester.methods.halt.extraction import Extraction, TooMuchError, Work
from sequester.methods.halt.histories import HIDDEN, RowOwners, WeightedRows
from sequester.methods.halt.local import LocalDraft
from sequester.methods.halt.local_rows import Cause, LocalRows
from sequester.methods.halt.quasi_identifiers import QuasiIdentifier, QuasiIdentifiers
from sequester.privacy.views import secret_nodes
from sequester.ragged import gather_rows, offsets_of, owners_of, places_of
from sequester.release.certificate import rebuild_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester._typing import Codes, Counts, Mask
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.methods.halt.arrivals import Arrivals
    from sequester.methods.halt.extraction import Channels
    from sequester.methods.halt.quasi_identifiers import Signature
    from sequester.methods.halt.signature_rows import Thresholds
    from sequester.privacy.confidence import Channel
    from sequester.privacy.kcp import KCPPrivacy
    from sequester.release.series import Series

NOT_CUT = np.iinfo(np.int64).max
PHASE = "holding back what gives away"


@dataclass(frozen=True, eq=False)
class ContinuedDraft(LocalDraft):
    """What of the new events is released, at the levels of the series."""

    n_kept: Counts
    """Person of the new table to how many of their events there are released, from the first on."""
    held_for: tuple[Channel | None, ...]
    """And to the channel that held back the others; None where none are."""
    kept_causes: Codes
    """For each released event and column the place of what it was suppressed for, -1 for nothing."""

    def causes(self, offsets: Counts) -> tuple[Codes, list[Channel]]:
        """Return what each cell was suppressed for, -1 for nothing, and these channels."""
        del offsets
        return self.kept_causes, [cause.channel(self.rows.quasi) for cause in self.rows.causes]


@dataclass(eq=False)
class SeriesRows(LocalRows):
    """Rows of an accumulated table: first those with something new, one per person, then all others."""

    n_open: int = 0
    """Rows with something new."""
    cuts: Counts = field(init=False)
    """Row to the cell from which it is held back; beyond all cells where it is not."""
    held_for: dict[int, Cause] = field(default_factory=dict)
    """Row to what it was held back for."""
    _listed: list[Cause] = field(default_factory=list)

    def __post_init__(self) -> None:
        LocalRows.__post_init__(self)
        self.cuts = np.full(self.n_open, NOT_CUT)

    @property
    def n_free(self) -> int:
        """Rows in which anything can be suppressed; they come first."""
        return self.n_open

    def settle_new(self, *, suppress: bool) -> None:
        """Suppress new cells, then hold back new events, until at least k persons show all that is shown."""
        is_changed = True
        while is_changed:
            while suppress and self._sweep(1.0, with_stars=False):
                pass
            # A star that nobody joins is held back: to suppress cells of others would cost them more.
            is_changed = (suppress and self._sweep(1.0, with_stars=True)) or self._cut_rare() > 0

    def _cut_rare(self) -> int:
        places = np.full(self.n_open, NOT_CUT)
        causes = np.zeros(self.n_open, np.int64)
        n_cut: int = kernel.cut_rare(self._shown, self.n_open, places, causes)
        for row in np.flatnonzero(places < NOT_CUT).tolist():
            cause = self._cause(int(causes[row]))
            # It shows it no more.
            self._note_cut(row, int(places[row]), Cause(cause.items, cause.kinds, cause.persons + 1))
        return n_cut

    def cut(self, row: int, place: int, cause: Cause) -> None:
        """Hold back a row from the event of a cell on."""
        kernel.cut_row(self._shown, row, place)
        self._note_cut(row, place, cause)

    def _note_cut(self, row: int, place: int, cause: Cause) -> None:
        begin = place - place % len(self.quasi)
        self.cuts[row] = begin
        # A star is what was done about a channel, which says more.
        because = self.cause_of[begin : begin + len(self.quasi)].max()
        if because >= len(self._listed):
            self._listed = list(self.causes)
        self.held_for[row] = cause if because < 0 else self._listed[because]
        self.cause_of[begin : self.offsets[row + 1]] = -1

    def matches(self, cause: Cause, rows: Counts, stops: Counts) -> Mask:
        """Mark the rows that show a channel before some cells."""
        found = np.zeros(len(rows), np.bool_)
        kernel.match_rows(self._shown, rows, stops, self.pattern(cause), found)
        return found

    def end_of(self, cause: Cause, row: int) -> int:
        """Return the cell at which a row first completes a channel."""
        return int(kernel.find_end(self._shown, row, self.pattern(cause)))


@dataclass(frozen=True, eq=False)
class Accumulated:
    """The accumulated table with all that is new, as rows: those of `SeriesRows`."""

    items: Codes
    """The item of each cell, row by row."""
    offsets: Counts
    """Row ``r`` has the cells from ``offsets[r]`` to ``offsets[r + 1]``."""
    weights: Counts
    """Persons of each row."""
    is_locked: Mask
    """Cell to whether it may not be suppressed."""
    first_new: Counts
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
        n_open = len(self.first_new)
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


class Continuation:
    """Finds out what of the new events can be released at the levels of a series."""

    def __init__(
        self,
        arrivals: Arrivals,
        past: Series,
        model: KCPPrivacy,
        thresholds: Thresholds,
        *,
        suppress: bool,
        stars: bool,
        engine: Engine,
    ) -> None:
        """Lay new events behind those that were released."""
        self._new = new = arrivals.table
        self._thresholds, self._suppress, self._engine = thresholds, suppress, engine
        trees = {name: tree.to_frame() for name, tree in new.hierarchies.items()}
        before = rebuild_table(past.tables, past.certified, trees).histories
        before = before.replace(hierarchies=new.hierarchies)
        self.quasi = _quasi_identifiers(before, new, model.protect)
        self._is_blank = [before.labels[column.name] == [ROOT] for column in self.quasi.columns]
        self.node: Signature = tuple(
            column.height if blank else max(column.height - past.depths[column.name], 0)
            for column, blank in zip(self.quasi.columns, self._is_blank, strict=True)
        )
        self._names = tuple((name, label) for name, labels in model.protect.items() for label in labels)
        table = self._accumulate(before, arrivals, model, stars=stars).shared(thresholds.k)
        self._held, self._sets, self._first_new = table.held, table.sets, table.first_new
        self._forbidden = table.forbidden
        self.rows = SeriesRows(
            quasi=self.quasi,
            items=table.items,
            offsets=table.offsets,
            weights=table.weights,
            is_locked=table.is_locked,
            prices=self._costs.prices(self.node),
            stars=stars,
            k=thresholds.k,
            p=thresholds.p,
            work=Work(),
            n_open=len(table.first_new),
        )
        # New persons count only as long as something of them is shown.
        self._is_entering = self._first_new == self.rows.offsets[: self.rows.n_open]
        self._weights = self.rows.weights[: self.rows.n_open].copy()

    def _accumulate(
        self, before: EventTable, arrivals: Arrivals, model: KCPPrivacy, *, stars: bool
    ) -> Accumulated:
        """Make one row of each person with something new, and fold equal ones of all others."""
        new, n_columns = arrivals.table, len(self.quasi)
        old_source, new_source = (
            self._read(each, model, stars=stars, is_new=each is new) for each in (before, new)
        )
        place_of = {name: place for place, name in enumerate(before.persons.to_list())}
        numbers = np.array([place_of.get(name, -1) for name in arrivals.pseudonyms.to_list()], np.int64)
        known = np.flatnonzero(numbers >= 0)
        own = np.ones(new.n_events, np.bool_)
        if new.of_persons:
            # Attributes of known persons were released before.
            own[new.person_offsets[known]] = False
        self._own_events = np.flatnonzero(own)
        old, old_offsets = gather_rows(np.arange(before.n_events), before.person_offsets, numbers[known])
        owners = np.concatenate(
            [known[owners_of(old_offsets)], owners_of(new.person_offsets)[self._own_events]]
        )
        order = np.argsort(owners, kind="stable")
        parts = old_source.take(old), new_source.take(self._own_events)
        owners, is_old = owners[order], order < len(old)
        offsets = offsets_of(np.bincount(owners, minlength=new.n_persons)) * n_columns
        held = [np.empty((0, 3), np.int64)]
        for codes in map(np.concatenate, zip(*(each.values for each in parts), strict=True)):
            at = np.flatnonzero(codes[order] >= 0)
            held.append(np.column_stack([owners[at], codes[order][at], at * n_columns]))
        together = np.concatenate(held)
        is_closed = np.ones(before.n_persons, np.bool_)
        is_closed[numbers[known]] = False
        closed, closed_offsets, weights, sets = self._fold(
            before, old_source, np.flatnonzero(is_closed), model
        )
        items, locked, forbidden = (
            np.concatenate([getattr(each, name) for each in parts])[order]
            for name in ("items", "is_locked", "is_forbidden")
        )
        return Accumulated(
            items=np.concatenate([items.reshape(-1), closed]),
            offsets=np.concatenate([offsets, offsets[-1] + closed_offsets[1:]]),
            weights=np.concatenate([np.ones(new.n_persons, np.int64), weights]),
            is_locked=np.concatenate([locked.reshape(-1), np.ones(len(closed), np.bool_)]),
            first_new=offsets[:-1] + n_columns * np.bincount(owners[is_old], minlength=new.n_persons),
            held=together[np.lexsort((together[:, 2], together[:, 0], together[:, 1]))],
            sets=sets,
            forbidden=n_columns * np.flatnonzero(forbidden),
        )

    def _read(self, table: EventTable, model: KCPPrivacy, *, stars: bool, is_new: bool) -> TableItems:
        """Read the items of a table at the levels of the series, and its protected values."""
        histories = WeightedRows.of(table, self.quasi)
        is_allowed = np.zeros(self.quasi.n_items, np.bool_)
        if is_new:
            rules = rules_of(table, self.quasi, histories, suppress=self._suppress, stars=stars)
            is_allowed = rules.is_allowed & self._suppress
            weights = tuple(each.weight for each in table.schema.quasi.values())
            self._costs = LatticeCosts(histories, self.quasi, weights)
        items = np.full(histories.cells.shape, HIDDEN, np.int32)
        is_locked = np.ones(items.shape, np.bool_)
        is_forbidden = np.zeros(len(items), np.bool_)
        for q, (column, level) in enumerate(zip(self.quasi.columns, self.node, strict=True)):
            cells = histories.cells[:, q]
            if self._is_blank[q]:
                is_forbidden |= is_new & (cells == HIDDEN)
                continue
            shown = column.first + column.shown_at(level)
            # A star of an earlier part stands at the root.
            shown[0] = column.first + column.star
            if not stars:
                shown[shown == column.first + column.star] = HIDDEN
            items[:, q] = np.where(cells >= 0, shown[cells], HIDDEN)
            is_locked[:, q] = ~is_allowed[column.first + np.maximum(cells, 0)]
        values = table.sequences.number_values(self._names, model.columns)
        return TableItems(items, is_locked, is_forbidden, values)

    def _fold(
        self, before: EventTable, source: TableItems, persons: Counts, model: KCPPrivacy
    ) -> tuple[Codes, Counts, Counts, tuple[Codes, Counts]]:
        """Fold equal persons of the past: cells, where rows begin, persons of each, and protected values."""
        n_columns = len(self.quasi)
        cells, offsets = gather_rows(source.items.reshape(-1), before.person_offsets * n_columns, persons)
        codes, code_offsets = before.sequences.values_of_persons(self._names, model.columns)
        sets, set_offsets = gather_rows(codes, code_offsets, persons)
        kinds, _ = kernels.rows.fold_rows(sets, set_offsets)
        rows, _ = kernels.rows.fold_rows(cells, offsets)
        keys = rows.astype(np.int64) * (int(kinds.max(initial=0)) + 1) + kinds
        _, firsts, counts = np.unique(keys, return_index=True, return_counts=True)
        folded, folded_offsets = gather_rows(cells, offsets, firsts)
        return folded, folded_offsets, counts.astype(np.int64), gather_rows(sets, set_offsets, firsts)

    def solve(self, progress: Progress) -> ContinuedDraft:
        """Suppress and hold back until the accumulated table keeps the promise."""
        progress(0.0, PHASE)
        rows, p = self.rows, self._thresholds.p
        try:
            # A rare value goes first: what is held back with it makes nothing rare any more.
            for length in range(1, p + 1):
                rows.count_up_to(length)
                self._cut_forbidden()
                rows.settle_new(suppress=self._suppress)
            if self._suppress:
                rows.give_back()
            steps = StepProgress(part(progress, 0.2, 1.0))
            while True:
                self._count_entering()
                channels = self._find_channels(steps.next())
                if not channels:
                    return self._draft()
                for cause in channels:
                    self._break(cause)
                rows.settle_new(suppress=self._suppress)
        except TooMuchError:
            msg = f"a history has too many values to be counted with p = {p:,}: a series needs a smaller p"
            raise UnattainableError(msg, achieved={}) from None

    def _cut_forbidden(self) -> None:
        """Hold back what would show a value in a column of which nothing was ever shown."""
        rows = self.rows
        for place in self._forbidden.tolist():
            row = int(np.searchsorted(rows.offsets, place, side="right")) - 1
            if place < rows.cuts[row]:
                rows.cut(row, place, Cause((), 0, 1))

    def _count_entering(self) -> None:
        """Count new persons of whom nothing is shown as nobody."""
        rows = self.rows
        is_gone = self._is_entering & (rows.cuts <= rows.offsets[: rows.n_open])
        rows.weights[: rows.n_open] = np.where(is_gone, 0, self._weights)

    def _find_channels(self, progress: Progress) -> list[Cause]:
        """List what tells a protected value too surely, the least knowledge first."""
        rows, thresholds, n_columns = self.rows, self._thresholds, len(self.quasi)
        held = self._held[self._held[:, 2] < rows.cuts[self._held[:, 0]]]
        pairs = np.unique(held[:, :2], axis=0)
        codes, code_offsets = self._sets
        # Open rows come before all others.
        holders = np.concatenate([pairs[:, 0], rows.n_open + owners_of(code_offsets)])
        values = np.concatenate([pairs[:, 1], codes.astype(np.int64)])
        counts = rows.weights[holders]
        n_persons = int(rows.weights.sum())
        totals = np.bincount(values, counts, minlength=len(self._names)).astype(np.int64)
        found = [
            Cause((), 0, n_persons, value, int(totals[value]), self._names)
            for value in np.flatnonzero(exceeds_share(totals, thresholds.c, n_persons)).tolist()
        ]
        offsets = np.searchsorted(holders, np.arange(len(rows.weights) + 1)).astype(np.int64)
        risks = np.where(np.diff(offsets) > 0, rows.weights, 0)
        persons = RowOwners(rows.weights, risks, self._names, offsets, values.astype(np.int32), counts)
        persons = persons.without_harmless(thresholds.k, thresholds.c)
        has_secrets = any(column.is_secret.any() for column in self.quasi.columns)
        if found or not (len(persons.values) or has_secrets):
            return found
        cells, node = rows.cells.reshape(-1, n_columns).copy(), list(self.node)
        for q, column in enumerate(self.quasi.columns):
            own = cells[:, q]
            if (own == column.first + column.star).any():
                node[q] = min(node[q], column.height - 1)
            own[own >= 0] -= column.first
        histories = WeightedRows(cells, rows.offsets // n_columns, persons).fold()
        extraction = Extraction(histories, self.quasi, thresholds, self._engine)
        for _ in extraction.deepen(tuple(node), progress=progress):
            pass
        channels = sorted(extraction.known(tuple(node)), key=lambda each: each.items.shape[1])
        return [cause for each in channels for cause in _causes(each)]

    def _break(self, cause: Cause) -> None:
        """Let fewer persons show a protected value with what is known: suppress, or hold back.

        Somebody who showed both before cannot be changed, and there are too few of them to break the promise.
        """
        rows, c = self.rows, self._thresholds.c
        held = self._held[self._held[:, 1] == cause.value]
        held = held[held[:, 2] < rows.cuts[held[:, 0]]]
        holders, firsts = np.unique(held[:, 0], return_index=True)
        value_at = held[firsts, 2]
        shows = rows.shows(cause) if cause.items else rows.weights > 0
        n_shown = int(rows.weights[shows].sum())
        if n_shown < self._thresholds.k:
            # Nobody showed it before. What is above a protected value is counted here for the first time.
            for row in np.flatnonzero(shows).tolist():
                if not self._suppress or rows.break_channel(cause, np.array([row]), 1) < 0:
                    rows.cut(row, rows.end_of(cause, row), cause)
            return
        is_here = shows[holders]
        holders, value_at = holders[is_here], value_at[is_here]
        codes, code_offsets = self._sets
        closed = rows.n_open + owners_of(code_offsets)[codes == cause.value]
        n_high = int(rows.weights[closed[shows[closed]]].sum()) + len(holders)
        first_new = self._first_new[holders]
        in_past = np.ones(len(holders), np.bool_)
        if cause.items:
            in_past = rows.matches(cause, holders, first_new)
        is_value_new = value_at >= first_new
        # Only a cell is lost where a star can break it; otherwise, those who lose least come first.
        can_star = ~in_past & self._suppress
        lost = rows.offsets[holders + 1] - np.where(is_value_new, value_at, first_new)
        for i in np.lexsort((lost, ~can_star)).tolist():
            if not exceeds_share(n_high, c, n_shown):
                return
            if in_past[i] and not is_value_new[i]:
                continue
            row, alone = int(holders[i]), holders[i : i + 1]
            n_high -= 1
            if can_star[i] and rows.break_channel(cause, alone, 1) > 0:
                n_shown -= 1
                continue
            place = int(value_at[i]) if is_value_new[i] else -1
            if not in_past[i]:
                place = max(place, rows.end_of(cause, row))
            rows.cut(row, place, cause)
            if cause.items:
                n_shown -= not rows.matches(cause, alone, rows.offsets[alone + 1])[0]
            else:
                self._count_entering()
                n_shown = int(rows.weights.sum())

    def _draft(self) -> ContinuedDraft:
        """Return what of the new table is released, and why the rest is not."""
        rows, new, n_columns = self.rows, self._new, len(self.quasi)
        owners = owners_of(new.person_offsets)[self._own_events]
        n_fresh = np.bincount(owners, minlength=new.n_persons)
        places = self._first_new[owners] + places_of(offsets_of(n_fresh)) * n_columns
        is_kept = places < rows.cuts[owners]
        causes = np.full((new.n_events, n_columns), -1, np.int32)
        causes[self._own_events[is_kept]] = rows.cause_of[places[is_kept][:, None] + np.arange(n_columns)]
        n_own = np.bincount(owners[is_kept], minlength=new.n_persons)
        # Attributes that were released before stand before the new events, as long as there are any.
        n_kept = np.where(n_own > 0, n_own + np.diff(new.person_offsets) - n_fresh, 0)
        is_released = places_of(new.person_offsets) < n_kept[owners_of(new.person_offsets)]
        return ContinuedDraft(
            node=self.node,
            rows=rows,
            row_of_person=np.arange(new.n_persons),
            loss=0.0,
            n_kept=n_kept,
            held_for=tuple(
                rows.held_for[row].channel(self.quasi) if row in rows.held_for else None
                for row in range(rows.n_open)
            ),
            kept_causes=causes[is_released],
        )


def _causes(channels: Channels) -> list[Cause]:
    """Write channels as what a cell or an event is given up for."""
    return [
        Cause(
            tuple(channels.items[row].tolist()),
            int(channels.kinds[row]),
            int(channels.supports[row]),
            int(channels.values[row]),
            int(channels.highs[row]),
            channels.names,
        )
        for row in range(len(channels))
    ]


def _quasi_identifiers(
    before: EventTable, new: EventTable, protect: Mapping[str, Sequence[str]]
) -> QuasiIdentifiers:
    """Number the items of both tables; a node is secret only if it is in both."""
    columns, first = [], 0
    for name in new.schema.quasi:
        tree = new.hierarchies[name]
        is_secret = secret_nodes(before, name, protect) & secret_nodes(new, name, protect)
        columns.append(QuasiIdentifier(name, tree, first, np.append(is_secret, False)))
        first += len(tree) + 1
    return QuasiIdentifiers(tuple(columns))


def joined_promise(model: KCPPrivacy, new: EventTable, past: Series) -> KCPPrivacy:
    """Return the promise about the accumulated table: whatever a part protects is protected in all.

    Raises
    ------
    InputError
        If an earlier part released a value, unprotected, that is to be protected now.
    """
    asked = model.about(new)
    before = cast("Mapping[str, Sequence[str]]", past.certified.claim.get("protect", {}))
    protect = {
        name: tuple(dict.fromkeys((*before.get(name, ()), *labels))) for name, labels in asked.protect.items()
    }
    lines = []
    for name, labels in protect.items():
        for column in asked.columns.get(name, (name,)):
            table = next(each for each in past.tables.values() if column in each.columns)
            shown = set(table[column].unique().to_list()) & set(labels) - set(before.get(name, ()))
            lines += [
                f"sensitive.{name}.protect has {label!r}, which an earlier part released unprotected: a "
                "series keeps its protected values, and takes in only values that are new"
                for label in sorted(shown)
            ]
    if lines:
        raise InputError(*lines)
    return replace(asked, protect=protect)
