"""Search the item sequences of one signature and length for minimal channels.

Rows are histories, one or several persons each; an event has an item, or none, in each column. A sequence of
items is known by its steps: the first item, then each next one in a later event (kind 0) or in the same
event, in a column of a later attribute (kind 1). A *way* to go on is a kind and an item: item ``x`` in a
later event is the way ``x``, in the same event ``n_items + x``. A sequence is *open* if neither it nor
anything more general is a channel. What is longer or finer than the open ones is never looked at.

`search_channels` walks over the open sequences, depth first; `_list_children` finds where to go next,
`_judge` counts and judges what is one item longer, and `_write` writes it down.

Constants that are passed on are made by ``np.int64(0)``: numba compiles a function once more for a literal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.kernels.rows import ensure_capacity, sort_range
from sequester.kernels.shares import exceeds_share
from sequester.methods.halt._kernels import ITEM_BITS, find_open

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets

STOP, WEIGHT, RISK, ROW, HEAD = range(5)
"""Fields of an event: the end of its row, the row's persons, those of them with a protected value, and the
row's number; behind them its items, one per column, -1 is none. A row ends before the event `STOP`."""
NUMBER, UP, ATTRIBUTE, ANCHOR, UNIT, ORDER, N_TRAITS = range(7)
"""Fields of an item: its number among the items of all signatures, that of the next more general one (-1
where that says nothing), its attribute, the bit of that where the item belongs to the signature's own level
and 0 elsewhere, what goes a level up together with it (its attribute; -1: nothing else), and its group."""
P_ITEM, P_KIND, P_MEMBER, P_MISSING, P_WANTED, P_LOW, P_HIGH, P_TURN, P_STOP, P_WORK, DROPS = range(11)
"""Fields of the beginning with ``d`` items of the sequence that the walk stands on, in row ``d``: its last
step, its number, the bits of the attributes of which it has no anchor, those of which the next item has to be
an anchor (-1: it may be any), the bounds of the events in which it can end, and those of the children that
wait; in row 0 also how many cells were looked at so far. Behind them stand the numbers of more general
sequences: without item ``j``, in place ``DROPS + j``; and behind these, with unit ``u`` a level up, -1 where
that says nothing."""
W_STAMP, W_WEIGHT, W_FILL, W_SLOT, W_VALUE, W_HIGH, N_WAY_FIELDS = range(7)
"""Fields of a way: the last row that counted; its persons, times ``2 ** 32``, plus those with a protected
value; events in which the longer sequence can end, or where the next one is listed; where its protected
values are counted, -1 for nowhere; the value that it tells, -1 for none, and the persons who have it."""
C_WAY, C_MEMBER, C_LOW, C_HIGH, N_CHILD_FIELDS = range(5)
"""Fields of a child that waits: the way to it, its number, and the bounds of its events."""
F_MEMBER, F_CHILD, F_SUPPORT, F_VALUE, F_HIGH, F_KINDS, F_ITEMS = range(7)
"""Fields of what was found: the member that it extends and by which child; its persons; the protected value
that it tells, and who has it; the kinds of its steps as bits; and the numbers of its items. Where levels are
mixed, a member and a child per item follow: a step that leads to a sequence that has to be open, too."""
OPEN, TOO_FEW = -2, -1
"""In place of a protected value: the sequence is open; it is a channel because its persons are too few."""
MOST_CELLS = 1 << 20
"""Counters of ways times protected values at one time."""
_exceeds_share = njit(exceeds_share)


class HistoryRows(NamedTuple):
    """The histories to search."""

    records: Codes
    """The fields of all events, one after the other: all that a walk needs, side by side for the cache."""
    stride: int
    """Fields of an event."""
    value_offsets: Offsets
    """Row ``r`` has the protected values from ``value_offsets[r]`` to ``value_offsets[r + 1]``."""
    values: Codes
    """Protected values in column 0, persons of the row who have them in column 1."""
    n_values: int
    """Number of protected values."""
    most_frequent: int
    """Persons with the most frequent of them."""


