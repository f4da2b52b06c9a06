"""Frequent subsequences of weighted rows: PrefixSpan with pseudo-projection, on rows as bit masks.

The symbols of a row are ranked by first appearance, and 63 of them make a part. So a mask is one number
whatever the size of the alphabet, and rows with more different symbols have several parts.

Rows of itemset events, with limits to gaps and to the whole span, are searched by the same driver: a node of
the search is then a pattern with the ends of all its embeddings, and for each end the latest start, because
with limits the first end is not enough.
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
END, START = 1, 2
"""The same of events, after the row: the last item of an embedding, the event in which it can begin."""
SYMBOL, SUPPORT, LOW, HIGH, DEPTH = range(5)
"""Of a pattern that waits: its last symbol, its weight, its entries, its length."""

_RANKS = np.zeros(67, np.int64)
for _bit in range(PART_SIZE):
    _RANKS[2**_bit % 67] = _bit  # the powers of two below 2**64 all differ modulo 67


class RowIndex(NamedTuple):
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


class Events(NamedTuple):
    """Weighted rows of events, and how far apart the items of a pattern may be."""

    items: Codes
    """Ascending within an event."""
    places: Codes
    """The number of each item's event within its row."""
    offsets: Offsets
    """Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``."""
    weights: Counts
    """Persons behind each row."""
    n_symbols: int
    max_gap: int
    max_span: int
    is_limited: bool
    """Whether one of these limits anything."""


class Extensions(NamedTuple):
    """What one projection says about each kind of extension.

    Kind ``symbol`` begins an event, ``n_symbols + symbol`` goes into that of the item before. The last two
    are for events alone.
    """

    totals: Table
    """Weight and entries of each kind; 0 before and after."""
    met: Counts
    """The kinds that were met."""
    fill_of: Counts
    """Where each kind is on the stack, or -1."""
    stamp: Counts
    """Which row met each kind last."""
    best: Counts
    """For each item of a row the latest start of an embedding that it can follow, or -1."""

    @classmethod
    def of(cls, n_kinds: int, longest: int) -> Extensions:
        """Return room for so many kinds, and rows of at most so many items."""
        sizes = (n_kinds, n_kinds, n_kinds, longest)
        return cls(np.zeros((n_kinds, 2), np.int64), *(np.empty(size, np.int64) for size in sizes))


@njit
def mark_rows(items: Codes, offsets: Offsets, index: RowIndex, rank_of: Counts, filled: Counts) -> None:
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
def project_symbol(symbol: int, index: RowIndex, keep_all: bool, entries: Table) -> tuple[Table, int, int]:
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
def weigh_extensions(index: RowIndex, entries: Table, low: int, high: int, found: Extensions) -> int:
    """Add up, symbol by symbol, the weights of the projection's rows that have it ahead, and their entries.

    Lists the symbols that were met, and returns their number.
    """
    parts, symbols, totals, met = index.parts, index.symbols, found.totals, found.met
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
    index: RowIndex, entries: Table, low: int, high: int, fill_of: Counts, stack: Table, keep_all: bool
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
    found: Extensions, n_met: int, min_support: int, stack: Table, n_waiting: int, depth: int, top: int
) -> tuple[int, int]:
    """Put the frequent ones of the kinds that were met on the stack, the first on top, and clear the totals.

    Their entries get room from `top` on. Returns what waits, and where the entries end.
    """
    met, totals, fill_of = found.met, found.totals, found.fill_of
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
def reach(events: Events, entries: Table, low: int, high: int, best: Counts) -> None:
    """Set for each item of a row that can follow one of the ends its latest start, and -1 to the others.

    The entries `low` to `high` hold the ends of a pattern's embeddings in the row, ascending, and the place
    of the latest event in which such an embedding can begin. ``best[i]`` belongs to item ``i`` of the row.
    """
    first, last = events.offsets[entries[low, ROW]], events.offsets[entries[low, ROW] + 1]
    for i in range(last - first):
        best[i] = -1
    for entry in range(low, high):
        end, start = entries[entry, END], entries[entry, START]
        here = np.int64(events.places[end])  # wide enough for limits that limit nothing
        furthest = min(here + 1 + events.max_gap, start + events.max_span - 1)
        for i in range(end + 1, last):
            if events.places[i] > furthest:
                break
            if events.places[i] > here and best[i - first] < start:
                best[i - first] = start


@inner
def meet(kind: int, row: int, weight: int, found: Extensions, n_met: int) -> int:
    """Count an extension of a row; return the number of kinds that were met."""
    if found.totals[kind, 1] == 0:
        found.met[n_met] = kind
        found.stamp[kind] = -1
        n_met += 1
    found.totals[kind, 1] += 1
    if found.stamp[kind] != row:
        found.stamp[kind] = row
        found.totals[kind, 0] += weight
    return n_met


