"""What the search for channels stands on: open sequences, rows of events, and the choice of what to suppress.

Open sequences are a growing set of item sequences that all begin with members of the set: a trie. A member
has a number; the empty sequence is number 0. A child of a member is known by the kind of its last step (0:
the item stands in a new event, 1: in the last one) and the item. Items fall into groups; the children of a
member by items of one group stand side by side, in order, and have consecutive numbers: a run. A hash table,
at most half filled, leads from member and group to the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Amounts = npt.NDArray[np.float64]

ITEM_BITS = 27
"""Items have smaller numbers than ``2 ** ITEM_BITS``; members than ``2 ** 31``."""
GROUP_BITS = 20
"""Groups have smaller numbers than ``2 ** GROUP_BITS``."""


@inner
def first_slot(key: int, last: int) -> int:
    """Return the slot where a search begins; the products stay below 2 ** 62, so that the JIT may be off."""
    mixed = ((key & 0x7FFFFFFF) * 0x5D1B3A2F) ^ ((key >> 31) * 0x2C1B3C6D)
    mixed = (mixed ^ (mixed >> 29)) & 0x3FFFFFFF
    mixed *= 0x1B873593
    return (mixed ^ (mixed >> 31)) & last


@njit
def find_open(slots: Counts, children: Codes, group_of: Codes, member: int, kind: int, item: int) -> int:
    """Return the number of the open sequence that a step from a member leads to, -1 where it is not open.

    A slot has a key, member and group, -1 where it is empty; and the run's start, times ``2 ** 32``, plus its
    size. ``children[i]`` is the member ``i + 1``.
    """
    last = slots.shape[0] - 1
    key = (member << GROUP_BITS) | group_of[item]
    slot = first_slot(key, last)
    while slots[slot, 0] != key:
        if slots[slot, 0] < 0:
            return -1
        slot = (slot + 1) & last
    child = (kind << ITEM_BITS) | item
    low = slots[slot, 1] >> 32
    high = low + (slots[slot, 1] & 0xFFFFFFFF)
    stop = high
    while low < high:
        middle = (low + high) >> 1
        if children[middle] < child:
            low = middle + 1
        else:
            high = middle
    if low < stop and children[low] == child:
        return int(low + 1)
    return -1


@njit
def add_runs(slots: Counts, keys: Counts, runs: Counts) -> None:
    """Enter runs by their keys. Requires room, and that all keys are new."""
    last = slots.shape[0] - 1
    for i in range(keys.size):
        slot = first_slot(keys[i], last)
        while slots[slot, 0] >= 0:
            slot = (slot + 1) & last
        slots[slot, 0], slots[slot, 1] = keys[i], runs[i]


@njit
def settle_steps(
    steps: Counts, needs: Counts, is_channel: Mask, order: Counts, slots: Counts, is_kept: Mask
) -> None:
    """Keep, in the order given, what needs nothing but kept sequences that are no channels.

    A row of `needs` holds the steps to sequences that have to be open as well, negative is none; they come
    earlier in `order`, or are not among `steps` at all. `slots` has twice as many places as there are steps,
    a power of two, all -1.
    """
    last = slots.size - 1
    for place in range(order.size):
        i = order[place]
        keep = True
        for j in range(needs.shape[1]):
            if keep and needs[i, j] >= 0:
                slot = first_slot(needs[i, j], last)
                while slots[slot] >= 0 and slots[slot] != needs[i, j]:
                    slot = (slot + 1) & last
                keep = slots[slot] >= 0
        is_kept[i] = keep
        if keep and not is_channel[i]:
            slot = first_slot(steps[i], last)
            while slots[slot] >= 0:
                slot = (slot + 1) & last
            slots[slot] = steps[i]


@njit
def project_rows(
    cells: Codes,
    offsets: Offsets,
    columns: Codes,
    item_of_cell: Codes,
    is_fresh: Mask,
    least: int,
    items: Codes,
    new_offsets: Offsets,
    kept: Counts,
) -> int:
    """Translate cells into items; leave out events without an item, and rows with fewer than `least` items.

    Column ``e`` of `cells` is an event; -1 is no value. Column ``c`` of the answer shows a cell ``v`` of the
    attribute ``columns[c, 0]`` as ``item_of_cell[columns[c, 1] + v]``, -1 is no item. Rows without a fresh
    item are left out, too. Writes the items event by event, the offsets of rows in events, and the rows that
    are left; returns the number of these.
    """
    n_columns = columns.shape[0]
    n_kept, n_events = 0, 0
    for row in range(offsets.size - 1):
        start, n_items, n_fresh = n_events, 0, 0
        for event in range(offsets[row], offsets[row + 1]):
            n_here = 0
            for column in range(n_columns):
                cell = cells[columns[column, 0], event]
                item = item_of_cell[columns[column, 1] + cell] if cell >= 0 else np.int32(-1)
                if item >= 0:
                    n_here += 1
                    n_fresh += is_fresh[item]
                items[n_events, column] = item
            if n_here > 0:
                n_events += 1
                n_items += n_here
        if n_items < least or n_fresh == 0:
            n_events = start
        else:
            kept[n_kept] = row
            n_kept += 1
            new_offsets[n_kept] = n_events
    return n_kept


@njit
def write_records(
    items: Codes, offsets: Offsets, rows: Counts, heads: Codes, stops: Offsets, records: Codes
) -> None:
    """Write for each event of some rows, side by side, the end of its row, the row's head, and its items.

    The records of the row ``rows[i]`` end before ``stops[i + 1]``. Where there are more of them than events,
    those without items come first.
    """
    n_columns, n_heads = items.shape[1], heads.shape[1]
    for i in range(rows.size):
        first, shift = offsets[rows[i]], offsets[rows[i] + 1] - stops[i + 1]
        for place in range(stops[i], stops[i + 1]):
            records[place, 0] = stops[i + 1]
            for j in range(n_heads):
                records[place, 1 + j] = heads[i, j]
            for column in range(n_columns):
                item = items[place + shift, column] if place + shift >= first else np.int32(-1)
                records[place, 1 + n_heads + column] = item


@njit
def index_items(records: Codes, n_heads: int, starts: Offsets, events: Codes) -> None:
    """List the events that hold each item, ascending; item ``i`` is in ``events[starts[i]:starts[i + 1]]``.

    `starts` has a place more than that, and all are 0.
    """
    for event in range(records.shape[0]):
        for field in range(n_heads, records.shape[1]):
            if records[event, field] >= 0:
                starts[records[event, field] + 2] += 1
    for item in range(starts.size - 1):
        starts[item + 1] += starts[item]
    for event in range(records.shape[0]):
        for field in range(n_heads, records.shape[1]):
            item = records[event, field]
            if item >= 0:
                events[starts[item + 1]] = event
                starts[item + 1] += 1


@inner
def _add_channel(
    channels: Codes, i: int, parents: Codes, counts: Counts, seen: Counts, clock: int, change: int
) -> None:
    """Change the count of every item that lies at or above an item of a channel, once."""
    for j in range(channels.shape[1]):
        item = channels[i, j]
        while item >= 0 and seen[item] != clock:
            seen[item] = clock
            counts[item] += change
            item = parents[item]


@njit
def pick_items(
    channels: Codes,
    starts: Offsets,
    listed: Codes,
    parents: Codes,
    ends: Codes,
    costs: Amounts,
    candidates: Counts,
    picks: Counts,
) -> int:
    """Pick candidates until every channel is broken; each time the one with most channels per cost.

    Items are numbered depth first, so what lies at or below item ``i`` has the numbers from ``i`` up to
    ``ends[i]``. A channel is a row of items, -1 behind them; those of item ``i`` are
    ``listed[starts[i]:starts[i + 1]]``. Suppressing an item breaks every channel with an item at or below it.

    `costs` is what suppressing all at or below an item costs, and is changed: a pick makes what lies above it
    so much cheaper. `candidates` are used up. Among equals the first is picked. Writes each pick and the
    first channel that it broke, and returns the number of picks. Requires that candidates break every
    channel.
    """
    n_items, n_channels = parents.size, channels.shape[0]
    counts, seen = np.zeros(n_items, np.int64), np.zeros(n_items, np.int64)
    is_broken = np.zeros(n_channels, np.int64)
    clock = np.int64(0)
    for row in range(n_channels):
        clock += 1
        _add_channel(channels, row, parents, counts, seen, clock, np.int64(1))
    n_picks, n_left, n_candidates = 0, n_channels, candidates.size
    while n_left > 0:
        best, best_weight = np.int64(0), -1.0
        # What has no channel left will have none.
        n_before, n_candidates = n_candidates, 0
        for place in range(n_before):
            item = candidates[place]
            if counts[item] > 0:
                candidates[n_candidates] = item
                n_candidates += 1
                weight = counts[item] / costs[item] if costs[item] > 0 else np.inf
                if weight > best_weight:
                    best, best_weight = item, weight
        first = n_channels
        for place in range(starts[best], starts[ends[best]]):
            i = np.int64(listed[place])
            if is_broken[i] == 0:
                is_broken[i] = 1
                first = min(first, i)
                n_left -= 1
                clock += 1
                _add_channel(channels, i, parents, counts, seen, clock, np.int64(-1))
        picks[n_picks, 0], picks[n_picks, 1] = best, first
        n_picks += 1
        above, spent = parents[best], costs[best]
        while above >= 0:
            costs[above] -= spent
            above = parents[above]
        for item in range(best, ends[best]):
            costs[item] = 0.0
    return n_picks


@njit
def bound_cost(
    channels: Codes, ends: Codes, value_starts: Codes, value_stops: Codes, value_costs: Amounts, enough: float
) -> float:
    """Return a cost that no suppression that breaks all channels stays below; stop once it is above `enough`.

    Suppressing value ``v`` costs ``value_costs[v]``, and below item ``i`` lie the values from
    ``value_starts[i]`` to ``value_stops[i]``. A channel is broken only if all values below one of its items
    are suppressed. By linear programming duality, channels may ask for amounts as long as each item can pay
    what its channels ask for out of its values, and no value pays more than it costs; the sum of all amounts
    is a bound. Here one channel after the other asks for as much as is left. `value_costs` is used up.
    """
    total = 0.0
    n_channels, length = channels.shape
    for i in range(n_channels):
        amount = np.inf
        for j in range(length):
            item = channels[i, j]
            if item < 0 or amount <= 0.0:
                continue
            left = 0.0
            for value in range(value_starts[item], value_stops[item]):
                left += value_costs[value]
                if left >= amount:
                    break
            amount = min(amount, left)
        if amount <= 0.0 or amount == np.inf:
            continue
        total += amount
        if total > enough:
            return total
        for j in range(length):
            item = channels[i, j]
            # Who suppresses an item suppresses what lies below it: of nested items only the innermost counts.
            is_paid = item < 0
            for other in range(length):
                if (other < j and channels[i, other] == item) or item < channels[i, other] < ends[item]:
                    is_paid = True
            if is_paid:
                continue
            rest = amount
            for value in range(value_starts[item], value_stops[item]):
                paid = min(rest, value_costs[value])
                value_costs[value] -= paid
                rest -= paid
                if rest <= 0.0:
                    break
    return total
