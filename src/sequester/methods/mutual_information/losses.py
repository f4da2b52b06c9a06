"""What the release of each event costs, and what that is for each person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.methods.mutual_information.costs import costs_by_depth

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.methods.mutual_information.costs import Table

    Numbers = npt.NDArray[np.float64]


def losses(released: Sequences, table: EventTable, cost: str | Table) -> Numbers:
    """Event to what it costs to release its symbol as it is released."""
    source = table.sequences
    column = source.symbol
    tree = table.hierarchies[column]
    by_depth = costs_by_depth(tree, source.codebooks[column].labels, cost)
    depths = tree.depth[tree.nodes(released.codebooks[column].labels)]
    spent: Numbers = by_depth[source.columns[column], depths[released.columns[column]]]
    return spent


def per_person(values: Numbers, table: EventTable, weights: Numbers | None) -> Numbers:
    """The mean over each person's events; 0 for a person whose events have no weight."""
    offsets = table.person_offsets
    owner = np.repeat(np.arange(table.n_persons), np.diff(offsets))
    weight = np.ones(len(values)) if weights is None else weights
    total = np.bincount(owner, weight, table.n_persons)
    means: Numbers = np.divide(
        np.bincount(owner, values * weight, table.n_persons),
        total,
        out=np.zeros(table.n_persons),
        where=total > 0,
    )
    return means