@inner
def enter(kind: int, row: int, end: int, start: int, fill_of: Counts, stack: Table, entries: Table) -> None:
    """Write an entry of the extension of this kind, unless it is rare."""
    if fill_of[kind] >= 0:
        to = stack[fill_of[kind], HIGH]
        entries[to, ROW], entries[to, END], entries[to, START] = row, end, start
        stack[fill_of[kind], HIGH] = to + 1


@inner
def scan_extensions(
    events: Events, entries: Table, low: int, high: int, found: Extensions, stack: Table, enters: bool
) -> int:
    """Count the extensions of a projection and return how many kinds there are; or write their entries."""
    n_met = 0
    entry = low
    while entry < high:
        row = entries[entry, ROW]
        after = entry + 1
        while after < high and entries[after, ROW] == row:
            after += 1
        begin, stop, weight = events.offsets[row], events.offsets[row + 1], events.weights[row]
        # Without limits whatever follows some end follows the first.
        reach(events, entries, entry, after if events.is_limited else entry + 1, found.best)
        for i in range(entries[entry, END] + 1, stop):
            start = found.best[i - begin]
            if start >= 0 and enters:
                enter(events.items[i], row, i, start, found.fill_of, stack, entries)
            elif start >= 0:
                n_met = meet(events.items[i], row, weight, found, n_met)
        for each in range(entry, after):
            i = entries[each, END] + 1
            while i < stop and events.places[i] == events.places[entries[each, END]]:
                kind = events.n_symbols + events.items[i]
                if enters:
                    enter(kind, row, i, entries[each, START], found.fill_of, stack, entries)
                else:
                    n_met = meet(kind, row, weight, found, n_met)
                i += 1
        entry = after
    return n_met


@inner
def project_events(symbol: int, events: Events, entries: Table) -> tuple[Table, int, int]:
    """Write the projection of a symbol alone; return it with its weight and the number of entries."""
    n_entries, support = 0, 0
    for row in range(events.offsets.size - 1):
        n_before = n_entries
        for i in range(events.offsets[row], events.offsets[row + 1]):
            if events.items[i] == symbol:
                entries = ensure_rows(entries, n_entries, n_entries + 1)
                entries[n_entries, ROW], entries[n_entries, END] = row, i
                entries[n_entries, START] = events.places[i]
                n_entries += 1
        if n_entries > n_before:
            support += events.weights[row]
    return entries, support, n_entries


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
    index: RowIndex,
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


@inner
def write_pattern(
    path: Counts,
    depth: int,
    index: RowIndex | None,
    entries: Table,
    span: tuple[int, int],
    values: Codes,
    n: int,
) -> int:
    """Write a pattern behind the first `n` values, and the rows of its entries; return how many rows.

    `span` is where its entries are, empty where rows are not wanted.
    """
    for i in range(depth):
        values[n + i] = path[i]
    n_rows, last = 0, -1
    for entry in range(*span):
        row = entries[entry, ROW]
        if index is not None:
            row = index.parts[entries[entry, PART], ROW]
        if row != last:
            values[n + depth + n_rows] = row
            n_rows += 1
        last = row
    return n_rows


@njit
def mine_patterns(
    first: int,
    last: int,
    index: RowIndex | None,
    events: Events | None,
    closing: Closing | None,
    limits: Limits,
    extensions: Extensions,
    n_found_by_all: Counts,
    buffers: tuple[Table, Table, Codes],
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

    Either `index` or `events` is searched; an item of events is a kind of extension. With `closing` only
    closed patterns are listed. What is None the compiler leaves out.
    """
    entries, found, values = buffers
    keep_all = limits.keep_rows or closing is not None
    stack = np.empty((64, 5), np.int64)
    path = np.empty(limits.max_length, np.int64)
    n_found, n_values = 0, 0
    for symbol in range(first, last):
        support, high = np.int64(0), np.int64(0)
        if index is not None:
            entries, support, high = project_symbol(symbol, index, keep_all, entries)
        if events is not None:
            entries, support, high = project_events(symbol, events, entries)
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
                span = (low, high if limits.keep_rows else low)
                found[n_found, 0], found[n_found, 1] = stack[n_waiting, SUPPORT], depth
                found[n_found, 2] = write_pattern(path, depth, index, entries, span, values, n_values)
                n_values += depth + found[n_found, 2]
                n_found += 1
            if goes_on:
                n_met, n_before = 0, n_waiting
                if index is not None:
                    n_met = weigh_extensions(index, entries, low, high, extensions)
                if events is not None:
                    n_met = scan_extensions(events, entries, low, high, extensions, stack, False)
                stack = ensure_rows(stack, n_waiting, n_waiting + n_met)
                n_waiting, top = push_frequent(
                    extensions, n_met, limits.min_support, stack, n_waiting, depth + 1, high
                )
                if n_waiting > n_before and (keep_all or depth + 1 < limits.max_length):
                    entries = ensure_rows(entries, high, top)
                    if index is not None:
                        project(index, entries, low, high, extensions.fill_of, stack, keep_all)
                    if events is not None:
                        scan_extensions(events, entries, low, high, extensions, stack, True)
    return found, values, n_found, True
