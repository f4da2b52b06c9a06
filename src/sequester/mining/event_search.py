"""The search for frequent patterns where events are itemsets, or where gaps and spans are limited."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.engine import LocalEngine, silent
from sequester.mining.search import EVERYTHING, Found, run_shards

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.engine import Engine, Progress
    from sequester.mining.search import Limits


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
        limits: Limits,
        *,
        min_support: int,
        max_patterns: int = EVERYTHING,
        keep_rows: bool = False,
        engine: Engine | None = None,
        progress: Progress = silent,
    ) -> Found:
        """Find all frequent patterns; where they are more than `max_patterns`, some.

        Closed patterns are chosen among all, one item longer than asked for, and all of those count.
        """
        if not limits.closed:
            return self._run(
                limits,
                min_support=min_support,
                max_patterns=max_patterns,
                keep_rows=keep_rows,
                engine=engine,
                progress=progress,
            )
        longer = None if limits.max_length is None else limits.max_length + 1
        found = self._run(
            replace(limits, max_length=longer),
            min_support=min_support,
            max_patterns=max_patterns,
            keep_rows=keep_rows,
            engine=engine,
            progress=progress,
        )
        sizes = np.diff(found.offsets)
        is_wanted = _mark_closed(found) & (sizes <= (limits.max_length or EVERYTHING))
        return found.only(np.flatnonzero(is_wanted))

    def first(self, limits: Limits, *, min_support: int, n_patterns: int, keep_rows: bool = False) -> Found:
        """Find the frequent patterns that come first in lexicographic order."""
        everything = range(len(self.kept))
        return self._mine(everything, limits, min_support, n_patterns, np.zeros(1, np.int64), keep_rows)

    def _run(
        self,
        limits: Limits,
        *,
        min_support: int,
        max_patterns: int,
        keep_rows: bool,
        engine: Engine | None,
        progress: Progress,
    ) -> Found:
        n_found = np.zeros(1, np.int64)

        def mine(shard: range) -> Found:
            return self._mine(shard, limits, min_support, max_patterns, n_found, keep_rows)

        return run_shards(mine, self.symbol_weights, max_patterns, engine or LocalEngine(), progress)

    def _mine(
        self,
        shard: range,
        limits: Limits,
        min_support: int,
        max_patterns: int,
        n_found: Counts,
        keep_rows: bool,
    ) -> Found:
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
        return Found(codes, offsets, supports, rows, row_offsets, is_complete, is_first)


def _mark_closed(found: Found) -> Mask:
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
