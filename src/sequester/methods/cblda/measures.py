"""What a release of classes is still good for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.methods.evaluate import measure_cells
from sequester.utility import Score

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.release.outcome import Outcome


def measure(outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
    """Count what became coarser and what is missing, and ask how many persons have what."""
    scores = measure_cells(outcome, table, suppressed="are missing with their event", progress=progress)
    weights = sum(each.weight for each in table.schema.quasi.values())
    per_person = Score(
        value=scores["information_loss"].value * weights * table.n_events / max(table.n_persons, 1),
        goal="minimize",
        bounds=(0, None),
        means="The losses of all values of quasi-identifiers, added up for each person, on average; an "
        "event or a person who is not released loses everything.",
        formula="information loss · Σ w_A · events / persons",
        reference="Sehatkar (2014), chapter 5, information loss of a sequence",
    )
    first, *others = scores.items()
    return dict([first, ("information_loss_per_person", per_person), *others])
