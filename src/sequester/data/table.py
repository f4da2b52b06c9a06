"""A frame with roles: the events of persons, sorted and checked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester._repr import Card, CardRepr
from sequester.data.intake import prepare
from sequester.data.ordering import first_events
from sequester.data.persons import (
    DROPPED,
    Persons,
    invalid_rows,
    match_persons,
    places_of_keys,
    read_persons,
    refuse_persons,
    split_constant,
)
from sequester.data.problems import Problem
from sequester.data.roles import settle_cells, with_protected_nodes, without_markers
from sequester.data.schema import ALL, ROW, Schema
from sequester.data.sequences import Sequences, events_of, take_owners
from sequester.data.text import (
    Codebook,
    as_polars,
    as_text,
    distinct_labels,
    encode,
    share_codes,
    shorten_numbers,
)
from sequester.errors import SchemaError
from sequester.hierarchies.labels import MISSING, counted, in_label_order, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sequester._typing import Codes, Counts, Mask, Offsets, RowNumbers
    from sequester.data.places import Regions
    from sequester.data.problems import ReadSummary
    from sequester.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, init=False, repr=False, eq=False)
class EventTable(CardRepr):
    """The events of persons, one row each, and what every column means.

    Rows are sorted by person in order of first appearance, then by order or time, then by the tie column,
    then as in the file. The frame that was given stays as it is.

    Parameters
    ----------
    frame
        One row per event: a polars or pandas frame, or anything with an Arrow stream.
    schema
        The role of every column.
    persons
        What is known of persons apart from their events; see `Persons`.

    Raises
    ------
    SchemaError
        If roles and columns do not fit together, or values cannot be read; one line per problem.
    HierarchyError
        If a hierarchy is no tree, or does not cover its column.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> frame = pl.DataFrame({"user": list("bab"), "n": [10, 1, 9], "page": ["news", "news", "local"]})
    >>> table = EventTable(frame, Schema(person="user", order="n", symbol="page"))
    >>> table
    EventTable: 2 persons, 3 events
      person  user
      order   n
      symbol  page (2 labels)
    >>> table.sequences.to_rows()
    [('local', 'news'), ('news',)]
    >>> table.rows.tolist()
    [3, 1, 2]
    >>> EventTable(frame, Schema(person="user", order="n", symbol="spot"))
    Traceback (most recent call last):
    sequester.errors.SchemaError: column 'spot' is named as symbol, and the table has no such column
    column 'page' has no role: give it one, or name it in drop
    """

    schema: Schema
    """The roles of columns."""
    frame: pl.DataFrame
    """One row per event; attributes and persons are text, a gap is null, dropped columns are gone.

    Of data in parts, attributes are categories, and persons and times are gone; see `compact`."""
    rows: RowNumbers
    """The row of the input that each event comes from, counted from 1 without the header."""
    persons: pl.Series
    """The key of each person, as text, in order of first appearance; with trips, of each trip's person."""
    person_offsets: Offsets
    """Person ``i``, or trip ``i``, has the events ``person_offsets[i]`` to ``person_offsets[i + 1]``."""
    times: pl.Series | None
    """When each event was, in UTC; None where there is an order instead."""
    labels: dict[str, list[str]]
    """The labels of each attribute that occur, in label order."""
    hierarchies: dict[str, Hierarchy]
    """The bound hierarchy of each attribute that has one."""
    protected: dict[str, frozenset[str]]
    """The protected labels of each sensitive attribute."""
    owners: Codes | None
    """With trips, the number of each trip's person; None where every person has one sequence."""
    regions: Regions | None
    """What the labels of the column ``region`` stand for; None where there are no places."""
    reading: ReadSummary
    """What became of the rows of the input: events, parts of one, or left out; of the whole input."""
    problems: tuple[Problem, ...] = field(default=())
    """Warnings and notes; errors have been raised."""
    demographics: EventTable | None = field(default=None)
    """The attributes of persons, one row for each of `persons`; None where there is no such table."""
    of_persons: tuple[str, ...] = field(default=())
    """The columns that the first event of each person holds; see `histories`. A gap is nothing then."""

    def __init__(self, frame: object, schema: Schema, persons: Persons | None = None) -> None:
        found = list[Problem]()
        others = () if persons is None or persons.frame is None else persons.frame.columns
        markers = schema.missing
        source, schema = settle_cells(as_polars(frame), schema, found, others)
        if persons is not None and persons.frame is None:
            source, persons = split_constant(source, schema, persons, found)
        for name, value in prepare(source, schema).items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "problems", (*found, *self.problems))
        if persons is not None:
            made = _with_persons(self, persons, source, markers)
            # What was worked out on the way, such as codes, is of the table before.
            vars(self).clear()
            vars(self).update(vars(made))

    @cached_property
    def protected_nodes(self) -> dict[str, frozenset[str]]:
        """The protected labels of each sensitive attribute, and nodes with only such leaves below them."""
        return with_protected_nodes(self.protected, self.schema, self.hierarchies)

    @property
    def protected_values(self) -> tuple[tuple[str, str], ...]:
        """Attribute and label of each protected value that occurs, by attribute, then in label order."""
        occurring = {
            name: {label for column in each.columns for label in self.labels[column]}
            for name, each in self.schema.sensitive.items()
        }
        return tuple(
            (name, label)
            for name, labels in self.protected.items()
            for label in in_label_order(labels & occurring[name])
        )

    def values_of_persons(self, values: Sequence[tuple[str, str]]) -> tuple[Codes, Offsets]:
        """Return which of the values of sensitive attributes each person has, as codes and offsets.

        Person ``i`` has ``codes[offsets[i]:offsets[i + 1]]``, each once, ascending; a code is a place in
        `values`.
        """
        columns = {name: each.columns for name, each in self.schema.sensitive.items()}
        return self.sequences.values_of_persons(values, columns)

    @property
    def n_persons(self) -> int:
        """Number of persons; with trips, the number of trips."""
        return len(self.persons)

    @property
    def n_owners(self) -> int:
        """Number of distinct persons, with trips as without."""
        return self.n_persons if self.owners is None else int(self.owners.max(initial=-1)) + 1

    @property
    def n_events(self) -> int:
        """Number of events."""
        return self.frame.height

    @property
    def symbol(self) -> str | None:
        """The column of symbols; None where events have several attributes."""
        return None if self.schema.symbol is None else self.schema.symbol.column

    @cached_property
    def sequences(self) -> Sequences:
        """The codes of the symbol, or of all quasi-identifiers and sensitive columns."""
        coded = Sequences.encoded(
            self.person_offsets,
            {name: self.frame[name] for name in self.labels},
            self.labels,
            gaps=None if self.of_persons else MISSING,
        )
        return replace(coded, owners=self.owners)

    @cached_property
    def histories(self) -> EventTable:
        """The same table, in which every person begins with an event that holds their attributes alone.

        So whatever counts what can be known of events counts what can be known of persons, too. Columns of
        events hold nothing in that event, columns of persons nothing in the others: the code is -1, and a gap
        of the frame is no missing value but nothing. It is the table itself where persons have no attributes.

        Examples
        --------
        >>> import polars as pl
        >>> from sequester.data.persons import Persons
        >>> from sequester.data.schema import Schema
        >>> from sequester.hierarchies.hierarchy import Hierarchy
        >>> flat = Hierarchy.flat()
        >>> visits = pl.DataFrame({"PID": list("aab"), "n": [1, 2, 1], "ward": list("xyx")})
        >>> persons = Persons(pl.DataFrame({"PID": list("cab"), "sex": list("fmf")}), quasi={"sex": flat})
        >>> table = EventTable(visits, Schema("PID", "n", quasi={"ward": flat}), persons)
        >>> table.persons.to_list(), table.demographics.frame["sex"].to_list()
        (['a', 'b', 'c'], ['m', 'f', 'f'])
        >>> table.histories.frame.select("PID", "sex", "ward").rows()[:4]
        [('a', 'm', None), ('a', None, 'x'), ('a', None, 'y'), ('b', 'f', None)]
        """
        own = self.demographics
        if own is None:
            return self
        offsets = self.person_offsets + np.arange(self.n_persons + 1)
        order = np.empty(self.n_events + self.n_persons, np.int64)
        is_first = first_events(offsets)
        order[is_first] = np.arange(self.n_persons)
        order[~is_first] = self.n_persons + np.arange(self.n_events)

        def filled(table: EventTable) -> pl.DataFrame:
            return table.frame.with_columns(table.frame[name].fill_null(MISSING) for name in table.labels)

        first = filled(own).with_columns(self.persons.alias(self.schema.person))
        schema = replace(
            self.schema,
            quasi={**own.schema.quasi, **self.schema.quasi},
            sensitive={**own.schema.sensitive, **self.schema.sensitive},
            keep=(*own.schema.keep, *self.schema.keep),
        )
        times = None
        if self.times is not None:
            times = pl.concat([self.times.clear(self.n_persons), self.times]).gather(order)
        return self.replace(
            schema=schema,
            frame=pl.concat([first, filled(self)], how="diagonal")[order],
            rows=np.concatenate([own.rows, self.rows])[order],
            person_offsets=offsets,
            times=times,
            labels=own.labels | self.labels,
            hierarchies=own.hierarchies | self.hierarchies,
            protected=own.protected | self.protected,
            demographics=None,
            of_persons=(*own.schema.attributes, *own.schema.keep),
        )

    @cached_property
    def parted(self) -> tuple[EventTable, EventTable]:
        """The events of `histories` without those that hold attributes, and those alone, one per person."""
        is_first = first_events(self.person_offsets)
        others = [name for name in self.frame.columns if name not in self.of_persons]

        def part(taken: Mask, columns: Sequence[str], offsets: Offsets) -> EventTable:
            return self.replace(
                schema=self.schema.only(columns),
                frame=self.frame.select(columns).filter(taken),
                rows=self.rows[taken],
                person_offsets=offsets,
                times=None if self.times is None else self.times.filter(taken),
                labels={name: each for name, each in self.labels.items() if name in columns},
                hierarchies={name: each for name, each in self.hierarchies.items() if name in columns},
                protected={
                    name: each
                    for name, each in self.protected.items()
                    if self.schema.sensitive[name].columns[0] in columns
                },
                of_persons=(),
            )

        count = np.arange(self.n_persons + 1)
        return (
            part(~is_first, others, self.person_offsets - count),
            part(is_first, [self.schema.person, *self.of_persons], count),
        )

    @property
    def events(self) -> EventTable:
        """The table without attributes of persons."""
        if self.of_persons:
            return self.parted[0]
        return self if self.demographics is None else self.replace(demographics=None)

    @cached_property
    def with_attributes(self) -> EventTable:
        """The same events, each with the attributes of its person, as records that stand for themselves have.

        Persons without events are left out. It is the table itself where persons have no attributes.
        """
        whole = self.histories
        if not whole.of_persons:
            return self
        events, own = whole.parted
        lengths = np.diff(events.person_offsets)
        spread = own.frame.select(whole.of_persons)[np.repeat(np.arange(self.n_persons), lengths)]
        table = whole.replace(
            frame=pl.concat([events.frame, spread], how="horizontal"),
            rows=events.rows,
            person_offsets=events.person_offsets,
            times=events.times,
            of_persons=(),
        )
        return table.take(lengths > 0)

    def joined(self) -> EventTable:
        """Return the same events with one sequence per person: their trips, one after the other.

        Examples
        --------
        >>> import polars as pl
        >>> from sequester.data.schema import Schema
        >>> columns = {"user": list("aab"), "n": [1, 2, 1], "trip": [1, 2, 1], "stop": list("xyx")}
        >>> schema = Schema(person="user", order="n", trip="trip", symbol="stop")
        >>> table = EventTable(pl.DataFrame(columns), schema)
        >>> table.sequences.to_rows(), table.joined().sequences.to_rows()
        ([('x',), ('y',), ('x',)], [('x', 'y'), ('x',)])
        """
        if self.owners is None:
            return self
        # Trips stand in the order of their persons.
        firsts = np.flatnonzero(np.diff(self.owners, prepend=-1))
        return self.replace(
            persons=self.persons.gather(firsts),
            person_offsets=self.person_offsets[np.append(firsts, len(self.owners))],
            owners=None,
        )

    def with_kept(self, columns: Sequence[str]) -> EventTable:
        """Return the same events with these kept columns among the coded ones.

        Examples
        --------
        >>> import polars as pl
        >>> from sequester.data.schema import Schema
        >>> from sequester.hierarchies.hierarchy import Hierarchy
        >>> frame = pl.DataFrame({"user": list("ab"), "n": 1, "zip": [1, 2], "ward": ["x", None]})
        >>> schema = Schema(person="user", order="n", quasi={"zip": Hierarchy.flat()}, keep=["ward"])
        >>> list(EventTable(frame, schema).with_kept(["ward"]).labels.items())
        [('zip', ['1', '2']), ('ward', ['x', '(missing)'])]
        """
        texts = [as_text(self.frame[name]) for name in columns]
        labels = {each.name: distinct_labels(each) for each in texts}
        return self.replace(frame=self.frame.with_columns(texts), labels=self.labels | labels)

    def compact(self) -> EventTable:
        """Return the same events in less memory: each attribute, person and time is held once.

        Attributes become categories in label order, whose memory `sequences` shares: four bytes per event,
        and one bit where there are gaps. An order of whole numbers takes four bytes as well. Columns that
        only say who and when are gone, as `persons` and `times` hold the same. An attribute that sorts or
        weighs events, too, stays as it is.

        Examples
        --------
        >>> import polars as pl
        >>> from sequester.data.schema import Schema
        >>> frame = pl.DataFrame({"user": ["a"], "at": ["2010-01-31"], "page": ["news"]})
        >>> EventTable(frame, Schema(person="user", time="at", symbol="page")).compact().frame.columns
        ['page']
        """
        schema = self.schema
        sorting = {schema.order, schema.tie, schema.weight, *schema.time_columns}
        frame = self.frame
        if schema.order is not None and schema.order not in self.labels:
            frame = frame.with_columns(shorten_numbers(frame[schema.order]))
        codes: dict[str, Codes] = {}
        for name, labels in self.labels.items():
            if name in sorting:
                codes[name], _ = encode(frame[name], labels)
            else:
                column, codes[name] = share_codes(frame[name], labels)
                frame = frame.with_columns(column)
        used = {*schema.attributes, *schema.keep, schema.order, schema.tie, schema.weight}
        compacted = self.replace(frame=frame.drop({schema.person, *schema.time_columns} - used, strict=False))
        books = {name: Codebook(tuple(labels)) for name, labels in self.labels.items()}
        vars(compacted)["sequences"] = Sequences(self.person_offsets, codes, books, self.owners)
        return compacted

    def take(self, persons: Mask | Counts, *, keep_labels: bool = False) -> EventTable:
        """Return the table of some persons, or trips; roles, hierarchies and protection stay as they are.

        Parameters
        ----------
        persons
            A mask over persons (or trips), or their numbers in the order wanted; of trips, ascending.
        keep_labels
            Keep the labels of the whole table, also those that no longer occur, so that codes stay the same.

        Returns
        -------
        EventTable
            Their events.

        Examples
        --------
        >>> import polars as pl
        >>> from sequester.data.schema import Schema
        >>> frame = pl.DataFrame({"user": list("aab"), "n": [1, 2, 1], "page": ["news", "tech", "news"]})
        >>> table = EventTable(frame, Schema(person="user", order="n", symbol="page"))
        >>> part = table.take(np.array([False, True]))
        >>> part.persons.to_list(), part.labels, part.sequences.to_rows()
        (['b'], {'page': ['news']}, [('news',)])
        >>> table.take(np.array([1, 0])).persons.to_list()
        ['b', 'a']
        """
        numbers: Counts = np.arange(self.n_persons)[persons]
        events, offsets = events_of(self.person_offsets, numbers)
        labels = self.labels
        if not keep_labels:
            codes = self.sequences.columns
            labels = {
                name: [each[code] for code in np.unique(codes[name][events]).tolist() if code >= 0]
                for name, each in labels.items()
            }
        return self.replace(
            frame=self.frame[events],
            rows=self.rows[events],
            persons=self.persons.gather(numbers),
            person_offsets=offsets,
            times=None if self.times is None else self.times.gather(events),
            labels=labels,
            owners=take_owners(self.owners, numbers),
            demographics=(
                None
                if self.demographics is None
                else self.demographics.take(numbers, keep_labels=keep_labels)
            ),
        )

    def sample(self, *, persons: int, events: int, seed: str) -> EventTable:
        """Return random persons with all of their events; the table itself where it is not larger.

        Parameters
        ----------
        persons
            At most so many persons.
        events
            At most so many events; one person is drawn in any case.
        seed
            The same seed draws the same persons.

        Returns
        -------
        EventTable
            Their events.

        Examples
        --------
        >>> import polars as pl
        >>> from sequester.data.schema import Schema
        >>> frame = pl.DataFrame({"user": list("aabc"), "n": [1, 2, 1, 1], "page": list("xyxy")})
        >>> table = EventTable(frame, Schema(person="user", order="n", symbol="page"))
        >>> table.sample(persons=2, events=9, seed="x").n_persons
        2
        """
        if self.n_owners <= persons and self.n_events <= events:
            return self
        owners = np.arange(self.n_persons) if self.owners is None else self.owners
        lengths = np.bincount(owners, weights=np.diff(self.person_offsets), minlength=self.n_owners)
        chance = np.random.default_rng(list(hashlib.sha256(seed.encode()).digest()))
        order = chance.permutation(self.n_owners)[:persons]
        n_taken = int(np.searchsorted(np.cumsum(lengths[order]), events, side="right"))
        return self.take(np.isin(owners, order[: max(n_taken, 1)]))

    def replace(self, **changed: object) -> EventTable:
        """Return a table that differs in some fields; nothing is checked again."""
        other = object.__new__(EventTable)
        for each in fields(self):
            object.__setattr__(other, each.name, changed.get(each.name, getattr(self, each.name)))
        return other

    def _card(self) -> Card:
        """Return the roles of columns, how many labels each has, what to know, and the first events."""
        first = self.frame.head(_SHOWN_ROWS)
        persons, events = (
            counted(self.n_owners, "person", "persons"),
            counted(self.n_events, "event", "events"),
        )
        trips = "" if self.owners is None else f", {counted(self.n_persons, 'trip', 'trips')}"
        return Card(
            title=f"EventTable: {persons}{trips}, {events}",
            facts=tuple(_facts(self)),
            remarks=(*(f"{problem.severity}: {problem}" for problem in self.problems), *self.reading.lines()),
            header=tuple(first.columns),
            rows=tuple(tuple("" if cell is None else str(cell) for cell in row) for row in first.iter_rows()),
        )


