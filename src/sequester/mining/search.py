"""The search for frequent patterns of weighted rows, shared out among threads by first symbol."""

from __future__ import annotations

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
class Found:
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
    def joined(cls, parts: Sequence[Found]) -> Found:
        """Put the finds of several shards one after the other."""
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

    def only(self, numbers: Counts) -> Found:
        """Choose patterns by number."""
        codes, offsets = kernels.distinct.gather_rows(self.codes, self.offsets, numbers)
        rows, row_offsets = kernels.distinct.gather_rows(self.rows, self.row_offsets, numbers)
        opens = self.opens
        if opens is not None:
            opens, _ = kernels.distinct.gather_rows(opens, self.offsets, numbers)
        return Found(codes, offsets, self.supports[numbers], rows, row_offsets, self.is_complete, opens)

    def patterns(self) -> list[tuple[tuple[int, ...], ...]]:
        """Give each pattern as a tuple of events, an event being a tuple of codes."""
        opens = np.ones(len(self.codes), np.bool_) if self.opens is None else self.opens
        starts = np.flatnonzero(opens)
        events = [tuple(event.tolist()) for event in np.split(self.codes, starts)[1:]]
        bounds = np.searchsorted(starts, self.offsets).tolist()
        return [tuple(events[a:b]) for a, b in pairwise(bounds)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
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
        limits: Limits,
        *,
        min_support: int,
        max_patterns: int = EVERYTHING,
        keep_rows: bool = False,
        engine: Engine | None = None,
        progress: Progress = silent,
    ) -> Found:
        """Find all frequent patterns; where they are more than `max_patterns`, some."""
        n_found = np.zeros(1, np.int64)

        def mine(shard: range) -> Found:
            return self._mine(shard, limits, min_support, max_patterns, n_found, keep_rows)

        return run_shards(mine, self.symbol_weights, max_patterns, engine or LocalEngine(), progress)

    def first(self, limits: Limits, *, min_support: int, n_patterns: int, keep_rows: bool = False) -> Found:
        """Find the frequent patterns that come first in lexicographic order."""
        everything = range(len(self.kept))
        return self._mine(everything, limits, min_support, n_patterns, np.zeros(1, np.int64), keep_rows)

    def _mine(
        self,
        shard: range,
        limits: Limits,
        min_support: int,
        max_patterns: int,
        n_found: Counts,
        keep_rows: bool,
    ) -> Found:
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
        return Found(self.kept[codes], *others)


def run_shards(
    mine: Callable[[range], Found],
    symbol_weights: Counts,
    max_patterns: int,
    engine: Engine,
    progress: Progress,
) -> Found:
    """Share the first symbols out, and put what they lead to in order again."""
    shards = engine.split(len(symbol_weights))
    # The heaviest first, so that no thread is left with a long one at the end.
    heaviest = sorted(shards, key=lambda each: -int(symbol_weights[each.start : each.stop].sum()))
    parts = engine.map(mine, heaviest, progress=progress, phase="mining patterns")
    part_of = dict(zip(heaviest, parts, strict=True))
    found = Found.joined([part_of[shard] for shard in shards])
    return found if len(found.supports) <= max_patterns else replace(found, is_complete=False)


def _joined_offsets(parts: Sequence[Offsets]) -> Offsets:
    sizes = np.concatenate([np.empty(0, np.int64), *map(np.diff, parts)])
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
