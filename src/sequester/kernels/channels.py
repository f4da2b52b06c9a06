"""Search the item sequences of one length for minimal channels: too few persons, or too sure about a value.

Rows are histories, one or several persons each; an event has an item, or none, in each column. A sequence of
items is known by its steps: the first item, then each next one in a later event (kind 0) or in the same
event, in a column of a later attribute (kind 1). A sequence is *open* if neither it nor anything more general
is a channel. What is longer or finer than the open ones is never looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit
from sequester.kernels.open_sequences import Runs, find_child, pack_child
from sequester.kernels.shares import exceeds_share

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets

_exceeds_share = njit(exceeds_share)
HEAD = 3
"""Fields of a record before its items."""
MOST_CELLS = 1 << 20
"""Counters of extensions times protected values at one time."""


class Rows(NamedTuple):
    """The histories to search; all that a walk needs of an event stands side by side, for the cache."""

    records: Codes
    """Event by event: the end of its row, the row's persons, those of them with a protected value, the items.

    The items of an event are one per column, -1 is none. The end of a row is its last event and one more.
    """
    n_columns: int
    """Items of an event, so that the record of event ``e`` begins at ``e * (n_columns + HEAD)``."""
    row_of_event: Codes
    """Whose event it is."""
    member_offsets: Offsets
    """Row ``r`` folds the histories ``members[member_offsets[r]:member_offsets[r + 1]]``."""
    members: Counts
    """Numbers of histories before folding."""
    value_offsets: Offsets
    """A history has the protected values from ``value_offsets[h]`` to ``value_offsets[h + 1]``."""
    values: Codes
    """Protected values."""
    value_counts: Counts
    """Persons who have them."""
    most_frequent: int
    """Persons with the most frequent protected value."""
    n_values: int
    """Number of protected values."""


class Alphabet(NamedTuple):
    """The items of one signature and the columns they stand in.

    Items have codes of their own here, beside the numbers that they have among all items of all signatures.
    """

    numbers: Codes
    """Item to its number, ascending."""
    item_of: Codes
    """Number to item, -1 where it is none of these."""
    ups: Codes
    """Item to the number of the next more general one; -1 where that says nothing."""
    attributes: Codes
    """Item to its attribute, counted within the signature."""
    is_anchor: Mask
    """Item to whether it belongs to the signature's own level."""
    levels: Codes
    """Item to its level."""
    attribute_of_column: Codes
    """Column to its attribute."""
    groups: Codes
    """The groups of items that occur here."""
    group_attributes: Codes
    """Their attributes."""
    group_anchors: Mask
    """Whether their items are anchors."""
    up_groups: Codes
    """The groups of the next more general items; -1 where that says nothing."""
    below_starts: Codes
    """Number of a next more general item to the first of the items below it."""
    below_stops: Codes
    """And to the one after the last."""
    goes_up: Mask
    """Attribute to whether a more general level is left that says something."""
    is_mixed: bool
    """Items of one attribute may be of different levels."""
    starts: Offsets
    """Item ``i`` is in the events ``events[starts[i]:starts[i + 1]]``."""
    events: Codes
    """Events that hold an item, ascending."""


class Book(NamedTuple):
    """The open sequences that are known, in two parts."""

    base: Runs
    """Those without a fresh item; known beforehand."""
    fresh: Runs
    """Those with one."""
    is_fresh: Mask
    """Number of an item to whether it is fresh. Only sequences with a fresh item are searched."""
    n_base: int
    """Members of lower number are in the base."""
    group_of: Codes
    """Number of an item to its group."""


class Limits(NamedTuple):
    """What makes a channel."""

    k: int
    """Persons that have to share a sequence."""
    c: float
    """Share of them that may have one protected value."""


class Channels(NamedTuple):
    """Channels of one length, without a more general one."""

    items: Codes
    """The numbers of the items, one row per channel."""
    kinds: Codes
    """Bit ``j`` says that item ``j`` stands in the same event as the one before."""
    supports: Counts
    """Persons."""
    values: Codes
    """The protected value that they tell; -1 where they are too few."""
    highs: Counts
    """Persons with that value."""


