"""Precision: how low in their hierarchies the released values still stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.utility.cell_costs import listed, mean_cost, weighed, weights_of
from sequester.utility.score import Score

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

FORMULA = "Prec = 1 - Σ over cells of w_A · level(v) / height(A) / (n · Σ w_A); level 0 is a leaf"
REFERENCE = "Sweeney (2002); Sehatkar (2014), section 2.3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """One less the mean over all cells of how far up its hierarchy the released value stands.

    Levels are counted from the root, so that in a tree of unequal branches a leaf is at level 0 wherever it
    is. A cell of an event that is not released stands at the root.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "m": {}})
    >>> original = symbol_table(["cdmm"], hierarchy=food)
    >>> released = Sequences.from_rows([["Snack", "d", "*", "m"]])
    >>> Precision().score(released, original=original).value  # 1 - (1/2 + 0 + 1 + 0) / 4
    0.625

    References
    ----------
    Sweeney (2002); Sehatkar (2014), section 2.3.
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
        """Average the levels of all cells; who has them does not matter."""
        weights = weights_of(original)
        return Score(
            value=1 - mean_cost(released, original, lambda tree: tree.cost("linear")),
            goal="maximize",
            bounds=(0, 1),
            means=f"How far down their hierarchies the values of {listed(weights)} still stand, on average; "
            f"1 is a value as it was, 0 one that is not shown{weighed(weights)}.",
            formula=FORMULA,
            reference=REFERENCE,
        )
