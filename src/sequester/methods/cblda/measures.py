"""What a release of classes is still good for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.engine import part
from sequester.utility import InformationLoss, QueryError, Score
from sequester.utility.query_workload import draw_queries

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.release.outcome import Outcome


def measure(outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
    """Count what became coarser and what is missing, and ask how many persons have what."""
    progress(0.0, "measuring the loss")
    sequences, quasi = outcome.sequences, table.schema.quasi
    released = int(np.count_nonzero(np.diff(sequences.person_offsets)))
    loss = InformationLoss().score(sequences, original=table)
    scale = sum(each.weight for each in quasi.values()) * table.n_events / max(table.n_persons, 1)
    cells = max(table.n_events * len(quasi), 1)
    counts = dict(outcome.changes["what"].value_counts().iter_rows())
    scores = {
        "information_loss": loss,
        "information_loss_per_person": Score(
            value=loss.value * scale,
            goal="minimize",
            bounds=(0, None),
            means="The losses of all values of quasi-identifiers, added up for each person, on average; an "
            "event or a person who is not released loses everything.",
        ),
        "generalized_cells": _share(
            counts.get("generalized", 0) / cells, "show a coarser value than they had"
        ),
        "suppressed_cells": _share(counts.get("suppressed", 0) / cells, "are missing with their event"),
        "dropped_persons": Score(
            value=(table.n_persons - released) / max(table.n_persons, 1),
            goal="minimize",
            bounds=(0, 1),
            means="Share of the persons of whom nothing is released; 0 is none.",
        ),
    }
    queries = draw_queries(table)
    return scores | QueryError(queries=queries).scores(
        sequences, original=table, progress=part(progress, 0.2, 1.0)
    )


def _share(value: float, which: str) -> Score:
    return Score(
        value=value,
        goal="minimize",
        bounds=(0, 1),
        means=f"Share of the cells of quasi-identifiers that {which}; 0 is none.",
    )
