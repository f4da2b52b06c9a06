"""Every pattern of itemset events that enough persons contain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.data.ordering import order_keys, repeats
from sequester.data.text import Codebook
from sequester.engine import silent
from sequester.errors import ParameterError, SchemaError
from sequester.mining.frequent import (
    MAX_PATTERNS,
    PatternCounts,
    Supporters,
    checked_limits,
    find_patterns,
)
from sequester.mining.search import EventSearch
from sequester.ragged import gather_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress

Pattern = tuple[tuple[str, ...], ...]
"""Events in order, each the labels of its items in label order."""


@dataclass(frozen=True, slots=True)
class Itemsets:
    """Sequences of events that hold one item or several, none of them twice.

    Examples
    --------
    >>> Itemsets.from_rows([["ab", "c"], ["c", "ba"]]).places.tolist()
    [0, 0, 1, 0, 1, 1]
    """

    items: Codes
    """The codes of all items, ascending within an event."""
    places: Codes
    """The number of each item's event within its person, from 0."""
    person_offsets: Offsets
    """Person ``i`` has the items ``person_offsets[i]`` to ``person_offsets[i + 1]``."""
    codebook: Codebook
    """What the codes mean."""

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[Iterable[str]]]) -> Itemsets:
        """Make one sequence per row, an event being a string or a collection of labels."""
        events = [[set(event) for event in row] for row in rows]
        book = Codebook.of(label for row in events for event in row for label in event)
        codes = [[sorted(book.codes[label] for label in event) for event in row] for row in events]
        offsets = np.cumsum([0, *(sum(map(len, row)) for row in codes)]).astype(np.int64)
        return cls(
            np.array([code for row in codes for event in row for code in event], np.int32),
            np.array([i for row in codes for i, event in enumerate(row) for _ in event], np.int32),
            offsets,
            book,
        )

    @classmethod
    def of(cls, table: EventTable) -> Itemsets:
        """Join the events of a person with equal order or time.

        Examples
        --------
        >>> import polars as pl
        >>> from sequester.data.schema import Schema
        >>> from sequester.data.table import EventTable
        >>> frame = pl.DataFrame({"who": ["x"] * 3, "day": [1, 1, 2], "code": ["b", "a", "b"]})
        >>> found = Itemsets.of(EventTable(frame, Schema(person="who", order="day", symbol="code")))
        >>> found.items.tolist(), found.places.tolist()
        ([0, 1, 1], [0, 0, 1])
        """
        if table.symbol is None:
            msg = "itemset events need one symbol per row, and this table has quasi-identifiers instead"
            raise SchemaError(msg)
        if table.sequences.owners is not None:
            msg = "itemset events need one sequence per person, and here persons have several"
            raise SchemaError(msg)
        when = table.times if table.schema.order is None else table.frame[table.schema.order]
        offsets = table.person_offsets
        is_later = np.ones(table.n_events, np.bool_)
        if when is not None:
            is_later = ~repeats(offsets, order_keys(when))
        codes = table.sequences.columns[table.symbol]
        sizes = np.diff(offsets)
        person = np.repeat(np.arange(len(sizes)), sizes)
        event = np.cumsum(is_later) - 1
        first = np.concatenate([event, [0]])[np.minimum(offsets[:-1], len(event))]
        places = event - first[person]
        order = np.lexsort((codes, event))
        codes, places, person = codes[order], places[order], person[order]
        is_new = np.ones(len(codes), np.bool_)
        is_new[1:] = (codes[1:] != codes[:-1]) | (event[order][1:] != event[order][:-1])
        bounds = np.searchsorted(person[is_new], np.arange(len(sizes) + 1))
        book = table.sequences.codebooks[table.symbol]
        return cls(codes[is_new], places[is_new].astype(np.int32), bounds.astype(np.int64), book)

    def folded(self) -> tuple[Codes, Codes, Offsets, Counts, Codes]:
        """Fold equal sequences: items, places, offsets, weights of the distinct ones, and whose is which."""
        opens = np.diff(self.places, prepend=-1) != 0
        opens[self.person_offsets[:-1][np.diff(self.person_offsets) > 0]] = True
        keys = 2 * self.items.astype(np.int64) + opens
        row_of_person, first_rows = kernels.rows.fold_rows(keys, self.person_offsets)
        items, offsets = gather_rows(self.items, self.person_offsets, first_rows)
        places, _ = gather_rows(self.places, self.person_offsets, first_rows)
        weights = np.bincount(row_of_person, minlength=len(first_rows)).astype(np.int64)
        return items, places, offsets, weights, row_of_person


@dataclass(frozen=True, eq=False, repr=False)
class EventPatterns(PatternCounts[Pattern]):
    """Patterns of itemset events and how many persons contain each."""

    patterns: tuple[Pattern, ...]
    """The events of each pattern."""
    supports: Counts
    """Persons who contain each pattern."""
    holders: Supporters | None = None
    """Who contains each pattern, where that was asked for."""

    @property
    def labels(self) -> tuple[Pattern, ...]:
        """The events of each pattern."""
        return self.patterns


def frequent_events(
    data: EventTable | Itemsets,
    *,
    min_support: int | None = None,
    top: int | None = None,
    min_length: int = 1,
    max_length: int | None = None,
    max_gap: int | None = None,
    max_span: int | None = None,
    closed: bool = False,
    supporters: bool = False,
    max_patterns: int = MAX_PATTERNS,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> EventPatterns:
    """Find every pattern of itemset events that at least `min_support` persons contain.

    A person contains a pattern if events of theirs, in order, hold the items of the pattern's events. Lengths
    count items. The rows of a table with equal order or time are one event. The parameters are those of
    `frequent`; `top` and `closed` do not go together.

    Examples
    --------
    >>> rows = Itemsets.from_rows([["ab", "c"], ["abd", "c"], ["a", "b", "c"]])
    >>> dict(frequent_events(rows, min_support=2, closed=True))
    {(('a',), ('c',)): 3, (('a', 'b'), ('c',)): 2, (('b',), ('c',)): 3}

    References
    ----------
    Agrawal, Srikant (1995), Mining sequential patterns.
    """
    limits = checked_limits(
        min_support, top, min_length, max_length, closed, supporters, max_patterns, max_gap, max_span
    )
    if closed and top is not None:
        msg = "top and closed cannot be combined for itemset events: leave one of them out"
        raise ParameterError(msg)
    rows = data if isinstance(data, Itemsets) else Itemsets.of(data)
    items, places, offsets, weights, row_of_person = rows.folded()
    search = EventSearch.of(
        items, places, offsets, weights, len(rows.codebook), limits.min_support, max_gap, max_span
    )
    found = find_patterns(search, limits, top, engine=engine, progress=progress)
    labels = rows.codebook.labels
    patterns = tuple(
        tuple(tuple(labels[code] for code in event) for event in pattern) for pattern in found.patterns()
    )
    holders = Supporters(found.rows, found.row_offsets, row_of_person) if supporters else None
    return EventPatterns(patterns, found.supports, holders)