SequenceData = EventTable | Sequences
"""A table, or the codes of one: whatever has sequences."""


def _with_persons(
    table: EventTable,
    persons: Persons,
    source: pl.DataFrame,
    markers: Sequence[str] | Mapping[str, Sequence[str]],
) -> EventTable:
    """Return the table with the attributes of its persons, and with persons who have no events."""
    schema = table.schema
    if table.owners is not None:
        msg = "persons: trips have no attributes of persons: leave out trip, or the table of persons"
        raise SchemaError(msg)
    problems = list[Problem]()
    frame, keys, rows = read_persons(persons, schema, source, problems)
    frame = without_markers(frame, markers, problems)
    try:
        own = EventTable(frame, persons.among(schema))
    except SchemaError as error:
        raise SchemaError(*(f"persons: {line}" for line in error.lines)) from None
    of_person = places_of_keys(keys, table.persons)
    if of_person.null_count():
        of_person = match_persons(keys, table.persons, of_person, schema, problems)
        refuse_persons(problems)
    if of_person.null_count():
        is_unknown = of_person.is_null().to_numpy()
        lengths = np.diff(table.person_offsets)
        what = f"column {quoted(schema.person)}: the person has no row in the table of persons"
        of_events = np.repeat(is_unknown, lengths)
        problems += invalid_rows(schema, what, schema.person, of_events, table.rows, ends=DROPPED)
        refuse_persons(problems)
        reading, n_unknown = table.reading, int(of_events.sum())
        table = table.take(~is_unknown).replace(
            reading=replace(
                reading,
                dropped=reading.dropped + n_unknown,
                reasons={**reading.reasons, what: n_unknown},
                persons_left_out=reading.persons_left_out + int(is_unknown.sum()),
                events=reading.events - n_unknown,
            )
        )
        of_person = of_person.drop_nulls()
    has_events = np.zeros(len(keys), np.bool_)
    has_events[of_person.to_numpy()] = True
    order = np.concatenate([of_person.to_numpy(), np.flatnonzero(~has_events)]).astype(np.int64)
    n_others = len(order) - table.n_persons
    others = keys.filter(~has_events).cast(pl.String).alias(table.persons.name)
    everybody = pl.concat([table.persons, others])
    return table.replace(
        persons=everybody,
        person_offsets=np.append(table.person_offsets, np.full(n_others, table.n_events)),
        demographics=own.replace(frame=own.frame[order], rows=rows[order], persons=everybody),
        problems=(*table.problems, *problems, *own.problems),
    )


