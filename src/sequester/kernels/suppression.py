"""Choose items whose suppression breaks all channels: most channels per cost first. And a bound on the cost.

Items are numbered depth first, so what lies at or below item ``i`` has the numbers from ``i`` up to
``ends[i]``. A channel is a row of items, -1 behind them. Suppressing an item breaks every channel with an
item at or below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask

    Costs = npt.NDArray[np.float64]


@njit
def _list_channels(channels: Codes, n_items: int) -> tuple[Counts, Counts]:
    """List the channels of each item, ascending: offsets, and the channels."""
    offsets = np.zeros(n_items + 1, np.int64)
    for i in range(channels.shape[0]):
        for j in range(channels.shape[1]):
            if channels[i, j] >= 0:
                offsets[channels[i, j] + 1] += 1
    for item in range(n_items):
        offsets[item + 1] += offsets[item]
    place = offsets[:-1].copy()
    listed = np.empty(offsets[n_items], np.int64)
    for i in range(channels.shape[0]):
        for j in range(channels.shape[1]):
            item = channels[i, j]
            if item >= 0:
                listed[place[item]] = i
                place[item] += 1
    return offsets, listed


@njit
def _add_channel(
    channel: Codes, parents: Codes, counts: Counts, seen: Counts, clock: int, change: int
) -> None:
    """Change the count of every item that lies at or above an item of a channel, once."""
    for j in range(channel.size):
        item = channel[j]
        while item >= 0 and seen[item] != clock:
            seen[item] = clock
            counts[item] += change
            item = parents[item]


@njit
def pick_items(
    channels: Codes, parents: Codes, ends: Codes, costs: Costs, is_allowed: Mask, is_root: Mask
) -> tuple[Codes, Counts, Counts, int]:
    """Pick allowed items until every channel is broken; each time the one with most channels per cost.

    Items of channels can be picked, and roots where `parents` leads to them.

    `costs` is what suppressing all at or below an item costs; a pick makes what lies above it so much
    cheaper. Among equals the lowest number is picked. Gives the picks, for each the first channel that it
    broke and how many it broke, and a channel that nothing allowed breaks, -1 where there is none.
    """
    n_items = parents.size
    costs = costs.copy()
    counts = np.zeros(n_items, np.int64)
    seen = np.zeros(n_items, np.int64)
    clock = 0
    offsets, listed = _list_channels(channels, n_items)
    is_broken = np.zeros(channels.shape[0], np.bool_)
    is_candidate = is_root.copy()
    for i in range(channels.shape[0]):
        clock += 1
        _add_channel(channels[i], parents, counts, seen, clock, 1)
        hopeless = True
        for j in range(channels.shape[1]):
            item = channels[i, j]
            if item >= 0:
                is_candidate[item] = True
            while item >= 0 and hopeless:
                hopeless = not is_allowed[item]
                item = parents[item]
        if hopeless:
            return np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int64), i
    candidates = np.flatnonzero(is_allowed & is_candidate & (counts > 0))
    picks = np.empty(candidates.size, np.int32)
    forced_by = np.empty(candidates.size, np.int64)
    n_broken = np.zeros(candidates.size, np.int64)
    n_picks, n_left = 0, channels.shape[0]
    while n_left > 0:
        best, best_weight = -1, -1.0
        for place in range(candidates.size):
            item = candidates[place]
            if counts[item] > 0:
                weight = counts[item] / costs[item] if costs[item] > 0 else np.inf
                if weight > best_weight:
                    best, best_weight = item, weight
        first = channels.shape[0]
        for item in range(best, ends[best]):
            for place in range(offsets[item], offsets[item + 1]):
                i = listed[place]
                if not is_broken[i]:
                    is_broken[i] = True
                    first = min(first, i)
                    n_broken[n_picks] += 1
                    clock += 1
                    _add_channel(channels[i], parents, counts, seen, clock, -1)
        picks[n_picks] = best
        forced_by[n_picks] = first
        n_left -= n_broken[n_picks]
        n_picks += 1
        above, spent = parents[best], costs[best]
        while above >= 0:
            costs[above] -= spent
            above = parents[above]
        costs[best : ends[best]] = 0.0
    return picks[:n_picks].copy(), forced_by[:n_picks].copy(), n_broken[:n_picks].copy(), -1


@njit
def bound_cost(
    channels: Codes, ends: Codes, value_starts: Codes, value_stops: Codes, value_costs: Costs, enough: float
) -> float:
    """Give a cost that no suppression that breaks all channels stays below; stop once it is above `enough`.

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
            if item < 0:
                continue
            left = 0.0
            for value in range(value_starts[item], value_stops[item]):
                left += value_costs[value]
                if left >= amount:
                    break
            amount = min(amount, left)
            if amount <= 0.0:
                break
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
