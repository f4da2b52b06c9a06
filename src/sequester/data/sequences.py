"""The codes of a table in flat arrays, delimited by persons."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.data.ordering import first_events, group_persons
from sequester.data.text import Codebook, as_text, encode
from sequester.errors import SchemaError
from sequester.hierarchies.labels import MISSING, quoted
from sequester.ragged import gather_rows, offsets_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from sequester._typing import Codes, Counts, Mask, Offsets


SYMBOL = "symbol"
"""The column of plain symbol sequences that have no other name."""


def events_of(offsets: Offsets, persons: Counts) -> tuple[Counts, Offsets]:
    """Return the places of the events of some persons, one after the other, and their offsets.

    Examples
    --------
    >>> events, offsets = events_of(np.array([0, 2, 3]), np.array([1, 0]))
    >>> events.tolist(), offsets.tolist()
    ([2, 0, 1], [0, 1, 3])
    """
    lengths = np.diff(offsets)[persons]
    taken = offsets_of(lengths)
    return np.arange(taken[-1]) + np.repeat(offsets[persons] - taken[:-1], lengths), taken


def take_owners(owners: Codes | None, sequences: Counts) -> Codes | None:
    """Return whose the taken sequences are, numbered anew from 0."""
    if owners is None:
        return None
    return np.unique(owners[sequences], return_inverse=True)[1].astype(np.int32)


@dataclass(frozen=True, slots=True)
class Distinct:
    """Equal sequences folded into one with a weight, in lexicographic order of their codes."""

    items: Codes
    """The codes of all distinct sequences, one after the other."""
    offsets: Offsets
    """Sequence ``r`` is ``items[offsets[r]:offsets[r + 1]]``."""
    weights: Counts
    """Persons who have the sequence."""
    row_of_person: Codes
    """For each person the number of their sequence."""
    owners: Codes | None = None
    """Where a person has several sequences: for each of them, beside `row_of_person`, whose it is."""

    @property
    def n_rows(self) -> int:
        """Number of distinct sequences."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Counts:
        """Number of items of each distinct sequence."""
        return np.diff(self.offsets)

    def rows_of_owners(self, owners: Codes) -> tuple[Codes, Offsets]:
        """List the distinct sequences of each owner, and where each owner's begin.

        Examples
        --------
        >>> sequences = Sequences.from_rows(["ab", "ab", "b", "ab"])
        >>> rows, offsets = sequences.distinct().rows_of_owners(np.array([0, 0, 0, 1], np.int32))
        >>> rows.tolist(), offsets.tolist()
        ([0, 1, 0], [0, 2, 3])
        """
        size = max(self.n_rows, 1)
        pairs = np.unique(owners.astype(np.int64) * size + self.row_of_person)
        n_owners = int(owners.max(initial=-1)) + 1
        offsets = np.searchsorted(pairs, np.arange(n_owners + 1) * size).astype(np.int64)
        return (pairs % size).astype(np.int32), offsets


