"""The general loss metric LM: of how many other values a released one cannot be told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.utility.cell_costs import listed, mean_cost, weighed, weights_of
from sequester.utility.score import Score

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy

FORMULA = "LM = Σ over cells of w_A · (leaves(v) - 1) / (leaves(A) - 1) / (n · Σ w_A)"
REFERENCE = "Iyengar (2002); Sehatkar (2014), section 2.3"


@dataclass(frozen=True, slots=True, kw_only=True)
class LossMetric:
    """The mean over all cells of the share of the other values that the released one may be as well.

    A cell of an event that is not released may be any value. An attribute of one value has nothing to lose.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "m": {}})
    >>> original = symbol_table(["cdm"], hierarchy=food)
    >>> released = Sequences.from_rows([["Snack", "d", "*"]])
    >>> LossMetric().score(released, original=original).value  # (1/2 + 0 + 1) / 3
    0.5

    References
    ----------
    Iyengar (2002); Sehatkar (2014), section 2.3. Ranges of numbers count by the leaves below them, too.
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
        """Add up the losses of all cells; who has them does not matter."""
        weights = weights_of(original)
        return Score(
            value=mean_cost(released, original, _losses),
            goal="minimize",
            bounds=(0, 1),
            means=f"The share of the other values of {listed(weights)} that a released value may stand for "
            f"as well, on average; 0 is a value as it was, 1 one that is not shown{weighed(weights)}.",
            formula=FORMULA,
            reference=REFERENCE,
        )


def _losses(tree: Hierarchy) -> npt.NDArray[np.float64]:
    return (tree.leaves - 1) / max(int(tree.leaves[0]) - 1, 1)