class Candidates(NamedTuple):
    """What a search found: open sequences and channels, and what is left to ask about them.

    What is left to ask stands row by row: steps that have to be open, too, -1 is none. There are no columns
    where nothing is left to ask.
    """

    members: Counts
    """Runs of open sequences: the member that they extend."""
    groups: Codes
    """The group of their last items."""
    sizes: Codes
    """How many there are."""
    children: Codes
    """Kind and item of their last steps, run by run."""
    asks: Counts
    """What is left to ask about each open sequence."""
    levels: Codes
    """The levels of the items of each open sequence, added up."""
    channels: Channels
    """The channels."""
    channel_asks: Counts
    """As `asks`."""
    channel_levels: Codes
    """As `levels`."""


class Scratch(NamedTuple):
    """What one prefix says about each way to go on: item ``x`` in a later event, ``n + x`` in the same."""

    stamps: Counts
    """The last row that counted; less than the prefix's own stamp for a way that is not wanted."""
    weights: Counts
    """Persons, and those of them with a protected value: ``2 ** 32`` for the one, 1 for the other."""
    sizes: Counts
    """Events in which the longer sequence can end."""
    slots: Counts
    """Where its protected values are counted; -1 for nowhere."""
    later: Codes
    """The columns to look at in later events."""
    same: Codes
    """The columns to look at in the same event."""


@njit
def find_open(book: Book, member: int, kind: int, item: int) -> int:
    """Give the number of the open sequence that a step leads to, -1 where it is not open."""
    runs = book.fresh if member >= book.n_base or book.is_fresh[item] else book.base
    return int(find_child(runs, member, book.group_of[item], pack_child(kind, item)))


@njit
def list_columns(
    alphabet: Alphabet, last: int, missing: int, only_missing: bool, scratch: Scratch
) -> tuple[int, int]:
    """List the columns to look at after an item of attribute `last`, and give how many they are.

    With `only_missing`, those of attributes in the bit set `missing`.
    """
    n_later, n_same = 0, 0
    for column in range(alphabet.attribute_of_column.size):
        attribute = alphabet.attribute_of_column[column]
        if not only_missing or (missing >> attribute) & 1:
            scratch.later[n_later] = column + HEAD
            n_later += 1
            if attribute > last:
                scratch.same[n_same] = column + HEAD
                n_same += 1
    return n_later, n_same


@njit
def count_first(rows: Rows, base: int, clock: int, scratch: Scratch) -> int:
    """Weigh the rows that hold each wanted item."""
    stride = rows.n_columns + HEAD
    stop = 0
    for event in range(rows.row_of_event.size):
        at = event * stride
        if event == stop:
            clock += 1
            stop = rows.records[at]
        for i in range(at + HEAD, at + stride):
            way = rows.records[i]
            if way >= 0 and base <= scratch.stamps[way] < clock:
                scratch.stamps[way] = clock
                scratch.weights[way] += (np.int64(rows.records[at + 1]) << 32) | rows.records[at + 2]
    return clock


@njit
def count_next(
    rows: Rows,
    n_items: int,
    events: Codes,
    low: int,
    high: int,
    n_later: int,
    n_same: int,
    base: int,
    clock: int,
    scratch: Scratch,
) -> int:
    """Weigh the rows that hold each wanted way to go on after a prefix, and give the new clock.

    The prefix can end in the events ``events[low:high]``. Stamps from `base` on mark what is wanted.
    """
    records, stride = rows.records, rows.n_columns + HEAD
    i = low
    while i < high:
        event = np.int64(events[i])
        at = event * stride
        stop = np.int64(records[at])
        weight = (np.int64(records[at + 1]) << 32) | records[at + 2]
        clock += 1
        for place in range(at + stride, stop * stride, stride):
            for j in range(n_later):
                way = records[place + scratch.later[j]]
                if way >= 0 and base <= scratch.stamps[way] < clock:
                    scratch.stamps[way] = clock
                    scratch.weights[way] += weight
        if n_same == 0:
            while i < high and events[i] < stop:
                i += 1
            continue
        while True:
            for j in range(n_same):
                item = records[at + scratch.same[j]]
                if item >= 0 and base <= scratch.stamps[n_items + item] < clock:
                    scratch.stamps[n_items + item] = clock
                    scratch.weights[n_items + item] += weight
            i += 1
            if i == high or events[i] >= stop:
                break
            at = np.int64(events[i]) * stride
    return clock


