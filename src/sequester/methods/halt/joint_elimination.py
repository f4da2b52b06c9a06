"""Break the channels of several adversaries, who want to learn different attributes and know the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.engine import silent
from sequester.methods.halt.elimination import SLACK, Obstacle, StepProgress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester._typing import Codes, Counts
    from sequester.engine import Progress
    from sequester.methods.halt.elimination import Draft, Elimination
    from sequester.methods.halt.histories import WeightedRows
    from sequester.methods.halt.quasi_identifiers import QuasiIdentifiers, Signature
    from sequester.methods.halt.signature_rows import Thresholds


class JointElimination:
    """What lattice nodes cost once none of several adversaries, who want different things, has a channel.

    What one of them must not see is suppressed for all. That can make a channel for another, so they take
    turns until nothing is left to do.
    """

    def __init__(self, histories: WeightedRows, parts: Sequence[Elimination]) -> None:
        """Join what finds out about one adversary each; `histories` are what nobody wants to learn of."""
        self.quasi: QuasiIdentifiers = parts[0].quasi
        self.rules = parts[0].rules
        self._parts = parts
        self._histories = histories

    @property
    def thresholds(self) -> Thresholds:
        """What makes a channel."""
        return self._parts[0].thresholds

    def is_blank(self, draft: Draft, q: int) -> bool:
        """Return whether a column of a draft shows nothing at all."""
        return self._parts[0].is_blank(draft, q)

    def bound(self, node: Signature) -> float:
        """Return a loss that the node does not stay below, without a look at channels."""
        return self._parts[0].bound(node)

    def floor(self, node: Signature) -> float:
        """Return a loss that neither the node nor any finer one stays below, by the channels known so far."""
        return max(part.floor(node) for part in self._parts)

    def draft(self, node: Signature, enough: float, *, progress: Progress = silent) -> Draft | Obstacle:
        """Suppress what breaks the channels of all of them."""
        draft: Draft | None = None
        for each in self._parts:
            found = each.draft(node, enough, progress=progress)
            if isinstance(found, Obstacle):
                return found
            draft = found if draft is None else draft.joined(found)
            if draft.loss > enough + SLACK:
                return Obstacle()
        return Obstacle() if draft is None else draft

    def repair(self, draft: Draft, enough: float, *, progress: Progress = silent) -> Draft | Obstacle:
        """Look again at what would be released, until none of them finds a channel."""
        steps = StepProgress(progress)
        n_done, place = 0, 0
        while n_done < len(self._parts):
            found = self._parts[place].repair(draft, enough, progress=steps.next())
            if isinstance(found, Obstacle):
                return found
            n_done = n_done + 1 if found is draft else 1
            draft, place = found, (place + 1) % len(self._parts)
        return draft

    def released(self, draft: Draft) -> list[Codes]:
        """Lead, per quasi-identifier, from each node to what is released of it; the star for nothing."""
        return self._parts[0].released(draft)

    def count_persons(self, draft: Draft) -> Counts:
        """Count for each item the persons who have it in the release of a node, nothing suppressed."""
        return self._histories.count_items(draft.node, self.quasi)
