"""How far the values of a release are distributed otherwise than those of the original."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.utility.attributes import attributes_of, weighed_mean
from sequester.utility.cell_costs import weighed
from sequester.utility.score import Score

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.utility.attributes import Attribute

FORMULA = "Σ over attributes of w_A · Σ over values of p log2(p / q) / Σ w_A; p, q = (events + 1) / their sum"
REFERENCE = "Kullback, Leibler (1951); for items, Gwadera, Gkoulalas-Divanis, Loukides (2013)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueDivergence:
    """The Kullback-Leibler divergence, in bits, of the values in the release from those in the original.

    Events are counted per value, one is added to each count, and counts are divided by their sum. A released
    node counts in equal parts for the leaves below it; leaves that have no name are one value together.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "m": {}})
    >>> original = symbol_table(["cccd"], hierarchy=food)  # 4, 2 and 1 of 7; released 3, 3 and 1
    >>> released = Sequences.from_rows([["Snack"] * 4])
    >>> round(ValueDivergence().score(released, original=original).value, 4)
    0.07

    References
    ----------
    Kullback, Leibler (1951); for items, Gwadera, Gkoulalas-Divanis, Loukides (2013).
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
        """Average the divergences of all attributes by their weights."""
        attributes = attributes_of(released, original)
        return Score(
            value=weighed_mean(attributes, _divergence),
            goal="minimize",
            bounds=(0, None),
            means="Kullback-Leibler divergence, in bits, of how often each value of "
            f"{', '.join(each.name for each in attributes)} occurs in the release, as a recipient would "
            "estimate it, from how often it occurs in the original; 0 is the same shares"
            f"{weighed({each.name: each.weight for each in attributes})}.",
            formula=FORMULA,
            reference=REFERENCE,
        )


def _divergence(attribute: Attribute) -> float:
    counts = [attribute.expect(attribute.before), attribute.expect(attribute.after)]
    if int(attribute.tree.leaves[0]) > len(counts[0]):
        totals = len(attribute.before), len(attribute.after)
        counts = [np.append(each, total - each.sum()) for each, total in zip(counts, totals, strict=True)]
    p, q = ((each + 1) / (each + 1).sum() for each in counts)
    # Rounding may leave a little less than nothing.
    return max(float((p * np.log2(p / q)).sum()), 0.0)
