"""How much coarser the quasi-identifiers of a release are than those of the original."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.table import EventTable
from sequester.errors import ParameterError
from sequester.utility.score import Score

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sequester.data.sequences import Sequences


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
        sequences = released.sequences if isinstance(released, EventTable) else released
        if sequences.n_events > original.n_events:
            msg = (
                "released must not have more events than original, "
                f"there are {sequences.n_events} and {original.n_events}"
            )
            raise ParameterError(msg)
        n_absent = original.n_events - sequences.n_events
        total, scale = 0.0, 0.0
        for name, quasi in original.schema.quasi.items():
            tree = original.hierarchies[name]
            nodes = tree.nodes(sequences.codebooks[name].labels)
            counts = np.bincount(sequences.columns[name], minlength=len(nodes))
            total += quasi.weight * (float(counts @ tree.loss[nodes]) + n_absent)
            scale += quasi.weight * original.n_events
        return Score(
            value=total / scale if scale else 0.0,
            goal="minimize",
            bounds=(0, 1),
            means=f"How much the values of {_listed(original.schema.quasi)} lost on average: the share of "
            "all leaves of its hierarchy that a released value stands for, 0 for a value as it was, 1 for "
            f"one that is not shown{_weighed(original)}.",
        )


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _weighed(original: EventTable) -> str:
    weights = {name: quasi.weight for name, quasi in original.schema.quasi.items()}
    if len(set(weights.values())) == 1:
        return ""
    return f", weighed by {', '.join(f'{name} {weight:g}' for name, weight in weights.items())}"
