"""Frequent subsequences of weighted rows: PrefixSpan with pseudo-projection, on rows as bit masks.

The symbols of a row are ranked by first appearance, and 63 of them make a part. So a mask is one number
whatever the size of the alphabet, and rows with more different symbols have several parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from sequester.kernels.compiler import inner, njit
from sequester.kernels.rows import ensure_capacity, ensure_rows, sort_range

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets

    Table = npt.NDArray[np.int64]

PART_SIZE = 63
"""Symbols of one part: bits of a number that stays positive."""
BLOCK_BITS = 5
BLOCK_SIZE = 1 << BLOCK_BITS
"""Places of one block of marks."""

FIRST_PART, N_PARTS, N_SYMBOLS, N_BLOCKS, AHEAD, BITS = range(6)
"""Of a row: its first part, its parts, different symbols and blocks, where its masks and its marks begin."""
ROW, WEIGHT, SYMBOLS = range(3)
"""Of a part: its row, the row's weight, where its symbols begin."""
PART, PLACE, MASK = range(3)
"""Of an entry of a projection: a part, the place after the match, the symbols ahead that may follow."""
SYMBOL, SUPPORT, LOW, HIGH, DEPTH = range(5)
"""Of a pattern that waits: its last symbol, its weight, its entries, its length."""

_RANKS = np.zeros(67, np.int64)
for _bit in range(PART_SIZE):
    _RANKS[2**_bit % 67] = _bit  # the powers of two below 2**64 all differ modulo 67


class Index(NamedTuple):
    """Weighted rows, ready to be searched."""

    rows: Table
    """FIRST_PART to BITS of each row."""
    parts: Table
    """ROW, WEIGHT and SYMBOLS of each part."""
    symbols: Codes
    """The different symbols of each row, by first appearance."""
    ahead: Counts
    """For each place of a row, its end included, and each part the symbols that occur there or later."""
    bits: Counts
    """For each symbol of a row the places that hold it, block by block."""
    starts: Offsets
    """Symbol ``s`` has the entries ``starts[s]`` to ``starts[s + 1]`` of `holders`."""
    holders: Table
    """The rows that hold each symbol, ascending, and the place after its first occurrence."""


class Limits(NamedTuple):
    """Which patterns are listed."""

    min_support: int
    min_length: int
    max_length: int
    max_patterns: int
    keep_rows: bool


