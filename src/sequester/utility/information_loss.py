"""How much coarser the quasi-identifiers of a release are than those of the original."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.utility.cell_costs import listed, mean_cost, weighed, weights_of
from sequester.utility.score import Score

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

FORMULA = "Σ over cells of w_A · loss(v) / (n · Σ w_A); loss(v) = leaves(v) / leaves(A), 0 for a leaf"
REFERENCE = "Sehatkar (2014), Eq. 4.1 to 4.8"


@dataclass(frozen=True, slots=True, kw_only=True)
class InformationLoss:
    """The mean over all cells of quasi-identifiers of what each lost: 0 is nothing, 1 is everything.

    A released label loses the share of the tree's leaves that it stands for; a leaf loses nothing, ``*``
    loses everything. So does each cell of an event that is not released. Quasi-identifiers count by their
    weights. A table without cells, or without weight, loses nothing.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> stay = Hierarchy.from_tree({"short": ["1", "2", "3"], "long": ["30"]})
    >>> frame = pl.DataFrame({"who": ["a", "a", "b"], "n": [1, 2, 1], "stay": ["1", "30", "2"]})
    >>> original = EventTable(frame, Schema(person="who", order="n", quasi={"stay": stay}))
    >>> released = EventTable(
    ...     frame.with_columns(stay=pl.Series(["short", "*", "2"])),
    ...     Schema(person="who", order="n", quasi={"stay": stay}, released=True),
    ... )
    >>> InformationLoss().score(released, original=original).value  # (3/4 + 1 + 0) / 3
    0.5833333333333334

    References
    ----------
    Sehatkar (2014), Eq. 4.1 to 4.8, with the number of events for the size of D: only then the loss of a
    table that shows nothing is 1. A suppressed cell loses what generalization has left of it, 1 in all.
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
        """Add up the losses of all cells; who and in which order does not matter."""
        weights = weights_of(original)
        return Score(
            value=mean_cost(released, original, lambda tree: tree.loss),
            goal="minimize",
            bounds=(0, 1),
            means=f"How much the values of {listed(weights)} lost on average: the share of all leaves of "
            "its hierarchy that a released value stands for, 0 for a value as it was, 1 for one that is not "
            f"shown{weighed(weights)}.",
            formula=FORMULA,
            reference=REFERENCE,
        )
