"""Frequent patterns of weighted rows of itemset events, with limits to gaps and to the whole span."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.kernels.rows import ensure_capacity, ensure_rows
from sequester.mining._kernels import DEPTH, HIGH, LOW, SUPPORT, SYMBOL, Limits, push_frequent, write_path

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Table = npt.NDArray[np.int64]

ROW, END, START = range(3)
"""Of an entry of a projection: a row, the last item of an embedding, the event in which it can begin."""


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

    Kind ``symbol`` begins an event, ``n_symbols + symbol`` goes into that of the item before.
    """

    totals: Table
    """Weight and entries of each kind."""
    met: Counts
    """The kinds that were met."""
    stamp: Counts
    """Which row met each kind last."""
    fill_of: Counts
    """Where each kind is on the stack, or -1."""
    best: Counts
    """For each item of a row the latest start of an embedding that it can follow, or -1."""


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
def project_symbol(symbol: int, events: Events, entries: Table) -> tuple[Table, int, int]:
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


@njit
def mine_events(
    first: int,
    last: int,
    events: Events,
    limits: Limits,
    n_found_by_all: Counts,
    extensions: Extensions,
    entries: Table,
    found: Table,
    values: Codes,
) -> tuple[Table, Codes, int, bool]:
    """List all patterns that are frequent and begin with a symbol from `first` to `last`.

    The answer is that of `mine_below`, an item being a kind of extension; patterns come in lexicographic
    order of these. A node of the search is a pattern with the ends of all its embeddings, and for each end
    the latest start: with limits the first end is not enough.
    """
    stack = np.empty((64, 5), np.int64)
    path = np.empty(64, np.int64)
    n_found, n_values = 0, 0
    for symbol in range(first, last):
        entries, support, high = project_symbol(symbol, events, entries)
        if support < limits.min_support:
            continue
        stack[0, SYMBOL], stack[0, SUPPORT], stack[0, DEPTH] = symbol, support, 1
        stack[0, LOW], stack[0, HIGH] = 0, high
        n_waiting = 1
        while n_waiting > 0:
            n_waiting -= 1
            low, high, depth = stack[n_waiting, LOW], stack[n_waiting, HIGH], stack[n_waiting, DEPTH]
            path = ensure_capacity(path, depth - 1, depth)
            path[depth - 1] = stack[n_waiting, SYMBOL]
            if depth >= limits.min_length:
                if n_found == limits.max_patterns or n_found_by_all[0] > limits.max_patterns:
                    return found, values, n_found, False
                n_found_by_all[0] += 1
                values = ensure_capacity(values, n_values, n_values + depth + high - low)
                found = ensure_rows(found, n_found, n_found + 1)
                n_before = n_values = write_path(path, depth, values, n_values)
                if limits.keep_rows:
                    for entry in range(low, high):
                        if entry == low or entries[entry, ROW] != entries[entry - 1, ROW]:
                            values[n_values] = entries[entry, ROW]
                            n_values += 1
                found[n_found, 0] = stack[n_waiting, SUPPORT]
                found[n_found, 1], found[n_found, 2] = depth, n_values - n_before
                n_found += 1
            if depth < limits.max_length:
                n_met = scan_extensions(events, entries, low, high, extensions, stack, False)
                stack = ensure_rows(stack, n_waiting, n_waiting + n_met)
                n_before = n_waiting
                n_waiting, top = push_frequent(
                    extensions.met,
                    n_met,
                    extensions.totals,
                    limits.min_support,
                    extensions.fill_of,
                    stack,
                    n_waiting,
                    depth + 1,
                    high,
                )
                if n_waiting > n_before:
                    entries = ensure_rows(entries, high, top)
                    scan_extensions(events, entries, low, high, extensions, stack, True)
    return found, values, n_found, True
