"""Continue a series: levels are given, and what is new is suppressed or held back until the promise holds.

What was published stays. So of the accumulated table only the new cells and events can change: a cell can
become a star, and a person's new events can be held back from one of them on, so that what comes later stays
in order. Each step shows less that is new. Without anything new the table is the one before, which keeps the
promise; and where the promise is broken, some new event of those concerned is shown (docs/series.md has the
proof). So the search ends, and always with a release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.engine import part
from sequester.errors import UnattainableError
from sequester.hierarchies.labels import ROOT
from sequester.kernels.rows import fold_rows, list_symbols
from sequester.kernels.shares import exceeds_share
from sequester.methods.halt import _match_kernels as kernel
from sequester.methods.halt._local_kernels import Past
from sequester.methods.halt.algorithm import rules_of
from sequester.methods.halt.elimination import LatticeCosts, StepProgress
from sequester.methods.halt.extraction import Cause, Channels, Extraction, TooMuchError, WorkBudget
from sequester.methods.halt.histories import HIDDEN, QuasiIdentifiers, RowOwners, WeightedRows, read_nodes
from sequester.methods.halt.local import LocalDraft, fold_pairs
from sequester.methods.halt.local_rows import LocalRows
from sequester.methods.prices import price_nodes
from sequester.ragged import append_rows, gather_rows, keep_values, offsets_of, owners_of, places_of
from sequester.release.certificate import rebuild_table

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask
    from sequester.engine import Engine, Progress
    from sequester.methods.halt.arrivals import Arrivals
    from sequester.methods.halt.histories import Signature
    from sequester.methods.halt.method import KCPMethod
    from sequester.privacy.kcp import KCPPrivacy
    from sequester.privacy.model import Channel
    from sequester.release.series import Series

NOT_CUT = np.iinfo(np.int64).max
MOST_PAIRS = 1 << 25
"""Pairs of items up to which those of the past are marked: some 64 MB."""


@dataclass(eq=False, kw_only=True)
class SeriesRows(LocalRows):
    """The accumulated table: first the rows with something new, one per person, then all others, folded."""

    node: Signature
    """The level of each quasi-identifier, which the first part chose."""
    names: tuple[tuple[str, str], ...]
    """Protected value to its attribute and label."""
    own_events: Counts
    """The events of the new table without attributes of known persons, which were released before."""
    starts: Counts
    """Row with something new to its first new cell."""
    held: Counts
    """Protected values of such rows: row, value and first cell of its event, in the order of values."""
    sets: tuple[Codes, Counts]
    """Protected values of all other rows, each once, and where those of each row begin."""
    forbidden: Counts
    """Cells that would show a value in a column of which nothing was ever shown."""
    cuts: Counts = field(init=False)
    """Row to the cell from which it is held back; beyond all cells where it is not."""
    held_for: dict[int, Cause] = field(default_factory=dict)
    """Row to what it was held back for."""
    _listed: list[Cause] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._share_rows()
        LocalRows.__post_init__(self)
        self.cuts = np.full(self.n_free, NOT_CUT)
        self._first_new = np.concatenate([self.starts, self.offsets[self.n_free + 1 :]])
        is_past = np.arange(len(self.items)) < np.repeat(self._first_new, np.diff(self.offsets))
        items, offsets = keep_values(self.items, self.offsets, is_past & (self.items >= 0))
        items, offsets = list_symbols(items, offsets, self.quasi.n_items)
        rows = owners_of(offsets)[np.argsort(items, kind="stable")].astype(np.int32)
        n_items = self.quasi.n_items if self.p == 2 and self.quasi.n_items**2 <= MOST_PAIRS else 0
        pairs = np.zeros((n_items, n_items, 2), np.bool_)
        if n_items:
            kernel.mark_pairs(self.items, self.offsets, self._first_new, len(self.quasi), pairs)
        item_offsets = offsets_of(np.bincount(items, minlength=self.quasi.n_items))
        self.past = Past(rows, item_offsets, pairs)

    def _share_rows(self) -> None:
        """Let one row stand for new ones that are equal, where k persons or more have no protected value.

        Nothing in such a row is ever rare, whatever becomes of others, and it tells nothing that is
        protected: there is nothing to change in it.
        """
        offsets = self.offsets[: self.n_free + 1]
        is_free = np.ones(self.n_free, np.bool_)
        is_free[self.held[:, 0]] = False
        is_free[np.searchsorted(offsets, self.forbidden, side="right") - 1] = False
        groups, _ = fold_rows(self.items[: offsets[-1]], offsets)
        sizes = np.bincount(groups[is_free], minlength=int(groups.max(initial=-1)) + 1)
        members = np.flatnonzero(is_free & (sizes[groups] >= self.k))
        _, firsts = np.unique(groups[members], return_index=True)
        self.weights[members] = 0
        self.weights[members[firsts]] = sizes[groups[members[firsts]]]
        is_member = np.zeros(self.n_free, np.bool_)
        is_member[members] = True
        self.is_locked[: offsets[-1]] |= np.repeat(is_member, np.diff(offsets))
        is_member[members[firsts]] = False
        self.items[: offsets[-1]][np.repeat(is_member, np.diff(offsets))] = HIDDEN

    @property
    def n_free(self) -> int:
        """Rows in which anything can be suppressed: those with something new, which come first."""
        return len(self.starts)

    @property
    def first_new(self) -> Counts:
        """Row to its first cell that was not released before."""
        return self._first_new

    def settle_new(self, *, suppress: bool) -> None:
        """Suppress new cells, then hold back new events, until at least k persons show all that is shown."""
        is_changed = True
        while is_changed:
            while suppress and self._sweep(1.0, math.inf, with_stars=False):
                pass
            # A star that nobody joins is held back: to suppress cells of others would cost them more.
            is_changed = (suppress and self._sweep(1.0, math.inf, with_stars=True)) or self._cut_rare() > 0

    def _cut_rare(self) -> int:
        places = np.full(self.n_free, NOT_CUT)
        causes = np.zeros(self.n_free, np.int64)
        n_cut: int = kernel.cut_rare(self._shown, self.past, self.n_free, places, causes)
        for row in np.flatnonzero(places < NOT_CUT).tolist():
            cause = self._cause(int(causes[row]))
            # It shows it no more.
            self._note_cut(row, int(places[row]), Cause(cause.items, cause.kinds, cause.persons + 1))
        return n_cut

    def cut(self, row: int, place: int, cause: Cause) -> None:
        """Hold back a row from the event of a cell on."""
        kernel.cut_row(self._shown, self.past, row, place)
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
        return np.isin(rows, self._match(self.pattern(cause), rows, stops)[0])

    def end_of(self, cause: Cause, row: int) -> int:
        """Return the cell at which a row first completes a channel."""
        pattern, end = self.pattern(cause), int(self.offsets[row + 1])
        while len(places := self._match(pattern, np.array([row]), np.array([end]))[2]):
            end = int(places[0, -1])
        return end


def accumulate(arrivals: Arrivals, past: Series, model: KCPPrivacy, method: KCPMethod) -> SeriesRows:
    """Make one row of each person with something new, and fold equal ones of all others."""
    new, suppress, stars = arrivals.table, method.suppression is not None, method.stars == "counted"
    trees = {name: tree.to_frame() for name, tree in new.hierarchies.items()}
    before = rebuild_table(past.tables, past.certified, trees).histories
    before = before.replace(hierarchies=new.hierarchies)
    quasi = QuasiIdentifiers.of(new, before, protect=model.protect)
    is_blank = [before.labels[column.name] == [ROOT] for column in quasi.columns]
    node = tuple(
        column.height if blank else max(column.height - past.depths[column.name], 0)
        for column, blank in zip(quasi.columns, is_blank, strict=True)
    )
    names = tuple((name, label) for name, labels in model.protect.items() for label in labels)
    histories = WeightedRows.of(new, quasi)
    rules = rules_of(new, quasi, histories, suppress=suppress, stars=stars)
    nodes = np.concatenate([read_nodes(before, quasi), histories.cells])
    items = _read_items(nodes, quasi, node, is_blank, stars=stars)
    places = before.persons.alias("who").to_frame().with_row_index("place")
    found = (
        arrivals.pseudonyms.alias("who").to_frame().join(places, on="who", how="left", maintain_order="left")
    )
    # Persons without a number are new.
    numbers = found["place"].fill_null(before.n_persons).cast(pl.Int64).to_numpy()
    is_own = np.ones(new.n_events, np.bool_)
    if new.of_persons:
        is_own[new.person_offsets[:-1][numbers < before.n_persons]] = False
    own_events, own_offsets = keep_values(np.arange(new.n_events), new.person_offsets, is_own)
    ends = np.append(before.person_offsets, before.n_events)
    old_events, old_offsets = gather_rows(np.arange(before.n_events), ends, numbers)
    events, offsets = append_rows(old_events, old_offsets, before.n_events + own_events, own_offsets)
    n_columns, owners, is_new = len(quasi), owners_of(offsets), events >= before.n_events
    is_locked = ~(is_new[:, None] & suppress & rules.is_allowed[quasi.firsts + np.maximum(nodes[events], 0)])
    is_locked[:, is_blank] = True
    is_forbidden = is_new & (nodes[events][:, is_blank] == HIDDEN).any(axis=1)
    held = [np.empty((0, 3), np.int64)]
    numbered = (each.sequences.number_values(names, model.columns) for each in (before, new))
    for codes in map(np.concatenate, zip(*numbered, strict=True)):
        at = np.flatnonzero(codes[events] >= 0)
        held.append(np.column_stack([owners[at], codes[events[at]], at * n_columns]))
    together = np.concatenate(held)
    is_closed = np.ones(before.n_persons + 1, np.bool_)
    is_closed[numbers] = False
    closed, closed_offsets, n_persons, sets = _fold(
        items[: before.n_events].reshape(-1),
        before.person_offsets * n_columns,
        before.sequences.values_of_persons(names, model.columns),
        np.flatnonzero(is_closed[:-1]),
    )
    return SeriesRows(
        quasi=quasi,
        items=np.concatenate([items[events].reshape(-1), closed]),
        offsets=np.concatenate([offsets * n_columns, offsets[-1] * n_columns + closed_offsets[1:]]),
        weights=np.concatenate([np.ones(new.n_persons, np.int64), n_persons]),
        is_locked=np.concatenate([is_locked.reshape(-1), np.ones(len(closed), np.bool_)]),
        prices=LatticeCosts(histories, quasi, *price_nodes(new)).prices(node),
        stars=stars,
        k=method.k,
        p=method.p,
        work=WorkBudget(),
        node=node,
        names=names,
        own_events=own_events,
        starts=n_columns * (offsets[:-1] + np.diff(old_offsets)),
        held=together[np.lexsort((together[:, 2], together[:, 0], together[:, 1]))],
        sets=sets,
        forbidden=n_columns * np.flatnonzero(is_forbidden),
    )


def _read_items(
    nodes: Codes, quasi: QuasiIdentifiers, node: Signature, is_blank: list[bool], *, stars: bool
) -> Codes:
    """Return what cells show at the levels of a series; nothing in columns of which nothing was shown."""
    items = np.full(nodes.shape, HIDDEN, np.int32)
    for q, (column, level) in enumerate(zip(quasi.columns, node, strict=True)):
        if not is_blank[q]:
            shown = column.shown_at(level)
            # A star of an earlier part stands at the root.
            shown[0] = column.star
            shown = np.where((shown == column.star) & (not stars), HIDDEN, column.first + shown)
            items[:, q] = np.where(nodes[:, q] >= 0, shown[nodes[:, q]], HIDDEN)
    return items


def _fold(
    items: Codes, item_offsets: Counts, values: tuple[Codes, Counts], persons: Counts
) -> tuple[Codes, Counts, Counts, tuple[Codes, Counts]]:
    """Fold equal ones of some persons: cells, where rows begin, persons of each, and protected values."""
    cells, offsets = gather_rows(items, item_offsets, persons)
    sets, set_offsets = gather_rows(*values, persons)
    groups, firsts = fold_pairs(fold_rows(cells, offsets)[0], fold_rows(sets, set_offsets)[0])
    folded, folded_offsets = gather_rows(cells, offsets, firsts)
    n_persons = np.bincount(groups, minlength=len(firsts)).astype(np.int64)
    return folded, folded_offsets, n_persons, gather_rows(sets, set_offsets, firsts)


PHASE = "holding back events"


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


class Continuation:
    """Finds out what of the new events can be released at the levels of a series."""

    def __init__(
        self, arrivals: Arrivals, past: Series, model: KCPPrivacy, method: KCPMethod, engine: Engine
    ) -> None:
        """Lay new events behind those that were released."""
        self._new, self.thresholds, self._engine = arrivals.table, method.thresholds(), engine
        self._suppress = method.suppression is not None
        self.rows = accumulate(arrivals, past, model, method)
        self.quasi = self.rows.quasi
        # New persons count only as long as something of them is shown.
        self._is_entering = self.rows.starts == self.rows.offsets[: self.rows.n_free]
        self._weights = self.rows.weights[: self.rows.n_free].copy()

    def solve(self, progress: Progress) -> ContinuedDraft:
        """Suppress and hold back until the accumulated table keeps the promise."""
        progress(0.0, PHASE)
        rows, p = self.rows, self.thresholds.p
        try:
            # A rare value goes first: what is held back with it makes nothing rare any more.
            for length in range(1, p + 1):
                rows.count_up_to(length)
                self._cut_forbidden()
                rows.settle_new(suppress=self._suppress)
            if self._suppress:
                rows.restore_cells()
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
        for place in rows.forbidden.tolist():
            row = int(np.searchsorted(rows.offsets, place, side="right")) - 1
            if place < rows.cuts[row]:
                rows.cut(row, place, Cause((), 0, 1))

    def _count_entering(self) -> None:
        """Count new persons of whom nothing is shown as nobody."""
        rows = self.rows
        is_gone = self._is_entering & (rows.cuts <= rows.offsets[: rows.n_free])
        rows.weights[: rows.n_free] = np.where(is_gone, 0, self._weights)

    def _find_channels(self, progress: Progress) -> list[Cause]:
        """List what tells a protected value too surely, the least knowledge first."""
        rows, thresholds = self.rows, self.thresholds
        held = rows.held[rows.held[:, 2] < rows.cuts[rows.held[:, 0]]]
        pairs = np.unique(held[:, :2], axis=0)
        codes, code_offsets = rows.sets
        # Open rows come before all others.
        holders = np.concatenate([pairs[:, 0], rows.n_free + owners_of(code_offsets)])
        values = np.concatenate([pairs[:, 1], codes.astype(np.int64)])
        offsets = np.searchsorted(holders, np.arange(len(rows.weights) + 1)).astype(np.int64)
        persons = RowOwners.alike(rows.weights, rows.names, offsets, values.astype(np.int32))
        totals, n_persons = persons.totals, int(rows.weights.sum())
        found = [
            Cause((), 0, n_persons, value, int(totals[value]), rows.names)
            for value in np.flatnonzero(exceeds_share(totals, thresholds.c, n_persons)).tolist()
        ]
        persons = persons.without_harmless(thresholds.k, thresholds.c)
        if found or not (len(persons.values) or self.quasi.has_secrets):
            return found
        histories, node = rows.histories(self.rows.node, persons, (True,) * len(self.quasi))
        extraction = Extraction(histories.fold(), self.quasi, thresholds, self._engine)
        channels = Channels.join(extraction.mine(node, progress=progress))
        return [channels.cause(row) for row in range(len(channels))]

    def _break(self, cause: Cause) -> None:
        """Let fewer persons show a protected value with what is known: suppress, or hold back.

        Somebody who showed both before cannot be changed, and there are too few of them to break the promise.
        """
        rows, c = self.rows, self.thresholds.c
        held = rows.held[rows.held[:, 1] == cause.value]
        held = held[held[:, 2] < rows.cuts[held[:, 0]]]
        holders, firsts = np.unique(held[:, 0], return_index=True)
        value_at = held[firsts, 2]
        shows = rows.shows(cause) if cause.items else rows.weights > 0
        n_shown = int(rows.weights[shows].sum())
        if n_shown < self.thresholds.k:
            # Nobody showed it before. What is above a protected value is counted here for the first time.
            for row in np.flatnonzero(shows).tolist():
                if not self._suppress or rows.break_channel(cause, np.array([row]), 1) < 0:
                    rows.cut(row, rows.end_of(cause, row), cause)
            return
        is_here = shows[holders]
        holders, value_at = holders[is_here], value_at[is_here]
        codes, code_offsets = rows.sets
        closed = rows.n_free + owners_of(code_offsets)[codes == cause.value]
        n_high = int(rows.weights[closed[shows[closed]]].sum()) + len(holders)
        first_new = rows.starts[holders]
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
        own_events = rows.own_events
        owners = owners_of(new.person_offsets)[own_events]
        n_fresh = np.bincount(owners, minlength=new.n_persons)
        places = rows.starts[owners] + places_of(offsets_of(n_fresh)) * n_columns
        is_kept = places < rows.cuts[owners]
        causes = np.full((new.n_events, n_columns), -1, np.int32)
        causes[own_events[is_kept]] = rows.cause_of[places[is_kept][:, None] + np.arange(n_columns)]
        n_own = np.bincount(owners[is_kept], minlength=new.n_persons)
        # Attributes that were released before stand before the new events, as long as there are any.
        n_kept = np.where(n_own > 0, n_own + np.diff(new.person_offsets) - n_fresh, 0)
        is_released = places_of(new.person_offsets) < n_kept[owners_of(new.person_offsets)]
        return ContinuedDraft(
            node=self.rows.node,
            rows=rows,
            row_of_person=np.arange(new.n_persons),
            loss=0.0,
            n_kept=n_kept,
            held_for=tuple(
                rows.held_for[row].channel(self.quasi) if row in rows.held_for else None
                for row in range(rows.n_free)
            ),
            kept_causes=causes[is_released],
        )
