"""Break the channels that a lattice node leaves cell by cell, in the histories of single persons."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.engine import silent
from sequester.kernels.shares import exceeds_share, least_removed
from sequester.methods.halt.elimination import SHOW, SLACK, Obstacle, StepProgress
from sequester.methods.halt.extraction import Extraction, TooMuchError
from sequester.methods.halt.histories import HIDDEN, RowOwners, WeightedRows
from sequester.methods.halt.local_rows import Cause, LocalRows, pieces_of
from sequester.ragged import gather_rows, owners_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester._typing import Codes, Counts, Mask
    from sequester.engine import Engine, Progress
    from sequester.methods.halt.elimination import LatticeCosts, ValueRules
    from sequester.methods.halt.extraction import Channels, Work
    from sequester.methods.halt.histories import QuasiIdentifiers, Signature, Target
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


class LocalElimination:
    """Finds out for lattice nodes what they cost once no channel is left, one suppressed cell at a time."""

    def __init__(
        self,
        histories: WeightedRows,
        quasi: QuasiIdentifiers,
        thresholds: Thresholds,
        costs: LatticeCosts,
        rules: ValueRules,
        engine: Engine,
        work: Work,
        targets: Sequence[Target] = (),
    ) -> None:
        """Work on histories, one per person, and not more than `work` allows.

        Without `targets`, everybody wants to learn everything.
        """
        self.quasi = quasi
        self.thresholds = thresholds
        self.rules = rules
        self._costs = costs
        self._engine = engine
        self._work = work
        self._targets = targets
        self._names = histories.persons.names
        harmful = histories.persons.without_harmless(thresholds.k, thresholds.c)
        self._is_harmless = not len(harmful.values)
        sets, _ = kernels.rows.fold_rows(harmful.values, harmful.offsets)
        cells, _ = kernels.rows.fold_rows(histories.cells.reshape(-1), histories.offsets * len(quasi))
        self._base_of_person, firsts = _fold_pairs(cells, sets)
        self._base = replace(histories, persons=harmful).take(firsts)
        self._set_of_base = sets[firsts]
        self._weights = np.bincount(self._base_of_person, minlength=len(firsts)).astype(np.int64)

    def bound(self, node: Signature) -> float:
        """Return a loss that the node does not stay below, without a look at channels."""
        return self._costs.at(node).generalization

    def floor(self, node: Signature) -> float:
        """Return a loss that neither the node nor any finer one stays below; nothing is known of it."""
        del node
        return 0.0

    def is_blank(self, draft: LocalDraft, q: int) -> bool:
        """Return whether a column of a draft shows nothing at all."""
        rows = draft.rows
        if q not in rows.columns:
            return True
        own = slice(int(np.searchsorted(rows.columns, q)), None, len(rows.columns))
        return bool((rows.is_suppressed[own] | (rows.items[own] < 0)).all())

    def draft(self, node: Signature, enough: float, *, progress: Progress = silent) -> LocalDraft | Obstacle:
        """Suppress cells until everything that the release of a node shows is shown by at least k persons.

        As soon as it is clear that the loss is above `enough`, the node is given up.
        """
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
                    rows.give_back()
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
                if not channels:
                    return self._checked(replace(draft, loss=generalization + rows.cost))
                obstacle = self._break(rows, draft, channels) or rows.resettle(math.inf)
                if obstacle is not None:
                    return obstacle
        except TooMuchError:
            return Obstacle(too_much=True)
        return Obstacle()

    def recheck(self, draft: LocalDraft, *, progress: Progress = silent) -> list[Channels]:
        """Find the minimal channels of what would be released, at all levels."""
        if self._is_harmless and not any(column.is_secret.any() for column in self.quasi.columns):
            return []
        rows, n_columns = draft.rows, len(draft.rows.columns)
        cells = np.full((len(rows.cells) // n_columns, len(self.quasi)), HIDDEN, np.int32)
        cells[:, rows.columns] = rows.cells.reshape(-1, n_columns)
        node = list(draft.node)
        for q in rows.columns.tolist():
            column, own = self.quasi.columns[q], cells[:, q]
            is_star = own == column.first + column.star
            if is_star.any() and not self.rules.has_secrets[q] and (is_star | (own < 0)).all():
                own[:] = HIDDEN
            elif is_star.any():
                node[q] = min(node[q], column.height - 1)
            own[own >= 0] -= column.first
        histories = WeightedRows(cells, rows.offsets // n_columns, self._persons(rows, draft))
        found: list[Channels] = []
        for seen in [histories.seen_by(target) for target in self._targets] or [histories]:
            extraction = Extraction(seen.fold(), self.quasi, self.thresholds, self._engine, work=self._work)
            for _ in extraction.deepen(tuple(node), progress=progress):
                pass
            found += extraction.known(tuple(node))
        return found

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
        prices = self._costs.prices(node)
        for place, q in enumerate(visible):
            column, level, own = quasi.columns[q], node[q], base.cells[:, q]
            if level < column.height:
                items[:, place] = np.where(own >= 0, column.first + column.cuts[level][own], HIDDEN)
            elif rules.has_secrets[q] and rules.stars:
                items[:, place] = np.where(own >= 0, column.first + column.star, HIDDEN)
            is_locked[:, place] = (own >= 0) & ~rules.is_allowed[column.first + own]
        codes = np.where(is_locked, items + quasi.n_items, items).reshape(-1)
        groups, firsts = _fold_pairs(
            kernels.rows.fold_rows(codes, base.offsets * n_columns)[0], self._set_of_base
        )
        weights = np.bincount(groups, self._weights, minlength=len(firsts)).astype(np.int64)
        is_harmful = np.diff(base.persons.offsets)[firsts] > 0
        sizes = np.where(is_harmful, 1, self.thresholds.k).astype(np.int64)
        owners, pieces = pieces_of(weights, sizes)
        flat, offsets = gather_rows(items.reshape(-1), base.offsets * n_columns, firsts[owners])
        locked, _ = gather_rows(is_locked.reshape(-1), base.offsets * n_columns, firsts[owners])
        group_of_person = groups[self._base_of_person]
        order = np.argsort(group_of_person, kind="stable")
        starts = np.concatenate([[0], np.cumsum(weights)])[:-1]
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order)) - starts[group_of_person[order]]
        first_piece = np.searchsorted(owners, np.arange(len(firsts)))
        last_piece = np.searchsorted(owners, np.arange(len(firsts)), side="right") - 1
        row_of_person = np.minimum(
            first_piece[group_of_person] + rank // sizes[group_of_person], last_piece[group_of_person]
        )
        rows = LocalRows(
            quasi=quasi,
            items=flat,
            offsets=offsets,
            weights=pieces,
            is_locked=locked,
            prices=prices,
            stars=rules.stars,
            k=self.thresholds.k,
            p=self.thresholds.p,
            work=self._work,
            columns=np.array(visible),
            engine=self._engine,
        )
        return rows, row_of_person

    def _persons(self, rows: LocalRows, draft: LocalDraft) -> RowOwners:
        """Return the persons behind rows, with the protected values that may do harm."""
        base_of_row = np.empty(len(rows.weights), np.int64)
        base_of_row[draft.row_of_person] = self._base_of_person
        persons = self._base.persons.take(base_of_row)
        counts = rows.weights[owners_of(persons.offsets)]
        risks = np.where(np.diff(persons.offsets) > 0, rows.weights, 0)
        return replace(persons, weights=rows.weights, risks=risks, counts=counts)

    def _break(self, rows: LocalRows, draft: LocalDraft, channels: list[Channels]) -> Obstacle | None:
        """Break channels, shorter ones first, as far as they are still there."""
        thresholds = self.thresholds
        persons = self._persons(rows, draft)
        owners = owners_of(persons.offsets)
        for each in sorted(channels, key=lambda found: found.items.shape[1]):
            for row in range(len(each)):
                value = int(each.values[row])
                cause = Cause(
                    tuple(each.items[row].tolist()),
                    int(each.kinds[row]),
                    int(each.supports[row]),
                    value,
                    int(each.highs[row]),
                    self._names,
                )
                has = np.zeros(len(rows.weights), np.bool_)
                has[owners[persons.values == value]] = True
                obstacle = _break_channel(rows, cause, has, thresholds)
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


def _fold_pairs(first: Codes, second: Codes) -> tuple[Counts, Counts]:
    """Number the different pairs, and return the first place of each."""
    keys = first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second
    _, firsts, groups = np.unique(keys, return_index=True, return_inverse=True)
    return groups.reshape(-1), firsts
