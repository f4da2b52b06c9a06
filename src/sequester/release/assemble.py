"""Turn a method's outcome into a release: fresh pseudonyms, random order, and the model's own check."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester import kernels
from sequester.data.table import EventTable
from sequester.errors import InternalError
from sequester.privacy.model import RecordModel
from sequester.release.randomness import pseudonym_labels
from sequester.release.release import ORDER, PERSON, Release
from sequester.utility.losses import Losses, count_losses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester._typing import Counts
    from sequester.data.sequences import Sequences
    from sequester.engine import Progress
    from sequester.privacy.model import PrivacyModel, Verdict
    from sequester.release.outcome import Outcome
    from sequester.release.randomness import Randomness
    from sequester.utility.score import Score


def assemble(
    outcome: Outcome,
    table: EventTable,
    *,
    method: str,
    parameters: Mapping[str, object],
    unpublished: frozenset[str] = frozenset(),
    model: PrivacyModel,
    utility: Mapping[str, Score],
    randomness: Randomness,
    progress: Progress,
    losses: Losses | None = None,
) -> Release:
    """Give persons new names in a random order, and have the model judge the result."""
    progress(0.0, "shuffling persons")
    model = model.about(table)
    tables, pseudonyms = outcome.tables, pl.DataFrame(schema={"person": pl.String, "pseudonym": pl.String})
    if tables is None:
        frame, pseudonyms = _renamed(outcome, table, randomness)
        tables = {"events": frame}
    verdict = _judge(outcome, tables, table, model)
    if not verdict:
        msg = f"{method} made a release that breaks its promise: {', '.join(map(str, verdict.witnesses[:1]))}"
        raise InternalError(msg)
    losses = losses_of(outcome, table) if losses is None else losses
    progress(1.0, "checked")
    return Release(
        tables=tables,
        schema=outcome.schema,
        hierarchies=outcome.hierarchies,
        method=method,
        parameters=parameters,
        unpublished=unpublished,
        model=model,
        verdict=verdict,
        limits=outcome.limits,
        warnings=outcome.warnings,
        utility=utility,
        changes=outcome.changes,
        pseudonyms=pseudonyms,
        plots=outcome.plots,
        evidence=outcome.evidence,
        trips=table.owners is not None,
        regions=table.regions,
        seed=randomness.seed,
        n_input_persons=table.n_persons,
        n_input_events=table.n_events,
        n_lost_events=losses.lost,
        n_moved_items=losses.moved,
        n_invented_items=losses.invented,
        reading=table.reading,
    )


def losses_of(outcome: Outcome, table: EventTable) -> Losses:
    """Count what an outcome no longer shows of its table; of records without persons the method tells."""
    if outcome.tables is not None:
        return Losses(lost=outcome.n_lost_events)
    return count_losses(outcome.sequences, table, permuted=outcome.permuted)


def _renamed(
    outcome: Outcome, table: EventTable, randomness: Randomness
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Write the histories under fresh names and in a random order, and tell who is who."""
    released = np.flatnonzero(np.diff(outcome.sequences.person_offsets)).astype(np.int64)
    # Two releases under one seed that differ in anything must not be joined by their pseudonyms.
    numbers = randomness.pseudonyms(table.n_persons, about=_digest(outcome.sequences))[released]
    shuffle = np.argsort(numbers)
    persons, labels = released[shuffle], pl.Series(pseudonym_labels(numbers[shuffle]), dtype=pl.String)
    frame = released_frame(outcome.sequences, persons, labels)
    return frame, pl.DataFrame({"person": table.persons.gather(persons), "pseudonym": labels})


def _judge(
    outcome: Outcome, tables: Mapping[str, pl.DataFrame], table: EventTable, model: PrivacyModel
) -> Verdict:
    """Ask the model: about symbols as they are coded, about anything else as a recipient reads it."""
    if isinstance(model, RecordModel):
        return model.check_tables(tables)
    if outcome.schema.symbol is None:
        # Such a promise is about the release alone, so one answer is enough.
        return model.check(EventTable(tables["events"], outcome.schema))
    verdict = model.check(outcome.sequences, original=table)
    if verdict and not model.needs_original:
        # What is published is what the recipient can count too; supports in the original stay in the house,
        # and so does who took several trips.
        return model.check(replace(outcome.sequences, owners=None))
    return verdict


def released_frame(sequences: Sequences, persons: Counts, labels: pl.Series) -> pl.DataFrame:
    """Write the events of `persons`, in that order, under the names `labels`."""
    columns: dict[str, pl.Series] = {}
    offsets = sequences.person_offsets
    for column, codes in sequences.columns.items():
        items, offsets = kernels.distinct.gather_rows(codes, sequences.person_offsets, persons)
        book = pl.Series(sequences.codebooks[column].labels, dtype=pl.String)
        columns[column] = book.gather(items)
    lengths = np.diff(offsets)
    order = np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], lengths) + 1
    owner = labels.gather(np.repeat(np.arange(len(persons)), lengths))
    return pl.DataFrame({PERSON: owner, ORDER: order, **columns})


def _digest(sequences: Sequences) -> str:
    """Tell one outcome from any other, in hexadecimal."""
    state = hashlib.sha256(sequences.person_offsets.astype("<i8").tobytes())
    for column, codes in sequences.columns.items():
        for label in (column, *sequences.codebooks[column].labels):
            text = label.encode()
            state.update(len(text).to_bytes(8, "little") + text)
        state.update(codes.astype("<i4").tobytes())
    return state.hexdigest()
