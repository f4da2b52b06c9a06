"""What a release of coarser and suppressed values is still good for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.methods.evaluate import measure_cells

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.release.outcome import Outcome
    from sequester.utility import Score


def measure(outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
    """Count what became coarser, what is suppressed, who is not released, and how far counts are off."""
    return measure_cells(outcome, table, suppressed="are suppressed value by value", progress=progress)
