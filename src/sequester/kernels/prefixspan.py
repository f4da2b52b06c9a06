"""Mine frequent subsequences of weighted rows: PrefixSpan with pseudo-projection, for any alphabet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets


@njit(cache=True, nogil=True)
def weigh_symbols(items: Codes, offsets: Offsets, weights: Counts, n_symbols: int) -> Counts:
    """Give the weight of the rows that hold each symbol. Requires codes below `n_symbols`."""
    seen_in = np.full(n_symbols, -1, np.int64)
    total = np.zeros(n_symbols, np.int64)
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            if seen_in[items[i]] != row:
                seen_in[items[i]] = row
                total[items[i]] += weights[row]
    return total


@njit(cache=True, nogil=True)
def drop_symbols(items: Codes, offsets: Offsets, is_kept: Mask) -> tuple[Codes, Offsets]:
    """Copy the rows without the symbols that are not kept."""
    kept = np.empty(items.size, np.int32)
    new_offsets = np.zeros(offsets.size, np.int64)
    n_kept = 0
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            if is_kept[items[i]]:
                kept[n_kept] = items[i]
                n_kept += 1
        new_offsets[row + 1] = n_kept
    return kept[:n_kept].copy(), new_offsets


@njit(cache=True, nogil=True)
def sort_symbols(items: Codes, offsets: Offsets, n_symbols: int) -> tuple[Codes, Offsets]:
    """Copy each row as the set of its symbols, ascending. Requires codes below `n_symbols`."""
    seen_in = np.full(n_symbols, -1, np.int64)
    kept = np.empty(items.size, np.int32)
    new_offsets = np.zeros(offsets.size, np.int64)
    n_kept = 0
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            if seen_in[items[i]] != row:
                seen_in[items[i]] = row
                kept[n_kept] = items[i]
                n_kept += 1
        new_offsets[row + 1] = n_kept
        kept[new_offsets[row] : n_kept].sort()
    return kept[:n_kept].copy(), new_offsets


@njit(cache=True, nogil=True)
def count_ahead(items: Codes, offsets: Offsets, n_symbols: int) -> Codes:
    """Count, for each place of a row, the different symbols that occur there or later."""
    seen_in = np.full(n_symbols, -1, np.int64)
    n_ahead = np.zeros(items.size, np.int32)
    for row in range(offsets.size - 1):
        different = 0
        for i in range(offsets[row + 1] - 1, offsets[row] - 1, -1):
            if seen_in[items[i]] != row:
                seen_in[items[i]] = row
                different += 1
            n_ahead[i] = different
    return n_ahead


@njit(cache=True, nogil=True)
def wider(values: Codes, n_used: int, n_needed: int) -> Codes:
    """Give a buffer with room for `n_needed` values that begins with the first `n_used` of `values`."""
    if n_needed <= values.size:
        return values
    wider = np.empty(max(n_needed, 2 * values.size), values.dtype)
    wider[:n_used] = values[:n_used]
    return wider


@njit(cache=True, nogil=True)
def mine_frequent(
    items: Codes,
    offsets: Offsets,
    weights: Counts,
    n_symbols: int,
    min_support: int,
    max_length: int,
    max_patterns: int,
) -> tuple[Codes, Offsets, Counts, bool]:
    """List all patterns of weight `min_support` or more in label order, with their weights.

    A node of the search is a pattern with its projection: the rows that contain it, each with the place after
    the greedy match. One pass over what follows weighs all extensions, a second fills the projections of the
    frequent ones; both stop in a row once every symbol that is still ahead was met. Projections lie in one
    growing buffer, those of the siblings that wait below the current one.

    The last answer is false where there were more than `max_patterns`; the lists are then cut off. Requires
    codes below `n_symbols`, ``min_support > 0`` and ``max_length > 0``.
    """
    n_ahead = count_ahead(items, offsets, n_symbols)
    n_rows = offsets.size - 1
    # Projections.
    rows = np.empty(max(2 * n_rows, 1024), np.int32)
    after = np.empty(max(2 * n_rows, 1024), np.int64)
    for row in range(n_rows):
        rows[row] = row
        after[row] = offsets[row]
    # Extensions that are frequent and wait for their turn: their symbol, weight and projection.
    symbols = np.empty(64, np.int32)
    supports = np.empty(64, np.int64)
    lows = np.empty(64, np.int64)
    highs = np.empty(64, np.int64)
    # Depth d walks through the extensions turns[d] to stops[d].
    turns = np.zeros(64, np.int64)
    stops = np.zeros(64, np.int64)
    path = np.empty(64, np.int32)
    # What one projection says about each symbol.
    stamp = np.zeros(n_symbols, np.int64)
    clock = 0
    weight_of = np.zeros(n_symbols, np.int64)
    size_of = np.zeros(n_symbols, np.int64)
    fill_of = np.zeros(n_symbols, np.int64)
    met = np.empty(n_symbols, np.int32)
    # Answers.
    found = np.empty(1024, np.int32)
    found_offsets = np.zeros(1024, np.int64)
    found_supports = np.empty(1024, np.int64)
    n_found = 0

    depth = 0
    low, high = 0, n_rows
    while True:
        # Weigh the extensions of the pattern path[:depth].
        n_met = 0
        n_frequent = 0
        first = stops[depth - 1] if depth > 0 else 0
        if depth < max_length:
            for entry in range(low, high):
                row = rows[entry]
                clock += 1
                i, stop = after[entry], offsets[row + 1]
                left = n_ahead[i] if i < stop else 0
                while left > 0:
                    symbol = items[i]
                    if stamp[symbol] != clock:
                        stamp[symbol] = clock
                        left -= 1
                        if size_of[symbol] == 0:
                            met[n_met] = symbol
                            n_met += 1
                        weight_of[symbol] += weights[row]
                        size_of[symbol] += 1
                    i += 1
            top = high if depth == 0 else highs[first - 1]
            met[:n_met].sort()
            symbols = wider(symbols, first, first + n_met)
            supports = wider(supports, first, first + n_met)
            lows = wider(lows, first, first + n_met)
            highs = wider(highs, first, first + n_met)
            for j in range(n_met):
                symbol = met[j]
                if weight_of[symbol] >= min_support:
                    at = first + n_frequent
                    symbols[at] = symbol
                    supports[at] = weight_of[symbol]
                    lows[at] = top
                    fill_of[symbol] = top
                    top += size_of[symbol] if depth + 1 < max_length else 0
                    highs[at] = top
                    n_frequent += 1
                else:
                    fill_of[symbol] = -1
                weight_of[symbol] = 0
                size_of[symbol] = 0
            if n_frequent > 0 and depth + 1 < max_length:
                rows = wider(rows, lows[first], top)
                after = wider(after, lows[first], top)
                for entry in range(low, high):
                    row = rows[entry]
                    clock += 1
                    i, stop = after[entry], offsets[row + 1]
                    left = n_ahead[i] if i < stop else 0
                    while left > 0:
                        symbol = items[i]
                        if stamp[symbol] != clock:
                            stamp[symbol] = clock
                            left -= 1
                            at = fill_of[symbol]
                            if at >= 0:
                                rows[at] = row
                                after[at] = i + 1
                                fill_of[symbol] = at + 1
                        i += 1
        turns = wider(turns, depth, depth + 1)
        stops = wider(stops, depth, depth + 1)
        turns[depth] = first
        stops[depth] = first + n_frequent
        # Go on with the next extension that waits, here or further up.
        while turns[depth] == stops[depth]:
            depth -= 1
            if depth < 0:
                return (
                    found[: found_offsets[n_found]].copy(),
                    found_offsets[: n_found + 1].copy(),
                    found_supports[:n_found].copy(),
                    True,
                )
            turns[depth] += 1
        if n_found == max_patterns:
            return (
                found[: found_offsets[n_found]].copy(),
                found_offsets[: n_found + 1].copy(),
                found_supports[:n_found].copy(),
                False,
            )
        turn = turns[depth]
        path = wider(path, depth, depth + 1)
        path[depth] = symbols[turn]
        depth += 1
        low, high = lows[turn], highs[turn]
        n_items = found_offsets[n_found]
        found = wider(found, n_items, n_items + depth)
        found[n_items : n_items + depth] = path[:depth]
        found_supports = wider(found_supports, n_found, n_found + 1)
        found_supports[n_found] = supports[turn]
        n_found += 1
        found_offsets = wider(found_offsets, n_found, n_found + 1)
        found_offsets[n_found] = n_items + depth
