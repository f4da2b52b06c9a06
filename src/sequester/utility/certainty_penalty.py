"""The normalized certainty penalty NCP: how uncertain all released values together are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.utility.cell_costs import listed, total_cost, weighed, weights_of
from sequester.utility.score import Score

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

FORMULA = "NCP = Σ over cells of w_A · size(v) / leaves(A); size(v) = leaves(v), 0 for a leaf"
REFERENCE = "Xu, Wang, Pei, Wang, Shi, Fu (2006); Sehatkar (2014), Eq. 2.1 and 2.2"


@dataclass(frozen=True, slots=True, kw_only=True)
class CertaintyPenalty:
    """The sum over all cells of the share of the domain that the released value stands for.

    A leaf has nothing below it, and no penalty. Divided by the events and the weights it is the information
    loss.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "Dairy": ["m", "n"]})
    >>> original = symbol_table(["cdm"], hierarchy=food)
    >>> released = Sequences.from_rows([["Snack", "d", "*"]])
    >>> CertaintyPenalty().score(released, original=original).value  # 2/4 + 0 + 1
    1.5

    References
    ----------
    Xu, Wang, Pei, Wang, Shi, Fu (2006); Sehatkar (2014), Eq. 2.1 and 2.2. An event that is not released has
    the penalty of an event of nothing but ``*``.
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
        """Add up the penalties of all cells; who has them does not matter."""
        weights = weights_of(original)
        return Score(
            value=total_cost(released, original, lambda tree: tree.loss),
            goal="minimize",
            bounds=(0, original.n_events * sum(weights.values())),
            means=f"The shares of the domains of {listed(weights)} that released values stand for, added up "
            f"over all {original.n_events:,} events; 0 says that every value is as it was{weighed(weights)}.",
            formula=FORMULA,
            reference=REFERENCE,
        )
