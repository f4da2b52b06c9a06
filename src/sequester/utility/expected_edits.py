"""How many events of a person had to be changed, where released values may be coarse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.errors import ParameterError
from sequester.mining.support import sequences_of
from sequester.utility.attributes import attributes_of
from sequester.utility.cell_costs import weighed
from sequester.utility.edit_distance import FORMULA, REFERENCE
from sequester.utility.score import Score
from sequester.utility.units import units_of

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedEdits:
    """The least cost of insertions, deletions and substitutions of events per person, on average.

    An insertion or a deletion costs 1. A substitution costs, averaged over attributes by their weights, the
    probability that the released value is not the original one: 0 where it is the same, 1 - 1 / leaves for a
    node above it, 1 for any other. Where nothing is coarse and there is one attribute it is the edit
    distance.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "m": {}})
    >>> original = symbol_table(["cmd", "m"], hierarchy=food)
    >>> released = Sequences.from_rows([["Snack", "d"], ["m"]])
    >>> ExpectedEdits().score(released, original=original).value  # c is coarse, m is deleted
    0.75
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
        """Compare person by person."""
        sequences, source = sequences_of(released), original.sequences
        if sequences.n_persons != source.n_persons:
            msg = (
                "released and original must have the same persons, "
                f"there are {sequences.n_persons} and {source.n_persons}"
            )
            raise ParameterError(msg)
        attributes = attributes_of(sequences, original)
        if not attributes:
            msg = "edits need a symbol or a quasi-identifier with a weight, and there is none"
            raise ParameterError(msg)
        total = sum(each.weight for each in attributes)
        ends = [each.tree.subtree_end for each in attributes]
        costs = kernels.edits.least_edits(
            np.stack([each.before for each in attributes], axis=1),
            source.person_offsets,
            np.stack([each.after for each in attributes], axis=1),
            sequences.person_offsets,
            np.concatenate(ends),
            np.concatenate([each.tree.leaves for each in attributes]),
            np.cumsum([0, *map(len, ends)]).astype(np.int64),
            np.array([each.weight / total for each in attributes]),
        )
        units = units_of(original)
        return Score(
            value=float(costs.sum()) / max(source.n_persons, 1),
            goal="minimize",
            bounds=(0, None),
            means=f"How many events had to be inserted, deleted or substituted per {units.one}, on average; "
            "a substitution counts by the probability that the released values of "
            f"{', '.join(each.name for each in attributes)} are not the original ones; 0 is unchanged, and a "
            f"{units.one} that is not released counts with all events"
            f"{weighed({each.name: each.weight for each in attributes})}.",
            formula=FORMULA,
            reference=REFERENCE,
        )


def edit_work(released: EventTable | Sequences, original: EventTable) -> int:
    """Count the pairs of events that the measure looks at."""
    lengths = [np.diff(sequences_of(side).person_offsets) for side in (released, original)]
    return int(lengths[0] @ lengths[1]) * max(len(attributes_of(released, original)), 1)
