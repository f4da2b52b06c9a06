"""Which rows contain a pattern as a subsequence, gaps allowed, how many of them, and in how many ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.buffers import ensure_rows
from sequester.kernels.compiler import inner, njit
from sequester.kernels.rows import frozen, list_symbols
from sequester.ragged import offsets_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Bits = npt.NDArray[np.uint64]

RARE = 8
"""A symbol whose rows are this many times fewer than the rows at hand is looked up, not scanned for."""


@njit
def mark_supporters(items: Codes, offsets: Offsets, pattern: Codes) -> Mask:
    """Mark each row that contains `pattern` as a subsequence, gaps allowed.

    Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``. Requires ``pattern.size > 0``.
    """
    n_rows = offsets.size - 1
    supports = np.empty(n_rows, np.bool_)
    for row in range(n_rows):
        matched, supports[row] = 0, False
        for i in range(offsets[row], offsets[row + 1]):
            if items[i] == pattern[matched]:
                matched += 1
                if matched == pattern.size:
                    supports[row] = True
                    break
    return supports


def mark_ahead(items: Codes, offsets: Offsets) -> Bits:
    """Set, for each place of a row, one bit per symbol (modulo 64) that occurs there or later."""
    ahead = np.empty(len(items), np.uint64)
    _mark_ahead(frozen(items), frozen(offsets), ahead)
    return ahead


@njit
def _mark_ahead(items: Codes, offsets: Offsets, ahead: Bits) -> None:
    for row in range(offsets.size - 1):
        seen = np.uint64(0)
        for i in range(offsets[row + 1] - 1, offsets[row] - 1, -1):
            seen |= np.uint64(1) << np.uint64(items[i] & 63)
            ahead[i] = seen


def list_first_places(items: Codes, offsets: Offsets, n_symbols: int) -> tuple[Offsets, Codes, Offsets]:
    """List, symbol by symbol, the rows that hold it, ascending, and the place after its first occurrence.

    Symbol ``s`` has the entries ``starts[s]`` to ``starts[s + 1]`` of the two lists. Requires codes below
    `n_symbols`.
    """
    symbols = list_symbols(items, offsets, n_symbols)[0]
    starts = offsets_of(np.bincount(symbols, minlength=n_symbols))
    rows, after = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int64)
    seen_in = np.full(n_symbols, -1, np.int64)
    _list_first_places(frozen(items), frozen(offsets), seen_in, starts[:-1].copy(), rows, after)
    return starts, rows, after


@njit
def _list_first_places(
    items: Codes, offsets: Offsets, seen_in: Counts, filled: Offsets, rows: Codes, after: Offsets
) -> None:
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            symbol = items[i]
            if seen_in[symbol] != row:
                seen_in[symbol] = row
                rows[filled[symbol]] = row
                after[filled[symbol]] = i + 1
                filled[symbol] += 1


@inner
def _place_after(items: Codes, ahead: Bits, start: int, stop: int, symbol: int) -> int:
    """Return the place after the first `symbol` in ``items[start:stop]``, or -1."""
    if start < stop and (ahead[start] >> np.uint64(symbol & 63)) & np.uint64(1):
        for i in range(start, stop):
            if items[i] == symbol:
                return i + 1
    return -1


@inner
def _find(found: Counts, low: int, high: int, row: int) -> int:
    """Return the first place in the ascending ``found[low:high, 0]`` that is not below `row`."""
    while low < high:
        middle = (low + high) // 2
        if found[middle, 0] < row:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def count_supporters(
    spelled: tuple[Codes, Offsets],
    first: int,
    last: int,
    rows: tuple[Codes, Offsets],
    weights: Counts,
    ahead: Bits,
    first_places: tuple[Offsets, Codes, Offsets],
) -> Counts:
    """Return the weight of the rows that contain each of the patterns `first` to `last`.

    The rows that contain the first ``d`` items of a pattern, each with the place where that greedy match
    ends, are narrowed to those that contain ``d + 1``. The lists stay on a stack, so patterns that follow
    each other share the work for the items they begin with; sorted patterns share most, other orders are as
    correct. A row stands in at most as many lists as it has items, which bounds the memory.

    `spelled` and `rows` are codes and offsets, the codes below the number of symbols of `first_places`, which
    is from `list_first_places`; `ahead` is from `mark_ahead`, both of the same rows.
    """
    patterns, pattern_offsets = spelled
    items, offsets = rows
    symbol_starts, symbol_rows, symbol_after = first_places
    longest = 0
    for pattern in range(first, last):
        longest = max(longest, pattern_offsets[pattern + 1] - pattern_offsets[pattern])
    level_starts = np.empty(longest + 2, np.int64)
    level_starts[0], level_starts[1] = 0, 0
    # Rows, and where the match ends in each.
    found = np.empty((1024, 2), np.int64)
    supports = np.empty(last - first, np.int64)
    for pattern in range(first, last):
        start = pattern_offsets[pattern]
        size = pattern_offsets[pattern + 1] - start
        depth = 0
        if pattern > first:
            other = pattern_offsets[pattern - 1]
            shared = min(size, start - other)
            while depth < shared and patterns[other + depth] == patterns[start + depth]:
                depth += 1
        # Level d is between level_starts[d] and level_starts[d + 1]; level 0, every row, is not written down.
        while depth < size:
            symbol = patterns[start + depth]
            low, high = level_starts[depth], level_starts[depth + 1]
            fill = high
            s_low, s_high = symbol_starts[symbol], symbol_starts[symbol + 1]
            wanted = s_high - s_low if depth == 0 else min(high - low, s_high - s_low)
            found = ensure_rows(found, fill, fill + wanted)
            if depth == 0:
                for i in range(s_low, s_high):
                    found[fill, 0], found[fill, 1] = symbol_rows[i], symbol_after[i]
                    fill += 1
            elif RARE * (s_high - s_low) < high - low:
                for i in range(s_low, s_high):
                    row = symbol_rows[i]
                    low = _find(found, low, high, row)
                    if low == high:
                        break
                    if found[low, 0] == row:
                        place = _place_after(items, ahead, found[low, 1], offsets[row + 1], symbol)
                        if place >= 0:
                            found[fill, 0], found[fill, 1] = row, place
                            fill += 1
            else:
                for i in range(low, high):
                    row = found[i, 0]
                    place = _place_after(items, ahead, found[i, 1], offsets[row + 1], symbol)
                    if place >= 0:
                        found[fill, 0], found[fill, 1] = row, place
                        fill += 1
            depth += 1
            level_starts[depth + 1] = fill
        total = 0
        if size == 0:
            for row in range(weights.size):
                total += weights[row]
        else:
            for i in range(level_starts[size], level_starts[size + 1]):
                total += weights[found[i, 0]]
        supports[pattern - first] = total
    return supports


MOST = 2**62 - 1
"""Counts stop here: two of them can still be added in 64 bits."""


@inner
def count_row(items: Codes, start: int, stop: int, pattern: Codes, ways: Counts) -> int:
    """Return the number of embeddings of `pattern` in ``items[start:stop]``, or `MOST` where there are more.

    `ways` is room for ``pattern.size + 1`` numbers; afterwards ``ways[m]`` belongs to the first ``m`` items.
    """
    ways[:] = 0
    ways[0] = 1
    for i in range(start, stop):
        item = items[i]
        # Backwards, so that one place is not used twice.
        for m in range(pattern.size, 0, -1):
            if pattern[m - 1] == item:
                ways[m] = min(ways[m] + ways[m - 1], MOST)
    return int(ways[pattern.size])


@njit
def count_embeddings(items: Codes, offsets: Offsets, pattern: Codes) -> Counts:
    """Return the number of embeddings of `pattern` in each row, or `MOST` where there are more."""
    ways = np.empty(pattern.size + 1, np.int64)
    counts = np.empty(offsets.size - 1, np.int64)
    for row in range(offsets.size - 1):
        counts[row] = count_row(items, offsets[row], offsets[row + 1], pattern, ways)
    return counts


@inner
def _times(left: int, right: int) -> int:
    """Multiply, or give `MOST` where the product is more."""
    if left == 0 or right == 0:
        return 0
    return MOST if left > MOST // right else left * right


@njit
def count_through(items: Codes, start: int, stop: int, pattern: Codes) -> Counts:
    """Count the embeddings of `pattern` that use each place of ``items[start:stop]``, at most `MOST`.

    Those are the ways up to the place times the ways after it, for every item of the pattern that it holds.
    """
    size, length = pattern.size, stop - start
    # after[i, m] counts the ways in which items from place i on contain the pattern from item m on.
    after = np.zeros((length + 1, size + 1), np.int64)
    after[:, size] = 1
    for i in range(length - 1, -1, -1):
        for m in range(size):
            after[i, m] = after[i + 1, m]
            if items[start + i] == pattern[m]:
                after[i, m] = min(after[i, m] + after[i + 1, m + 1], MOST)
    before = np.zeros(size + 1, np.int64)
    before[0] = 1
    through = np.zeros(length, np.int64)
    for i in range(length):
        for m in range(size - 1, -1, -1):
            if items[start + i] == pattern[m]:
                through[i] = min(through[i] + _times(before[m], after[i + 1, m + 1]), MOST)
                before[m + 1] = min(before[m + 1] + before[m], MOST)
    return through


def count_spelled(
    before: Codes,
    after: Codes,
    offsets: Offsets,
    pattern: Codes,
    image: Codes,
    window: int,
    is_asked: Mask,
) -> Counts:
    """Count, per row, the index tuples that spell `pattern` in `before` and `image` in `after`.

    A tuple ``i1 < ... < im`` counts where ``im - i1 <= window``. Rows that are not asked for count 0.
    Requires ``pattern.size == image.size > 0``, rows of the same places in both, and fewer than 2^63 tuples.
    """
    counts, ways = np.zeros(len(offsets) - 1, np.int64), np.empty(len(pattern), np.int64)
    codes = [frozen(each) for each in (before, after, offsets, pattern, image)]
    _count_spelled(*codes, window, frozen(is_asked), ways, counts)
    return counts


@njit
def _count_spelled(
    before: Codes,
    after: Codes,
    offsets: Offsets,
    pattern: Codes,
    image: Codes,
    window: int,
    is_asked: Mask,
    ways: Counts,
    counts: Counts,
) -> None:
    """Count in `counts`; `ways` are those to spell the first k + 1 symbols from the current start on."""
    length = pattern.size
    for row in range(offsets.size - 1):
        if not is_asked[row]:
            continue
        stop = offsets[row + 1]
        total = 0
        for start in range(offsets[row], stop):
            if before[start] != pattern[0] or after[start] != image[0]:
                continue
            ways[0] = 1
            for k in range(1, length):
                ways[k] = 0
            for place in range(start + 1, min(start + window + 1, stop)):
                # Backwards, so that a place serves each tuple once.
                for k in range(length - 1, 0, -1):
                    if before[place] == pattern[k] and after[place] == image[k]:
                        ways[k] += ways[k - 1]
            total += ways[length - 1]
        counts[row] = total
