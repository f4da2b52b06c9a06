"""How much there is to count before anything is counted: g-sequences that persons have, from above."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import UnattainableError

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts
    from sequester.methods.halt.axes import Axes, Signature
    from sequester.methods.halt.histories import Histories

    Amounts = npt.NDArray[np.float64]

MOST_WORK = 1e11
"""G-sequences of persons that are counted at most: an hour or two on two cores."""
PER_SECOND = 2e7
"""About so many are counted in a second."""


class Workload:
    """Bounds the number of g-sequences that all persons together have, as seen in the release of a node."""

    def __init__(self, histories: Histories, axes: Axes, *, mixed: bool) -> None:
        """Count histories by their length; items of one quasi-identifier may be at `mixed` levels."""
        self._axes = axes
        self._mixed = mixed
        lengths = np.diff(histories.offsets)
        self._persons = np.bincount(lengths, histories.weights)

    def at(self, node: Signature, p: int) -> float:
        """Give a bound for g-sequences of at most `p` items whose levels are at least as coarse as a node.

        Choosing cells of a history chooses a g-sequence but for its levels. So of a history of n events there
        are as many as the coefficients of z to z^p in the product, over the quasi-identifiers, of 1 + levels
        ((1 + z)^n - 1) add up to; where levels are mixed, of (1 + levels z)^n. A long history repeats itself:
        there are no more than 2^m sequences of m items for each choice of m of the items that there are at
        all.
        """
        lengths = np.flatnonzero(self._persons)
        depths = [axis.height - level for axis, level in zip(self._axes.each, node, strict=True)]
        by_cells = _add_up(lengths, depths, p, mixed=self._mixed)
        n_items = sum(
            int(np.unique(axis.tree.levels[each][axis.tree.leaf_nodes]).size)
            for axis, level in zip(self._axes.each, node, strict=True)
            for each in range(level, axis.height)
        )
        by_items = sum((2.0 * n_items) ** m for m in range(1, p + 1))
        return float(self._persons[lengths] @ np.minimum(by_cells, by_items))

    def refuse_too_much(self, p: int) -> None:
        """Refuse a `p` for which even the coarsest levels that say anything are too much to count."""
        node = tuple(max(axis.height - 1, 0) for axis in self._axes.each)
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


def _add_up(lengths: Counts, depths: list[int], p: int, *, mixed: bool) -> Amounts:
    """Add up the coefficients of z to z^p, for each length."""
    total = np.zeros((len(lengths), p + 1))
    total[:, 0] = 1
    for depth in depths:
        factor = np.zeros_like(total)
        factor[:, 0] = 1
        binomial = np.ones(len(lengths))
        for m in range(1, p + 1):
            binomial = binomial * np.maximum(lengths - m + 1, 0) / m
            factor[:, m] = depth ** (m if mixed else 1) * binomial
        product = np.zeros_like(total)
        for m in range(p + 1):
            product[:, m:] += total[:, m : m + 1] * factor[:, : p + 1 - m]
        total = product
    return np.asarray(total[:, 1:].sum(axis=1))
