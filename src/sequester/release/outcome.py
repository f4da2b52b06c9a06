"""What a method returns, and the release made of it: pseudonyms, random order, the check of the model."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from sequester._repr import Document
from sequester.attacks.singling_out import SinglingOut
from sequester.data.schema import Quasi
from sequester.data.text import as_text
from sequester.errors import InternalError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import counted
from sequester.privacy.l_diversity import GROUP
from sequester.privacy.model import RecordModel
from sequester.ragged import gather_rows, owners_of, places_of
from sequester.release.randomness import pseudonym_labels, seed_warnings
from sequester.release.release import EVENTS, ORDER, PERSON, PERSONS, Release, SeriesLink, released_table
from sequester.release.series import Series, event_keys, join_hierarchies, join_tables
from sequester.utility.edits import Losses, count_losses
from sequester.utility.score import Scores

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from sequester._typing import Codes, Counts
    from sequester.data.schema import Schema
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.engine import Engine
    from sequester.privacy.model import PrivacyModel, Verdict
    from sequester.release.plot import Figure
    from sequester.release.randomness import Randomness
    from sequester.utility.score import Score


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a method made of a table, before pseudonyms and shuffling."""

    sequences: Sequences
    """Events of each person of the table, in the table's order; a person without events is not released."""
    tables: Mapping[str, pl.DataFrame] | None = None
    """Records without persons, as they would be published, by file name without ending: no histories then."""
    schema: Schema
    """Roles of the released columns, over ``person`` and ``order``."""
    hierarchies: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """Released nodes and those above, per attribute."""
    changes: pl.DataFrame | pl.LazyFrame
    """Every changed cell or event, keyed by input row; a lazy list is made piece by piece."""
    n_lost_events: int = 0
    """Records that are not published, where there are `tables`; lost events of `sequences` are counted."""
    permuted: bool = False
    """A person's own events may stand in another order: such an event is moved, and not lost."""
    limits: tuple[str, ...]
    """What is not promised, in plain words, without a raw value."""
    warnings: tuple[str, ...] = ()
    """What the steward must know."""
    scores: Mapping[str, Score] = field(default_factory=dict)
    """What was measured on the way."""
    plots: tuple[Figure, ...] = ()
    """What the steward may want to see, beside what is drawn of every release."""
    evidence: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """How the promise is kept in detail, such as person by person, by a name for a file."""
    depths: Mapping[str, int] = field(default_factory=dict)
    """Column to its level, as steps from the root, where columns have one: a series keeps it."""

    def part(self, columns: Collection[str]) -> tuple[Outcome, Outcome]:
        """Part what became of persons' attributes, in these columns, from what became of events."""
        events, persons = self.sequences.part(columns)

        def chosen(sequences: Sequences) -> Outcome:
            names = sequences.columns
            return replace(
                self,
                sequences=sequences,
                schema=self.schema.only(names),
                hierarchies={name: tree for name, tree in self.hierarchies.items() if name in names},
            )

        return chosen(events), chosen(persons)


