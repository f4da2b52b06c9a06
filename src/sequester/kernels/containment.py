"""Count, for many patterns at once, the weighted rows that contain each as a subsequence, gaps allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

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
    supports = np.zeros(n_rows, np.bool_)
    for row in range(n_rows):
        matched = 0
        for i in range(offsets[row], offsets[row + 1]):
            if items[i] == pattern[matched]:
                matched += 1
                if matched == pattern.size:
                    supports[row] = True
                    break
    return supports


@njit
def mark_ahead(items: Codes, offsets: Offsets) -> Bits:
    """Set, for each place of a row, one bit per symbol (modulo 64) that occurs there or later."""
    ahead = np.zeros(items.size, np.uint64)
    for row in range(offsets.size - 1):
        seen = np.uint64(0)
        for i in range(offsets[row + 1] - 1, offsets[row] - 1, -1):
            seen |= np.uint64(1) << np.uint64(items[i] & 63)
            ahead[i] = seen
    return ahead


@njit
def list_first_places(items: Codes, offsets: Offsets, n_symbols: int) -> tuple[Offsets, Codes, Offsets]:
    """List, symbol by symbol, the rows that hold it, ascending, and the place after its first occurrence.

    Symbol ``s`` has the entries ``starts[s]`` to ``starts[s + 1]`` of the two lists. Requires codes below
    `n_symbols`.
    """
    seen_in = np.full(n_symbols, -1, np.int64)
    starts = np.zeros(n_symbols + 1, np.int64)
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            if seen_in[items[i]] != row:
                seen_in[items[i]] = row
                starts[items[i] + 1] += 1
    for symbol in range(n_symbols):
        starts[symbol + 1] += starts[symbol]
    rows = np.empty(starts[-1], np.int32)
    after = np.empty(starts[-1], np.int64)
    filled = starts[:-1].copy()
    seen_in[:] = -1
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            symbol = items[i]
            if seen_in[symbol] != row:
                seen_in[symbol] = row
                rows[filled[symbol]] = row
                after[filled[symbol]] = i + 1
                filled[symbol] += 1
    return starts, rows, after


@njit
def _place_after(items: Codes, ahead: Bits, start: int, stop: int, symbol: int) -> int:
    """Give the place after the first `symbol` in ``items[start:stop]``, or -1."""
    if start < stop and (ahead[start] >> np.uint64(symbol & 63)) & np.uint64(1):
        for i in range(start, stop):
            if items[i] == symbol:
                return i + 1
    return -1


@njit
def _find(rows: Codes, low: int, high: int, row: int) -> int:
    """Give the first place in the ascending ``rows[low:high]`` that is not below `row`."""
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def count_supporters(
    patterns: Codes,
    pattern_offsets: Offsets,
    first: int,
    last: int,
    items: Codes,
    offsets: Offsets,
    weights: Counts,
    ahead: Bits,
    symbol_starts: Offsets,
    symbol_rows: Codes,
    symbol_after: Offsets,
) -> Counts:
    """Give the weight of the rows that contain each of the patterns `first` to `last`.

    The rows that contain the first ``d`` items of a pattern, each with the place where that greedy match
    ends, are narrowed to those that contain ``d + 1``. The lists stay on a stack, so patterns that follow
    each other share the work for the items they begin with; sorted patterns share most, other orders are as
    correct. A row stands in at most as many lists as it has items, which bounds the memory.

    Requires codes of patterns and rows below ``symbol_starts.size - 1``; `ahead` is from `mark_ahead`, the
    last three are from `list_first_places`, both of the same rows.
    """
    longest = 0
    for pattern in range(first, last):
        longest = max(longest, pattern_offsets[pattern + 1] - pattern_offsets[pattern])
    level_starts = np.zeros(longest + 2, np.int64)
    rows = np.empty(1024, np.int32)
    after = np.empty(1024, np.int64)
    supports = np.zeros(last - first, np.int64)
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
            if fill + wanted > rows.size:
                capacity = max(2 * rows.size, fill + wanted)
                wider_rows = np.empty(capacity, np.int32)
                wider_rows[:fill] = rows[:fill]
                rows = wider_rows
                wider_after = np.empty(capacity, np.int64)
                wider_after[:fill] = after[:fill]
                after = wider_after
            if depth == 0:
                for i in range(s_low, s_high):
                    rows[fill] = symbol_rows[i]
                    after[fill] = symbol_after[i]
                    fill += 1
            elif RARE * (s_high - s_low) < high - low:
                for i in range(s_low, s_high):
                    row = symbol_rows[i]
                    low = _find(rows, low, high, row)
                    if low == high:
                        break
                    if rows[low] == row:
                        place = _place_after(items, ahead, after[low], offsets[row + 1], symbol)
                        if place >= 0:
                            rows[fill] = row
                            after[fill] = place
                            fill += 1
            else:
                for i in range(low, high):
                    row = rows[i]
                    place = _place_after(items, ahead, after[i], offsets[row + 1], symbol)
                    if place >= 0:
                        rows[fill] = row
                        after[fill] = place
                        fill += 1
            depth += 1
            level_starts[depth + 1] = fill
        total = 0
        if size == 0:
            for row in range(weights.size):
                total += weights[row]
        else:
            for i in range(level_starts[size], level_starts[size + 1]):
                total += weights[rows[i]]
        supports[pattern - first] = total
    return supports
