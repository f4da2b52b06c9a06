"""Mine frequent patterns of weighted rows of itemset events, with limits to gaps and to the whole span."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.buffers import ensure_capacity
from sequester.kernels.compiler import njit
from sequester.kernels.prefixspan import note_pattern

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets


@njit
def reach(
    items_from: int,
    items_to: int,
    places: Codes,
    ends: Counts,
    starts: Counts,
    low: int,
    high: int,
    max_gap: int,
    max_span: int,
    best: Counts,
) -> None:
    """Give each item of a row that can follow one of the ends its latest start, and -1 to the others.

    The entries `low` to `high` hold the ends of a pattern's embeddings in the row, ascending, and the place
    of the latest event in which such an embedding can begin. ``best[i]`` belongs to item ``items_from + i``.
    """
    for i in range(items_to - items_from):
        best[i] = -1
    for entry in range(low, high):
        end, start = ends[entry], starts[entry]
        here = np.int64(places[end])  # wide enough for limits that limit nothing
        furthest = min(here + 1 + max_gap, start + max_span - 1)
        for i in range(end + 1, items_to):
            if places[i] > furthest:
                break
            if places[i] > here and best[i - items_from] < start:
                best[i - items_from] = start


@njit
def mine_events(
    first: int,
    last: int,
    items: Codes,
    places: Codes,
    offsets: Offsets,
    weights: Counts,
    n_symbols: int,
    min_support: int,
    min_length: int,
    max_length: int,
    max_gap: int,
    max_span: int,
    max_patterns: int,
    n_found_by_all: Counts,
    keep_rows: bool,
) -> tuple[Codes, Offsets, Counts, Codes, Offsets, bool]:
    """List all patterns of weight `min_support` or more that begin with a symbol from `first` to `last`.

    ``places[i]`` is the number of the event of item ``i`` within its row; the items of an event ascend.
    Answers the items of all patterns, the offsets of patterns, their weights, the rows that contain them
    (where `keep_rows`) with their offsets, and whether that is all; see `mine_below` about the end. An item
    is ``symbol`` in an event of its own and ``n_symbols + symbol`` in the event of the item before. Patterns
    come in lexicographic order of these.

    A node of the search is a pattern with the ends of all its embeddings, and for each end the latest start:
    with limits the first end is not enough.
    """
    n_kinds = 2 * n_symbols
    rows = np.empty(1024, np.int32)
    ends = np.empty(1024, np.int64)
    starts = np.empty(1024, np.int64)
    waiting = np.empty(64, np.int32)
    supports = np.empty(64, np.int64)
    lows = np.empty(64, np.int64)
    highs = np.empty(64, np.int64)
    turns = np.zeros(64, np.int64)
    stops = np.zeros(64, np.int64)
    path = np.empty(64, np.int32)
    weight_of = np.zeros(n_kinds, np.int64)
    size_of = np.zeros(n_kinds, np.int64)
    at_of = np.zeros(n_kinds, np.int64)
    stamp = np.full(n_kinds, -1, np.int64)
    met = np.empty(n_kinds, np.int32)
    clock = 0
    longest = 0
    n_places = 0
    for row in range(offsets.size - 1):
        longest = max(longest, offsets[row + 1] - offsets[row])
        if offsets[row + 1] > offsets[row]:
            n_places = max(n_places, places[offsets[row + 1] - 1] + 1)
    best = np.empty(longest, np.int64)
    found = np.empty(1024, np.int32)
    found_offsets = np.zeros(1024, np.int64)
    found_supports = np.empty(1024, np.int64)
    found_rows = np.empty(1024, np.int32)
    row_offsets = np.zeros(1024, np.int64)
    n_found = 0
    is_complete = True
    is_limited = max_gap < n_places or max_span < n_places

    for symbol in range(first, last):
        top = 0
        total = 0
        for row in range(offsets.size - 1):
            has = False
            for i in range(offsets[row], offsets[row + 1]):
                if items[i] == symbol:
                    rows = ensure_capacity(rows, top, top + 1)
                    ends = ensure_capacity(ends, top, top + 1)
                    starts = ensure_capacity(starts, top, top + 1)
                    rows[top], ends[top], starts[top] = row, i, places[i]
                    top += 1
                    has = True
            if has:
                total += weights[row]
        if total < min_support:
            continue
        waiting[0], supports[0], lows[0], highs[0] = symbol, total, 0, top
        turns[0], stops[0] = 0, 1
        depth = 0
        while depth >= 0:
            turn = turns[depth]
            path = ensure_capacity(path, depth, depth + 1)
            path[depth] = waiting[turn]
            depth += 1
            low, high = lows[turn], highs[turn]
            if depth >= min_length:
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
                    found_rows = ensure_capacity(found_rows, n_held, n_held + high - low)
                    for entry in range(low, high):
                        if entry == low or rows[entry] != rows[entry - 1]:
                            found_rows[n_held] = rows[entry]
                            n_held += 1
                    row_offsets[n_found] = n_held
            n_met = 0
            n_frequent = 0
            next_up = stops[depth - 1]
            top = highs[next_up - 1]
            # The first walk weighs all extensions, the second writes down the frequent ones.
            for walk in range(2 if depth < max_length else 0):
                entry = low
                while entry < high:
                    row = rows[entry]
                    after = entry + 1
                    while after < high and rows[after] == row:
                        after += 1
                    begin, stop = offsets[row], offsets[row + 1]
                    clock += 1
                    # Without limits whatever follows some end follows the first.
                    n_ends = after if is_limited else entry + 1
                    reach(begin, stop, places, ends, starts, entry, n_ends, max_gap, max_span, best)
                    for i in range(ends[entry] + 1, stop):
                        if best[i - begin] >= 0:
                            kind = items[i]
                            if walk == 0:
                                if size_of[kind] == 0:
                                    met[n_met] = kind
                                    n_met += 1
                                size_of[kind] += 1
                                if stamp[kind] != clock:
                                    stamp[kind] = clock
                                    weight_of[kind] += weights[row]
                            elif at_of[kind] >= 0:
                                to = highs[at_of[kind]]
                                rows[to], ends[to], starts[to] = row, i, best[i - begin]
                                highs[at_of[kind]] = to + 1
                    for each in range(entry, after):
                        i = ends[each] + 1
                        while i < stop and places[i] == places[ends[each]]:
                            kind = n_symbols + items[i]
                            if walk == 0:
                                if size_of[kind] == 0:
                                    met[n_met] = kind
                                    n_met += 1
                                size_of[kind] += 1
                                if stamp[kind] != clock:
                                    stamp[kind] = clock
                                    weight_of[kind] += weights[row]
                            elif at_of[kind] >= 0:
                                to = highs[at_of[kind]]
                                rows[to], ends[to], starts[to] = row, i, starts[each]
                                highs[at_of[kind]] = to + 1
                            i += 1
                    entry = after
                if walk == 1:
                    break
                met[:n_met].sort()
                waiting = ensure_capacity(waiting, next_up, next_up + n_met)
                supports = ensure_capacity(supports, next_up, next_up + n_met)
                lows = ensure_capacity(lows, next_up, next_up + n_met)
                highs = ensure_capacity(highs, next_up, next_up + n_met)
                for j in range(n_met):
                    kind = met[j]
                    at_of[kind] = -1
                    if weight_of[kind] >= min_support:
                        at = next_up + n_frequent
                        waiting[at] = kind
                        supports[at] = weight_of[kind]
                        lows[at] = top
                        highs[at] = top
                        at_of[kind] = at
                        top += size_of[kind]
                        n_frequent += 1
                    weight_of[kind] = 0
                    size_of[kind] = 0
                if n_frequent == 0:
                    break
                rows = ensure_capacity(rows, lows[next_up], top)
                ends = ensure_capacity(ends, lows[next_up], top)
                starts = ensure_capacity(starts, lows[next_up], top)
            turns = ensure_capacity(turns, depth, depth + 1)
            stops = ensure_capacity(stops, depth, depth + 1)
            turns[depth] = next_up
            stops[depth] = next_up + n_frequent
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