class Alphabet(NamedTuple):
    """The items of one signature and the columns they stand in."""

    items: Codes
    """The fields of each item; items stand in the order of their numbers."""
    columns: Codes
    """Attribute of each column, and its bit where the column is of the signature's own level, 0 elsewhere."""
    starts: Offsets
    """Item ``i`` is in the events ``events[starts[i]:starts[i + 1]]``."""
    events: Codes
    """Events that hold an item, ascending."""
    units: Counts
    """What can go a level up: 0 for each that may, -1 for others."""


class Known(NamedTuple):
    """The open sequences that are known, as `find_open` reads them."""

    slots: Counts
    children: Codes
    group_of: Codes
    """Number of an item to its group; those of fresh items are `first_fresh` or more."""
    first_fresh: int
    n_base: int
    """Members of lower number have no fresh item. Only sequences with a fresh item are searched."""


class SearchScratch(NamedTuple):
    """What the walk writes to."""

    path: Counts
    ways: Counts
    touched: Counts
    """Ways that were met; later, those that are kept, behind what they are sorted by."""
    look: Codes
    """Row 0: the fields of later events to look at, row 1: those of the same event; their number first."""
    waiting: Counts
    cells: Counts
    """Counters of protected values; all 0 between uses."""


@inner
def _enter(
    path: Counts,
    depth: int,
    way: int,
    member: int,
    items: Codes,
    slots: Counts,
    children: Codes,
    group_of: Codes,
) -> None:
    """Step to the open sequence `member` of `depth` items; everything that is more general is open, too."""
    n_items, before = items.shape[0], depth - 1
    kind, item = (0, way) if way < n_items else (1, way - n_items)
    number = np.int64(items[item, NUMBER])
    path[depth, P_ITEM], path[depth, P_KIND], path[depth, P_MEMBER] = item, kind, member
    path[depth, P_MISSING] = path[before, P_MISSING] & ~np.int64(items[item, ANCHOR])
    for j in range(before):
        # Without the item before, this one stands where that one stood.
        own = path[before, P_KIND] if kind == 1 and j == before - 1 else np.int64(kind)
        path[depth, DROPS + j] = find_open(slots, children, group_of, path[before, DROPS + j], own, number)
    path[depth, DROPS + before] = path[before, P_MEMBER]
    ups = DROPS + path.shape[0] - 1
    unit_of_item = items[item, UNIT] if items[item, UNIT] >= 0 else before
    for unit in range(path.shape[1] - ups):
        above, raised = path[before, ups + unit], number
        if unit == unit_of_item:
            raised = np.int64(items[item, UP])
        if above < 0 or raised < 0:
            path[depth, ups + unit] = -1
        elif above == path[before, P_MEMBER] and raised == number:
            path[depth, ups + unit] = member
        else:
            path[depth, ups + unit] = find_open(slots, children, group_of, above, np.int64(kind), raised)


@inner
def _is_later(path: Counts, depth: int, place: int, item: int, items: Codes) -> bool:
    """Return whether the path and `item`, with the item in `place` a level up, may be known only later.

    It has the same length, and the same signature if another item is an anchor of the same attribute. Only
    where levels are mixed does one item go up alone.
    """
    if items[item, UNIT] >= 0:
        return False
    own = path[place + 1, P_ITEM] if place < depth else item
    bit = items[own, ANCHOR]
    n_anchors = 1 if items[item, ANCHOR] == bit else 0
    for j in range(depth):
        if items[path[j + 1, P_ITEM], ANCHOR] == bit:
            n_anchors += 1
    return bit == 0 or n_anchors > 1