@dataclass(frozen=True, kw_only=True)
class PartOutcome:
    """What a method made of the next part of a series."""

    outcome: Outcome
    """What became of `table`."""
    table: EventTable
    """What is new in the input, as the method sees it."""
    known: pl.Series
    """The pseudonym of each person of `table`; null for new persons."""
    model: PrivacyModel
    """The promise about the accumulated table, with the protected values of all parts."""
    held_back: int
    """New events that are not released now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason(Document):
    """One constraint of a promise and what it changed in the data. Internal.

    Examples
    --------
    >>> reason = Reason(
    ...     constraint="support below k",
    ...     change="suppressed",
    ...     persons=3,
    ...     events=4,
    ...     text="stay: 4 values became *, because fewer than k = 2 persons showed them.",
    ... )
    >>> reason.to_json()["constraint"], reason.to_json()["events"]
    ('support below k', 4)
    """

    constraint: str
    """What the promise did not allow, in a few words."""
    change: str
    """What was done about it: the kind of change."""
    persons: int
    """Persons who were touched, or trips where there are; one person may be counted by several reasons."""
    events: int
    """Events that were touched; one event may be counted by several reasons."""
    text: str
    """All of it in a sentence."""
    examples: tuple[str, ...] = ()
    """Where it hit hardest, in labels; a few of them."""


ROWS_PER_PIECE = 2**17
"""Changes whose text is made at once."""


def list_lazily(
    kinds: pl.DataFrame, kind_of: Codes, rows: Codes, owners: Codes, persons: pl.Series
) -> pl.LazyFrame:
    """Return a list of changes that holds three numbers of each; its text is made when it is read.

    With all its text, the list would be the largest thing that a release of many persons needs.

    Parameters
    ----------
    kinds
        What can become of a value, a row each.
    kind_of
        The row of `kinds` for each change.
    rows
        Its input row.
    owners
        The number of its person.
    persons
        The key of each person.

    Examples
    --------
    >>> import numpy as np
    >>> kinds = pl.DataFrame({"from": ["a", "b"], "to": ["*", "*"]})
    >>> numbers = np.array([1, 0], np.int32)
    >>> list_lazily(kinds, numbers, numbers + 1, numbers, pl.Series(["ann", "bob"])).collect().rows()
    [(2, 'bob', 'b', '*'), (1, 'ann', 'a', '*')]
    """
    schema = {"row": pl.Int64(), "person": pl.String(), **kinds.schema}

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        del batch_size
        names = [*schema] if columns is None else columns
        stop = len(rows) if n_rows is None else min(n_rows, len(rows))
        for start in range(0, max(stop, 1), ROWS_PER_PIECE):
            piece = slice(start, min(start + ROWS_PER_PIECE, stop))
            made = {name: kinds[name].gather(kind_of[piece]) for name in names if name in kinds.columns}
            if "row" in names:
                made["row"] = pl.Series(rows[piece], dtype=pl.Int64)
            if "person" in names:
                made["person"] = persons.gather(owners[piece])
            frame = pl.DataFrame({name: made[name] for name in names})
            yield frame if predicate is None else frame.filter(predicate)

    return register_io_source(read, schema=schema)


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """Changes of one kind, and how many persons and events they affect.

    Examples
    --------
    >>> rows = {"row": [1, 1, 4], "person": ["a", "a", "a"], "what": ["moved"] * 3}
    >>> part = ChangedPart.of(pl.DataFrame(rows))
    >>> part.what, part.persons, part.events
    ('moved', 1, 2)
    """

    rows: pl.DataFrame
    """The changes."""
    what: str
    """Their kind."""
    is_marked: bool
    """Whether they are those that a column of the changes marks."""
    persons: int
    """Persons who are affected, or trips where there are."""
    events: int
    """Events that are affected."""

    @classmethod
    def of(cls, rows: pl.DataFrame, *, is_marked: bool = False) -> ChangedPart:
        """Count whom changes of one kind affect."""
        who = [name for name in ("person", "trip") if name in rows.columns]
        what = str(rows["what"][0])
        return cls(rows, what, is_marked, rows.select(who).n_unique(), rows["row"].n_unique())

    def reason(self, constraint: str, text: str, examples: tuple[str, ...] = ()) -> Reason:
        """Return the reason for these changes."""
        return Reason(
            constraint=constraint,
            change=self.what,
            persons=self.persons,
            events=self.events,
            text=text,
            examples=examples,
        )


def split_changes(
    changes: pl.DataFrame, kinds: Iterable[str], *, mark: str | None = None
) -> Iterator[ChangedPart]:
    """Yield the changes of each kind, those that a column marks after the others; none that are empty."""
    for what in kinds:
        own = changes.filter(pl.col("what").cast(pl.String) == what)
        for is_marked in (False,) if mark is None else (False, True):
            rows = own if mark is None else own.filter(pl.col(mark) == is_marked)
            if not rows.is_empty():
                yield ChangedPart.of(rows, is_marked=is_marked)


EXAMPLES = 3
"""Values that a reason names."""


def most_frequent(changes: pl.DataFrame, column: str) -> list[tuple[str, int]]:
    """Return the values of a column that most changes have, and how many; the first of equals by name.

    Examples
    --------
    >>> most_frequent(pl.DataFrame({"column": ["b", "a", "b"]}), "column")
    [('b', 2), ('a', 1)]
    """
    counts = changes.group_by(column).len().sort("len", column, descending=[True, False])
    return counts.head(EXAMPLES).rows()


def reasons_by_kind(changes: pl.DataFrame, *, constraint: str) -> tuple[Reason, ...]:
    """Return one reason per kind of change, where nothing more is known about why.

    Examples
    --------
    >>> import polars as pl
    >>> changes = pl.DataFrame({"row": [1, 4], "person": ["a", "b"], "what": ["moved", "moved"]})
    >>> [reason.text for reason in reasons_by_kind(changes, constraint="Nobody is alone.")]
    ['2 events were moved (of 2 persons), so that this holds: Nobody is alone.']
    """
    reasons = []
    for part in split_changes(changes, changes["what"].unique(maintain_order=True).cast(pl.String)):
        many = counted(part.events, "event was", "events were")
        whose = counted(part.persons, "person", "persons")
        text = f"{many} {part.what} (of {whose}), so that this holds: {constraint}"
        reasons.append(part.reason(constraint, text))
    return tuple(reasons)


def unchanged_columns(table: EventTable, changed: Collection[str]) -> Sequences:
    """Return the sensitive columns that are not among the changed ones, and the kept ones, as they were."""
    source = table.sequences
    rest = [name for name in table.schema.sensitive_columns if name not in changed]
    kept = source.encoded(
        table.person_offsets, {name: as_text(table.frame[name]) for name in table.schema.keep}
    )
    return replace(
        kept,
        columns={name: source.columns[name] for name in rest} | dict(kept.columns),
        codebooks={name: source.codebooks[name] for name in rest} | dict(kept.codebooks),
    )


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