@dataclass(frozen=True, slots=True)
class Sequences:
    """One code per event and column; `person_offsets` tells whose event it is.

    Examples
    --------
    >>> sequences = Sequences.from_rows(["abc", "ac", "abc"])
    >>> sequences.n_persons, sequences.n_events
    (3, 8)
    >>> sequences.to_rows()
    [('a', 'b', 'c'), ('a', 'c'), ('a', 'b', 'c')]
    >>> sequences.distinct().weights.tolist()
    [2, 1]
    """

    person_offsets: Offsets
    """Person ``i`` has the events ``person_offsets[i]`` to ``person_offsets[i + 1]``."""
    columns: Mapping[str, Codes]
    """The codes of every attribute, over the same events; -1 where an event has nothing of it."""
    codebooks: Mapping[str, Codebook]
    """What the codes of an attribute mean."""
    owners: Codes | None = None
    """Where a person has several sequences, such as trips, each under `person_offsets`: whose each is."""
    # Method, model and measures all ask for the same folds.
    _folded: dict[str, Distinct] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[str]], *, column: str = SYMBOL) -> Sequences:
        """Make symbol sequences of one row per person, a row being a string or a list of labels.

        Parameters
        ----------
        rows
            One row of labels per person.
        column
            The name of the symbol.

        Returns
        -------
        Sequences
            The rows, in codes.
        """
        rows = [tuple(row) for row in rows]
        book = Codebook.of(label for row in rows for label in row)
        offsets = offsets_of([len(row) for row in rows])
        codes = book.encode(label for row in rows for label in row)
        return cls(offsets, {column: codes}, {column: book})

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, *, person: str, columns: Iterable[str]) -> Sequences:
        """Encode the columns of a frame, events in the frame's order, persons in order of first appearance.

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"who": ["b", "a", "b"], "page": ["news", None, "local"]})
        >>> Sequences.from_frame(frame, person="who", columns=["page"]).to_rows()
        [('news', 'local'), ('(missing)',)]
        """
        grouping = group_persons(as_text(frame[person]))
        texts = {column: as_text(frame[column]) for column in columns}
        if grouping.order is not None:
            texts = {column: text.rechunk().gather(grouping.order) for column, text in texts.items()}
        return cls.encoded(grouping.offsets, texts)

    @classmethod
    def encoded(
        cls,
        person_offsets: Offsets,
        texts: Mapping[str, pl.Series],
        labels: Mapping[str, list[str]] | None = None,
        *,
        gaps: str | None = MISSING,
    ) -> Sequences:
        """Encode text columns whose events are grouped by person; `labels` where they are known.

        A gap gets the label `gaps`, or is nothing where that is None.
        """
        known = labels or {}
        pairs = {column: encode(text, known.get(column), gaps=gaps) for column, text in texts.items()}
        return cls(
            person_offsets,
            {column: codes for column, (codes, _) in pairs.items()},
            {column: book for column, (_, book) in pairs.items()},
        )

    @property
    def n_persons(self) -> int:
        """Number of persons, those without events included."""
        return len(self.person_offsets) - 1

    @property
    def n_events(self) -> int:
        """Number of events."""
        return int(self.person_offsets[-1])

    @property
    def symbol(self) -> str:
        """The name of the only attribute; refused where there are several."""
        if len(self.columns) != 1:
            msg = f"one attribute is needed, there are {len(self.columns)}: {', '.join(self.columns)}"
            raise SchemaError(msg)
        return next(iter(self.columns))

    @property
    def codes(self) -> Codes:
        """The codes of the only attribute."""
        return self.columns[self.symbol]

    @property
    def codebook(self) -> Codebook:
        """What the codes of the only attribute mean."""
        return self.codebooks[self.symbol]

    def take(self, persons: Counts) -> Sequences:
        """Return the sequences of some persons; codes stay the same.

        Parameters
        ----------
        persons
            Numbers of persons, in the order wanted.

        Returns
        -------
        Sequences
            Their sequences.

        Examples
        --------
        >>> Sequences.from_rows(["abc", "ac"]).take(np.array([1])).to_rows()
        [('a', 'c')]
        """
        events, offsets = events_of(self.person_offsets, persons)
        columns = {name: codes[events] for name, codes in self.columns.items()}
        return Sequences(offsets, columns, self.codebooks, take_owners(self.owners, persons))

    def part(self, columns: Iterable[str]) -> tuple[Sequences, Sequences]:
        """Part each person's first event, with these columns alone, from the others, which have the rest.

        Returns the other events, and the first ones. Whoever has no event has none in both.
        """
        lengths = np.diff(self.person_offsets)
        is_first = first_events(self.person_offsets)
        own = set(columns)

        def chosen(taken: Mask, lengths: Counts, names: set[str]) -> Sequences:
            return Sequences(
                offsets_of(lengths),
                {name: codes[taken] for name, codes in self.columns.items() if name in names},
                {name: book for name, book in self.codebooks.items() if name in names},
            )

        has_any = (lengths > 0).astype(np.int64)
        return (
            chosen(~is_first, lengths - has_any, set(self.columns) - own),
            chosen(is_first, has_any, own),
        )

    def to_rows(self, column: str | None = None) -> list[tuple[str, ...]]:
        """Return each person's labels, in order.

        Parameters
        ----------
        column
            A column; the symbol by default.

        Returns
        -------
        list of tuple
            One row of labels per person.
        """
        column = column or self.symbol
        labels = self.codebooks[column].decode(self.columns[column])
        bounds = self.person_offsets.tolist()
        return [tuple(labels[a:b]) for a, b in pairwise(bounds)]

    def number_values(
        self, values: Sequence[tuple[str, str]], columns: Mapping[str, Sequence[str]]
    ) -> list[Counts]:
        """Return, for each column of the attributes of `values`, which of them each event has there.

        Parameters
        ----------
        values
            Attribute and label of each value, such as the protected ones.
        columns
            Attribute to its columns, where these are not one column of its name.

        Returns
        -------
        list of arrays
            The place in `values` for each event, -1 where it has none of them.
        """
        numbered = []
        for attribute in dict.fromkeys(name for name, _ in values):
            place_of = {label: place for place, (name, label) in enumerate(values) if name == attribute}
            for column in columns.get(attribute, (attribute,)):
                if column not in self.columns:
                    what = f"values of {quoted(attribute)} are protected"
                    msg = f"{what}, and the table has no column {quoted(column)}"
                    raise SchemaError(msg)
                labels = self.codebooks[column].labels
                places = np.array([*(place_of.get(label, -1) for label in labels), -1], np.int64)
                numbered.append(places[self.columns[column]])
        return numbered

    def values_of_persons(
        self, values: Sequence[tuple[str, str]], columns: Mapping[str, Sequence[str]]
    ) -> tuple[Codes, Offsets]:
        """Return which of `values` each person has in any event, each once, ascending; see `number_values`.

        Person ``i`` has ``codes[offsets[i]:offsets[i + 1]]``. Where a person has several sequences, what they
        have in one of them they have in all.

        Examples
        --------
        >>> sequences = Sequences.from_rows(["ab", "bb", "c"], column="ill")
        >>> codes, offsets = sequences.values_of_persons([("ill", "b"), ("ill", "c")], {})
        >>> codes.tolist(), offsets.tolist()
        ([0, 0, 1], [0, 1, 2, 3])
        """
        persons = np.arange(self.n_persons) if self.owners is None else self.owners.astype(np.int64)
        size = max(len(values), 1)
        pairs = [np.empty(0, np.int64)]
        for places in self.number_values(values, columns):
            # Most events have none of the values.
            events = np.flatnonzero(places >= 0)
            owners = persons[np.searchsorted(self.person_offsets, events, side="right") - 1]
            pairs.append(owners * size + places[events])
        holders, places = np.divmod(np.unique(np.concatenate(pairs)), size)
        codes = places.astype(np.int32)
        offsets = np.searchsorted(holders, np.arange(persons.max(initial=-1) + 2)).astype(np.int64)
        if self.owners is not None:
            codes, offsets = gather_rows(codes, offsets, persons)
        return codes, offsets

    def distinct(self, column: str | None = None) -> Distinct:
        """Fold equal sequences of an attribute into weighted ones, sorted; the answer is kept.

        Parameters
        ----------
        column
            A column; the symbol by default.

        Returns
        -------
        Distinct
            The distinct rows, and which one each person has.
        """
        column = column or self.symbol
        if column not in self._folded:
            self._folded[column] = self._fold(self.columns[column])
        return self._folded[column]

    def _fold(self, items: Codes) -> Distinct:
        group_of_row, first_rows = kernels.rows.fold_rows(items, self.person_offsets)
        order = kernels.rows.sort_rows(items, self.person_offsets, first_rows)
        group_of_first = group_of_row[order]
        rank = np.empty(len(order), np.int32)
        rank[group_of_first] = np.arange(len(order), dtype=np.int32)
        row_of_person = rank[group_of_row]
        weights = np.bincount(row_of_person, minlength=len(order)).astype(np.int64)
        distinct, offsets = gather_rows(items, self.person_offsets, order)
        return Distinct(distinct, offsets, weights, row_of_person, self.owners)
