"""ILoss: what an event lost on average by the leaves that its values cover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.utility.cell_costs import listed, total_cost, weighed, weights_of
from sequester.utility.score import Score

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy

FORMULA = "ILoss = Σ over events Σ over attributes of w_A · (coverage(v) - 1) / base(A) / n"
REFERENCE = "Xiao, Tao (2006); Sehatkar (2014), Eq. 2.3 to 2.5"


@dataclass(frozen=True, slots=True, kw_only=True)
class ILoss:
    """The mean over events of the weighed losses of its values, each its further leaves over all leaves.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "Dairy": ["m", "n"]})
    >>> original = symbol_table(["cd"], hierarchy=food)
    >>> released = Sequences.from_rows([["Snack", "*"]])
    >>> ILoss().score(released, original=original).value  # (1/4 + 3/4) / 2
    0.5

    References
    ----------
    Xiao, Tao (2006); Sehatkar (2014), Eq. 2.3 to 2.5. An event that is not released counts as one of nothing
    but ``*``, so that leaving events out never makes the loss smaller.
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
        """Add up the losses of all cells; who has them does not matter."""
        weights = weights_of(original)
        bases = [
            weight * (1 - 1 / int(original.hierarchies[name].leaves[0])) for name, weight in weights.items()
        ]
        return Score(
            value=total_cost(released, original, _losses) / max(original.n_events, 1),
            goal="minimize",
            bounds=(0, sum(bases)),
            means=f"What an event lost on average: over {listed(weights)}, the further leaves that a "
            f"released value covers as a share of all leaves, added up; 0 is an event as it was"
            f"{weighed(weights)}.",
            formula=FORMULA,
            reference=REFERENCE,
        )


def _losses(tree: Hierarchy) -> npt.NDArray[np.float64]:
    return (tree.leaves - 1) / int(tree.leaves[0])