@njit
def mark_rows(items: Codes, offsets: Offsets, index: Index, rank_of: Counts, filled: Counts) -> None:
    """Fill the masks, marks and holders of an index, which are 0; `filled` begins as its starts."""
    for row in range(offsets.size - 1):
        start, length = offsets[row], offsets[row + 1] - offsets[row]
        if length == 0:
            continue
        n_parts, n_blocks = index.rows[row, N_PARTS], index.rows[row, N_BLOCKS]
        masks, marks = index.rows[row, AHEAD], index.rows[row, BITS]
        rank = 0
        base = index.parts[index.rows[row, FIRST_PART], SYMBOLS]
        for place in range(length):
            symbol = items[start + place]
            # By first appearance: what is next on the list appears here.
            if rank < index.rows[row, N_SYMBOLS] and index.symbols[base + rank] == symbol:
                rank_of[symbol] = rank
                rank += 1
                index.holders[filled[symbol], 0] = row
                index.holders[filled[symbol], 1] = place + 1
                filled[symbol] += 1
            index.bits[marks + rank_of[symbol] * n_blocks + (place >> BLOCK_BITS)] |= 1 << (
                place % BLOCK_SIZE
            )
        for place in range(length - 1, -1, -1):
            here = masks + place * n_parts
            for part in range(n_parts):
                index.ahead[here + part] = index.ahead[here + n_parts + part]
            rank = rank_of[items[start + place]]
            index.ahead[here + rank // PART_SIZE] |= 1 << (rank % PART_SIZE)


@njit
def lowest_bit(mask: int) -> int:
    """Return the number of the lowest bit that is set. Requires ``mask > 0``."""
    rank: int = _RANKS[(mask & -mask) % 67]
    return rank


@njit
def next_place(bits: Counts, start: int, place: int) -> int:
    """Return the first place from `place` on that is marked in the blocks from ``bits[start]`` on.

    Requires that there is one.
    """
    block = start + (place >> BLOCK_BITS)
    word = bits[block] >> (place & (BLOCK_SIZE - 1)) << (place & (BLOCK_SIZE - 1))
    while word == 0:
        block += 1
        word = bits[block]
    found: int = ((block - start) << BLOCK_BITS) + lowest_bit(word)
    return found


@inner
def project_symbol(symbol: int, index: Index, keep_all: bool, entries: Table) -> tuple[Table, int, int]:
    """Write the projection of a symbol alone; return it with its weight and the number of entries."""
    n_entries, support = 0, 0
    for each in range(index.starts[symbol], index.starts[symbol + 1]):
        row, place = index.holders[each, 0], index.holders[each, 1]
        first, n_parts = index.rows[row, FIRST_PART], index.rows[row, N_PARTS]
        here = index.rows[row, AHEAD] + place * n_parts
        support += index.parts[first, WEIGHT]
        entries = ensure_rows(entries, n_entries, n_entries + n_parts)
        for part in range(n_parts):
            if keep_all or index.ahead[here + part] != 0:
                entries[n_entries, PART] = first + part
                entries[n_entries, PLACE] = place
                entries[n_entries, MASK] = index.ahead[here + part]
                n_entries += 1
    return entries, support, n_entries


@inner
def weigh_extensions(index: Index, entries: Table, low: int, high: int, totals: Table, met: Counts) -> int:
    """Add up, symbol by symbol, the weights of the projection's rows that have it ahead, and their entries.

    `totals` has a row per symbol, all 0. Lists the symbols that were met, and returns their number.
    """
    parts, symbols = index.parts, index.symbols
    n_met = 0
    entry = low
    while entry < high:
        row = parts[entries[entry, PART], ROW]
        weight = parts[entries[entry, PART], WEIGHT]
        end = entry + 1
        while end < high and parts[entries[end, PART], ROW] == row:
            end += 1
        for each in range(entry, end):
            base = parts[entries[each, PART], SYMBOLS]
            mask = entries[each, MASK]
            while mask != 0:
                symbol = symbols[base + lowest_bit(mask)]
                mask &= mask - 1
                if totals[symbol, 1] == 0:
                    met[n_met] = symbol
                    n_met += 1
                totals[symbol, 0] += weight
                totals[symbol, 1] += end - entry
        entry = end
    return n_met


@njit
def project(
    index: Index, entries: Table, low: int, high: int, fill_of: Counts, stack: Table, keep_all: bool
) -> None:
    """Write the projections of all frequent extensions of one projection, whose masks lose the others.

    ``fill_of[symbol]`` is the place of the extension on the stack, or -1; entries go behind its last.
    """
    rows, parts, symbols, ahead = index.rows, index.parts, index.symbols, index.ahead
    entry = low
    while entry < high:
        row = parts[entries[entry, PART], ROW]
        end = entry
        while end < high and parts[entries[end, PART], ROW] == row:
            base = parts[entries[end, PART], SYMBOLS]
            mask = entries[end, MASK]
            frequent = mask
            while mask != 0:
                rest = mask & (mask - 1)
                if fill_of[symbols[base + lowest_bit(mask)]] < 0:
                    frequent ^= mask ^ rest
                mask = rest
            entries[end, MASK] = frequent
            end += 1
        first, n_parts = rows[row, FIRST_PART], rows[row, N_PARTS]
        row_base = parts[first, SYMBOLS]
        for each in range(entry, end):
            base = parts[entries[each, PART], SYMBOLS]
            mask = entries[each, MASK]
            while mask != 0:
                at = base + lowest_bit(mask)
                mask &= mask - 1
                extension = fill_of[symbols[at]]
                marks = rows[row, BITS] + (at - row_base) * rows[row, N_BLOCKS]
                place = next_place(index.bits, marks, entries[each, PLACE]) + 1
                here = rows[row, AHEAD] + place * n_parts - first
                for other in range(entry, end):
                    left = ahead[here + entries[other, PART]] & entries[other, MASK]
                    if keep_all or left != 0:
                        to = stack[extension, HIGH]
                        entries[to, PART] = entries[other, PART]
                        entries[to, PLACE] = place
                        entries[to, MASK] = left
                        stack[extension, HIGH] = to + 1
        entry = end


@inner
def push_frequent(
    met: Counts,
    n_met: int,
    totals: Table,
    min_support: int,
    fill_of: Counts,
    stack: Table,
    n_waiting: int,
    depth: int,
    top: int,
) -> tuple[int, int]:
    """Put the frequent ones of the symbols that were met on the stack, the first on top, and clear `totals`.

    Their entries get room from `top` on. Returns what waits, and where the entries end.
    """
    n_frequent = 0
    for i in range(n_met):
        symbol = met[i]
        fill_of[symbol] = -1
        if totals[symbol, 0] >= min_support:
            met[n_frequent] = symbol
            n_frequent += 1
        else:
            totals[symbol, 0] = 0
            totals[symbol, 1] = 0
    sort_range(met, 0, n_frequent)
    for i in range(n_frequent - 1, -1, -1):
        symbol = met[i]
        fill_of[symbol] = n_waiting
        stack[n_waiting, SYMBOL] = symbol
        stack[n_waiting, SUPPORT] = totals[symbol, 0]
        stack[n_waiting, LOW] = top
        stack[n_waiting, HIGH] = top
        stack[n_waiting, DEPTH] = depth
        top += totals[symbol, 1]
        totals[symbol, 0] = 0
        totals[symbol, 1] = 0
        n_waiting += 1
    return n_waiting, top


@njit
def mine_below(
    first: int,
    last: int,
    index: Index,
    limits: Limits,
    closing: Closing | None,
    n_found_by_all: Counts,
    entries: Table,
    found: Table,
    values: Codes,
) -> tuple[Table, Codes, int, bool]:
    """List all patterns that are frequent and begin with a symbol from `first` to `last`.

    They come in lexicographic order. Row ``i`` of `found` has the support of a pattern, the number of its
    items and that of its rows; `values` has the items and, where they are kept, the rows, pattern by pattern.
    Returns both, the number of patterns, and whether that is all: not where there are more than allowed, here
    or in all shards together, which count in ``n_found_by_all[0]``.

    A node of the search is a pattern with its projection: the parts of the rows that contain it, each with
    the place after the greedy match and a mask of the symbols ahead that can still make a frequent pattern.
    The masks alone weigh all extensions; places are looked up for the frequent ones only. A part without such
    symbols is left out, unless rows are needed. Projections lie in one buffer, in the order of the stack.

    With `closing` only closed patterns are listed; without it the compiler leaves that out.
    """
    n_symbols = index.starts.size - 1
    keep_all = limits.keep_rows or closing is not None
    stack = np.empty((64, 5), np.int64)
    path = np.empty(limits.max_length, np.int64)
    totals = np.empty((n_symbols, 2), np.int64)
    for symbol in range(n_symbols):
        totals[symbol, 0], totals[symbol, 1] = 0, 0
    met = np.empty(n_symbols, np.int64)
    fill_of = np.empty(n_symbols, np.int64)
    n_found, n_values = 0, 0
    for symbol in range(first, last):
        entries, support, high = project_symbol(symbol, index, keep_all, entries)
        if support < limits.min_support:
            continue
        stack[0, SYMBOL], stack[0, SUPPORT], stack[0, DEPTH] = symbol, support, 1
        stack[0, LOW], stack[0, HIGH] = 0, high
        n_waiting = 1
        while n_waiting > 0:
            n_waiting -= 1
            low, high, depth = stack[n_waiting, LOW], stack[n_waiting, HIGH], stack[n_waiting, DEPTH]
            path[depth - 1] = stack[n_waiting, SYMBOL]
            is_wanted, goes_on = depth >= limits.min_length, depth < limits.max_length
            if closing is not None:
                if is_wanted:
                    is_wanted = not has_insertion(closing, index, entries, low, high, path, depth, False)
                if goes_on:
                    goes_on = not has_insertion(closing, index, entries, low, high, path, depth, True)
            if is_wanted:
                if n_found == limits.max_patterns or n_found_by_all[0] > limits.max_patterns:
                    return found, values, n_found, False
                n_found_by_all[0] += 1
                values = ensure_capacity(values, n_values, n_values + depth + high - low)
                found = ensure_rows(found, n_found, n_found + 1)
                n_before = n_values = write_path(path, depth, values, n_values)
                if limits.keep_rows:
                    n_values = write_rows(index, entries, low, high, values, n_values)
                found[n_found, 0] = stack[n_waiting, SUPPORT]
                found[n_found, 1], found[n_found, 2] = depth, n_values - n_before
                n_found += 1
            if goes_on:
                n_met = weigh_extensions(index, entries, low, high, totals, met)
                stack = ensure_rows(stack, n_waiting, n_waiting + n_met)
                n_before = n_waiting
                n_waiting, top = push_frequent(
                    met, n_met, totals, limits.min_support, fill_of, stack, n_waiting, depth + 1, high
                )
                if n_waiting > n_before and (keep_all or depth + 1 < limits.max_length):
                    entries = ensure_rows(entries, high, top)
                    project(index, entries, low, high, fill_of, stack, keep_all)
    return found, values, n_found, True


@inner
def write_path(path: Counts, depth: int, values: Codes, n_values: int) -> int:
    """Write the items of a pattern behind the first `n_values`; return how many there are now."""
    for i in range(depth):
        values[n_values + i] = path[i]
    return n_values + depth


@njit
def write_rows(index: Index, entries: Table, low: int, high: int, values: Codes, n_values: int) -> int:
    """Write the rows of a projection behind the first `n_values`; return how many there are now."""
    last = -1
    for entry in range(low, high):
        row = index.parts[entries[entry, PART], ROW]
        if row != last:
            values[n_values] = row
            n_values += 1
        last = row
    return n_values


class Closing(NamedTuple):
    """What it takes to tell whether patterns are closed."""

    items: Codes
    """The rows themselves."""
    offsets: Offsets
    """Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``."""
    stamp: Counts
    """A number per symbol, and behind them the highest one in use; 0 at first."""
    matches: Table
    """Room for two numbers per item of the longest pattern and one more."""


@inner
def match_pattern(closing: Closing, row: int, path: Counts, depth: int, within_match: bool) -> None:
    """Write the places of the first and of the last match of a pattern; see `has_insertion`."""
    items, firsts, lasts = closing.items, closing.matches[0], closing.matches[1]
    start, stop = closing.offsets[row], closing.offsets[row + 1]
    firsts[0] = start - 1
    i = start
    for m in range(depth):
        while items[i] != path[m]:
            i += 1
        firsts[m + 1] = i
        i += 1
    lasts[depth] = stop
    i = firsts[depth] if within_match else stop - 1
    for m in range(depth - 1, -1, -1):
        while items[i] != path[m]:
            i -= 1
        lasts[m] = i
        i -= 1


@njit
def has_insertion(
    closing: Closing,
    index: Index,
    entries: Table,
    low: int,
    high: int,
    path: Counts,
    depth: int,
    within_match: bool,
) -> bool:
    """Return whether some symbol can be put at the same place of a pattern in each row of its projection.

    A symbol fits before item ``i`` where it stands between the first match of the items before and the last
    match of ``i`` and the items behind, so no longer pattern is counted. Within the match, the last match is
    that inside the first match of the whole pattern, and nothing is put behind its last item: what fits there
    fits whatever follows, and no pattern that begins so is closed.

    References
    ----------
    Wang, Han (2004), BIDE, Definitions 2 to 7.
    """
    items, stamp, firsts, lasts = closing.items, closing.stamp, closing.matches[0], closing.matches[1]
    clock = stamp[stamp.size - 1]
    left = np.empty((0, 2), np.int64)  # slots and symbols that fit in all rows so far
    n_left = 0
    last = -1
    for entry in range(low, high):
        row = index.parts[entries[entry, PART], ROW]
        if row == last:
            continue
        match_pattern(closing, row, path, depth, within_match)
        if last < 0:
            for slot in range(depth if within_match else depth + 1):
                clock += 1
                left = ensure_rows(left, n_left, n_left + max(lasts[slot] - firsts[slot] - 1, 0))
                for j in range(firsts[slot] + 1, lasts[slot]):
                    if stamp[items[j]] != clock:
                        stamp[items[j]] = clock
                        left[n_left, 0], left[n_left, 1] = slot, items[j]
                        n_left += 1
        else:
            n_kept = 0
            slot = -1
            for each in range(n_left):
                if left[each, 0] != slot:
                    slot = left[each, 0]
                    clock += 1
                    for j in range(firsts[slot] + 1, lasts[slot]):
                        stamp[items[j]] = clock
                if stamp[left[each, 1]] == clock:
                    left[n_kept, 0], left[n_kept, 1] = slot, left[each, 1]
                    n_kept += 1
            n_left = n_kept
        last = row
        if n_left == 0:
            break
    stamp[stamp.size - 1] = clock
    return n_left > 0
