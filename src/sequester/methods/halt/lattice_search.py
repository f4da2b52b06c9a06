"""Look through the lattice of levels for the node that loses least once its channels are broken."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Generic

import numpy as np

from sequester.engine import silent
from sequester.errors import ParameterError, UnattainableError
from sequester.methods.halt.elimination import SLACK, D, NodePricing, Obstacle, StepProgress
from sequester.privacy.g_sequences import count_sequences

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sequester.engine import Progress
    from sequester.methods.halt.histories import QuasiIdentifiers, Signature, WeightedRows

MOST_WORK = 1e11
"""G-sequences of persons that are counted at most: an hour or two on two cores."""
PER_SECOND = 2e7
"""About so many are counted in a second."""
MOST_CELLS = 3e9
"""Cells that are looked at for 100,000 events before the search ends: about half a minute on two cores."""
WIDE_SHARE, LOCAL_SHARE = 0.5, 0.3
"""Of these, where there are many quasi-identifiers, so that checks and measures fit into the minute, too; the
second are choices of cells."""
EVENTS = 100_000
"""Fewer events are searched as long; more have more time."""
WIDE = 12
"""Quasi-identifiers up to which all of them are tried at every step down."""
MARGIN = 0.1
"""With more of them, what others are expected to gain has to be larger by this share to be tried."""
MOST_NODES = 10_000
"""Nodes that a full search goes through."""
INFINITE = float("inf")


class Workload:
    """Bounds the number of g-sequences that all persons together have, as seen in the release of a node."""

    def __init__(self, histories: WeightedRows, quasi: QuasiIdentifiers, *, mixed: bool) -> None:
        """Count histories by their length; items of one quasi-identifier may be at `mixed` levels."""
        self._quasi = quasi
        self._mixed = mixed
        lengths = np.diff(histories.offsets)
        self._n_events = len(histories.cells)
        self._persons = np.bincount(lengths, histories.persons.weights)

    def at(self, node: Signature, p: int) -> float:
        """Return a bound for g-sequences of at most `p` items whose levels are at least as coarse as a node.

        A long history repeats itself: there are no more than 2^m sequences of m items for each choice of m of
        the items that there are at all.
        """
        lengths = np.flatnonzero(self._persons)
        depths = [column.height - level for column, level in zip(self._quasi.columns, node, strict=True)]
        by_cells = count_sequences(lengths, depths, p, mixed=self._mixed)
        n_items = sum(
            int(np.unique(column.tree.levels[each][column.tree.leaf_nodes]).size)
            for column, level in zip(self._quasi.columns, node, strict=True)
            for each in range(level, column.height)
        )
        by_items = sum((2.0 * n_items) ** m for m in range(1, p + 1))
        return float(self._persons[lengths] @ np.minimum(by_cells, by_items))

    def most_cells(self, *, local: bool) -> float:
        """Return the number of cells, or of `local` choices of them, looked at unless the search is thorough.

        Cells are not chosen side by side, and with many quasi-identifiers each choice takes longer.
        """
        share = 1.0 if len(self._quasi) <= WIDE else LOCAL_SHARE if local else WIDE_SHARE
        return share * MOST_CELLS * max(self._n_events / EVENTS, 1.0)

    def refuse_too_much(self, p: int) -> None:
        """Refuse a `p` for which even the coarsest levels that say anything are too much to count."""
        node = tuple(max(column.height - 1, 0) for column in self._quasi.columns)
        work = self.at(node, p)
        if work <= MOST_WORK:
            return
        fitting = [smaller for smaller in range(1, p) if self.at(node, smaller) <= MOST_WORK]
        hint = f"the largest p that fits is {max(fitting)}" if fitting else "no p fits"
        msg = (
            f"p = {p:,} is too much to count: persons have up to {work:.2g} g-sequences of at most {p:,} "
            f"items even at the coarsest levels, about {work / PER_SECOND / 3600:,.0f} hours; {hint}"
        )
        raise UnattainableError(msg, achieved={"p": max(fitting, default=0)})


@dataclass(eq=False)
class LatticeSearch(Generic[D]):
    """Finds the best node of those it looks at."""

    elimination: NodePricing[D]
    """Prices nodes."""
    workload: Workload
    """Says which nodes are too much to look at."""
    progress: Progress = silent
    """Receives the steps."""
    thorough: bool = False
    """Also look at nodes that are too much for a minute."""
    skipped: list[Signature] = field(default_factory=list)
    """The nodes that were too much to look at."""

    def __post_init__(self) -> None:
        self._steps = StepProgress(self.progress)
        self._is_finest_fine: bool | None = None
        self._gains: dict[tuple[int, int], float] = {}

    def top(self) -> D | Obstacle:
        """Return the coarsest node that is allowed."""
        return self._best_of([self.elimination.rules.tops], INFINITE)

    def greedy(self) -> D | Obstacle:
        """Go down from the coarsest node, each time to the best child, as long as that is not worse.

        Where the thesis stops, nodes are looked at, too, that are finer by two levels in one column: the
        level between can be bad by itself, as when all but a few values are the same there. Such a node has
        to be better.

        Where there are many quasi-identifiers, a level is expected to gain no more than when it was last
        tried, and it is tried again only where that is clearly more than what the others gain.
        """
        current = self.top()
        while not isinstance(current, Obstacle):
            children = _moved(current.node, -1, current.node)
            if self._is_wide:
                # What shows fewer values is tried sooner: it takes less work, and loses less.
                steps = [self._step(node, current.node) for node in children]
                sizes = {node: self._count_values(*step) for node, step in zip(children, steps, strict=True)}
                children.sort(key=sizes.__getitem__)
            best = self._best_of(children, current.loss, current=current)
            if isinstance(best, Obstacle):
                best = self._best_of(_moved(current.node, -2, current.node), current.loss - 2 * SLACK)
            if isinstance(best, Obstacle):
                break
            current = best
        return current

    def full(self) -> D | Obstacle:
        """Find the best node of the whole lattice.

        Nodes come coarse first. One whose loss is above the best so far by its bound is passed over, and so
        is everything below a node of which no finer one can be better.
        """
        tops = self.elimination.rules.tops
        n_nodes = prod(level + 1 for level in tops)
        if n_nodes > MOST_NODES:
            msg = (
                f'search = "full" goes through at most {MOST_NODES:,} combinations of levels, and here are '
                f'{n_nodes:,}: set max_level, take hierarchies of fewer levels, or search = "greedy"'
            )
            raise ParameterError(msg)
        best = self.greedy()
        nodes = sorted(product(*(range(level + 1) for level in tops)), key=lambda node: (-sum(node), node))
        pruned: set[Signature] = set()
        for node in nodes:
            enough = INFINITE if isinstance(best, Obstacle) else best.loss
            if (
                any(each in pruned for each in _moved(node, 1, tops))
                or self.elimination.floor(node) > enough + SLACK
            ):
                pruned.add(node)
                continue
            draft = self._best_of([node], enough)
            if not isinstance(draft, Obstacle) and draft.loss < enough - SLACK:
                best = draft
        return best

    def _best_of(
        self, nodes: Iterable[Signature], enough: float, *, current: D | None = None
    ) -> D | Obstacle:
        """Return the node that loses least, if that is not more than `enough`; the first among equals.

        A node is priced in three steps, each of which can only raise its loss: generalization alone, then the
        suppression that breaks the channels of the original, then the repair of what that brings about. The
        node that is cheapest so far takes the next step; one that is cheapest after its last step is the
        best. A child of `current` that loses as much, and shows nothing of the column that it has at a finer
        level, leads nowhere.
        """
        waiting: list[tuple[float, int, int, Signature]] = [
            (self._expect(node, current), place, 0, node) for place, node in enumerate(nodes)
        ]
        heapq.heapify(waiting)
        drafts: dict[int, D] = {}
        obstacle = Obstacle()
        while waiting:
            expected, place, step, node = heapq.heappop(waiting)
            loss = drafts[place].loss if step else expected
            if loss > enough + SLACK:
                break
            if step == 2:
                if current is None or loss < enough - SLACK or not self._is_blank(drafts[place], current):
                    return drafts[place]
                continue
            if step == 0 and not self.thorough and self._is_too_much(node):
                self.skipped.append(node)
                continue
            # Who is already done sets the price that the others have to beat.
            limit = min([enough, *(drafts[place].loss for _, place, step, _ in waiting if step == 2)])
            after = (
                self.elimination.draft(node, limit, progress=self._steps.next())
                if step == 0
                else self.elimination.repair(drafts[place], limit, progress=self._steps.next())
            )
            if isinstance(after, Obstacle):
                obstacle = obstacle if after.reason is None else after
                self.skipped += [node] if after.too_much else []
            else:
                drafts[place] = after
                ahead = MARGIN * (current.loss - after.loss) if current is not None and self._is_wide else 0.0
                heapq.heappush(waiting, (after.loss - ahead, place, step + 1, node))
            if current is not None:
                reached = limit if isinstance(after, Obstacle) else after.loss
                self._gains[self._step(node, current.node)] = current.loss - reached
        return obstacle

    def _expect(self, node: Signature, current: D | None) -> float:
        """Return the loss that a node is expected not to stay below."""
        bound = self.elimination.bound(node)
        if current is None or not self._is_wide:
            return bound
        return max(bound, current.loss - self._gains.get(self._step(node, current.node), INFINITE))

    @property
    def _is_wide(self) -> bool:
        """There are too many quasi-identifiers to try all of them at every step down."""
        return not self.thorough and len(self.elimination.quasi) > WIDE

    @staticmethod
    def _step(node: Signature, above: Signature) -> tuple[int, int]:
        """Return the quasi-identifier in which a node is finer than the one above it, and its level."""
        q = next(q for q, level in enumerate(node) if level != above[q])
        return q, node[q]

    def _count_values(self, q: int, level: int) -> int:
        """Return the number of values that a quasi-identifier has at a level."""
        tree = self.elimination.quasi.columns[q].tree
        return int(np.unique(tree.levels[level][tree.leaf_nodes]).size)

    def _is_too_much(self, node: Signature) -> bool:
        """Return whether persons have too many g-sequences, seen in the release of a node."""
        p = self.elimination.thresholds.p
        if self._is_finest_fine is None:
            self._is_finest_fine = self.workload.at((0,) * len(node), p) <= MOST_WORK
        # Coarser levels have fewer.
        return not self._is_finest_fine and self.workload.at(node, p) > MOST_WORK

    def _is_blank(self, draft: D, parent: D) -> bool:
        """Return whether a column that is finer than in the parent shows nothing at all."""
        levels = zip(draft.node, parent.node, strict=True)
        return any(
            level < above and self.elimination.is_blank(draft, q) for q, (level, above) in enumerate(levels)
        )


def _moved(node: Signature, by: int, tops: Signature) -> list[Signature]:
    """List the nodes that are `by` levels coarser in one quasi-identifier, or finer if that is negative."""
    return [
        (*node[:place], level + by, *node[place + 1 :])
        for place, level in enumerate(node)
        if 0 <= level + by <= tops[place]
    ]
