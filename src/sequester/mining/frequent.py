"""Frequent patterns and itemsets: all that enough persons contain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sequester import kernels
from sequester.data.ordering import order_keys, repeats
from sequester.data.sequences import Distinct
from sequester.data.text import Codebook
from sequester.engine import silent
from sequester.errors import ParameterError, SchemaError
from sequester.mining.search import PatternLimits, PatternSearch, find_patterns
from sequester.mining.support import sequences_of, supports_of_codes
from sequester.ragged import gather_rows, list_sets, offsets_of, owners_of, places_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.table import EventTable, SequenceData
    from sequester.engine import Engine, Progress
    from sequester.mining.search import MiningResult

Labels = TypeVar("Labels", bound=tuple[object, ...])
"""Labels in order, or itemsets of labels in order."""
MAX_PATTERNS = 1_000_000
"""Patterns that are listed, at most; more are refused."""


def frequent(
    data: SequenceData,
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
) -> Patterns:
    """Find every pattern that at least `min_support` persons contain, or the `top` most frequent ones.

    The answer is exact, and the same however many threads there are. A person with several sequences, such as
    trips, counts once.

    Parameters
    ----------
    data
        Events of one symbol each.
    min_support
        Persons who contain a pattern, at least; may be left out where `top` is given.
    top
        How many patterns, at most: those with most supporters, and among equals those first in label order.
    min_length, max_length
        Items of a pattern.
    max_gap
        Events that may lie between an item and the next; 0 for items that follow each other at once.
    max_span
        Events from the first to the last item, both counted.
    closed
        Leave out a pattern if a longer one contains it and has as many supporters.
    supporters
        Keep who contains each pattern, see `Patterns.supporters`.
    max_patterns
        More are refused rather than held in memory.
    engine, progress
        Where it runs, and what is called with its progress.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> sequences = Sequences.from_rows(["abab", "ab", "ba"])
    >>> dict(frequent(sequences, min_support=2))
    {('a',): 3, ('a', 'b'): 2, ('b',): 3, ('b', 'a'): 2}
    >>> dict(frequent(sequences, min_support=2, max_length=1))
    {('a',): 3, ('b',): 3}
    >>> dict(frequent(sequences, top=1, min_length=2))
    {('a', 'b'): 2}
    >>> dict(frequent(Sequences.from_rows(["abc", "abc", "c"]), min_support=2, closed=True))
    {('a', 'b', 'c'): 2, ('c',): 3}
    >>> dict(frequent(Sequences.from_rows(["axb", "ab"]), min_support=1, max_gap=0, max_length=2))
    {('a',): 2, ('a', 'b'): 1, ('a', 'x'): 1, ('b',): 2, ('x',): 1, ('x', 'b'): 1}

    References
    ----------
    Pei, Han, Mortazavi-Asl, Pinto, Chen, Dayal, Hsu (2001), PrefixSpan. Wang, Han (2004), BIDE.
    """
    limits = PatternLimits(
        min_support, top, min_length, max_length, closed, supporters, max_patterns, max_gap, max_span
    )
    sequences = sequences_of(data)
    book, rows = sequences.codebook, sequences.distinct()
    _check_owners(rows, limits)
    is_plain = max_gap is None and max_span is None
    places = None if is_plain else places_of(rows.offsets).astype(np.int32)
    search = PatternSearch.of(rows, len(book), limits.lowest, places=places)
    found = find_patterns(search, limits, engine=engine, progress=progress)
    return _patterns(found, rows, book, limits, engine)


def frequent_itemsets(
    data: SequenceData,
    *,
    min_support: int | None = None,
    top: int | None = None,
    min_length: int = 1,
    max_length: int | None = None,
    closed: bool = False,
    supporters: bool = False,
    max_patterns: int = MAX_PATTERNS,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Patterns:
    """Find every set of items, whatever their order, that at least `min_support` persons have.

    An itemset is written as its labels in label order, and has no item twice. The parameters are those of
    `frequent`. Of a person with several sequences, one has to hold the whole set.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> dict(frequent_itemsets(Sequences.from_rows(["abab", "ba", "ca"]), min_support=2))
    {('a',): 3, ('a', 'b'): 2, ('b',): 2}
    """
    limits = PatternLimits(min_support, top, min_length, max_length, closed, supporters, max_patterns)
    sequences = sequences_of(data)
    book, rows = sequences.codebook, as_sets(sequences.distinct())
    _check_owners(rows, limits)
    # Among ascending rows without repeats, subsequences and subsets are the same.
    search = PatternSearch.of(rows, len(book), limits.lowest)
    found = find_patterns(search, limits, engine=engine, progress=progress)
    return _patterns(found, rows, book, limits, engine)


def _check_owners(rows: Distinct, limits: PatternLimits) -> None:
    """Refuse what is counted by sequence where persons have several."""
    asked = {name: getattr(limits, name) for name in ("top", "max_gap", "max_span", "closed")}
    named = [name for name, value in asked.items() if value is not None and value is not False]
    if rows.owners is not None and named:
        msg = f"{named[0]} needs one sequence per person, and here persons have several"
        raise ParameterError(msg)


def _patterns(
    found: MiningResult,
    rows: Distinct,
    book: Codebook,
    limits: PatternLimits,
    engine: Engine | None,
) -> Patterns:
    supports = found.supports
    if rows.owners is not None:
        # A person counts once; whoever has enough persons has at least as many sequences.
        supports = supports_of_codes(found.codes, found.offsets, book, rows, book, engine=engine)
        is_enough = np.flatnonzero(supports >= limits.lowest)
        found, supports = found.only(is_enough), supports[is_enough]
    holders = Supporters(found.rows, found.row_offsets, rows.row_of_person) if limits.keep_rows else None
    return Patterns(found.codes, found.offsets, supports, book, holders)


@dataclass(frozen=True, slots=True)
class Supporters:
    """Who contains each of many patterns, as numbers of distinct sequences."""

    rows: Codes
    """The distinct sequences that contain the patterns, one pattern after the other."""
    offsets: Offsets
    """Those of pattern ``i`` are ``rows[offsets[i]:offsets[i + 1]]``, ascending."""
    row_of_person: Codes
    """For each person the number of their sequence."""

    def of(self, number: int) -> Mask:
        """Mark each person who contains pattern `number`."""
        is_holder = np.zeros(int(self.row_of_person.max(initial=-1)) + 1, np.bool_)
        is_holder[self.rows[self.offsets[number] : self.offsets[number + 1]]] = True
        marked: Mask = is_holder[self.row_of_person]
        return marked


class PatternCounts(Mapping[Labels, int]):
    """Patterns and how many persons contain each, in lexicographic order of their codes."""

    labels: tuple[Labels, ...]
    """The labels of each pattern."""
    supports: Counts
    """Persons who contain each pattern."""
    holders: Supporters | None
    """Who contains each pattern, where that was asked for."""

    @cached_property
    def _numbers(self) -> dict[Labels, int]:
        return {labels: number for number, labels in enumerate(self.labels)}

    def supporters(self, pattern: Labels) -> Mask:
        """Mark each person (or each sequence, where persons have several) who contains one of these."""
        if self.holders is None:
            msg = "supporters were not kept: mine with supporters=True"
            raise ParameterError(msg)
        return self.holders.of(self._numbers[pattern])

    def __getitem__(self, pattern: Labels) -> int:
        return int(self.supports[self._numbers[pattern]])

    def __iter__(self) -> Iterator[Labels]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.supports)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} patterns)"


@dataclass(frozen=True, eq=False, repr=False)
class Patterns(PatternCounts[tuple[str, ...]]):
    """Patterns and how many persons contain each; a mapping from labels to supports, in label order.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.mining import frequent
    >>> patterns = frequent(Sequences.from_rows(["abc", "ac", "ca"]), min_support=2, supporters=True)
    >>> dict(patterns)
    {('a',): 3, ('a', 'c'): 2, ('c',): 3}
    >>> patterns["a", "c"], ("c", "a") in patterns
    (2, False)
    >>> patterns.supporters(("a", "c")).tolist()
    [True, True, False]
    """

    codes: Codes
    """The codes of all patterns, one after the other."""
    offsets: Offsets
    """Pattern ``i`` is ``codes[offsets[i]:offsets[i + 1]]``."""
    supports: Counts
    """Persons who contain each pattern."""
    codebook: Codebook
    """What the codes mean."""
    holders: Supporters | None = None
    """Who contains each pattern, where that was asked for."""

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:  # type: ignore[override]  # nobody writes to it
        """The labels of each pattern."""
        labels = self.codebook.decode(self.codes)
        return tuple(tuple(labels[a:b]) for a, b in pairwise(self.offsets.tolist()))


MOST_CANDIDATES = 100_000
"""Patterns of one length whose supporters are counted; where there are more, they are mined instead."""


def mine_by_length(
    rows: Distinct,
    book: Codebook,
    min_support: int,
    max_length: int | None,
    max_patterns: int,
    *,
    are_sets: bool,
) -> Patterns | None:
    """Count candidates length by length, each of frequent shorter ones; None where they are too many.

    Of sets, which are ascending rows without repeats, candidates are ascending, too.
    """
    limits = PatternLimits(min_support, None, 1, max_length, False, False, max_patterns)
    if max_length is None:
        return None
    level = np.arange(len(book), dtype=np.int32)[:, None]
    found, supports = [np.empty((0, max_length), np.int32)], [np.empty(0, np.int64)]
    for length in range(1, max_length + 1):
        if len(level) > MOST_CANDIDATES:
            return None
        offsets = np.arange(len(level) + 1, dtype=np.int64) * length
        counts = supports_of_codes(np.ascontiguousarray(level).ravel(), offsets, book, rows, book)
        is_frequent = counts >= min_support
        level = level[is_frequent]
        padding = np.full((len(level), max_length - length), -1, np.int32)
        found.append(np.concatenate([level, padding], axis=1))
        supports.append(counts[is_frequent])
        if sum(map(len, found)) > max_patterns:
            raise limits.too_many()
        candidates = _extended(level)
        if candidates is None:
            return None
        level = candidates[candidates[:, -2] < candidates[:, -1]] if are_sets else candidates
    patterns, counts = np.concatenate(found), np.concatenate(supports)
    # What a pattern begins with comes before it.
    order = np.lexsort(patterns.T[::-1])
    patterns = patterns[order]
    offsets = offsets_of((patterns >= 0).sum(axis=1))
    return Patterns(patterns[patterns >= 0], offsets, counts[order], book)


def _extended(level: Codes) -> Codes | None:
    """Join patterns of which one ends as the other begins, in label order; None where they are too many."""
    length = level.shape[1]
    numbers = np.zeros(2 * len(level), np.int64)
    if length > 1:
        parts = np.concatenate([level[:, :-1], level[:, 1:]])
        numbers = np.unique(parts, axis=0, return_inverse=True)[1].ravel()
    begin, end = np.split(numbers, [len(level)])
    order = np.argsort(begin, kind="stable")
    first = np.searchsorted(begin[order], end)
    counts = np.searchsorted(begin[order], end, side="right") - first
    if counts.sum() > MOST_CANDIDATES:
        return None
    starts = offsets_of(counts)
    others = order[np.repeat(first - starts[:-1], counts) + np.arange(starts[-1])]
    joined = np.concatenate([np.repeat(level, counts, axis=0), level[others, -1:]], axis=1)
    return joined.reshape(-1, length + 1)


def as_sets(rows: Distinct) -> Distinct:
    """Return the items of each row once, in ascending order."""
    items, offsets = list_sets(rows.items, rows.offsets)
    sets: Distinct = replace(rows, items=items, offsets=offsets)
    return sets


EventPattern = tuple[tuple[str, ...], ...]
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
        book, codes = table.sequences.codebooks[table.symbol], table.sequences.columns[table.symbol]
        # Events are numbered in the order of persons, so what is in an event is a row of its own.
        items, ends = list_sets(codes, np.append(np.flatnonzero(is_later), len(codes)))
        n_events = np.diff(offsets_of(is_later)[offsets])
        event_offsets = offsets_of(n_events)
        places = places_of(event_offsets)[owners_of(ends)].astype(np.int32)
        return cls(items, places, ends[event_offsets], book)

    def folded(self) -> tuple[Distinct, Codes]:
        """Fold equal sequences, in order of appearance; return them with the places of their items."""
        opens = np.diff(self.places, prepend=-1) != 0
        opens[self.person_offsets[:-1][np.diff(self.person_offsets) > 0]] = True
        keys = 2 * self.items.astype(np.int64) + opens
        row_of_person, first_rows = kernels.rows.fold_rows(keys, self.person_offsets)
        items, offsets = gather_rows(self.items, self.person_offsets, first_rows)
        places, _ = gather_rows(self.places, self.person_offsets, first_rows)
        weights = np.bincount(row_of_person, minlength=len(first_rows)).astype(np.int64)
        return Distinct(items, offsets, weights, row_of_person), places


@dataclass(frozen=True, eq=False, repr=False)
class EventPatterns(PatternCounts[EventPattern]):
    """Patterns of itemset events and how many persons contain each."""

    labels: tuple[EventPattern, ...]
    """The events of each pattern."""
    supports: Counts
    """Persons who contain each pattern."""
    holders: Supporters | None = None
    """Who contains each pattern, where that was asked for."""


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
    limits = PatternLimits(
        min_support, top, min_length, max_length, closed, supporters, max_patterns, max_gap, max_span
    )
    if closed and top is not None:
        msg = "top and closed cannot be combined for itemset events: leave one of them out"
        raise ParameterError(msg)
    rows = data if isinstance(data, Itemsets) else Itemsets.of(data)
    folded, places = rows.folded()
    search = PatternSearch.of(folded, len(rows.codebook), limits.lowest, places=places)
    found = find_patterns(search, limits, engine=engine, progress=progress)
    labels = rows.codebook.labels
    patterns = tuple(
        tuple(tuple(labels[code] for code in event) for event in pattern) for pattern in found.patterns()
    )
    holders = Supporters(found.rows, found.row_offsets, folded.row_of_person) if supporters else None
    return EventPatterns(patterns, found.supports, holders)
