"""Look through the lattice of levels for the node that loses least once its channels are broken."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from sequester.engine import silent
from sequester.errors import ParameterError
from sequester.methods.halt.elimination import SLACK, Draft, Obstacle
from sequester.methods.halt.steps import Steps
from sequester.methods.halt.workload import MOST_WORK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sequester.engine import Progress
    from sequester.methods.halt.axes import Signature
    from sequester.methods.halt.elimination import Elimination
    from sequester.methods.halt.workload import Workload

MOST_NODES = 10_000
"""Nodes that a full search goes through."""
INFINITE = float("inf")


@dataclass(eq=False)
class Search:
    """Finds the best node of those it looks at."""

    elimination: Elimination
    """Prices nodes."""
    workload: Workload
    """Tells which nodes are too much to look at."""
    progress: Progress = silent
    """Hears of the steps."""
    skipped: list[Signature] = field(default_factory=list)
    """The nodes that were too much to look at."""

    def __post_init__(self) -> None:
        self._steps = Steps(self.progress)

    def top(self) -> Draft | Obstacle:
        """Give the coarsest node that is allowed."""
        return self._best_of([self.elimination.rules.tops], INFINITE)

    def greedy(self) -> Draft | Obstacle:
        """Go down from the coarsest node, each time to the best child, as long as that is not worse.

        Where the thesis stops, nodes are looked at, too, that are finer by two levels in one column: the
        level between can be bad by itself, as when all but a few values are the same there. Such a node has
        to be better.
        """
        current = self.top()
        while isinstance(current, Draft):
            best = self._best_of(_children(current.node), current.loss, current=current)
            if isinstance(best, Obstacle):
                best = self._best_of(_grandchildren(current.node), current.loss - 2 * SLACK)
            if isinstance(best, Obstacle):
                break
            current = best
        return current

    def full(self) -> Draft | Obstacle:
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
            enough = best.loss if isinstance(best, Draft) else INFINITE
            if (
                any(each in pruned for each in _parents(node, tops))
                or self.elimination.floor(node) > enough + SLACK
            ):
                pruned.add(node)
                continue
            draft = self._best_of([node], enough)
            if isinstance(draft, Draft) and draft.loss < enough - SLACK:
                best = draft
        return best

    def _best_of(
        self, nodes: Iterable[Signature], enough: float, *, current: Draft | None = None
    ) -> Draft | Obstacle:
        """Give the node that loses least, if that is not more than `enough`; the first among equals.

        A node is priced in three steps, each of which can only raise its loss: generalization alone, then the
        suppression that breaks the channels of the original, then the repair of what that brings about. The
        node that is cheapest so far takes the next step; one that is cheapest after its last step is the
        best. A child of `current` that loses as much, and shows nothing of the column that it has at a finer
        level, leads nowhere.
        """
        waiting = [(self.elimination.bound(node), place, 0, node) for place, node in enumerate(nodes)]
        heapq.heapify(waiting)
        drafts: dict[int, Draft] = {}
        obstacle = Obstacle()
        while waiting:
            loss, place, step, node = heapq.heappop(waiting)
            if loss > enough + SLACK:
                break
            if step == 2:
                if current is None or loss < enough - SLACK or not self._is_blank(drafts[place], current):
                    return drafts[place]
                continue
            if step == 0 and self.workload.at(node, self.elimination.extraction.demand.p) > MOST_WORK:
                self.skipped.append(node)
                continue
            # Who is already done sets the price that the others have to beat.
            limit = min([enough, *(loss for loss, _, step, _ in waiting if step == 2)])
            after = (
                self.elimination.draft(node, limit, progress=self._steps.next())
                if step == 0
                else self.elimination.repair(drafts[place], limit, progress=self._steps.next())
            )
            if isinstance(after, Obstacle):
                obstacle = obstacle if after.reason is None else after
            else:
                drafts[place] = after
                heapq.heappush(waiting, (after.loss, place, step + 1, node))
        return obstacle

    def _is_blank(self, draft: Draft, parent: Draft) -> bool:
        """Tell whether a column that is finer than in the parent shows nothing at all."""
        return any(
            level < above and draft.is_suppressed[slice(*draft.costs.span(axis.first))].all()
            for axis, level, above in zip(self.elimination.axes.each, draft.node, parent.node, strict=True)
        )


def _children(node: Signature) -> list[Signature]:
    """List the nodes that are one level finer in one quasi-identifier."""
    return [(*node[:place], level - 1, *node[place + 1 :]) for place, level in enumerate(node) if level > 0]


def _grandchildren(node: Signature) -> list[Signature]:
    """List the nodes that are two levels finer in one quasi-identifier."""
    return [(*node[:place], level - 2, *node[place + 1 :]) for place, level in enumerate(node) if level > 1]


def _parents(node: Signature, tops: Signature) -> list[Signature]:
    """List the nodes that are one level coarser in one quasi-identifier."""
    return [
        (*node[:place], level + 1, *node[place + 1 :])
        for place, level in enumerate(node)
        if level < tops[place]
    ]
