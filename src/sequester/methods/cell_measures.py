"""What methods measure that make quasi-identifiers coarser: cells, persons, and answers to queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.engine import part
from sequester.utility import InformationLoss, QueryError, Score
from sequester.utility.generalization import weights_of, weights_text
from sequester.utility.queries import draw_queries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.release.outcome import Outcome

N_QUERIES = 1_000
"""Queries that are asked of most tables."""
FEWEST_QUERIES = 100
"""Queries that are asked of the largest tables."""
MOST_LOOKS = 200_000_000
"""Events times queries, which is kept to so that measuring never takes longer than the method."""
REFERENCE = "Sehatkar (2014), section 2.2, generalization and suppression"


def measure_cells(
    outcome: Outcome, table: EventTable, *, suppressed: str, progress: Progress
) -> dict[str, Score]:
    """Count what became coarser, what is `suppressed`, who is not released, and how far counts are off."""
    progress(0.0, "measuring the loss")
    changed = outcome.changes.group_by("column", "what").len().iter_rows()
    counts = {(name, what): count for name, what, count in changed}
    released = int(np.count_nonzero(np.diff(outcome.sequences.person_offsets)))
    scores = {
        "information_loss": InformationLoss().score(outcome.sequences, original=table),
        "generalized_cells": _share("generalized", counts, table, "show a coarser value than they had"),
        "suppressed_cells": _share("suppressed", counts, table, suppressed),
        "dropped_persons": Score(
            value=(table.n_persons - released) / max(table.n_persons, 1),
            goal="minimize",
            bounds=(0, 1),
            means="Share of the persons of whom nothing is released; 0 is none.",
            formula="persons without a released event / persons",
            reference=REFERENCE,
        ),
    }
    if not any(weights_of(table).values()):
        return scores
    n_queries = min(max(MOST_LOOKS // max(table.n_events, 1), FEWEST_QUERIES), N_QUERIES)
    asked = QueryError(queries=draw_queries(table, n_queries))
    return scores | asked.scores(outcome.sequences, original=table, progress=part(progress, 0.2, 1.0))


def _share(what: str, counts: Mapping[tuple[str, str], int], table: EventTable, which: str) -> Score:
    """Give the share of cells that something happened to, attributes by their weights."""
    weights = weights_of(table)
    scale = table.n_events * sum(weights.values())
    total = sum(weight * counts.get((name, what), 0) for name, weight in weights.items())
    return Score(
        value=total / scale if scale else 0.0,
        goal="minimize",
        bounds=(0, 1),
        means=f"Share of the cells of quasi-identifiers that {which}; 0 is none{weights_text(weights)}.",
        formula="Σ over such cells of w_A / (n · Σ w_A)",
        reference=REFERENCE,
    )
