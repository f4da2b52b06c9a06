"""What a method returns before pseudonyms and shuffling, with plots and reasons for the steward."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl
from polars.io.plugins import register_io_source

from sequester._repr import Document
from sequester.hierarchies.labels import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from sequester._typing import Codes
    from sequester.data.schema import Schema
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.privacy.model import PrivacyModel
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
    plots: tuple[Plot, ...] = ()
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
class Plot:
    """Labels with one number per series. Internal."""

    title: str
    """What is shown."""
    unit: str
    """What the numbers count."""
    labels: tuple[str, ...]
    """What the numbers belong to, in the order they are shown."""
    series: Mapping[str, tuple[float, ...]]
    """Series to its numbers, beside `labels`."""


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


def count_affected(changes: pl.DataFrame) -> tuple[int, int]:
    """Count the persons and events that changes affect.

    Examples
    --------
    >>> import polars as pl
    >>> count_affected(pl.DataFrame({"row": [1, 1, 4], "person": ["a", "a", "a"]}))
    (1, 2)
    """
    who = [name for name in ("person", "trip") if name in changes.columns]
    return changes.select(who).n_unique(), changes["row"].n_unique()


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
    for (what,), part in changes.group_by("what", maintain_order=True):
        persons, events = count_affected(part)
        many = counted(events, "event was", "events were")
        whose = counted(persons, "person", "persons")
        reasons.append(
            Reason(
                constraint=constraint,
                change=str(what),
                persons=persons,
                events=events,
                text=f"{many} {what} (of {whose}), so that this holds: {constraint}",
            )
        )
    return tuple(reasons)
