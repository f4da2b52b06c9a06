"""The classification metric CM: how often the majority of alike events is wrong about a sensitive value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import ParameterError
from sequester.mining.support import sequences_of
from sequester.utility.classes import cell_classes, telling
from sequester.utility.score import Score

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

FORMULA = "CM = Σ over events of penalty / n; penalty 1 if absent or not of its class's majority, else 0"
REFERENCE = "Iyengar (2002); Sehatkar (2014), Eq. 2.6 and 2.7"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassificationMetric:
    """The share of events that are not released, or whose sensitive value is not that of most alike events.

    Events are alike if they are equal in every quasi-identifier that has a weight. Several sensitive columns
    are averaged.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> age = Hierarchy.from_tree({"young": ["1", "2"], "old": ["8"]})
    >>> frame = pl.DataFrame({"who": list("abcd"), "n": 1, "age": list("1128"), "ill": list("yynn")})
    >>> roles = {"person": "who", "order": "n", "quasi": {"age": age}, "sensitive": {"ill": ["y"]}}
    >>> original = EventTable(frame, Schema(**roles))
    >>> ClassificationMetric().score(original, original=original).value
    0.0
    >>> coarser = frame.with_columns(age=pl.Series(["young", "young", "young", "8"]))
    >>> released = EventTable(coarser, Schema(**roles, released=True))
    >>> ClassificationMetric().score(released, original=original).value  # the third is not like most young
    0.25

    References
    ----------
    Iyengar (2002); Sehatkar (2014), Eq. 2.6 and 2.7. The record is an event, its class the sensitive value.
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
        """Count in every class of alike events those of its most frequent value."""
        columns = original.schema.sensitive_columns
        if not columns:
            msg = "the classification metric needs a sensitive attribute, and there is none"
            raise ParameterError(msg)
        sequences = sequences_of(released)
        classes = cell_classes(sequences, telling(original))
        right = sum(_majority(classes, sequences.columns[column]) for column in columns) / len(columns)
        n = original.n_events
        return Score(
            value=1 - right / n if n else 0.0,
            goal="minimize",
            bounds=(0, 1),
            means=f"The share of events that are not released, or whose {' and '.join(columns)} is not the "
            "most frequent among released events with the same quasi-identifiers: what a classifier that "
            "learned all of them would get wrong.",
            formula=FORMULA,
            reference=REFERENCE,
        )


def _majority(classes: np.ndarray, values: np.ndarray) -> int:
    """Count the events that have the most frequent value of their class."""
    pairs, counts = np.unique(classes * (int(values.max(initial=0)) + 1) + values, return_counts=True)
    most = np.zeros(int(classes.max(initial=-1)) + 1, np.int64)
    np.maximum.at(most, pairs // (int(values.max(initial=0)) + 1), counts)
    return int(most.sum())
