"""Break the channels that a lattice node leaves cell by cell, in the histories of single persons."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.engine import silent
from sequester.kernels.shares import exceeds_share, least_removed
from sequester.methods.halt.elimination import SHOW, SLACK, NodePricing, Obstacle, StepProgress
from sequester.methods.halt.extraction import Channels, Extraction, TooMuchError
from sequester.methods.halt.histories import HIDDEN, RowOwners
from sequester.methods.halt.local_rows import LocalRows, split_rows
from sequester.ragged import gather_rows, offsets_of, owners_of, places_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester._typing import Codes, Counts, Mask
    from sequester.engine import Engine, Progress
    from sequester.methods.halt.elimination import LatticeCosts, ValueRules
    from sequester.methods.halt.extraction import Cause, WorkBudget
    from sequester.methods.halt.histories import QuasiIdentifiers, Signature, Target, WeightedRows
    from sequester.methods.halt.signature_rows import Thresholds
    from sequester.privacy.model import Channel

KEPT = 0.8
"""A node is given up when this share of the cost of its suppressed cells is too much."""
PHASE = "suppressing cells"
POWERS = (1.0, 2.0, 0.5, 0.0)
"""How much prices count when cells are picked. The first is tried; the others, too, where that is quick."""
QUICK = 500
"""Cells of rows up to which all powers are tried."""


@dataclass(frozen=True, eq=False)
class LocalDraft:
    """A lattice node with the cells that have to be suppressed in it."""

    node: Signature
    """The level of each quasi-identifier."""
    rows: LocalRows
    """Rows, each of some persons, and what they show."""
    row_of_person: Counts
    """Person to the row that stands for them."""
    loss: float
    """The loss of generalization and suppression, 0 to 1."""

    def causes(self, offsets: Counts) -> tuple[Codes, list[Channel]]:
        """Return what each cell was suppressed for, -1 for nothing, events by columns; and these channels.

        `offsets` are those of the events of the persons whom the draft is about.
        """
        quasi, columns = self.rows.quasi, self.rows.columns
        lengths = np.diff(offsets) * len(columns)
        starts = np.repeat(self.rows.offsets[self.row_of_person], lengths)
        within = np.arange(len(starts)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        causes = np.full((int(offsets[-1] - offsets[0]), len(quasi)), -1, np.int32)
        causes[:, columns] = self.rows.cause_of[starts + within].reshape(-1, len(columns))
        return causes, [cause.channel(quasi) for cause in self.rows.causes]


class LocalElimination(NodePricing[LocalDraft]):
    """Breaks channels by suppressing one cell at a time."""

    def __init__(
        self,
        histories: WeightedRows,
        quasi: QuasiIdentifiers,
        thresholds: Thresholds,
        costs: LatticeCosts,
        rules: ValueRules,
        engine: Engine,
        work: WorkBudget,
        targets: Sequence[Target] = (),
    ) -> None:
        """Work on histories, one per person, and not more than `work` allows.

        Without `targets`, everybody wants to learn everything.
        """
        super().__init__(quasi, thresholds, costs, rules)
        self._engine = engine
        self._work = work
        self._targets = targets
        harmful = histories.persons.without_harmless(thresholds.k, thresholds.c)
        self._is_harmless = not len(harmful.values)
        sets, _ = kernels.rows.fold_rows(harmful.values, harmful.offsets)
        cells, _ = kernels.rows.fold_rows(histories.cells.reshape(-1), histories.offsets * len(quasi))
        self._base_of_person, firsts = fold_pairs(cells, sets)
        self._base = replace(histories, persons=harmful).take(firsts)
        self._set_of_base = sets[firsts]
        self._weights = np.bincount(self._base_of_person, minlength=len(firsts)).astype(np.int64)

    def is_blank(self, draft: LocalDraft, q: int) -> bool:
        """Return whether all cells of a column are suppressed, or hold nothing."""
        rows = draft.rows
        if q not in rows.columns:
            return True
        own = slice(int(np.searchsorted(rows.columns, q)), None, len(rows.columns))
        return bool((rows.is_suppressed[own] | (rows.items[own] < 0)).all())

    def draft(self, node: Signature, enough: float, *, progress: Progress = silent) -> LocalDraft | Obstacle:
        """Suppress cells until everything that the release of a node shows is shown by at least k persons."""
        progress(0.0, PHASE)
        generalization = self.bound(node)
        if generalization > enough + SLACK:
            return Obstacle()
        best: LocalDraft | Obstacle = Obstacle()
        for power in POWERS:
            try:
                rows, row_of_person = self._rows(node)
                # Some of it is given back at the end.
                obstacle = rows.settle((enough + SLACK - generalization) / KEPT, power=power)
                if obstacle is None:
                    rows.restore_cells()
            except TooMuchError:
                return Obstacle(too_much=True)
            found = obstacle or self._checked(
                LocalDraft(node, rows, row_of_person, generalization + rows.cost)
            )
            if isinstance(found, Obstacle):
                best = best if isinstance(best, LocalDraft) else found
            elif isinstance(best, Obstacle) or found.loss < best.loss - SLACK:
                best = found
            n_cells = len(rows.items) // len(rows.columns) * len(self.quasi)
            if n_cells > QUICK or (isinstance(best, LocalDraft) and not best.rows.cost):
                break
        return best if isinstance(best, Obstacle) or best.loss <= enough + SLACK else Obstacle()

    def repair(
        self, draft: LocalDraft, enough: float, *, progress: Progress = silent
    ) -> LocalDraft | Obstacle:
        """Look at what would be released, at all levels, and suppress further until no channel is left."""
        steps = StepProgress(progress)
        rows = draft.rows
        generalization = self.bound(draft.node)
        try:
            while generalization + rows.cost <= enough + SLACK:
                channels = self.recheck(draft, progress=steps.next())
                if not len(channels):
                    return self._checked(replace(draft, loss=generalization + rows.cost))
                obstacle = self._break(draft, channels) or rows.resettle(math.inf)
                if obstacle is not None:
                    return obstacle
        except TooMuchError:
            return Obstacle(too_much=True)
        return Obstacle()

    def recheck(self, draft: LocalDraft, *, progress: Progress = silent) -> Channels:
        """Find the minimal channels of what would be released, at all levels."""
        if self._is_harmless and not self.quasi.has_secrets:
            return Channels.join(())
        histories, node = draft.rows.histories(draft.node, self._persons(draft), self.rules.has_secrets)
        found: list[Channels] = []
        for seen in [histories.seen_by(target) for target in self._targets] or [histories]:
            extraction = Extraction(seen.fold(), self.quasi, self.thresholds, self._engine, work=self._work)
            found += extraction.mine(node, progress=progress)
        return Channels.join(found)

    def _checked(self, draft: LocalDraft) -> LocalDraft | Obstacle:
        """Return the draft unless a column vanishes that has to show something."""
        for q, column in enumerate(self.quasi.columns):
            if not self.rules.is_allowed[column.first] and self.is_blank(draft, q):
                columns = draft.rows.columns
                cells = draft.rows.cause_of.reshape(-1, len(columns))[:, columns == q]
                causes = {number: cause for cause, number in draft.rows.causes.items()}
                return Obstacle(causes[int(cells.max())]) if cells.max(initial=-1) >= 0 else Obstacle()
        return draft

    def _rows(self, node: Signature) -> tuple[LocalRows, Counts]:
        """Show the histories at a node; equal ones with the same protected values are cut into pieces.

        A piece is one person where protected values may do harm, else k: others have to be changed by as few
        as possible.
        """
        quasi, rules, base = self.quasi, self.rules, self._base
        # The others show nothing; where all do, one of them stands for them.
        visible = [
            q
            for q, (column, level) in enumerate(zip(quasi.columns, node, strict=True))
            if level < column.height or (rules.has_secrets[q] and rules.stars)
        ] or [0]
        n_columns = len(visible)
        self._work.add(SHOW * n_columns * len(base.cells))
        items = np.full((len(base.cells), n_columns), HIDDEN, np.int32)
        is_locked = np.zeros(items.shape, np.bool_)
        for place, q in enumerate(visible):
            column, level, own = quasi.columns[q], node[q], base.cells[:, q]
            if level < column.height:
                items[:, place] = np.where(own >= 0, column.first + column.cuts[level][own], HIDDEN)
            elif rules.has_secrets[q] and rules.stars:
                items[:, place] = np.where(own >= 0, column.first + column.star, HIDDEN)
            is_locked[:, place] = (own >= 0) & ~rules.is_allowed[column.first + own]
        codes = np.where(is_locked, items + quasi.n_items, items).reshape(-1)
        groups, firsts = fold_pairs(
            kernels.rows.fold_rows(codes, base.offsets * n_columns)[0], self._set_of_base
        )
        weights = np.bincount(groups, self._weights, minlength=len(firsts)).astype(np.int64)
        is_harmful = np.diff(base.persons.offsets)[firsts] > 0
        sizes = np.where(is_harmful, 1, self.thresholds.k).astype(np.int64)
        piece_offsets, pieces = split_rows(weights, sizes)
        owners = owners_of(piece_offsets)
        flat, offsets = gather_rows(items.reshape(-1), base.offsets * n_columns, firsts[owners])
        locked, _ = gather_rows(is_locked.reshape(-1), base.offsets * n_columns, firsts[owners])
        group_of_person = groups[self._base_of_person]
        rank = np.empty(len(group_of_person), np.int64)
        rank[np.argsort(group_of_person, kind="stable")] = places_of(offsets_of(weights))
        row_of_person = np.minimum(
            piece_offsets[group_of_person] + rank // sizes[group_of_person],
            piece_offsets[group_of_person + 1] - 1,
        )
        rows = LocalRows(
            quasi=quasi,
            items=flat,
            offsets=offsets,
            weights=pieces,
            is_locked=locked,
            prices=self.costs.prices(node),
            stars=rules.stars,
            k=self.thresholds.k,
            p=self.thresholds.p,
            work=self._work,
            columns=np.array(visible),
            engine=self._engine,
        )
        return rows, row_of_person

    def _persons(self, draft: LocalDraft) -> RowOwners:
        """Return the persons behind rows, with the protected values that may do harm."""
        weights, base = draft.rows.weights, self._base.persons
        base_of_row = np.empty(len(weights), np.int64)
        base_of_row[draft.row_of_person] = self._base_of_person
        values, offsets = gather_rows(base.values, base.offsets, base_of_row)
        return RowOwners.alike(weights, base.names, offsets, values)

    def _break(self, draft: LocalDraft, channels: Channels) -> Obstacle | None:
        """Break channels, shorter ones first, as far as they are still there."""
        persons = self._persons(draft)
        owners = owners_of(persons.offsets)
        for cause in map(channels.cause, range(len(channels))):
            has = np.zeros(len(draft.rows.weights), np.bool_)
            has[owners[persons.values == cause.value]] = True
            obstacle = _break_channel(draft.rows, cause, has, self.thresholds)
            if obstacle is not None:
                return obstacle
        return None


def _break_channel(rows: LocalRows, cause: Cause, has: Mask, thresholds: Thresholds) -> Obstacle | None:
    """Break one channel: let fewer persons with the value show it, or more without, or nobody at all."""
    shows = rows.shows(cause)
    n_shown, n_high = int(rows.weights[shows].sum()), int(rows.weights[shows & has].sum())
    if not n_shown:
        return None
    c = thresholds.c
    is_few = n_shown < thresholds.k
    if not is_few and not exceeds_share(n_high, c, n_shown):
        return None
    stars = set(rows.quasi.stars.tolist())
    if all(item in stars for item in cause.items):
        # Nobody can take a star back: others have to join it.
        needed = thresholds.k - n_shown if is_few else math.ceil(n_high / c - n_shown - 1e-6)
        joined = rows.join(cause, max(needed, 1), None if is_few else ~has)
        return joined if isinstance(joined, Obstacle) else None
    # Those who are left are k or nobody.
    needed = n_shown if is_few or c >= 1 else least_removed(n_high, c, n_shown)
    rows_to_break = np.flatnonzero(shows & has)
    if needed > n_high or n_shown - needed < thresholds.k:
        needed, rows_to_break = n_shown, np.flatnonzero(shows)
    if rows.break_channel(cause, rows_to_break, needed) < 0:
        return Obstacle(cause)
    return None


def fold_pairs(first: Codes, second: Codes) -> tuple[Counts, Counts]:
    """Number the different pairs, and return the first place of each."""
    keys = first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second
    _, firsts, groups = np.unique(keys, return_index=True, return_inverse=True)
    return groups.reshape(-1), firsts
