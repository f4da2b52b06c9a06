"""A growing set of item sequences that all begin with members of the set: a trie with children in runs.

A member has a number; the empty sequence is number 0. A child of a member is known by the kind of its last
step (0: the item stands in a new event, 1: in the last one) and the item. Items fall into groups; the
children of a member by items of one group stand side by side, in order, and have consecutive numbers. A hash
table, at most half filled, leads from member and group to the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask

ITEM_BITS = 27
"""Items have smaller numbers than ``2 ** ITEM_BITS``; members than ``2 ** 31``."""
ITEM_MASK = (1 << ITEM_BITS) - 1
"""The part of a packed child that is its item."""
GROUP_BITS = 20
"""Groups have smaller numbers than ``2 ** GROUP_BITS``."""


class Runs(NamedTuple):
    """The children of all members."""

    keys: Counts
    """Member and group in each slot of the hash table; -1 in an empty one."""
    starts: Counts
    """Where the run begins."""
    sizes: Codes
    """How many children it has."""
    children: Codes
    """Kind and item of each child; ``children[i]`` is the member ``first + i``."""
    first: int
    """The number of the first child."""


@njit
def pack_child(kind: int, item: int) -> int:
    """Write the last step of a child as one number."""
    return int((np.int64(kind) << ITEM_BITS) | np.int64(item))


@njit
def pack_step(member: int, kind: int, item: int) -> int:
    """Write a step from a member to its child as one number."""
    return int((np.int64(member) << (ITEM_BITS + 1)) | pack_child(kind, item))


@njit
def _first_slot(key: int, n_slots: int) -> int:
    """Give the slot where a search begins; the products stay below 2 ** 62, so that the JIT may be off."""
    mixed = ((key & 0x7FFFFFFF) * 0x5D1B3A2F) ^ ((key >> 31) * 0x2C1B3C6D)
    mixed = (mixed ^ (mixed >> 29)) & 0x3FFFFFFF
    mixed *= 0x1B873593
    return (mixed ^ (mixed >> 31)) & (n_slots - 1)


@njit
def find_run(runs: Runs, member: int, group: int) -> tuple[int, int]:
    """Give the bounds of a member's children by items of a group; equal ones where there are none."""
    key = (np.int64(member) << GROUP_BITS) | np.int64(group)
    slot = _first_slot(key, runs.keys.size)
    while runs.keys[slot] != key:
        if runs.keys[slot] == -1:
            return 0, 0
        slot = (slot + 1) & (runs.keys.size - 1)
    return runs.starts[slot], runs.starts[slot] + runs.sizes[slot]


@njit
def find_child(runs: Runs, member: int, group: int, child: int) -> int:
    """Give the number of a member's child, -1 where it is no member."""
    low, high = find_run(runs, member, group)
    stop = high
    while low < high:
        middle = (low + high) >> 1
        if runs.children[middle] < child:
            low = middle + 1
        else:
            high = middle
    if low < stop and runs.children[low] == child:
        return int(runs.first + low)
    return -1


@njit
def add_runs(runs: Runs, members: Counts, groups: Codes, sizes: Codes, start: int) -> None:
    """Enter new runs that stand one after the other from `start` on. Requires room, and that all are new."""
    mask = runs.keys.size - 1
    for i in range(members.size):
        key = (np.int64(members[i]) << GROUP_BITS) | np.int64(groups[i])
        slot = _first_slot(key, runs.keys.size)
        while runs.keys[slot] != -1:
            slot = (slot + 1) & mask
        runs.keys[slot] = key
        runs.starts[slot] = start
        runs.sizes[slot] = sizes[i]
        start += sizes[i]


@njit
def move_runs(old: Runs, new: Runs) -> None:
    """Enter all runs of one table into another, which has room for them."""
    mask = new.keys.size - 1
    for i in range(old.keys.size):
        if old.keys[i] != -1:
            slot = _first_slot(old.keys[i], new.keys.size)
            while new.keys[slot] != -1:
                slot = (slot + 1) & mask
            new.keys[slot] = old.keys[i]
            new.starts[slot] = old.starts[i]
            new.sizes[slot] = old.sizes[i]


@njit
def settle_steps(steps: Counts, asks: Counts, is_channel: Mask, order: Counts) -> Mask:
    """Keep, in the order given, what asks for nothing but kept sequences that are no channels.

    A row of `asks` holds the steps to sequences that have to be open as well, -1 is none; they come earlier
    in `order`, or are not among `steps` at all.
    """
    n_slots = 16
    while n_slots < 2 * steps.size:
        n_slots *= 2
    kept_steps = np.full(n_slots, -1, np.int64)
    is_kept = np.zeros(steps.size, np.bool_)
    for place in range(order.size):
        i = order[place]
        keep = True
        for j in range(asks.shape[1]):
            if asks[i, j] >= 0:
                slot = _first_slot(asks[i, j], n_slots)
                while kept_steps[slot] != -1 and kept_steps[slot] != asks[i, j]:
                    slot = (slot + 1) & (n_slots - 1)
                if kept_steps[slot] == -1:
                    keep = False
                    break
        is_kept[i] = keep
        if keep and not is_channel[i]:
            slot = _first_slot(steps[i], n_slots)
            while kept_steps[slot] != -1:
                slot = (slot + 1) & (n_slots - 1)
            kept_steps[slot] = steps[i]
    return is_kept
