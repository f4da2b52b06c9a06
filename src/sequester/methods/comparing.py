"""What every release is measured by, whatever method made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.data.sequences import Sequences
from sequester.privacy.model import RecordModel
from sequester.utility.register import measure_all
from sequester.utility.score import ReleasePair

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.privacy.model import PrivacyModel
    from sequester.release.outcome import Outcome
    from sequester.utility.score import Score
    from sequester.utility.suppression import Losses


def compare(
    outcome: Outcome,
    table: EventTable,
    model: PrivacyModel,
    *,
    known: Mapping[str, Score],
    losses: Losses,
    progress: Progress,
) -> dict[str, Score]:
    """Give what the method has measured, and every other measure that applies to such data."""
    loss = known.get("information_loss")
    pair = ReleasePair(
        released=outcome.sequences if outcome.tables is None else _records(outcome.tables, table),
        original=table,
        model=model,
        has_persons=not isinstance(model, RecordModel),
        n_lost_events=losses.lost,
        information_loss=None if loss is None else loss.value,
    )
    return {**known, **measure_all(pair, known=known, progress=progress)}


def _records(tables: Mapping[str, pl.DataFrame], table: EventTable) -> Sequences:
    """Read the main table of records, which belong to nobody, as the events of one."""
    main = next(iter(tables.values()))
    names = [name for name in table.schema.attributes if name in main.columns]
    return Sequences.encoded(np.array([0, main.height], np.int64), {name: main[name] for name in names})
