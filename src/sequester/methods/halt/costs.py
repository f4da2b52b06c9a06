"""What a release of a lattice node costs: coarser values, and values that are suppressed (Eq. 4.1 to 4.8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Mask
    from sequester.methods.halt.axes import Axes, Axis, Signature
    from sequester.methods.halt.histories import Histories

    Amounts = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeCosts:
    """A lattice node's released values, and what it costs to suppress each."""

    generalization: float
    """The loss without any suppression."""
    numbers: Codes
    """The items that are the released values, ascending."""
    costs: Amounts
    """What each adds to the loss when it is suppressed."""
    starts: Codes
    """Item to the first released value at or below it."""
    stops: Codes
    """And to the one after the last."""

    def span(self, item: int) -> tuple[int, int]:
        """Give the bounds of the released values at or below an item."""
        return int(self.starts[item]), int(self.stops[item])

    def suppression(self, is_suppressed: Mask) -> float:
        """Give what the suppression of some released values adds to the loss."""
        return float(self.costs[is_suppressed].sum())


class Costs:
    """Counts cells once, and prices every node of the lattice; losses lie between 0 and 1."""

    def __init__(self, histories: Histories, axes: Axes, weights: tuple[float, ...]) -> None:
        """Count how often each value occurs in each quasi-identifier."""
        self._axes = axes
        persons = np.repeat(histories.weights, np.diff(histories.offsets))
        cells = histories.cells.reshape(-1, len(axes))
        n_cells = int(persons.sum())
        # A weight of 0 says that nothing in the column matters; if nothing matters at all, all losses are 0.
        scale = n_cells * sum(weights)
        self._weights = [weight / scale if scale else 0.0 for weight in weights]
        self._counts = []
        for q, axis in enumerate(axes.each):
            shown = cells[:, q] >= 0
            counts = np.bincount(cells[shown, q], persons[shown], minlength=axis.n_nodes)
            self._counts.append(counts.astype(np.float64))

    def at(self, node: Signature) -> NodeCosts:
        """Price the release of a node."""
        axes = self._axes
        generalization = 0.0
        cost_of = np.full(axes.n_items, -1.0)
        for axis, counts, weight, level in zip(axes.each, self._counts, self._weights, node, strict=True):
            released, amounts, exact = _released(axis, counts, level)
            loss = axis.tree.loss[released]
            generalization += weight * float(amounts @ loss)
            if level < axis.height:
                cost_of[axis.first + released] = weight * amounts * (1 - loss) + weight * exact
        numbers = np.flatnonzero(cost_of >= 0)
        return NodeCosts(
            generalization,
            numbers.astype(np.int32),
            cost_of[numbers],
            np.searchsorted(numbers, np.arange(axes.n_items)).astype(np.int32),
            np.searchsorted(numbers, axes.ends).astype(np.int32),
        )


def _released(axis: Axis, counts: Amounts, level: int) -> tuple[Codes, Amounts, Amounts]:
    """Give the nodes that values of a column become at a level, and their numbers of cells.

    The second are those of protected values, which are released as they are unless they are suppressed.
    """
    nodes = np.flatnonzero(counts)
    above = axis.tree.levels[level][nodes]
    released, place = np.unique(above, return_inverse=True)
    is_exact = axis.leaves_as_it_is(level)[nodes]
    amounts, exact = (
        np.bincount(place, np.where(mask, counts[nodes], 0.0), minlength=len(released)).astype(np.float64)
        for mask in (~is_exact, is_exact)
    )
    return released.astype(np.int32), amounts, exact
