"""What to tell a steward whose k releases nothing, or cuts most sequences: another k, and what it does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import UnattainableError
from sequester.methods.p2ka.prefix_tree import PrefixTree
from sequester.methods.relax import largest

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.methods.p2ka.attachment import Attacher

HALF = 0.5
"""A run that cuts a larger share of the sequences draws a warning."""
AFFORDABLE = 10**10
"""Pairs of a cut sequence and a node that another run may look at: a few seconds."""


@dataclass(frozen=True)
class Advice:
    """Looks for a k that releases something, or that cuts at most half of the sequences.

    Two bounds hold for the share of sequences that are cut, and both only grow with k. At least those are cut
    that fewer than k persons begin with, because every kept node has k persons in the original. At most those
    are cut that pruning to a fixpoint without re-attachment cuts: re-attached persons only add to the count
    of a node, so round by round each node that pruning alone keeps is kept with re-attachment, too.
    """

    attacher: Attacher
    """What runs."""

    @property
    def largest_k(self) -> int:
        """The largest k that releases anything; below 2 no k does.

        Where persons have several sequences, one that does and that was found by halving: trips of a person
        may be re-attached to different paths, so a smaller k need not release more.
        """
        distinct = self.attacher.distinct
        if self.attacher.reattach and distinct.owners is None:
            # As many as begin with the most common first item. For a larger k no node is kept. For this one
            # some are, in every round: take the m kept nodes of depth 1; at least m k persons begin with one
            # of their items, have something in common with a path, and so sit below one of the m nodes; then
            # one of the m has k of them.
            has_items = np.flatnonzero(distinct.lengths)
            first_items = distinct.items[distinct.offsets[has_items]]
            beginners = np.bincount(first_items, weights=distinct.weights[has_items], minlength=1)
            return int(beginners.max())
        return largest(2, self.n_persons, lambda k: not self.attacher.run(k).releases_nothing) or 1

    @property
    def n_persons(self) -> int:
        """Number of distinct persons."""
        distinct = self.attacher.distinct
        if distinct.owners is not None:
            return int(distinct.owners.max(initial=-1)) + 1
        return int(distinct.weights.sum())

    def nothing_released(self, k: int) -> UnattainableError:
        """Say that `k` releases nothing, and which k would."""
        n_persons = self.n_persons
        persons = "person" if n_persons == 1 else "persons"
        problem = f"is more than the {n_persons} {persons}" if k > n_persons else "releases nothing"
        why = ", because no two persons begin alike" if self.attacher.reattach else ""
        best = self.largest_k
        if self.attacher.distinct.owners is not None:
            hint = f"k = {best} releases something" if best >= 2 else "k = 2 releases nothing either"
        elif best >= 2:
            hint = f"the largest k that releases anything here is {best}"
        else:
            hint = f"no k of 2 or more releases anything here{why}"
        return UnattainableError(f"k = {k} {problem}; {hint}", achieved={"k": best})

    def cut_too_much(self, k: int, share: float) -> str:
        """Warn that `k` cuts a large share, and name a k that cuts less."""
        problem = f"k = {k} cuts {_percent(share)} of the sequences"
        if k == 2:
            return f"{problem}, and no smaller k can be asked for"
        candidates = {
            largest(2, k - 1, lambda k: self.least_cut(k) <= HALF),
            largest(2, k - 1, lambda k: self.most_cut(k) <= HALF),
            2,
        }
        for candidate in sorted(filter(None, candidates), reverse=True):
            low, high = self.cut_between(candidate)
            if high <= HALF:
                at_most = "" if low == high else "at most "
                return f"{problem}; k = {candidate} cuts {at_most}{_percent(high)}"
        cuts = _percent(high) if low == high else f"between {_percent(low)} and {_percent(high)}"
        found = "no k of 2 or more cuts" if self.least_cut(2) > HALF else "no k was found that cuts"
        return f"{problem}; {found} less than half, and k = 2 cuts {cuts}"

    def cut_between(self, k: int) -> tuple[float, float]:
        """Find the share of sequences that `k` cuts by running it; bounds where that takes too long."""
        if not self.attacher.strict:
            # The first round is the only one, and what it cuts does not depend on where it goes.
            return self.least_cut(k), self.least_cut(k)
        tree, deepest = PrefixTree.grow(self.attacher.distinct, k)
        n_cut = int((tree.depths[deepest] < self.attacher.distinct.lengths).sum())
        if self.attacher.reattach and n_cut * tree.n_nodes > AFFORDABLE:
            return self.least_cut(k), self.most_cut(k)
        share = self.attacher.run(k).cut_share
        return share, share

    def least_cut(self, k: int) -> float:
        """Share of the persons whose whole sequence fewer than `k` persons begin with."""
        weights = self.attacher.distinct.weights
        return int(weights[self._beginners < k].sum()) / max(int(weights.sum()), 1)

    def most_cut(self, k: int) -> float:
        """Share of the persons whom pruning to a fixpoint cuts when nobody is re-attached."""
        return replace(self.attacher, strict=True, reattach=False).run(k).cut_share

    @cached_property
    def _beginners(self) -> Counts:
        """For each distinct sequence the persons who begin with it."""
        distinct = self.attacher.distinct
        tree, ends = PrefixTree.grow(distinct, 1)
        return tree.passing(ends, distinct)[ends]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
