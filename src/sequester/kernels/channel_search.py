"""Walk through all open sequences of a signature, and judge what is one item longer."""

from __future__ import annotations

import numpy as np

from sequester.kernels.buffers import ensure_capacity
from sequester.kernels.channel_ballot import Ballot, choose
from sequester.kernels.channel_path import Path, ask, enter, list_kids
from sequester.kernels.channels import (
    Alphabet,
    Book,
    Candidates,
    Channels,
    Limits,
    Rows,
    Scratch,
    count_first,
    count_next,
    find_highest,
    find_open,
    list_columns,
    size_next,
)
from sequester.kernels.compiler import njit
from sequester.kernels.open_sequences import ITEM_BITS, ITEM_MASK, pack_child
from sequester.kernels.shares import exceeds_share

_exceeds_share = njit(exceeds_share)


@njit
def _n_bits(values: int) -> int:
    """Count the members of a small bit set."""
    n_bits = 0
    while values:
        values &= values - 1
        n_bits += 1
    return n_bits


@njit
def search_channels(
    rows: Rows, alphabet: Alphabet, book: Book, limits: Limits, length: int, first: int, stop: int
) -> Candidates:
    """Find the open sequences and the channels of `length` items that begin with one of some items.

    Only those count that have an anchor of every attribute and a fresh item. Requires that all open sequences
    that are shorter or of a coarser signature are in the book; for ``length > 1`` that all
    items are open, for ``length == 1`` that everything above them is.
    """
    n_items, n_attributes = alphabet.numbers.size, alphabet.goes_up.size
    everything = (1 << n_attributes) - 1
    width = length if alphabet.is_mixed else 0
    n_ways = 2 * n_items
    scratch = Scratch(
        np.zeros(n_ways, np.int64),
        np.zeros(n_ways, np.int64),
        np.zeros(n_ways, np.int64),
        np.full(n_ways, -1, np.int64),
        np.empty(rows.n_columns, np.int32),
        np.empty(rows.n_columns, np.int32),
    )
    clock = np.int64(0)
    path = Path(
        np.empty(length, np.int32),
        np.zeros(length, np.int32),
        np.zeros(length + 1, np.int64),
        np.zeros(length + 1, np.int64),
        np.zeros((length + 1, length), np.int64),
        np.zeros((length + 1, max(length, n_attributes)), np.int64),
    )
    ballot = Ballot(
        np.empty(length + n_attributes, np.int64),
        np.zeros((2, length + n_attributes), np.int64),
        np.zeros((2, length + n_attributes), np.int64),
        np.empty(n_ways, np.int32),
    )
    asks = np.empty(width, np.int64)
    # Sequences that wait: their last step, number, and the events in which they can end.
    events = np.empty(1024, np.int32)
    kids = np.empty(64, np.int32)
    kid_numbers = np.empty(64, np.int64)
    lows = np.empty(64, np.int64)
    highs = np.empty(64, np.int64)
    fill_of = np.full(n_ways, -1, np.int64)
    turns = np.zeros(length + 1, np.int64)
    stops = np.zeros(length + 1, np.int64)
    # Answers.
    members = np.empty(64, np.int64)
    groups = np.empty(64, np.int32)
    sizes = np.empty(64, np.int32)
    n_runs = 0
    children = np.empty(64, np.int32)
    open_asks = np.empty(64 * width, np.int64)
    open_levels = np.empty(64 if width else 0, np.int32)
    n_open = 0
    items = np.empty(64 * length, np.int32)
    kinds = np.empty(64, np.int32)
    supports = np.empty(64, np.int64)
    values = np.empty(64, np.int32)
    told_by = np.empty(64, np.int64)
    channel_asks = np.empty(64 * width, np.int64)
    channel_levels = np.empty(64 if width else 0, np.int32)
    n_channels = 0
    # What passes at one prefix: by group, kind and item.
    passing = np.empty(n_ways, np.int64)
    asked = np.empty(n_ways * width, np.int64)
    doubtful = np.empty(n_ways, np.int32)
    told_of = np.full(n_ways, -1, np.int32)
    high_of = np.zeros(n_ways, np.int64)

    root = min(length - 1, 1)
    for turn in range(first, stop if root else first + 1):
        low, high = np.int64(-1), np.int64(0)
        if root:
            number = find_open(book, 0, 0, alphabet.numbers[turn])
            enter(path, 1, 0, turn, number, alphabet, book)
            low, high = np.int64(0), alphabet.starts[turn + 1] - alphabet.starts[turn]
            events = ensure_capacity(events, 0, high)
            events[:high] = alphabet.events[alphabet.starts[turn] : alphabet.starts[turn + 1]]
        depth = root
        while True:
            missing = everything & ~path.have[depth]
            n_missing, n_left = _n_bits(missing), length - depth
            n_kids = 0
            begin = stops[depth - 1] if depth > root else np.int64(0)
            last = alphabet.attributes[path.items[depth - 1]] if depth > 0 else np.int32(n_attributes)
            if n_missing > n_left:
                pass
            elif n_left > 1:
                kids, kid_numbers, n_kids = list_kids(
                    path, depth, missing, n_missing == n_left, alphabet, book, kids, kid_numbers, begin
                )
                if n_kids > 0:
                    n_later, n_same = list_columns(alphabet, last, missing, n_missing == n_left, scratch)
                    clock += 1
                    for i in range(begin, begin + n_kids):
                        scratch.stamps[kids[i]] = clock
                    size_next(
                        rows, n_items, events, low, high, n_later, n_same, clock, scratch, fill_of, False
                    )
                    lows = ensure_capacity(lows, begin, begin + n_kids)
                    highs = ensure_capacity(highs, begin, begin + n_kids)
                    bottom = highs[begin - 1] if begin > 0 else high
                    top = bottom
                    for i in range(begin, begin + n_kids):
                        way = kids[i]
                        lows[i], fill_of[way] = top, top
                        top += scratch.sizes[way]
                        highs[i] = top
                        scratch.sizes[way] = 0
                    events = ensure_capacity(events, bottom, top)
                    size_next(
                        rows, n_items, events, low, high, n_later, n_same, clock, scratch, fill_of, True
                    )
            else:
                only_fresh = path.numbers[depth] < book.n_base
                n_chosen = choose(path, depth, missing, n_missing == 1, only_fresh, alphabet, book, ballot)
                if n_chosen > 0:
                    n_later, n_same = list_columns(alphabet, last, missing, n_missing == 1, scratch)
                    clock += 1
                    for i in range(n_chosen):
                        scratch.stamps[ballot.chosen[i]] = clock
                    if depth == 0:
                        clock = count_first(rows, clock, clock, scratch)
                    else:
                        clock = count_next(
                            rows, n_items, events, low, high, n_later, n_same, clock, clock, scratch
                        )
                    n_passing, n_doubtful = 0, 0
                    for i in range(n_chosen):
                        way = ballot.chosen[i]
                        support = scratch.weights[way] >> 32
                        if support == 0:
                            continue
                        kind, item = (0, way) if way < n_items else (1, way - n_items)
                        if alphabet.is_mixed and not ask(path, depth, kind, item, alphabet, book, asks):
                            continue
                        for j in range(width):
                            asked[way * width + j] = asks[j]
                        name = alphabet.numbers[item]
                        group = np.int64(book.group_of[name])
                        passing[n_passing] = (group << (ITEM_BITS + 1)) | pack_child(kind, name)
                        n_passing += 1
                        risk = min(scratch.weights[way] & 0xFFFFFFFF, rows.most_frequent)
                        if support >= limits.k and _exceeds_share(risk, limits.c, support):
                            doubtful[n_doubtful] = way
                            n_doubtful += 1
                    if n_doubtful > 0:
                        told, highest, clock = find_highest(
                            rows,
                            n_items,
                            events,
                            low,
                            high,
                            n_later,
                            n_same,
                            doubtful[:n_doubtful],
                            limits,
                            clock,
                            scratch,
                        )
                        for i in range(n_doubtful):
                            told_of[doubtful[i]], high_of[doubtful[i]] = told[i], highest[i]
                    in_order = passing[:n_passing]
                    in_order.sort()
                    run_group = -1
                    for i in range(n_passing):
                        group, child = in_order[i] >> (ITEM_BITS + 1), in_order[i] & (2 * ITEM_MASK + 1)
                        kind, item = child >> ITEM_BITS, alphabet.item_of[child & ITEM_MASK]
                        way = item if kind == 0 else n_items + item
                        support = scratch.weights[way] >> 32
                        if support < limits.k or told_of[way] >= 0:
                            items = ensure_capacity(items, n_channels * length, (n_channels + 1) * length)
                            kinds = ensure_capacity(kinds, n_channels, n_channels + 1)
                            supports = ensure_capacity(supports, n_channels, n_channels + 1)
                            values = ensure_capacity(values, n_channels, n_channels + 1)
                            told_by = ensure_capacity(told_by, n_channels, n_channels + 1)
                            bits = kind << depth
                            for j in range(depth):
                                items[n_channels * length + j] = alphabet.numbers[path.items[j]]
                                bits |= path.kinds[j] << j
                            items[n_channels * length + depth] = alphabet.numbers[item]
                            kinds[n_channels] = bits
                            supports[n_channels] = support
                            values[n_channels] = told_of[way]
                            told_by[n_channels] = high_of[way] if told_of[way] >= 0 else 0
                            if width:
                                channel_levels = ensure_capacity(channel_levels, n_channels, n_channels + 1)
                                channel_levels[n_channels] = alphabet.levels[item]
                                for j in range(depth):
                                    channel_levels[n_channels] += alphabet.levels[path.items[j]]
                                channel_asks = ensure_capacity(
                                    channel_asks, n_channels * width, (n_channels + 1) * width
                                )
                                for j in range(width):
                                    channel_asks[n_channels * width + j] = asked[way * width + j]
                            n_channels += 1
                        else:
                            if group != run_group:
                                run_group = group
                                members = ensure_capacity(members, n_runs, n_runs + 1)
                                groups = ensure_capacity(groups, n_runs, n_runs + 1)
                                sizes = ensure_capacity(sizes, n_runs, n_runs + 1)
                                members[n_runs], groups[n_runs], sizes[n_runs] = path.numbers[depth], group, 0
                                n_runs += 1
                            children = ensure_capacity(children, n_open, n_open + 1)
                            children[n_open] = child
                            sizes[n_runs - 1] += 1
                            if width:
                                open_levels = ensure_capacity(open_levels, n_open, n_open + 1)
                                open_levels[n_open] = alphabet.levels[item]
                                for j in range(depth):
                                    open_levels[n_open] += alphabet.levels[path.items[j]]
                                open_asks = ensure_capacity(open_asks, n_open * width, (n_open + 1) * width)
                                for j in range(width):
                                    open_asks[n_open * width + j] = asked[way * width + j]
                            n_open += 1
                    for i in range(n_chosen):
                        way = ballot.chosen[i]
                        scratch.weights[way] = 0
                        told_of[way], high_of[way] = -1, 0
            # Go on with the next one that waits, here or further up.
            turns[depth], stops[depth] = begin, begin + n_kids
            while turns[depth] == stops[depth] and depth > root:
                depth -= 1
                turns[depth] += 1
            if turns[depth] == stops[depth]:
                break
            at = turns[depth]
            low, high = lows[at], highs[at]
            kind, item = (0, kids[at]) if kids[at] < n_items else (1, kids[at] - n_items)
            depth += 1
            enter(path, depth, kind, item, kid_numbers[at], alphabet, book)
    return Candidates(
        members[:n_runs].copy(),
        groups[:n_runs].copy(),
        sizes[:n_runs].copy(),
        children[:n_open].copy(),
        open_asks[: n_open * width].copy().reshape(n_open, width),
        open_levels[: n_open if width else 0].copy(),
        Channels(
            items[: n_channels * length].copy().reshape(n_channels, length),
            kinds[:n_channels].copy(),
            supports[:n_channels].copy(),
            values[:n_channels].copy(),
            told_by[:n_channels].copy(),
        ),
        channel_asks[: n_channels * width].copy().reshape(n_channels, width),
        channel_levels[: n_channels if width else 0].copy(),
    )
