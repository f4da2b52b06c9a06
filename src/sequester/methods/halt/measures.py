"""What a release of coarser and suppressed values is still good for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.utility import InformationLoss, Score

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.release.outcome import Outcome


def measure(outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
    """Count what became coarser, what is suppressed, and who is not released."""
    progress(0.0, "measuring the loss")
    cells = max(table.n_events * len(table.schema.quasi), 1)
    counts = dict(outcome.changes["what"].value_counts().iter_rows())
    released = int((outcome.sequences.person_offsets[1:] > outcome.sequences.person_offsets[:-1]).sum())
    scores = {
        "information_loss": InformationLoss().score(outcome.sequences, original=table),
        "generalized_cells": _share(
            counts.get("generalized", 0) / cells, "show a coarser value than they had"
        ),
        "suppressed_cells": _share(counts.get("suppressed", 0) / cells, "are suppressed value by value"),
        "dropped_persons": Score(
            value=(table.n_persons - released) / max(table.n_persons, 1),
            goal="minimize",
            bounds=(0, 1),
            means="Share of the persons of whom nothing is released; 0 is none.",
        ),
    }
    progress(1.0, "measured")
    return scores


def _share(value: float, which: str) -> Score:
    return Score(
        value=value,
        goal="minimize",
        bounds=(0, 1),
        means=f"Share of the cells of quasi-identifiers that {which}; 0 is none.",
    )
