"""Walk through all open sequences of a signature, and judge what is one item longer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from sequester.kernels.channels import (
    SMALLEST,
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
from sequester.kernels.open_sequences import ITEM_BITS, Runs, find_run, pack_child, pack_step
from sequester.kernels.prefixspan import wider

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts

_ITEM = (1 << ITEM_BITS) - 1


class Path(NamedTuple):
    """The sequence that the walk stands on, and what is known of each of its beginnings."""

    items: Codes
    """Its items."""
    kinds: Codes
    """The kinds of its steps."""
    numbers: Counts
    """The number of the beginning with ``d`` items."""
    have: Counts
    """Bit set of the attributes of which it has an anchor."""
    drops: Counts
    """At ``[d, j]`` the number of the beginning with ``d`` items, but without item ``j``."""
    ups: Counts
    """At ``[d, a]`` its number with attribute ``a`` one level up; where levels are mixed, with item ``a`` so.

    -1 where that says nothing.
    """


class Ballot(NamedTuple):
    """Which ways to go on are worth counting: with them, everything that is more general has to be open.

    More general are the sequences without item ``j``, in place ``j``, and those with attribute ``a`` a level
    up, in place ``depth + a``. Each has children, those by fresh items apart from the others.
    """

    members: Counts
    """The number of each more general beginning; -1 where there is nothing to ask."""
    lows: Counts
    """At ``[0, g]`` where its children by fresh items begin, at ``[1, g]`` by others; of one group."""
    highs: Counts
    """Where they end."""
    chosen: Codes
    """The ways that are left."""


@njit(cache=True, nogil=True)
def _enter(path: Path, depth: int, kind: int, item: int, number: int, alphabet: Alphabet, book: Book) -> None:
    """Take a step to a sequence of `depth` items; it and so all that is more general is open."""
    name = alphabet.numbers[item]
    path.items[depth - 1] = item
    path.kinds[depth - 1] = kind
    path.numbers[depth] = number
    path.have[depth] = path.have[depth - 1]
    if alphabet.is_anchor[item]:
        path.have[depth] |= 1 << alphabet.attributes[item]
    for j in range(depth - 1):
        # Without the item before, this one stands where that one stood.
        own = path.kinds[j] if kind == 1 and j == depth - 2 else kind
        path.drops[depth, j] = find_open(book, path.drops[depth - 1, j], own, name)
    path.drops[depth, depth - 1] = path.numbers[depth - 1]
    if alphabet.is_mixed:
        for j in range(depth - 1):
            path.ups[depth, j] = -1
            if path.ups[depth - 1, j] >= 0:
                path.ups[depth, j] = find_open(book, path.ups[depth - 1, j], kind, name)
        path.ups[depth, depth - 1] = -1
        if alphabet.ups[item] >= 0:
            path.ups[depth, depth - 1] = find_open(book, path.numbers[depth - 1], kind, alphabet.ups[item])
    else:
        for attribute in range(alphabet.goes_up.size):
            if alphabet.goes_up[attribute]:
                up = alphabet.ups[item] if alphabet.attributes[item] == attribute else name
                path.ups[depth, attribute] = find_open(book, path.ups[depth - 1, attribute], kind, up)


@njit(cache=True, nogil=True)
def _has_child(runs: Runs, low: int, high: int, child: int) -> bool:
    """Tell whether a child stands in a run."""
    stop = high
    while low < high:
        middle = (low + high) >> 1
        if runs.children[middle] < child:
            low = middle + 1
        else:
            high = middle
    return low < stop and runs.children[low] == child


@njit(cache=True, nogil=True)
def _passes(
    way: int,
    seed: int,
    n_general: int,
    depth: int,
    last_kind: int,
    alphabet: Alphabet,
    book: Book,
    ballot: Ballot,
) -> bool:
    """Tell whether everything more general than the path and a way to go on is open, but for the seed."""
    n_items = alphabet.numbers.size
    kind, item = (0, way) if way < n_items else (1, way - n_items)
    attribute = alphabet.attributes[item]
    for general in range(n_general):
        if general == seed or ballot.members[general] < 0:
            continue
        number = alphabet.ups[item] if general == depth + attribute else alphabet.numbers[item]
        # Without the item before, this one stands where that one stood.
        own = last_kind if general == depth - 1 and kind == 1 else kind
        part = 0 if ballot.members[general] >= book.n_base or book.is_fresh[number] else 1
        if not _has_child(
            book.fresh if part == 0 else book.base,
            ballot.lows[part, general],
            ballot.highs[part, general],
            pack_child(own, number),
        ):
            return False
    return True


@njit(cache=True, nogil=True)
def _find_seed(
    n_general: int, depth: int, place: int, only_fresh: bool, alphabet: Alphabet, book: Book, ballot: Ballot
) -> int:
    """Look up the children of all that is more general, by items of a group; give who has fewest.

    -1 where somebody has none. Children of a coarser level stand for several items, and count more.
    """
    seed, fewest = -1, np.int64(1 << 62)
    for general in range(n_general):
        member = ballot.members[general]
        if member < 0:
            continue
        is_up = general == depth + alphabet.group_attributes[place]
        group = alphabet.up_groups[place] if is_up else alphabet.groups[place]
        ballot.lows[0, general], ballot.highs[0, general] = find_run(book.fresh, member, group)
        ballot.lows[1, general], ballot.highs[1, general] = 0, 0
        if member < book.n_base and not only_fresh:
            ballot.lows[1, general], ballot.highs[1, general] = find_run(book.base, member, group)
        size = ballot.highs[0, general] - ballot.lows[0, general]
        size += ballot.highs[1, general] - ballot.lows[1, general]
        if size == 0:
            return -1
        if is_up:
            size *= 8
        if size < fewest:
            seed, fewest = general, size
    return seed


@njit(cache=True, nogil=True)
def _choose(
    path: Path,
    depth: int,
    missing: int,
    only_missing: bool,
    only_fresh: bool,
    alphabet: Alphabet,
    book: Book,
    ballot: Ballot,
) -> int:
    """Choose the ways to go on that leave nothing but open sequences when any one item is left out.

    Where levels are not mixed, also when any one attribute goes a level up. With `only_missing`, the next
    item has to be an anchor of an attribute in the bit set `missing`; with `only_fresh` it has to be fresh.
    Gives their number.
    """
    n_items = alphabet.numbers.size
    n_chosen = 0
    if depth == 0:
        for item in range(n_items):
            if alphabet.is_anchor[item] and book.is_fresh[alphabet.numbers[item]]:
                ballot.chosen[n_chosen] = item
                n_chosen += 1
        return n_chosen
    last, last_kind = alphabet.attributes[path.items[depth - 1]], path.kinds[depth - 1]
    n_general = depth if alphabet.is_mixed else depth + alphabet.goes_up.size
    for general in range(n_general):
        ballot.members[general] = -1
        if general < depth:
            ballot.members[general] = path.drops[depth, general]
        elif alphabet.goes_up[general - depth]:
            ballot.members[general] = path.ups[depth, general - depth]
            if ballot.members[general] < 0:
                return 0
    for place in range(alphabet.groups.size):
        attribute = alphabet.group_attributes[place]
        if only_missing and not (alphabet.group_anchors[place] and (missing >> attribute) & 1):
            continue
        seed = _find_seed(n_general, depth, place, only_fresh, alphabet, book, ballot)
        if seed < 0:
            continue
        for part in range(2):
            runs = book.fresh if part == 0 else book.base
            for i in range(ballot.lows[part, seed], ballot.highs[part, seed]):
                kind, number = runs.children[i] >> ITEM_BITS, runs.children[i] & _ITEM
                if part == 1 and book.is_fresh[number]:
                    continue
                start, stop = alphabet.item_of[number], alphabet.item_of[number] + 1
                if seed == depth + attribute:
                    start, stop = alphabet.below_starts[number], alphabet.below_stops[number]
                elif start < 0:
                    continue
                for item in range(start, stop):
                    if only_fresh and not book.is_fresh[alphabet.numbers[item]]:
                        continue
                    goes_same = kind == last_kind if seed == depth - 1 else kind == 1
                    if kind == 0 and _passes(item, seed, n_general, depth, last_kind, alphabet, book, ballot):
                        ballot.chosen[n_chosen] = item
                        n_chosen += 1
                    if (
                        goes_same
                        and attribute > last
                        and _passes(n_items + item, seed, n_general, depth, last_kind, alphabet, book, ballot)
                    ):
                        ballot.chosen[n_chosen] = n_items + item
                        n_chosen += 1
    return n_chosen


@njit(cache=True, nogil=True)
def _is_alone(path: Path, depth: int, item: int, extra: int, alphabet: Alphabet) -> bool:
    """Tell whether `item` is an anchor, and the only one of its attribute in the path and `extra`."""
    if not alphabet.is_anchor[item]:
        return False
    attribute = alphabet.attributes[item]
    n_anchors = 0
    for j in range(depth):
        other = path.items[j]
        if alphabet.is_anchor[other] and alphabet.attributes[other] == attribute:
            n_anchors += 1
    if alphabet.is_anchor[extra] and alphabet.attributes[extra] == attribute:
        n_anchors += 1
    return n_anchors == 1


@njit(cache=True, nogil=True)
def _ask(path: Path, depth: int, kind: int, item: int, alphabet: Alphabet, book: Book, asks: Counts) -> bool:
    """Tell whether the path with one more item is open with any one item a level up, levels being mixed.

    What is so more general can be of the same length and signature, and is then not known yet: the steps to
    it are written to `asks`.
    """
    asks[:] = -1
    for j in range(depth + 1):
        if j < depth:
            member, up, own = path.ups[depth, j], alphabet.numbers[item], path.items[j]
            if member < 0:
                continue
        else:
            member, up, own = path.numbers[depth], alphabet.ups[item], np.int32(item)
            if up < 0:
                continue
        if not _is_alone(path, depth, own, item, alphabet):
            asks[j] = pack_step(member, kind, up)
        elif find_open(book, member, kind, up) < 0:
            return False
    return True


@njit(cache=True, nogil=True)
def _list_kids(
    path: Path,
    depth: int,
    missing: int,
    only_missing: bool,
    alphabet: Alphabet,
    book: Book,
    kids: Codes,
    kid_numbers: Counts,
    begin: int,
) -> tuple[Codes, Counts, int]:
    """List the open sequences that are one item longer, behind those that wait."""
    n_items = alphabet.numbers.size
    member = path.numbers[depth]
    n_kids = 0
    for place in range(alphabet.groups.size):
        if only_missing and not (
            alphabet.group_anchors[place] and (missing >> alphabet.group_attributes[place]) & 1
        ):
            continue
        for part in range(2):
            if part == 1 and member >= book.n_base:
                break
            runs = book.fresh if part == 0 else book.base
            low, high = find_run(runs, member, alphabet.groups[place])
            kids = wider(kids, begin + n_kids, begin + n_kids + high - low)
            kid_numbers = wider(kid_numbers, begin + n_kids, begin + n_kids + high - low)
            for i in range(low, high):
                kind, number = runs.children[i] >> ITEM_BITS, runs.children[i] & _ITEM
                item = alphabet.item_of[number]
                if item >= 0 and not (part == 1 and book.is_fresh[number]):
                    kids[begin + n_kids] = item if kind == 0 else n_items + item
                    kid_numbers[begin + n_kids] = runs.first + i
                    n_kids += 1
    return kids, kid_numbers, n_kids


@njit(cache=True, nogil=True)
def _n_bits(values: int) -> int:
    """Count the members of a small bit set."""
    n_bits = 0
    while values:
        values &= values - 1
        n_bits += 1
    return n_bits


@njit(cache=True, nogil=True)
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
            _enter(path, 1, 0, turn, number, alphabet, book)
            low, high = np.int64(0), alphabet.starts[turn + 1] - alphabet.starts[turn]
            events = wider(events, 0, high)
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
                kids, kid_numbers, n_kids = _list_kids(
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
                    lows = wider(lows, begin, begin + n_kids)
                    highs = wider(highs, begin, begin + n_kids)
                    bottom = highs[begin - 1] if begin > 0 else high
                    top = bottom
                    for i in range(begin, begin + n_kids):
                        way = kids[i]
                        lows[i], fill_of[way] = top, top
                        top += scratch.sizes[way]
                        highs[i] = top
                        scratch.sizes[way] = 0
                    events = wider(events, bottom, top)
                    size_next(
                        rows, n_items, events, low, high, n_later, n_same, clock, scratch, fill_of, True
                    )
            else:
                only_fresh = path.numbers[depth] < book.n_base
                n_chosen = _choose(path, depth, missing, n_missing == 1, only_fresh, alphabet, book, ballot)
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
                        if alphabet.is_mixed and not _ask(path, depth, kind, item, alphabet, book, asks):
                            continue
                        for j in range(width):
                            asked[way * width + j] = asks[j]
                        name = alphabet.numbers[item]
                        group = np.int64(book.group_of[name])
                        passing[n_passing] = (group << (ITEM_BITS + 1)) | pack_child(kind, name)
                        n_passing += 1
                        bound = limits.c * support + SMALLEST * support
                        risk = scratch.weights[way] & 0xFFFFFFFF
                        if support >= limits.k and risk > bound and rows.most_frequent > bound:
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
                        group, child = in_order[i] >> (ITEM_BITS + 1), in_order[i] & (2 * _ITEM + 1)
                        kind, item = child >> ITEM_BITS, alphabet.item_of[child & _ITEM]
                        way = item if kind == 0 else n_items + item
                        support = scratch.weights[way] >> 32
                        if support < limits.k or told_of[way] >= 0:
                            items = wider(items, n_channels * length, (n_channels + 1) * length)
                            kinds = wider(kinds, n_channels, n_channels + 1)
                            supports = wider(supports, n_channels, n_channels + 1)
                            values = wider(values, n_channels, n_channels + 1)
                            told_by = wider(told_by, n_channels, n_channels + 1)
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
                                channel_levels = wider(channel_levels, n_channels, n_channels + 1)
                                channel_levels[n_channels] = alphabet.levels[item]
                                for j in range(depth):
                                    channel_levels[n_channels] += alphabet.levels[path.items[j]]
                                channel_asks = wider(
                                    channel_asks, n_channels * width, (n_channels + 1) * width
                                )
                                for j in range(width):
                                    channel_asks[n_channels * width + j] = asked[way * width + j]
                            n_channels += 1
                        else:
                            if group != run_group:
                                run_group = group
                                members = wider(members, n_runs, n_runs + 1)
                                groups = wider(groups, n_runs, n_runs + 1)
                                sizes = wider(sizes, n_runs, n_runs + 1)
                                members[n_runs], groups[n_runs], sizes[n_runs] = path.numbers[depth], group, 0
                                n_runs += 1
                            children = wider(children, n_open, n_open + 1)
                            children[n_open] = child
                            sizes[n_runs - 1] += 1
                            if width:
                                open_levels = wider(open_levels, n_open, n_open + 1)
                                open_levels[n_open] = alphabet.levels[item]
                                for j in range(depth):
                                    open_levels[n_open] += alphabet.levels[path.items[j]]
                                open_asks = wider(open_asks, n_open * width, (n_open + 1) * width)
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
            _enter(path, depth, kind, item, kid_numbers[at], alphabet, book)
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
