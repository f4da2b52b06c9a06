"""What levels and suppressed values lose (Eq. 4.1 to 4.8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.methods.halt.histories import NOTHING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sequester._typing import Codes
    from sequester.methods.halt.histories import WeightedRows
    from sequester.methods.halt.quasi_identifiers import QuasiIdentifier, QuasiIdentifiers, Signature

    Amounts = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeCosts:
    """A lattice node's released values, and what it costs to suppress each (Eq. 4.1 to 4.8)."""

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


class LatticeCosts:
    """Counts cells once, and prices every node of the lattice; losses lie between 0 and 1."""

    def __init__(
        self,
        histories: WeightedRows,
        quasi: QuasiIdentifiers,
        weights: Sequence[float],
        losses: Sequence[Amounts] | None = None,
    ) -> None:
        """Count how often each value occurs in each quasi-identifier.

        Columns have `weights`, and nodes of their trees `losses`: those of the trees unless told.
        """
        self._quasi = quasi
        self._losses = [column.tree.loss for column in quasi.columns] if losses is None else losses
        persons = np.repeat(histories.persons.weights, np.diff(histories.offsets))
        # A weight of 0 says that nothing in the column matters; if nothing matters at all, all losses are 0.
        scale = int(persons.sum()) * sum(weights)
        # Cells that hold nothing have nothing to lose.
        for weight, cells in zip(weights, histories.cells.T, strict=True):
            scale -= weight * int(persons[cells == NOTHING].sum())
        self._weights = [weight / scale if scale else 0.0 for weight in weights]
        self._counts = [
            np.bincount(cells[cells >= 0], persons[cells >= 0], minlength=column.n_nodes).astype(np.float64)
            for cells, column in zip(histories.cells.T, quasi.columns, strict=True)
        ]
        self._priced: dict[tuple[int, int], tuple[float, Codes, Amounts]] = {}

    def at(self, node: Signature) -> NodeCosts:
        """Price the release of a node."""
        quasi = self._quasi
        generalization = 0.0
        cost_of = np.full(quasi.n_items, -1.0)
        for column, counts, weight, losses, level in zip(
            quasi.columns, self._counts, self._weights, self._losses, node, strict=True
        ):
            key = column.first, level
            if key not in self._priced:
                released, amounts, exact = _released(column, counts, level)
                loss = losses[released]
                self._priced[key] = (
                    weight * float(amounts @ loss),
                    column.first + released,
                    weight * amounts * (1 - loss) + weight * exact,
                )
            own, items, prices = self._priced[key]
            generalization += own
            if level < column.height:
                cost_of[items] = prices
        numbers = np.flatnonzero(cost_of >= 0)
        return NodeCosts(
            generalization,
            numbers.astype(np.int32),
            cost_of[numbers],
            np.searchsorted(numbers, np.arange(quasi.n_items)).astype(np.int32),
            np.searchsorted(numbers, quasi.ends).astype(np.int32),
        )

    def prices(self, node: Signature) -> Amounts:
        """Return for each item what suppressing it in one cell of one person adds to the loss of a node."""
        prices = np.zeros(self._quasi.n_items)
        for column, weight, losses, level in zip(
            self._quasi.columns, self._weights, self._losses, node, strict=True
        ):
            own = np.append(weight * (1 - losses), 0.0)
            own[column.leaves_as_it_is(level)] = weight
            prices[column.first : column.first + column.n_nodes] = own
        return prices


def _released(column: QuasiIdentifier, counts: Amounts, level: int) -> tuple[Codes, Amounts, Amounts]:
    """Return the nodes that values of a column become at a level, and their numbers of cells.

    The second are those of protected values, which are released as they are unless they are suppressed.
    """
    nodes = np.flatnonzero(counts)
    above = column.tree.levels[level][nodes]
    released, place = np.unique(above, return_inverse=True)
    is_exact = column.leaves_as_it_is(level)[nodes]
    amounts, exact = (
        np.bincount(place, np.where(mask, counts[nodes], 0.0), minlength=len(released)).astype(np.float64)
        for mask in (~is_exact, is_exact)
    )
    return released.astype(np.int32), amounts, exact
