"""Mine frequent subsequences of weighted rows: PrefixSpan with pseudo-projection, for any alphabet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.buffers import ensure_capacity
from sequester.kernels.compiler import njit
from sequester.kernels.insertions import has_insertion
from sequester.kernels.row_masks import lowest, next_place

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.kernels.row_masks import Bits

_ONE = np.uint64(1)


@njit
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


@njit
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


@njit
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


@njit
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


@njit
def note_pattern(
    path: Codes, support: int, found: Codes, found_offsets: Offsets, found_supports: Counts, n_found: int
) -> tuple[Codes, Offsets, Counts]:
    """Write a pattern and its support behind the first `n_found`, in wider buffers where need be."""
    n_items = found_offsets[n_found]
    found = ensure_capacity(found, n_items, n_items + path.size)
    for i in range(path.size):
        found[n_items + i] = path[i]
    found_supports = ensure_capacity(found_supports, n_found, n_found + 1)
    found_supports[n_found] = support
    found_offsets = ensure_capacity(found_offsets, n_found + 1, n_found + 2)
    found_offsets[n_found + 1] = n_items + path.size
    return found, found_offsets, found_supports


@njit
def weigh_extensions(
    low: int,
    high: int,
    parts: Codes,
    masks: Bits,
    weights: Counts,
    part_rows: Codes,
    part_symbols: Offsets,
    symbols: Codes,
    weight_of: Counts,
    size_of: Counts,
    met: Codes,
) -> int:
    """Add up, symbol by symbol, the weights of the projection's rows that have it ahead.

    Also adds up the room that their projection needs, and lists the symbols that were met; answers how many.
    """
    n_met = 0
    entry = low
    while entry < high:
        row = part_rows[parts[entry]]
        weight = weights[row]
        end = entry + 1
        while end < high and part_rows[parts[end]] == row:
            end += 1
        for each in range(entry, end):
            base = part_symbols[parts[each]]
            mask = masks[each]
            while mask != 0:
                symbol = symbols[base + lowest(mask)]
                mask &= mask - _ONE
                if size_of[symbol] == 0:
                    met[n_met] = symbol
                    n_met += 1
                weight_of[symbol] += weight
                size_of[symbol] += end - entry
        entry = end
    return n_met


@njit
def project(
    low: int,
    high: int,
    parts: Codes,
    places: Codes,
    masks: Bits,
    offsets: Offsets,
    part_rows: Codes,
    part_symbols: Offsets,
    symbols: Codes,
    first_parts: Offsets,
    ahead_starts: Offsets,
    ahead: Bits,
    bits: Bits,
    bit_starts: Offsets,
    extension_of: Counts,
    highs: Offsets,
    kept: Bits,
    keep_all: bool,
) -> None:
    """Write the projections of all frequent extensions of one projection.

    ``extension_of[symbol]`` is the number of the extension, or -1; ``highs[number]`` is where its projection
    goes on. `kept` is room for the parts of one row.
    """
    entry = low
    while entry < high:
        row = part_rows[parts[entry]]
        end = entry + 1
        while end < high and part_rows[parts[end]] == row:
            end += 1
        for each in range(entry, end):
            base = part_symbols[parts[each]]
            mask = masks[each]
            frequent = mask
            while mask != 0:
                rest = mask & (mask - _ONE)
                if extension_of[symbols[base + lowest(mask)]] < 0:
                    frequent ^= mask ^ rest
                mask = rest
            kept[each - entry] = frequent
        first_part = first_parts[row]
        n_parts = first_parts[row + 1] - first_part
        n_blocks = (offsets[row + 1] - offsets[row] + 63) >> 6
        row_base = part_symbols[first_part]
        for each in range(entry, end):
            base = part_symbols[parts[each]]
            mask = kept[each - entry]
            while mask != 0:
                rank = lowest(mask)
                mask &= mask - _ONE
                extension = extension_of[symbols[base + rank]]
                start = bit_starts[row] + (base + rank - row_base) * n_blocks
                place = next_place(bits, start, places[each]) + 1
                here = ahead_starts[row] + place * n_parts - first_part
                for other in range(entry, end):
                    left = ahead[here + parts[other]] & kept[other - entry]
                    if keep_all or left != 0:
                        to = highs[extension]
                        parts[to] = parts[other]
                        places[to] = place
                        masks[to] = left
                        highs[extension] = to + 1
        entry = end


@njit
def mine_below(
    first: int,
    last: int,
    items: Codes,
    offsets: Offsets,
    weights: Counts,
    symbol_starts: Offsets,
    symbol_rows: Codes,
    symbol_after: Offsets,
    part_rows: Codes,
    part_symbols: Offsets,
    symbols: Codes,
    first_parts: Offsets,
    ahead_starts: Offsets,
    ahead: Bits,
    bits: Bits,
    bit_starts: Offsets,
    min_support: int,
    min_length: int,
    max_length: int,
    max_patterns: int,
    n_found_by_all: Counts,
    closed: bool,
    keep_rows: bool,
) -> tuple[Codes, Offsets, Counts, Codes, Offsets, bool]:
    """List all patterns of weight `min_support` or more that begin with a symbol from `first` to `last`.

    They come in lexicographic order, each with its weight and, where `keep_rows`, the rows that contain it.

    A node of the search is a pattern with its projection: the parts of the rows that contain it, each with
    the place after the greedy match and a mask of the symbols ahead that can still make a frequent pattern.
    The masks alone weigh all extensions; places are looked up for the frequent ones only. A part without such
    symbols is left out, unless rows are needed. Projections lie in one growing buffer, those of the siblings
    that wait below the current one.

    The last answer is false where there were more than `max_patterns`, here or in all shards together, which
    count in ``n_found_by_all[0]``; the lists are then cut off. Requires ``min_support > 0``; the arrays are
    from `list_first_places`, `list_parts` and `mark_rows`, of the same rows.
    """
    n_symbols = symbol_starts.size - 1
    keep_all = keep_rows or closed
    # Projections.
    parts = np.empty(1024, np.int32)
    places = np.empty(1024, np.int32)
    masks = np.empty(1024, np.uint64)
    # Extensions that are frequent and wait for their turn: their symbol, weight and projection.
    waiting = np.empty(64, np.int32)
    supports = np.empty(64, np.int64)
    lows = np.empty(64, np.int64)
    highs = np.empty(64, np.int64)
    # Depth d walks through the extensions turns[d] to stops[d].
    turns = np.zeros(64, np.int64)
    stops = np.zeros(64, np.int64)
    path = np.empty(64, np.int32)
    # What one projection says about each symbol.
    weight_of = np.zeros(n_symbols, np.int64)
    size_of = np.zeros(n_symbols, np.int64)
    fill_of = np.zeros(n_symbols, np.int64)
    met = np.empty(n_symbols, np.int32)
    stamp = np.zeros(n_symbols, np.int64)
    clock = 0
    # What the parts of one row have to offer.
    most_parts = 1
    for row in range(offsets.size - 1):
        most_parts = max(most_parts, first_parts[row + 1] - first_parts[row])
    kept = np.empty(most_parts, np.uint64)
    # Answers.
    found = np.empty(1024, np.int32)
    found_offsets = np.zeros(1024, np.int64)
    found_supports = np.empty(1024, np.int64)
    found_rows = np.empty(1024, np.int32)
    row_offsets = np.zeros(1024, np.int64)
    n_found = 0
    row_list = np.empty(1024, np.int32)
    is_complete = True

    for symbol in range(first, last):
        # The projection of the symbol alone.
        top = 0
        total = 0
        for entry in range(symbol_starts[symbol], symbol_starts[symbol + 1]):
            row = symbol_rows[entry]
            total += weights[row]
            n_parts = first_parts[row + 1] - first_parts[row]
            place = symbol_after[entry] - offsets[row]
            here = ahead_starts[row] + place * n_parts
            if top + n_parts > parts.size:
                parts = ensure_capacity(parts, top, top + n_parts)
                places = ensure_capacity(places, top, top + n_parts)
                masks = ensure_capacity(masks, top, top + n_parts)
            for part in range(n_parts):
                if keep_all or ahead[here + part] != 0:
                    parts[top] = first_parts[row] + part
                    places[top] = place
                    masks[top] = ahead[here + part]
                    top += 1
        if total < min_support:
            continue
        waiting[0], supports[0], lows[0], highs[0] = symbol, total, 0, top
        turns[0], stops[0] = 0, 1
        depth = 0
        while depth >= 0:
            # Write down the extension whose turn it is.
            turn = turns[depth]
            path = ensure_capacity(path, depth, depth + 1)
            path[depth] = waiting[turn]
            depth += 1
            low, high = lows[turn], highs[turn]
            n_rows = 0
            if keep_all:
                row_list = ensure_capacity(row_list, 0, high - low)
                for entry in range(low, high):
                    if entry == low or part_rows[parts[entry]] != row_list[n_rows - 1]:
                        row_list[n_rows] = part_rows[parts[entry]]
                        n_rows += 1
            is_wanted, goes_on = depth >= min_length, depth < max_length
            if closed:
                some_rows = row_list[:n_rows]
                if is_wanted:
                    has, clock = has_insertion(items, offsets, some_rows, path[:depth], stamp, clock, False)
                    is_wanted = not has
                if goes_on:
                    has, clock = has_insertion(items, offsets, some_rows, path[:depth], stamp, clock, True)
                    goes_on = not has
            if is_wanted:
                if n_found == max_patterns or n_found_by_all[0] > max_patterns:
                    is_complete = False
                    break
                n_found_by_all[0] += 1
                found, found_offsets, found_supports = note_pattern(
                    path[:depth], supports[turn], found, found_offsets, found_supports, n_found
                )
                n_held = row_offsets[n_found]
                n_found += 1
                row_offsets = ensure_capacity(row_offsets, n_found, n_found + 1)
                row_offsets[n_found] = n_held
                if keep_rows:
                    found_rows = ensure_capacity(found_rows, n_held, n_held + n_rows)
                    for i in range(n_rows):
                        found_rows[n_held + i] = row_list[i]
                    row_offsets[n_found] = n_held + n_rows
            # Weigh its own extensions.
            n_met = 0
            n_frequent = 0
            next_up = stops[depth - 1]
            if goes_on:
                n_met = weigh_extensions(
                    low,
                    high,
                    parts,
                    masks,
                    weights,
                    part_rows,
                    part_symbols,
                    symbols,
                    weight_of,
                    size_of,
                    met,
                )
                top = highs[next_up - 1]
                met[:n_met].sort()
                waiting = ensure_capacity(waiting, next_up, next_up + n_met)
                supports = ensure_capacity(supports, next_up, next_up + n_met)
                lows = ensure_capacity(lows, next_up, next_up + n_met)
                highs = ensure_capacity(highs, next_up, next_up + n_met)
                needs_entries = keep_all or depth + 1 < max_length
                for j in range(n_met):
                    other = met[j]
                    if weight_of[other] >= min_support:
                        at = next_up + n_frequent
                        waiting[at] = other
                        supports[at] = weight_of[other]
                        lows[at] = top
                        highs[at] = top
                        fill_of[other] = at
                        top += size_of[other] if needs_entries else 0
                        n_frequent += 1
                    else:
                        fill_of[other] = -1
                    weight_of[other] = 0
                    size_of[other] = 0
                if n_frequent > 0 and needs_entries:
                    parts = ensure_capacity(parts, lows[next_up], top)
                    places = ensure_capacity(places, lows[next_up], top)
                    masks = ensure_capacity(masks, lows[next_up], top)
                    project(
                        low,
                        high,
                        parts,
                        places,
                        masks,
                        offsets,
                        part_rows,
                        part_symbols,
                        symbols,
                        first_parts,
                        ahead_starts,
                        ahead,
                        bits,
                        bit_starts,
                        fill_of,
                        highs,
                        kept,
                        keep_all,
                    )
            turns = ensure_capacity(turns, depth, depth + 1)
            stops = ensure_capacity(stops, depth, depth + 1)
            turns[depth] = next_up
            stops[depth] = next_up + n_frequent
            # Go on with the next extension that waits, here or further up.
            while depth >= 0 and turns[depth] == stops[depth]:
                depth -= 1
                if depth >= 0:
                    turns[depth] += 1
        if not is_complete:
            break
    return (
        found[: found_offsets[n_found]].copy(),
        found_offsets[: n_found + 1].copy(),
        found_supports[:n_found].copy(),
        found_rows[: row_offsets[n_found]].copy(),
        row_offsets[: n_found + 1].copy(),
        is_complete,
    )
