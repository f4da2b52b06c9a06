"""Turn the outcome of a method into a release: pseudonyms, random order, and the check of the model."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.attacks.singling_out import SinglingOut
from sequester.data.schema import Quasi
from sequester.errors import InternalError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.privacy.l_diversity import GROUP
from sequester.privacy.model import RecordModel
from sequester.ragged import gather_rows, owners_of, places_of
from sequester.release.randomness import pseudonym_labels, seed_warnings
from sequester.release.release import EVENTS, ORDER, PERSON, PERSONS, Release, SeriesLink, released_table
from sequester.release.series import Series, event_keys, join_hierarchies, join_tables
from sequester.utility.edits import Losses, count_losses
from sequester.utility.score import Scores

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester._typing import Counts
    from sequester.data.schema import Schema
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.engine import Engine
    from sequester.privacy.model import PrivacyModel, Verdict
    from sequester.release.outcome import Outcome
    from sequester.release.randomness import Randomness

LOOKALIKE_LIMIT = (
    "Some labels that look alike were kept apart: where they mean the same person or value, the promise "
    "counts them as different."
)
"""The limit of a promise where labels look alike."""


def assemble(
    outcome: Outcome,
    table: EventTable,
    *,
    method: str,
    parameters: Mapping[str, object],
    unpublished: frozenset[str] = frozenset(),
    model: PrivacyModel,
    randomness: Randomness,
    losses: Losses | None = None,
    step: SeriesStep | None = None,
    engine: Engine | None = None,
) -> Release:
    """Return a release: persons under pseudonyms in random order, checked by the model.

    A part of a series is checked with all parts before it.
    """
    model = model.about(table)
    tables, pseudonyms = _renamed(outcome, table, randomness, None if step is None else step.known)
    schema, persons_schema = outcome.schema, None
    if PERSONS in tables:
        schema, persons_schema = (part.schema for part in outcome.part(table.of_persons))
    past = None if step is None else step.past
    joined = tables if past is None else join_tables([past.tables, tables])
    # Symbols are coded; anything else is judged as a recipient reads it.
    released = (
        None
        if isinstance(model, RecordModel) or schema.symbol is not None
        else released_table(tables, schema, persons_schema)
        if past is None
        else _accumulated(past, joined, outcome, schema, persons_schema)
    )
    verdict = _judge(outcome, tables, table, model, released, engine)
    if not verdict:
        msg = f"{method} made a release that breaks its promise: {', '.join(map(str, verdict.witnesses[:1]))}"
        raise InternalError(msg)
    singled_out = None if released is None else SinglingOut.of(released)
    if isinstance(model, RecordModel):
        # Records are singled out by their columns other than the sensitive one.
        records = next(iter(tables.values()))
        singled_out = SinglingOut.of_records(records.drop(GROUP, *schema.sensitive_columns, strict=False))
    losses = outcome_losses(outcome, table) if losses is None else losses
    release = Release(
        tables=tables,
        schema=schema,
        persons_schema=persons_schema,
        hierarchies=outcome.hierarchies,
        method=method,
        parameters=parameters,
        unpublished=unpublished,
        model=model,
        verdict=verdict,
        limits=(*([] if singled_out is None else singled_out.limits()), *outcome.limits, *_kept_apart(table)),
        warnings=(*seed_warnings(randomness.seed), *outcome.warnings),
        utility=Scores(outcome.scores),
        change_list=_keyed(outcome.changes.lazy(), table),
        pseudonyms=pseudonyms,
        method_plots=outcome.plots,
        evidence=outcome.evidence,
        trips=table.owners is not None,
        regions=table.regions,
        singled_out=singled_out,
        seed=randomness.seed,
        n_input_persons=table.n_persons,
        n_input_events=table.events.n_events,
        n_lost_events=losses.lost,
        n_moved_items=losses.moved,
        n_invented_items=losses.invented,
        reading=table.reading,
        link=None if step is None else SeriesLink(1) if past is None else past.link,
    )
    if step is not None:
        release = replace(release, series=step.series(release, outcome, table, joined))
    return release if released is None else release.with_table(released)


@dataclass(frozen=True, kw_only=True)
class SeriesStep:
    """One more part of a series, or the first one."""

    past: Series | None = None
    """The parts before it; None for the first."""
    known: pl.Series | None = None
    """The pseudonym of each person of the table; null for new persons."""
    held_back: int = 0
    """New events that are not released now."""

    def series(
        self,
        release: Release,
        outcome: Outcome,
        table: EventTable,
        joined: Mapping[str, pl.DataFrame],
    ) -> Series:
        """Return the series with this part, whose tables are `joined`, for the internal files."""
        events, persons = release.frame, release.pseudonyms
        place_of = pl.DataFrame({"person": table.persons.cast(pl.String)}).with_row_index("place")
        places = persons.join(place_of, on="person", how="left", maintain_order="left")["place"].to_numpy()
        lengths = (
            persons["pseudonym"]
            .alias(PERSON)
            .to_frame()
            .join(events.group_by(PERSON).len(), on=PERSON, how="left", maintain_order="left")["len"]
            .fill_null(0)
        )
        keys = event_keys(table.frame, table.times, table.schema.order)
        starts = table.person_offsets[places] + bool(table.of_persons)
        at = np.repeat(starts, lengths.to_numpy()) + events[ORDER].to_numpy() - 1
        loss = release.utility.get("information_loss")
        row = {
            "part": 1 if self.past is None else self.past.part + 1,
            "persons": release.n_persons,
            "new_persons": len(persons)
            if self.past is None
            else persons.join(self.past.pseudonyms, on="pseudonym", how="anti").height,
            "events": events.height,
            "suppressed": release.change_list.select((pl.col("what") == "suppressed").sum()).collect().item(),
            "held_back": self.held_back,
            "information_loss": None if loss is None else round(float(loss.value), 4),
            "fresh_loss": None,
        }
        if self.past is None:
            row["fresh_loss"] = row["information_loss"]
            return Series.begun(release, keys.gather(at), row, outcome.depths)
        arrived = table
        if table.of_persons:
            arrived, own = table.parted
            arrived = arrived.replace(demographics=own)
        extended = self.past.extended(release, joined, keys.gather(at), row)
        return replace(extended, arrived=arrived)


def _accumulated(
    past: Series,
    tables: Mapping[str, pl.DataFrame],
    outcome: Outcome,
    schema: Schema,
    persons_schema: Schema | None,
) -> EventTable:
    """Return all parts of a series as one table, as a recipient would read it."""
    trees = join_hierarchies([past.hierarchies, outcome.hierarchies])

    def with_trees(roles: Schema) -> Schema:
        quasi = {name: Quasi(Hierarchy.from_frame(trees[name])) for name in roles.quasi}
        return replace(roles, quasi=quasi)

    own = None if persons_schema is None else with_trees(persons_schema)
    return released_table(tables, with_trees(schema), own)


def _keyed(changes: pl.LazyFrame, table: EventTable) -> pl.LazyFrame:
    """Name the table that each change is of, where persons have one of their own."""
    if not table.of_persons:
        return changes
    is_of_person = pl.col("column").is_in(table.of_persons)
    name = pl.when(is_of_person).then(pl.lit(PERSONS)).otherwise(pl.lit(EVENTS))
    return changes.select(name.cast(pl.Enum([EVENTS, PERSONS])).alias("table"), pl.all())


def _kept_apart(table: EventTable) -> tuple[str, ...]:
    """Return the limit that names no label, where labels that look alike were not merged."""
    apart = table.schema.alike != "merge" and any(problem.alike for problem in table.problems)
    return (LOOKALIKE_LIMIT,) if apart else ()


def outcome_losses(outcome: Outcome, table: EventTable) -> Losses:
    """Count what an outcome no longer shows of its table; the method counts records without persons."""
    if outcome.tables is not None:
        return Losses(lost=outcome.n_lost_events)
    events = outcome.part(table.of_persons)[0] if table.of_persons else outcome
    return count_losses(events.sequences, table.events, permuted=outcome.permuted)


def _renamed(
    outcome: Outcome, table: EventTable, randomness: Randomness, known: pl.Series | None
) -> tuple[Mapping[str, pl.DataFrame], pl.DataFrame]:
    """Return the tables under pseudonyms in random order, and the table of pseudonyms.

    Persons with a `known` pseudonym keep it, and what was released of them before is not released again.
    Records without persons stay as they are.
    """
    if outcome.tables is not None:
        nobody = pl.DataFrame(schema={"person": pl.String, "pseudonym": pl.String})
        return outcome.tables, nobody
    released = np.flatnonzero(np.diff(outcome.sequences.person_offsets)).astype(np.int64)
    # Two releases under one seed that differ in anything must not be joined by their pseudonyms.
    about = _digest(outcome.sequences)
    if known is None:
        numbers = randomness.pseudonyms(table.n_persons, about=about)[released]
        shuffle = np.argsort(numbers)
        persons, labels = released[shuffle], pl.Series(pseudonym_labels(numbers[shuffle]), dtype=pl.String)
    else:
        labels = known.gather(released)
        new = labels.is_null().arg_true()
        drawn = pl.Series(pseudonym_labels(randomness.pseudonyms(len(new), about=about)), dtype=pl.String)
        labels = labels.scatter(new, drawn)
        order = labels.arg_sort()
        persons, labels = released[order.to_numpy()], labels.gather(order)
    pseudonyms = pl.DataFrame({"person": table.persons.gather(persons), "pseudonym": labels})
    if not table.of_persons:
        return {EVENTS: released_frame(outcome.sequences, persons, labels)}, pseudonyms
    parts = outcome.sequences.part(table.of_persons)
    events, attributes = (released_frame(part, persons, labels) for part in parts)
    if known is not None:
        attributes = attributes.filter(known.gather(persons).is_null())
    return {EVENTS: events, PERSONS: attributes.drop(ORDER)}, pseudonyms


def _judge(
    outcome: Outcome,
    tables: Mapping[str, pl.DataFrame],
    table: EventTable,
    model: PrivacyModel,
    released: EventTable | None,
    engine: Engine | None,
) -> Verdict:
    """Return the verdict of the model, on coded symbols or on the table as a recipient reads it."""
    if isinstance(model, RecordModel):
        return model.check_tables(tables)
    if released is not None:
        # Such a promise is about the release alone, so one answer is enough.
        return model.check(released, engine=engine)
    verdict = model.check(outcome.sequences, original=table, engine=engine)
    if verdict and not model.needs_original:
        # Publish what the recipient can count too; supports in the original are internal, and so is who took
        # several trips.
        return model.check(replace(outcome.sequences, owners=None), engine=engine)
    return verdict


def released_frame(sequences: Sequences, persons: Counts, labels: pl.Series) -> pl.DataFrame:
    """Return the events of `persons`, in that order, under the names `labels`."""
    columns: dict[str, pl.Series] = {}
    offsets = sequences.person_offsets
    for column, codes in sequences.columns.items():
        items, offsets = gather_rows(codes, sequences.person_offsets, persons)
        book = pl.Series(sequences.codebooks[column].labels, dtype=pl.String)
        columns[column] = book.gather(items)
    return pl.DataFrame({PERSON: labels.gather(owners_of(offsets)), ORDER: places_of(offsets) + 1, **columns})


def _digest(sequences: Sequences) -> str:
    """Return a hash of an outcome, in hexadecimal."""
    state = hashlib.sha256(sequences.person_offsets.astype("<i8").tobytes())
    for column, codes in sequences.columns.items():
        for label in (column, *sequences.codebooks[column].labels):
            text = label.encode()
            state.update(len(text).to_bytes(8, "little") + text)
        state.update(codes.astype("<i4").tobytes())
    return state.hexdigest()
