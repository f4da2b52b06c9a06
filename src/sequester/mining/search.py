"""Frequent patterns of weighted rows, searched in threads by first symbol; all, or the most frequent."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester._validation import at_least
from sequester.engine import LocalEngine, silent
from sequester.errors import ParameterError
from sequester.mining import _kernels
from sequester.ragged import gather_rows, keep_values, offsets_of, owners_of, places_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.sequences import Distinct
    from sequester.engine import Engine, Progress
    from sequester.mining._kernels import RowIndex

    Table = npt.NDArray[np.int64]


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
    def of(
        cls,
        codes: Codes,
        heads: Table,
        values: Codes,
        n_patterns: int,
        is_complete: bool,
        *,
        opens: Mask | None = None,
    ) -> MiningResult:
        """Take the output of `mine_patterns`; item ``i`` means ``codes[i]``."""
        heads = heads[:n_patterns]
        sizes = heads[:, 1:].ravel()
        is_item = np.repeat(np.arange(len(sizes)) % 2 == 0, sizes)
        values = values[: len(is_item)]
        items = values[is_item]
        return cls(
            codes[items],
            offsets_of(heads[:, 1]),
            heads[:, 0].copy(),
            values[~is_item],
            offsets_of(heads[:, 2]),
            is_complete,
            None if opens is None else opens[items],
        )

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
        codes, offsets = gather_rows(self.codes, self.offsets, numbers)
        rows, row_offsets = gather_rows(self.rows, self.row_offsets, numbers)
        opens = self.opens
        if opens is not None:
            opens, _ = gather_rows(opens, self.offsets, numbers)
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


@dataclass(frozen=True, slots=True)
class PatternLimits:
    """Which patterns are looked for; numbers that are too low, and what does not go together, are refused."""

    min_support: int | None
    """Persons behind the rows that contain a pattern, at least; 1 where only `top` is given."""
    top: int | None
    """How many patterns, at most."""
    min_length: int
    """Items, at least."""
    max_length: int | None
    """Items, at most."""
    closed: bool
    """Only patterns that no longer one contains whose supporters are as many."""
    keep_rows: bool
    """List the rows that contain each pattern, too."""
    max_patterns: int
    """A search that finds more gives up, and says so."""
    max_gap: int | None = None
    """Events between an item and the next, at most; only a search of events looks at them."""
    max_span: int | None = None
    """Events from the first to the last, at most."""

    def __post_init__(self) -> None:
        for name in ("min_support", "top", "min_length", "max_length", "max_span", "max_patterns", "max_gap"):
            value = getattr(self, name)
            if value is not None:
                at_least(name, value, 0 if name == "max_gap" else 1)
        if self.min_support is None and self.top is None:
            msg = "min_support or top must be given"
            raise ParameterError(msg)
        if self.closed and self.max_gap is not None:
            # Without an item in the middle a pattern may have fewer supporters, because a gap grew.
            msg = "closed patterns are not defined with max_gap: leave one of them out"
            raise ParameterError(msg)
        if self.closed and self.top is not None and self.max_span is not None:
            msg = "top, closed and max_span cannot be combined: leave one of them out"
            raise ParameterError(msg)

    @property
    def lowest(self) -> int:
        """The support that every pattern has."""
        return self.min_support or 1

    def too_many(self) -> ParameterError:
        """Return the error that there are more patterns than are listed."""
        return ParameterError(
            f"more than {self.max_patterns} patterns have at least {self.lowest} supporters: raise "
            "min_support, lower max_length, or raise max_patterns"
        )


@dataclass(frozen=True, slots=True)
class PatternSearch:
    """Rows made ready for searches at any support from a lowest one on; rows of symbols, or of events."""

    kept: Codes
    """The codes of symbols that are frequent at the lowest support; the rows number them from 0."""
    items: Codes
    """The rows without the other symbols; ascending within an event."""
    offsets: Offsets
    """Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``."""
    weights: Counts
    """Persons behind each row."""
    symbol_weights: Counts
    """Persons behind the rows that hold each kept symbol."""
    places: Codes | None
    """The number of each item's event within its row, from 0; events that are left out keep theirs. None
    where every item is an event of its own, and gaps do not matter."""
    index: RowIndex | None
    """The rows as masks, where there are no places."""

    @classmethod
    def of(cls, rows: Distinct, n_symbols: int, lowest: int, *, places: Codes | None = None) -> PatternSearch:
        """Make rows ready for searches at a support of `lowest` and more."""
        items, offsets, weights = rows.items, rows.offsets, rows.weights
        symbols, symbol_offsets = kernels.rows.list_symbols(items, offsets, n_symbols)
        of_rows = weights[owners_of(symbol_offsets)]
        symbol_weights = np.bincount(symbols, of_rows, n_symbols).astype(np.int64)
        # A pattern has no more supporters than its rarest symbol, so the rare ones need not be walked over.
        is_kept = symbol_weights >= lowest
        if not is_kept.all():
            code_of = np.cumsum(is_kept, dtype=np.int32) - 1
            places = None if places is None else places[is_kept[items]]
            items, offsets = keep_values(code_of[items], offsets, is_kept[items])
            symbols, symbol_offsets = keep_values(code_of[symbols], symbol_offsets, is_kept[symbols])
        kept = np.flatnonzero(is_kept).astype(np.int32)
        index = None
        if places is None:
            index = index_rows(items, offsets, weights, symbols, symbol_offsets, len(kept))
        return cls(kept, items, offsets, weights, symbol_weights[is_kept], places, index)

    def mine(self, shard: range, limits: PatternLimits, n_found: Counts) -> MiningResult:
        """Find the frequent patterns that begin with some symbols, and add their number to ``n_found[0]``."""
        n_symbols, longest_row = len(self.kept), int(np.diff(self.offsets).max(initial=1))
        longest = max(longest_row, limits.min_length)
        longest = longest if limits.max_length is None else min(limits.max_length, longest)
        codes, opens, events, closing = self.kept, None, None, None
        if self.places is not None:
            codes, opens = np.tile(self.kept, 2), np.repeat([True, False], n_symbols)
            gap, span = (EVERYTHING if each is None else each for each in (limits.max_gap, limits.max_span))
            is_limited = min(gap, span) <= int(self.places.max(initial=0))
            rows = (self.items, self.places, self.offsets, self.weights)
            events = _kernels.Events(*rows, n_symbols, gap, span, is_limited)
        elif limits.closed:
            stamp, matches = np.zeros(n_symbols + 1, np.int64), np.empty((2, longest + 1), np.int64)
            closing = _kernels.Closing(self.items, self.offsets, stamp, matches)
        found = _kernels.mine_patterns(
            shard.start,
            shard.stop,
            self.index,
            events,
            closing,
            _kernels.Limits(limits.lowest, limits.min_length, longest, limits.max_patterns, limits.keep_rows),
            _kernels.Extensions.of(len(codes), longest_row),
            n_found,
            (np.empty((1024, 3), np.int64), np.empty((1024, 3), np.int64), np.empty(1024, np.int32)),
        )
        return MiningResult.of(codes, *found, opens=opens)


def index_rows(
    items: Codes, offsets: Offsets, weights: Counts, symbols: Codes, symbol_offsets: Offsets, n_symbols: int
) -> RowIndex:
    """Make an index of rows whose different symbols are listed."""
    lengths, sizes = np.diff(offsets), np.diff(symbol_offsets)
    n_parts, n_blocks = -(-sizes // _kernels.PART_SIZE), -(-lengths // _kernels.BLOCK_SIZE)
    ahead, bits = offsets_of(n_parts * (lengths + 1)), offsets_of(sizes * n_blocks)
    first_parts = offsets_of(n_parts)
    row, number = owners_of(first_parts), places_of(first_parts)
    starts = offsets_of(np.bincount(symbols, minlength=n_symbols))
    index = _kernels.RowIndex(
        np.column_stack([first_parts[:-1], n_parts, sizes, n_blocks, ahead[:-1], bits[:-1]]),
        np.column_stack([row, weights[row], symbol_offsets[row] + _kernels.PART_SIZE * number]),
        symbols,
        np.zeros(ahead[-1], np.int64),
        np.zeros(bits[-1], np.int64),
        starts,
        np.empty((len(symbols), 2), np.int64),
    )
    _kernels.mark_rows(items, offsets, index, np.empty(n_symbols, np.int64), starts[:-1].copy())
    return index


def _mine(shard: range, shared: tuple[PatternSearch, PatternLimits, Counts]) -> MiningResult:
    """Return the patterns that begin with some symbols."""
    search, limits, n_found = shared
    return search.mine(shard, limits, n_found)


def run_search(
    search: PatternSearch,
    limits: PatternLimits,
    *,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> MiningResult:
    """Find all frequent patterns, in shards of first symbols; where they are more than allowed, some.

    Of itemset events, closed patterns are chosen among all that are at most one item longer than asked for,
    and all of those count.
    """
    engine, weights = engine or LocalEngine(), search.symbol_weights
    is_chosen = limits.closed and search.places is not None
    longest = limits.max_length or EVERYTHING
    asked = replace(limits, max_length=longest + 1) if is_chosen and limits.max_length else limits
    shards = engine.split(len(weights))
    # The heaviest first, so that no thread is left with a long one at the end.
    heaviest = sorted(shards, key=lambda each: -int(weights[each.start : each.stop].sum()))
    shared = search, asked, np.zeros(1, np.int64)
    parts = engine.map(_mine, heaviest, shared=shared, progress=progress, phase="mining patterns")
    part_of = dict(zip(heaviest, parts, strict=True))
    found = MiningResult.joined([part_of[shard] for shard in shards])
    if len(found.supports) > limits.max_patterns:
        found = replace(found, is_complete=False)
    if not is_chosen:
        return found
    return found.only(np.flatnonzero(_mark_closed(found) & (np.diff(found.offsets) <= longest)))


def _joined_offsets(parts: Sequence[Offsets]) -> Offsets:
    return offsets_of(np.concatenate([np.empty(0, np.int64), *map(np.diff, parts)]))


def find_patterns(
    search: PatternSearch, limits: PatternLimits, *, engine: Engine | None, progress: Progress
) -> MiningResult:
    """Run a search, by support or by number; too many patterns are refused."""
    if limits.top is not None and limits.top <= limits.max_patterns:
        return most_frequent(search, limits, limits.top, engine=engine, progress=progress)
    found = run_search(search, limits, engine=engine, progress=progress)
    if not found.is_complete:
        raise limits.too_many()
    return found


def most_frequent(
    search: PatternSearch,
    limits: PatternLimits,
    n_patterns: int,
    *,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> MiningResult:
    """Find the `n_patterns` with most supporters within the limits; first in label order among equals.

    The support of the last of them is found by halving: a search that stops as soon as it has enough tells on
    which side of a number it lies, so no search lists more than `n_patterns`.
    """
    lowest, most = limits.lowest, int(search.symbol_weights.max(initial=0))
    n_steps = max(most - lowest, 0).bit_length() + 3
    n_done = 0

    def is_too_high(support: int) -> bool:
        nonlocal n_done
        asked = replace(limits, min_support=support, max_patterns=n_patterns, keep_rows=False)
        found = run_search(search, asked, engine=engine)
        n_done += 1
        progress(n_done / n_steps, "mining patterns")
        return found.is_complete and len(found.supports) < n_patterns

    # The first support that too few patterns reach; the one before is that of the last pattern wanted.
    above = lowest + bisect_left(range(lowest, most + 1), True, key=is_too_high)
    better = run_search(search, replace(limits, min_support=above, max_patterns=EVERYTHING), engine=engine)
    if above == lowest:
        return better
    asked = replace(limits, min_support=above - 1, max_patterns=n_patterns)
    first = search.mine(range(len(search.kept)), asked, np.zeros(1, np.int64))
    is_last = first.supports == above - 1
    is_last &= np.cumsum(is_last) <= n_patterns - len(better.supports)
    return _in_order(MiningResult.joined([better, first.only(np.flatnonzero(is_last))]))


def _in_order(found: MiningResult) -> MiningResult:
    """Sort patterns by their codes."""
    patterns = found.patterns()
    return found.only(np.array(sorted(range(len(patterns)), key=patterns.__getitem__), np.int64))


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
