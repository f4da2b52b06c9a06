"""A frame with roles: the events of persons, sorted and checked."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.glance import glance
from sequester.data.intake import as_polars, take_in
from sequester.data.sequences import Sequences
from sequester.data.text import as_text, distinct_labels
from sequester.data.values import with_protected_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.problems import Problem
    from sequester.data.reading import Reading
    from sequester.data.regions import Regions
    from sequester.data.schema import Schema
    from sequester.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, init=False, repr=False, eq=False)
class EventTable:
    """The events of persons, one row each, and what every column means.

    Rows are sorted by person in order of first appearance, then by order or time, then by the tie column,
    then as in the file. The frame that was given stays as it is.

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
    >>> EventTable(frame, Schema(person="user", order="n", symbol="place"))
    Traceback (most recent call last):
    sequester.errors.SchemaError: column 'place' is named as symbol, and the table has no such column
    column 'page' has no role: give it one, or name it in drop
    """

    schema: Schema
    """The roles of columns."""
    frame: pl.DataFrame
    """One row per event; attributes and persons are text, a gap is null, dropped columns are gone."""
    rows: Counts
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
    reading: Reading
    """What became of the rows of the input: events, parts of one, or left out; of the whole input."""
    problems: tuple[Problem, ...] = field(default=())
    """Warnings and notes; errors have been raised."""

    def __init__(self, frame: object, schema: Schema) -> None:
        intake = take_in(as_polars(frame), schema)
        for name in intake.__slots__:
            object.__setattr__(self, name, getattr(intake, name))

    @property
    def protected_nodes(self) -> dict[str, frozenset[str]]:
        """The protected labels of each sensitive attribute, and nodes with only such leaves below them."""
        return with_protected_nodes(self.protected, self.schema, self.hierarchies)

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
            self.person_offsets, {name: self.frame[name] for name in self.labels}, self.labels
        )
        return replace(coded, owners=self.owners)

    def joined(self) -> EventTable:
        """Give the same events with one sequence per person: their trips, one after the other.

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
        return self._with(
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
        return self._with(frame=self.frame.with_columns(texts), labels=self.labels | labels)

    def only(self, chosen: Mask) -> EventTable:
        """Take the persons who are marked, or the trips; roles, hierarchies and protection stay as they are.

        Examples
        --------
        >>> import polars as pl
        >>> from sequester.data.schema import Schema
        >>> frame = pl.DataFrame({"user": list("aab"), "n": [1, 2, 1], "page": ["news", "tech", "news"]})
        >>> table = EventTable(frame, Schema(person="user", order="n", symbol="page"))
        >>> part = table.only(np.array([False, True]))
        >>> part.persons.to_list(), part.labels, part.sequences.to_rows()
        (['b'], {'page': ['news']}, [('news',)])
        """
        lengths, codes, owners = np.diff(self.person_offsets), self.sequences.columns, self.owners
        is_kept = np.repeat(chosen, lengths)
        if owners is not None:
            owners = np.unique(owners[chosen], return_inverse=True)[1].astype(np.int32)
        return self._with(
            frame=self.frame.filter(is_kept),
            rows=self.rows[is_kept],
            persons=self.persons.filter(chosen),
            person_offsets=np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(np.int64),
            times=None if self.times is None else self.times.filter(is_kept),
            labels={
                name: [labels[code] for code in np.unique(codes[name][is_kept]).tolist()]
                for name, labels in self.labels.items()
            },
            owners=owners,
        )

    def _with(self, **changed: object) -> EventTable:
        """Give a table that differs in some fields; it has been checked before."""
        other = object.__new__(EventTable)
        for each in fields(self):
            object.__setattr__(other, each.name, changed.get(each.name, getattr(self, each.name)))
        return other

    def __repr__(self) -> str:
        return str(glance(self))

    def _repr_html_(self) -> str:
        return glance(self).html()
