"""Measures of a release: those of every method, and those of methods that generalize quasi-identifiers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.sequences import Sequences
from sequester.engine import part
from sequester.privacy.model import RecordModel
from sequester.utility import QueryError, Score, information_loss
from sequester.utility.generalization import weights_of, weights_text
from sequester.utility.queries import draw_queries
from sequester.utility.register import measure_all
from sequester.utility.score import ReleasePair

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.method import Method
    from sequester.release.outcome import Outcome
    from sequester.utility.edits import Losses

N_QUERIES = 1_000
"""Queries that are asked of most tables."""
FEWEST_QUERIES = 100
"""Queries that are asked of the largest tables."""
MOST_LOOKS = 200_000_000
"""Events times queries, which is kept to so that measuring never takes longer than the method."""
REFERENCE = "Sehatkar (2014), section 2.2, generalization and suppression"


def evaluate_release(
    method: Method, outcome: Outcome, table: EventTable, losses: Losses, *, progress: Progress
) -> dict[str, Score]:
    """Return what the method measures, and every other measure that applies to such data.

    Events are measured alone; the information loss is that of attributes of persons and events together.
    """
    events, original = _events_alone(outcome, table)
    known = method.evaluate(events, original, progress=part(progress, 0.0, 0.5))
    if table.of_persons:
        known |= {"information_loss": information_loss(outcome.sequences, original=table)}
    loss, model = known.get("information_loss"), method.model()
    pair = ReleasePair(
        released=events.sequences if events.tables is None else _as_sequences(events.tables, original),
        original=original,
        model=model,
        has_persons=not isinstance(model, RecordModel),
        n_lost_events=losses.lost,
        information_loss=None if loss is None else loss.value,
    )
    return {**known, **measure_all(pair, known=known, progress=part(progress, 0.5, 1.0))}


def _events_alone(outcome: Outcome, table: EventTable) -> tuple[Outcome, EventTable]:
    """Return what became of events alone, of those who had any; attributes of persons are left out."""
    if not table.of_persons:
        return outcome, table
    (events, _), (original, _) = outcome.part(table.of_persons), table.parted
    some = np.flatnonzero(np.diff(original.person_offsets))
    if len(some) == original.n_persons:
        return events, original
    return replace(events, sequences=events.sequences.take(some)), original.take(some, keep_labels=True)


def _as_sequences(tables: Mapping[str, pl.DataFrame], table: EventTable) -> Sequences:
    """Return the main table of records, which belong to nobody, as the events of one person."""
    main = next(iter(tables.values()))
    names = [name for name in table.schema.attributes if name in main.columns]
    return Sequences.encoded(np.array([0, main.height], np.int64), {name: main[name] for name in names})


def measure_cells(
    outcome: Outcome, table: EventTable, *, suppressed: str, progress: Progress
) -> dict[str, Score]:
    """Count what became coarser, what is `suppressed`, and how far counts are off."""
    progress(0.0, "measuring the loss")
    changed = outcome.changes.lazy().group_by("column", "what").len().collect().iter_rows()
    counts = {(name, what): count for name, what, count in changed}
    scores = {
        "information_loss": information_loss(outcome.sequences, original=table),
        "generalized_cells": _share("generalized", counts, table, "show a coarser value than they had"),
        "suppressed_cells": _share("suppressed", counts, table, suppressed),
    }
    if not any(weights_of(table).values()) or not table.n_events:
        return scores
    n_queries = min(max(MOST_LOOKS // max(table.n_events, 1), FEWEST_QUERIES), N_QUERIES)
    asked = QueryError(queries=draw_queries(table, n_queries))
    return scores | asked.scores(outcome.sequences, original=table, progress=part(progress, 0.2, 1.0))


def _share(what: str, counts: Mapping[tuple[str, str], int], table: EventTable, which: str) -> Score:
    """Return the share of cells that something happened to, attributes by their weights."""
    weights = weights_of(table)
    scale = table.n_events * sum(weights.values())
    total = sum(weight * counts.get((name, what), 0) for name, weight in weights.items())
    return Score(
        value=total / scale if scale else 0.0,
        means=f"Share of the cells of quasi-identifiers that {which}; 0 is none{weights_text(weights)}.",
        formula="Σ over such cells of w_A / (n · Σ w_A)",
        reference=REFERENCE,
    )