@inner
def _is_candidate(
    path: Counts, depth: int, way: int, items: Codes, slots: Counts, children: Codes, group_of: Codes
) -> bool:
    """Return whether everything more general than the path and one item is open, as far as it is known."""
    n_items = items.shape[0]
    kind, item = (0, way) if way < n_items else (1, way - n_items)
    number = np.int64(items[item, NUMBER])
    for j in range(depth):
        own = path[depth, P_KIND] if kind == 1 and j == depth - 1 else np.int64(kind)
        above = path[depth, DROPS + j]
        # Single items are open.
        if above > 0 and find_open(slots, children, group_of, above, own, number) < 0:
            return False
    ups = DROPS + path.shape[0] - 1
    unit_of_item = items[item, UNIT] if items[item, UNIT] >= 0 else depth
    for unit in range(path.shape[1] - ups):
        above, raised = path[depth, ups + unit], number
        if unit == unit_of_item:
            raised = np.int64(items[item, UP])
        if above <= 0 or raised < 0 or (above == path[depth, P_MEMBER] and raised == number):
            continue
        if _is_later(path, depth, unit, item, items):
            continue
        if find_open(slots, children, group_of, above, np.int64(kind), raised) < 0:
            return False
    return True


@inner
def _look_at(path: Counts, depth: int, items: Codes, columns: Codes, look: Codes) -> bool:
    """List the columns that the next item may stand in; return False where too many anchors are missing."""
    n_left, n_missing = path.shape[0] - 1 - depth, 0
    missing = path[depth, P_MISSING]
    while missing:
        missing &= missing - 1
        n_missing += 1
    if n_missing > n_left:
        return False
    wanted = path[depth, P_MISSING] if n_missing == n_left else np.int64(-1)
    last = columns.shape[0]
    if depth > 0:
        last = items[path[depth, P_ITEM], ATTRIBUTE]
    n_later, n_same = 0, 0
    for column in range(columns.shape[0]):
        if wanted < 0 or columns[column, 1] & wanted:
            n_later += 1
            look[0, n_later] = column + HEAD
            if columns[column, 0] > last:
                n_same += 1
                look[1, n_same] = column + HEAD
    look[0, 0], look[1, 0] = n_later, n_same
    path[depth, P_WANTED] = wanted
    return True


@inner
def _visit_ways(
    rows: HistoryRows, events: Codes, low: int, high: int, scratch: SearchScratch, counts_values: bool
) -> int:
    """Weigh the rows behind each way to go on from the events ``events[low:high]``; return how many ways.

    With `counts_values` count, for ways that have a slot, the persons with each protected value instead.
    """
    records, stride, look = rows.records, rows.stride, scratch.look
    ways, touched = scratch.ways, scratch.touched
    n_items, n_later, n_same, n_touched, i = ways.shape[0] // 2, look[0, 0], look[1, 0], 0, low
    while i < high:
        at = np.int64(events[i]) * stride
        stop, row, risk = np.int64(records[at]), np.int64(records[at + ROW]), np.int64(records[at + RISK])
        if not counts_values:
            scratch.path[0, P_WORK] += (stop - events[i]) * n_later
        is_left_out = counts_values and risk == 0  # Nobody has a protected value.
        weight = np.int64(-1) if counts_values else (np.int64(records[at + WEIGHT]) << 32) | risk
        for place in range(stop * stride if is_left_out else at + stride, stop * stride, stride):
            for j in range(1, n_later + 1):
                way = np.int64(records[place + look[0, j]])
                if way >= 0 and _visit(rows, ways, scratch.cells, way, row, weight):
                    touched[n_touched] = way
                    n_touched += 1
        while i < high and events[i] < stop:
            at = np.int64(events[i]) * stride
            for j in range(1, 1 if is_left_out else n_same + 1):
                way = n_items + np.int64(records[at + look[1, j]])
                if way >= n_items and _visit(rows, ways, scratch.cells, way, row, weight):
                    touched[n_touched] = way
                    n_touched += 1
            i += 1
    return n_touched


@inner
def _visit(rows: HistoryRows, ways: Counts, cells: Counts, way: int, row: int, weight: int) -> bool:
    """Add the weight of a row to a way, or its protected values for a weight below 0; once.

    Returns whether the way is weighed for the first time.
    """
    # Stamps of weighing and of counting differ.
    stamp = row if weight >= 0 else -2 - row
    if ways[way, W_STAMP] == stamp or (weight < 0 and ways[way, W_SLOT] < 0):
        return False
    ways[way, W_STAMP] = stamp
    if weight >= 0:
        ways[way, W_WEIGHT] += weight
        return bool(ways[way, W_WEIGHT] == weight)
    for i in range(rows.value_offsets[row], rows.value_offsets[row + 1]):
        cells[ways[way, W_SLOT] * rows.n_values + rows.values[i, 0]] += rows.values[i, 1]
    return False