_SHOWN_ROWS = 5


def _facts(table: EventTable) -> Iterator[tuple[str, str]]:
    schema = table.schema
    yield "person", {ROW: "each row", ALL: "all rows are one"}.get(schema.person, schema.person)
    if schema.order is not None:
        yield "order", schema.order
    if schema.time is not None:
        yield "time", ", ".join(schema.time_columns)
    if schema.tie is not None:
        yield "tie", schema.tie
    if table.symbol is not None:
        yield "symbol", f"{table.symbol} ({_labels(table, table.symbol)})"
    for column in schema.quasi:
        levels = f", {table.hierarchies[column].height} levels" if column in table.hierarchies else ""
        made = f", {schema.derive[column]}" if column in schema.derive else ""
        yield "quasi", f"{column} ({_labels(table, column)}{levels}{made})"
    for name, sensitive in schema.sensitive.items():
        source = "" if sensitive.columns == (name,) else f" from {', '.join(sensitive.columns)}"
        yield "sensitive", f"{name}{source} ({len(table.protected[name]):,} protected)"
    if schema.keep:
        yield "keep", ", ".join(schema.keep)
    if schema.drop:
        yield "drop", ", ".join(schema.drop)
    if table.demographics is not None:
        yield from (
            (f"persons' {role}", text) for role, text in _facts(table.demographics) if role != "person"
        )


def _labels(table: EventTable, column: str) -> str:
    return counted(len(table.labels[column]), "label", "labels")
