"""Frequent patterns of weighted rows, searched in threads by first symbol; all, or the most frequent."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.engine import LocalEngine, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.engine import Engine, Progress


EVERYTHING = 2**62
"""More patterns than any memory holds."""


@dataclass(frozen=True, slots=True)
class MiningResult:
    """What a search found: patterns in lexicographic order of their codes."""

    codes: Codes
    """The codes of all patterns, one after the other."""
    offsets: Offsets
    """Pattern ``i`` is ``codes[offsets[i]:offsets[i + 1]]``."""
    supports: Counts
    """The weight of the rows that contain each pattern."""
    rows: Codes
    """Those rows, where they were asked for."""
    row_offsets: Offsets
    """Those of pattern ``i`` are ``rows[row_offsets[i]:row_offsets[i + 1]]``, ascending."""
    is_complete: bool
    """Whether this is all."""
    opens: Mask | None = None
    """Which codes begin an event; None where all do."""

    @classmethod
    def joined(cls, parts: Sequence[MiningResult]) -> MiningResult:
        """Concatenate the results of several shards."""
        opens = [part.opens for part in parts if part.opens is not None]
        return cls(
            np.concatenate([np.empty(0, np.int32), *(part.codes for part in parts)]),
            _joined_offsets([part.offsets for part in parts]),
            np.concatenate([np.empty(0, np.int64), *(part.supports for part in parts)]),
            np.concatenate([np.empty(0, np.int32), *(part.rows for part in parts)]),
            _joined_offsets([part.row_offsets for part in parts]),
            all(part.is_complete for part in parts),
            np.concatenate(opens) if opens else None,
        )

    def only(self, numbers: Counts) -> MiningResult:
        """Choose patterns by number."""
        codes, offsets = kernels.distinct.gather_rows(self.codes, self.offsets, numbers)
        rows, row_offsets = kernels.distinct.gather_rows(self.rows, self.row_offsets, numbers)
        opens = self.opens
        if opens is not None:
            opens, _ = kernels.distinct.gather_rows(opens, self.offsets, numbers)
        return MiningResult(
            codes, offsets, self.supports[numbers], rows, row_offsets, self.is_complete, opens
        )

    def patterns(self) -> list[tuple[tuple[int, ...], ...]]:
        """Return each pattern as a tuple of events, an event being a tuple of codes."""
        opens = np.ones(len(self.codes), np.bool_) if self.opens is None else self.opens
        starts = np.flatnonzero(opens)
        events = [tuple(event.tolist()) for event in np.split(self.codes, starts)[1:]]
        bounds = np.searchsorted(starts, self.offsets).tolist()
        return [tuple(events[a:b]) for a, b in pairwise(bounds)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternLimits:
    """Which patterns are looked for."""

    min_length: int = 1
    """Items, at least."""
    max_length: int | None = None
    """Items, at most."""
    closed: bool = False
    """Only patterns that no longer one contains whose supporters are as many."""


@dataclass(frozen=True, slots=True)
class Search:
    """Rows made ready for searches at any support from a lowest one on."""

    kept: Codes
    """The codes of symbols that are frequent at the lowest support; the rows number them from 0."""
    items: Codes
    """The rows without the other symbols."""
    offsets: Offsets
    """Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``."""
    weights: Counts
    """Persons behind each row."""
    symbol_weights: Counts
    """Persons behind the rows that hold each kept symbol."""
    index: tuple[npt.NDArray[np.generic], ...]
    """The rows as masks."""

    @classmethod
    def of(cls, items: Codes, offsets: Offsets, weights: Counts, n_symbols: int, lowest: int) -> Search:
        """Make rows ready for searches at a support of `lowest` and more."""
        book = kernels.prefixspan
        symbol_weights = book.weigh_symbols(items, offsets, weights, n_symbols)
        # A pattern has no more supporters than its rarest symbol, so the rare ones need not be walked over.
        is_kept = symbol_weights >= lowest
        kept = np.flatnonzero(is_kept).astype(np.int32)
        if not is_kept.all():
            items, offsets = book.drop_symbols(items, offsets, is_kept)
            items = (np.cumsum(is_kept, dtype=np.int32) - 1)[items]
        places = kernels.containment.list_first_places(items, offsets, len(kept))
        parts = kernels.row_masks.list_parts(items, offsets, len(kept))
        marks = kernels.row_masks.mark_rows(items, offsets, len(kept), *parts[1:])
        return cls(kept, items, offsets, weights, symbol_weights[is_kept], (*places, *parts, *marks))

    def run(
        self,
        limits: PatternLimits,
        *,
        min_support: int,
        max_patterns: int = EVERYTHING,
        keep_rows: bool = False,
        engine: Engine | None = None,
        progress: Progress = silent,
    ) -> MiningResult:
        """Find all frequent patterns; where they are more than `max_patterns`, some."""
        n_found = np.zeros(1, np.int64)

        def mine(shard: range) -> MiningResult:
            return self._mine(shard, limits, min_support, max_patterns, n_found, keep_rows)

        return run_shards(mine, self.symbol_weights, max_patterns, engine or LocalEngine(), progress)

    def first(
        self, limits: PatternLimits, *, min_support: int, n_patterns: int, keep_rows: bool = False
    ) -> MiningResult:
        """Find the frequent patterns that come first in lexicographic order."""
        everything = range(len(self.kept))
        return self._mine(everything, limits, min_support, n_patterns, np.zeros(1, np.int64), keep_rows)

    def _mine(
        self,
        shard: range,
        limits: PatternLimits,
        min_support: int,
        max_patterns: int,
        n_found: Counts,
        keep_rows: bool,
    ) -> MiningResult:
        longest = max(int(np.diff(self.offsets).max(initial=1)), limits.min_length)
        codes, *others = kernels.prefixspan.mine_below(
            shard.start,
            shard.stop,
            self.items,
            self.offsets,
            self.weights,
            *self.index,
            min_support,
            limits.min_length,
            longest if limits.max_length is None else min(limits.max_length, longest),
            max_patterns,
            n_found,
            limits.closed,
            keep_rows,
        )
        return MiningResult(self.kept[codes], *others)


def run_shards(
    mine: Callable[[range], MiningResult],
    symbol_weights: Counts,
    max_patterns: int,
    engine: Engine,
    progress: Progress,
) -> MiningResult:
    """Mine the patterns of each first symbol in shards, and return them in order."""
    shards = engine.split(len(symbol_weights))
    # The heaviest first, so that no thread is left with a long one at the end.
    heaviest = sorted(shards, key=lambda each: -int(symbol_weights[each.start : each.stop].sum()))
    parts = engine.map(mine, heaviest, progress=progress, phase="mining patterns")
    part_of = dict(zip(heaviest, parts, strict=True))
    found = MiningResult.joined([part_of[shard] for shard in shards])
    return found if len(found.supports) <= max_patterns else replace(found, is_complete=False)


def _joined_offsets(parts: Sequence[Offsets]) -> Offsets:
    sizes = np.concatenate([np.empty(0, np.int64), *map(np.diff, parts)])
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def most_frequent(
    search: Search | EventSearch,
    limits: PatternLimits,
    *,
    n_patterns: int,
    lowest: int,
    keep_rows: bool,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> MiningResult:
    """Find the `n_patterns` with most supporters, `lowest` or more; first in label order among equals.

    The support of the last of them is found by halving: a search that stops as soon as it has enough tells on
    which side of a number it lies, so no search lists more than `n_patterns`.
    """
    most = int(search.symbol_weights.max(initial=0))
    n_steps = max(most - lowest, 0).bit_length() + 3
    n_done = 0

    def is_too_high(support: int) -> bool:
        nonlocal n_done
        found = search.run(limits, min_support=support, max_patterns=n_patterns - 1, engine=engine)
        n_done += 1
        progress(n_done / n_steps, "mining patterns")
        return found.is_complete

    candidates = range(lowest, most + 1)
    # The first support that too few patterns reach; the one before is that of the last pattern wanted.
    above = lowest + bisect_left(candidates, True, key=is_too_high)
    better = search.run(limits, min_support=above, keep_rows=keep_rows, engine=engine)
    if above == lowest:
        return better
    last = above - 1
    first = search.first(limits, min_support=last, n_patterns=n_patterns, keep_rows=keep_rows)
    is_last = first.supports == last
    is_last &= np.cumsum(is_last) <= n_patterns - len(better.supports)
    return _in_order(MiningResult.joined([better, first.only(np.flatnonzero(is_last))]))


def _in_order(found: MiningResult) -> MiningResult:
    """Sort patterns by their codes."""
    patterns = found.patterns()
    return found.only(np.array(sorted(range(len(patterns)), key=patterns.__getitem__), np.int64))


@dataclass(frozen=True, slots=True)
class EventSearch:
    """Rows of events made ready for searches at any support from a lowest one on."""

    kept: Codes
    """The codes of symbols that are frequent at the lowest support; the rows number them from 0."""
    items: Codes
    """The rows without the other symbols; ascending within an event."""
    places: Codes
    """The number of each item's event within its row, from 0; events that are left out keep theirs."""
    offsets: Offsets
    """Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``."""
    weights: Counts
    """Persons behind each row."""
    symbol_weights: Counts
    """Persons behind the rows that hold each kept symbol."""
    max_gap: int
    """Events between an item and the next, at most."""
    max_span: int
    """Events from the first to the last, at most."""

    @classmethod
    def of(
        cls,
        items: Codes,
        places: Codes,
        offsets: Offsets,
        weights: Counts,
        n_symbols: int,
        lowest: int,
        max_gap: int | None = None,
        max_span: int | None = None,
    ) -> EventSearch:
        """Make rows ready for searches at a support of `lowest` and more."""
        symbol_weights = kernels.prefixspan.weigh_symbols(items, offsets, weights, n_symbols)
        is_kept = symbol_weights >= lowest
        is_there = is_kept[items]
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(is_there)])[offsets]
        return cls(
            np.flatnonzero(is_kept).astype(np.int32),
            (np.cumsum(is_kept, dtype=np.int32) - 1)[items[is_there]].astype(np.int32),
            places[is_there],
            bounds,
            weights,
            symbol_weights[is_kept],
            EVERYTHING if max_gap is None else max_gap,
            EVERYTHING if max_span is None else max_span,
        )

    def run(
        self,
        limits: PatternLimits,
        *,
        min_support: int,
        max_patterns: int = EVERYTHING,
        keep_rows: bool = False,
        engine: Engine | None = None,
        progress: Progress = silent,
    ) -> MiningResult:
        """Find all frequent patterns; where they are more than `max_patterns`, some.

        Closed patterns are chosen among all, one item longer than asked for, and all of those count.
        """
        n_found = np.zeros(1, np.int64)
        longer = limits.max_length
        if limits.closed and longer is not None:
            longer += 1
        searched = replace(limits, max_length=longer)

        def mine(shard: range) -> MiningResult:
            return self._mine(shard, searched, min_support, max_patterns, n_found, keep_rows)

        found = run_shards(mine, self.symbol_weights, max_patterns, engine or LocalEngine(), progress)
        if not limits.closed:
            return found
        sizes = np.diff(found.offsets)
        is_wanted = _mark_closed(found) & (sizes <= (limits.max_length or EVERYTHING))
        return found.only(np.flatnonzero(is_wanted))

    def first(
        self, limits: PatternLimits, *, min_support: int, n_patterns: int, keep_rows: bool = False
    ) -> MiningResult:
        """Find the frequent patterns that come first in lexicographic order."""
        everything = range(len(self.kept))
        return self._mine(everything, limits, min_support, n_patterns, np.zeros(1, np.int64), keep_rows)

    def _mine(
        self,
        shard: range,
        limits: PatternLimits,
        min_support: int,
        max_patterns: int,
        n_found: Counts,
        keep_rows: bool,
    ) -> MiningResult:
        kinds, offsets, supports, rows, row_offsets, is_complete = kernels.event_patterns.mine_events(
            shard.start,
            shard.stop,
            self.items,
            self.places,
            self.offsets,
            self.weights,
            len(self.kept),
            min_support,
            limits.min_length,
            EVERYTHING if limits.max_length is None else limits.max_length,
            self.max_gap,
            self.max_span,
            max_patterns,
            n_found,
            keep_rows,
        )
        is_first = kinds < len(self.kept)
        codes = self.kept[np.where(is_first, kinds, kinds - len(self.kept))]
        return MiningResult(codes, offsets, supports, rows, row_offsets, is_complete, is_first)


def _mark_closed(found: MiningResult) -> Mask:
    """Mark the patterns that are not left over when an item of another, with as many supporters, goes."""
    patterns = found.patterns()
    numbers = {pattern: number for number, pattern in enumerate(patterns)}
    is_closed = np.ones(len(patterns), np.bool_)
    for pattern, support in zip(patterns, found.supports.tolist(), strict=True):
        for i, event in enumerate(pattern):
            for j in range(len(event)):
                rest = event[:j] + event[j + 1 :]
                shorter = numbers.get((*pattern[:i], *((rest,) if rest else ()), *pattern[i + 1 :]))
                if shorter is not None and found.supports[shorter] == support:
                    is_closed[shorter] = False
    return is_closed