@inner
def _list_events(
    rows: HistoryRows,
    events: Codes,
    low: int,
    high: int,
    look: Codes,
    ways: Counts,
    touched: Counts,
    is_filling: bool,
) -> int:
    """Count the events in which each longer sequence can end, and return how many ways there are.

    With `is_filling` list these events, each way's from its ``W_FILL`` on, unless that is -1.
    """
    records, stride = rows.records, rows.stride
    n_items, n_later, n_same = ways.shape[0] // 2, look[0, 0], look[1, 0]
    n_touched = 0
    i = low
    while i < high:
        at = np.int64(events[i]) * stride
        stop = np.int64(records[at])
        # The events behind the row's first one, then those in which the sequence itself can end.
        for place in range(at + stride, stop * stride, stride):
            for j in range(1, n_later + 1):
                way = np.int64(records[place + look[0, j]])
                if way >= 0 and _list_event(place // stride, way, events, ways, is_filling):
                    touched[n_touched] = way
                    n_touched += 1
        while i < high and events[i] < stop:
            event = np.int64(events[i])
            for j in range(1, n_same + 1):
                way = n_items + np.int64(records[event * stride + look[1, j]])
                if way >= n_items and _list_event(event, way, events, ways, is_filling):
                    touched[n_touched] = way
                    n_touched += 1
            i += 1
    return n_touched


@inner
def _list_event(event: int, way: int, events: Codes, ways: Counts, is_filling: bool) -> bool:
    """Count or list one event; return whether the way is counted for the first time."""
    fill = ways[way, W_FILL]
    if not is_filling:
        ways[way, W_FILL] = fill + 1
        return bool(fill == 0)
    if fill >= 0:
        events[fill] = event
        ways[way, W_FILL] = fill + 1
    return False


@inner
def _list_children(
    rows: HistoryRows, alphabet: Alphabet, known: Known, scratch: SearchScratch, events: Codes, depth: int
) -> Codes:
    """Have the open sequences wait that are one item longer than the path; return the buffer of events.

    Their events are listed behind those of all that wait already.
    """
    path, ways, touched, waiting = scratch.path, scratch.ways, scratch.touched, scratch.waiting
    items, group_of, n_items = alphabet.items, known.group_of, alphabet.items.shape[0]
    low, high, begin = path[depth, P_LOW], path[depth, P_HIGH], path[depth, P_TURN]
    member, wanted = path[depth, P_MEMBER], path[depth, P_WANTED]
    n_touched = _list_events(rows, events, low, high, scratch.look, ways, touched, np.bool_(False))
    n_kept = np.int64(0)
    for i in range(n_touched):
        way = touched[i]
        kind, item = (0, way) if way < n_items else (1, way - n_items)
        number, child = np.int64(items[item, NUMBER]), np.int64(-1)
        if wanted < 0 or items[item, ANCHOR] & wanted:
            child = find_open(known.slots, known.children, group_of, member, np.int64(kind), number)
        if child < 0:
            ways[way, W_FILL] = -1
            continue
        is_behind = member < known.n_base and group_of[number] < known.first_fresh
        ways[way, W_HIGH] = child
        touched[i] = touched[n_kept]
        touched[n_kept] = ((np.int64(items[item, ORDER]) << 1) + is_behind) << 32 | way
        n_kept += 1
    sort_range(touched, np.int64(0), n_kept)
    bottom = waiting[begin - 1, C_HIGH] if begin > 0 else high
    top = bottom
    for i in range(n_kept):
        way = touched[i] & 0xFFFFFFFF
        waiting[begin + i, C_WAY], waiting[begin + i, C_MEMBER] = way, ways[way, W_HIGH]
        waiting[begin + i, C_LOW] = top
        top, ways[way, W_FILL] = top + ways[way, W_FILL], top
        waiting[begin + i, C_HIGH] = top
    events = ensure_capacity(events, bottom, top)
    _list_events(rows, events, low, high, scratch.look, ways, touched, np.bool_(True))
    for i in range(n_touched):
        way = touched[i] & 0xFFFFFFFF
        ways[way, W_FILL], ways[way, W_HIGH] = 0, 0
    path[depth, P_STOP] = begin + n_kept
    return events


@inner
def _find_values(
    rows: HistoryRows,
    scratch: SearchScratch,
    events: Codes,
    low: int,
    high: int,
    n_kept: int,
    k: int,
    c: float,
) -> None:
    """Find for each way that is kept the protected value that it tells, and the persons who have it."""
    ways, touched, cells = scratch.ways, scratch.touched, scratch.cells
    start = 0
    while start < n_kept:
        n_slots, stop = 0, start
        while stop < n_kept and (n_slots + 1) * rows.n_values <= cells.size:
            way = touched[stop] & 0xFFFFFFFF
            support = ways[way, W_WEIGHT] >> 32
            # No value is more frequent among them than all of them together, and than it is among all.
            risk = min(ways[way, W_WEIGHT] & 0xFFFFFFFF, rows.most_frequent)
            if support >= k and _exceeds_share(risk, c, support):
                ways[way, W_SLOT] = n_slots
                n_slots += 1
            stop += 1
        if n_slots > 0:
            _visit_ways(rows, events, low, high, scratch, np.bool_(True))
        for i in range(start, stop if n_slots > 0 else start):
            way = touched[i] & 0xFFFFFFFF
            slot, support = ways[way, W_SLOT], ways[way, W_WEIGHT] >> 32
            for value in range(rows.n_values if slot >= 0 else 0):
                n_high = cells[slot * rows.n_values + value]
                cells[slot * rows.n_values + value] = 0
                if n_high > ways[way, W_HIGH]:
                    ways[way, W_HIGH] = n_high
                    if _exceeds_share(n_high, c, support):
                        ways[way, W_VALUE] = value
            ways[way, W_SLOT] = -1
        start = stop


@inner
def _write(
    found: Codes, at: int, path: Counts, depth: int, way: int, ways: Counts, items: Codes, k: int
) -> None:
    """Write down the path and one item as what was found, from `at` on."""
    n_items, length = items.shape[0], depth + 1
    kind, item = (0, way) if way < n_items else (1, way - n_items)
    support, value = ways[way, W_WEIGHT] >> 32, ways[way, W_VALUE]
    is_open = support >= k and value < 0
    kinds = kind << depth
    for j in range(depth):
        kinds |= path[j + 1, P_KIND] << j
        found[at + F_ITEMS + j] = items[path[j + 1, P_ITEM], NUMBER]
    found[at + F_ITEMS + depth] = items[item, NUMBER]
    found[at + F_MEMBER] = path[depth, P_MEMBER]
    found[at + F_CHILD] = kind << ITEM_BITS | items[item, NUMBER]
    found[at + F_SUPPORT] = support
    found[at + F_VALUE] = OPEN if is_open else value
    found[at + F_HIGH] = ways[way, W_HIGH] if value >= 0 else 0
    found[at + F_KINDS] = kinds
    if items[item, UNIT] >= 0:
        return
    ups, at = DROPS + length, at + F_ITEMS + length
    for place in range(length):
        above, raised = path[depth, ups + place], items[item, UP] if place == depth else items[item, NUMBER]
        found[at + 2 * place], found[at + 2 * place + 1] = -1, -1
        if above >= 0 and raised >= 0 and _is_later(path, depth, place, item, items):
            found[at + 2 * place], found[at + 2 * place + 1] = above, kind << ITEM_BITS | raised


@inner
def _judge(
    rows: HistoryRows,
    alphabet: Alphabet,
    known: Known,
    scratch: SearchScratch,
    events: Codes,
    depth: int,
    k: int,
    c: float,
    found: Codes,
    n_found: int,
) -> tuple[Codes, int]:
    """Count and write down all that is one item longer than the path and has nothing but open above it."""
    path, ways, touched = scratch.path, scratch.ways, scratch.touched
    items, group_of, n_items = alphabet.items, known.group_of, alphabet.items.shape[0]
    low, high, wanted = path[depth, P_LOW], path[depth, P_HIGH], path[depth, P_WANTED]
    only_fresh = path[depth, P_MEMBER] < known.n_base
    n_touched = _visit_ways(rows, events, low, high, scratch, np.bool_(False))
    n_kept = np.int64(0)
    for i in range(n_touched):
        way = touched[i]
        item = way if way < n_items else way - n_items
        if only_fresh and group_of[items[item, NUMBER]] < known.first_fresh:
            continue
        if wanted >= 0 and items[item, ANCHOR] & wanted == 0:
            continue
        if _is_candidate(path, depth, way, items, known.slots, known.children, group_of):
            touched[i] = touched[n_kept]
            touched[n_kept] = np.int64(items[item, ORDER]) << 32 | way
            n_kept += 1
    sort_range(touched, np.int64(0), n_kept)
    if rows.n_values > 0:
        _find_values(rows, scratch, events, low, high, n_kept, k, c)
    width = F_ITEMS + depth + 1
    if items[0, UNIT] < 0:
        width += 2 * depth + 2
    found = ensure_capacity(found, n_found * width, (n_found + n_kept) * width)
    for i in range(n_kept):
        _write(found, n_found * width, path, depth, touched[i] & 0xFFFFFFFF, ways, items, k)
        n_found += 1
    for i in range(n_touched):
        way = touched[i] & 0xFFFFFFFF
        ways[way, W_STAMP], ways[way, W_WEIGHT], ways[way, W_VALUE], ways[way, W_HIGH] = -1, 0, -1, 0
    return found, n_found


@njit
def search_channels(
    rows: HistoryRows,
    alphabet: Alphabet,
    known: Known,
    scratch: SearchScratch,
    k: int,
    c: float,
    first: int,
    stop: int,
) -> tuple[Codes, int]:
    """Find the open sequences and the channels that begin with one of the items from `first` to `stop`.

    Only those count that have an anchor of every attribute and a fresh item. Requires that all open sequences
    that are shorter or of a coarser signature are known; and that all items are open or, for a length of 1,
    that everything above them is. For a length of 1 the first turn is all that there is.

    Returns what was found, in a buffer that may be longer, and its number.
    """
    path, waiting, items = scratch.path, scratch.waiting, alphabet.items
    slots, children, group_of = known.slots, known.children, known.group_of
    length = path.shape[0] - 1
    root = min(length - 1, 1)
    events, found, n_found = np.empty(1024, np.int32), np.empty(1024, np.int32), np.int64(0)
    for turn in range(first, stop):
        begin, size = alphabet.starts[turn], alphabet.starts[turn + 1] - alphabet.starts[turn]
        events = ensure_capacity(events, 0, size)
        for i in range(size):
            events[i] = alphabet.events[begin + i]
        depth = root
        if depth > 0:
            number = np.int64(items[turn, NUMBER])
            member = find_open(slots, children, group_of, np.int64(0), np.int64(0), number)
            _enter(path, depth, turn, member, items, slots, children, group_of)
        path[depth, P_LOW], path[depth, P_HIGH], path[depth, P_TURN] = 0, size, 0
        while True:
            path[depth, P_STOP] = path[depth, P_TURN]
            if _look_at(path, depth, items, alphabet.columns, scratch.look):
                if depth == length - 1:
                    found, n_found = _judge(
                        rows, alphabet, known, scratch, events, depth, k, c, found, n_found
                    )
                else:
                    events = _list_children(rows, alphabet, known, scratch, events, depth)
            # Go on with the next one that waits, here or further up.
            while path[depth, P_TURN] == path[depth, P_STOP] and depth > root:
                depth -= 1
                path[depth, P_TURN] += 1
            at, end = path[depth, P_TURN], path[depth, P_STOP]
            if at == end:
                break
            depth += 1
            _enter(path, depth, waiting[at, C_WAY], waiting[at, C_MEMBER], items, slots, children, group_of)
            path[depth, P_LOW], path[depth, P_HIGH] = waiting[at, C_LOW], waiting[at, C_HIGH]
            path[depth, P_TURN] = end
    return found, int(n_found)