@njit
def size_next(
    rows: Rows,
    n_items: int,
    events: Codes,
    low: int,
    high: int,
    n_later: int,
    n_same: int,
    base: int,
    scratch: Scratch,
    fill_of: Counts,
    is_filling: bool,
) -> None:
    """Count the events in which each wanted longer sequence can end; or list them, from ``fill_of`` on."""
    records, stride = rows.records, rows.n_columns + HEAD
    i = low
    while i < high:
        at = np.int64(events[i]) * stride
        stop = np.int64(records[at])
        for place in range(at + stride, stop * stride, stride):
            for j in range(n_later):
                way = records[place + scratch.later[j]]
                if way >= 0 and scratch.stamps[way] >= base:
                    if is_filling:
                        events[fill_of[way]] = place // stride
                        fill_of[way] += 1
                    else:
                        scratch.sizes[way] += 1
        while True:
            for j in range(n_same):
                item = records[at + scratch.same[j]]
                if item >= 0 and scratch.stamps[n_items + item] >= base:
                    if is_filling:
                        events[fill_of[n_items + item]] = at // stride
                        fill_of[n_items + item] += 1
                    else:
                        scratch.sizes[n_items + item] += 1
            i += 1
            if i == high or events[i] >= stop:
                break
            at = np.int64(events[i]) * stride


@njit
def _add_values(rows: Rows, event: int, slot: int, counts: Counts) -> None:
    """Count the protected values of the persons of an event's row."""
    row = rows.row_of_event[event]
    for i in range(rows.member_offsets[row], rows.member_offsets[row + 1]):
        history = rows.members[i]
        for j in range(rows.value_offsets[history], rows.value_offsets[history + 1]):
            counts[slot * rows.n_values + rows.values[j]] += rows.value_counts[j]


@njit
def _count_values(
    rows: Rows,
    n_items: int,
    events: Codes,
    low: int,
    high: int,
    n_later: int,
    n_same: int,
    clock: int,
    scratch: Scratch,
    counts: Counts,
) -> int:
    """Count the persons with each protected value behind the ways that have a slot; gives the new clock.

    With ``low < 0`` the prefix is empty, and all events come later.
    """
    records, stride = rows.records, rows.n_columns + HEAD
    n_entries = rows.row_of_event.size if low < 0 else high - low
    stop = np.int64(0)
    for entry in range(n_entries):
        event = np.int64(entry) if low < 0 else np.int64(events[low + entry])
        at = event * stride
        is_first = event >= stop
        if is_first:
            stop = np.int64(records[at])
            clock += 1
        if records[at + 2] == 0:
            continue
        if is_first:
            for place in range(at if low < 0 else at + stride, stop * stride, stride):
                for j in range(n_later):
                    way = records[place + scratch.later[j]]
                    if way >= 0 and scratch.slots[way] >= 0 and scratch.stamps[way] != clock:
                        scratch.stamps[way] = clock
                        _add_values(rows, event, scratch.slots[way], counts)
        if low >= 0:
            for j in range(n_same):
                item = records[at + scratch.same[j]]
                way = n_items + item
                if item >= 0 and scratch.slots[way] >= 0 and scratch.stamps[way] != clock:
                    scratch.stamps[way] = clock
                    _add_values(rows, event, scratch.slots[way], counts)
    return clock


@njit
def find_highest(
    rows: Rows,
    n_items: int,
    events: Codes,
    low: int,
    high: int,
    n_later: int,
    n_same: int,
    doubtful: Codes,
    limits: Limits,
    clock: int,
    scratch: Scratch,
) -> tuple[Codes, Counts, int]:
    """Give for each doubtful way the protected value that it tells, -1 for none, and who has it."""
    told = np.full(doubtful.size, -1, np.int32)
    highs = np.zeros(doubtful.size, np.int64)
    batch = max(MOST_CELLS // max(rows.n_values, 1), 1)
    for start in range(0, doubtful.size, batch):
        stop = min(start + batch, doubtful.size)
        counts = np.zeros((stop - start) * rows.n_values, np.int64)
        for i in range(start, stop):
            scratch.slots[doubtful[i]] = i - start
        clock = _count_values(rows, n_items, events, low, high, n_later, n_same, clock, scratch, counts)
        for i in range(start, stop):
            scratch.slots[doubtful[i]] = -1
            support = scratch.weights[doubtful[i]] >> 32
            for value in range(rows.n_values):
                n_high = counts[(i - start) * rows.n_values + value]
                if n_high > highs[i]:
                    highs[i] = n_high
                    if _exceeds_share(n_high, limits.c, support):
                        told[i] = value
    return told, highs, clock
