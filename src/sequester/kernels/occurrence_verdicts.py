"""Judge the sequences that were counted: the rarest, the most telling, and those that break the promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit
from sequester.kernels.occurrence_rows import WITH_VALUE
from sequester.kernels.occurrences import COUNT, KEY, NAME, SEEN, UNWANTED, find
from sequester.kernels.shares import exceeds_share

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts
    from sequester.kernels.occurrences import Nodes, Signature

_exceeds_share = njit(exceeds_share)
SAME_EVENT = 1 << 40
"""Added to the rank of an item in a path that belongs to the event of the item before it."""


class Found(NamedTuple):
    """What the sequences of a signature say."""

    fewest: int
    """The smallest number of persons who have one; -1 where there is none."""
    with_value: int
    """The largest share of them with a protected value: so many persons ..."""
    among: int
    """... of so many."""
    violations: int
    """Sequences that break the promise."""
    paths: Counts
    """The first of them, an item per column; see `_write_path`. -1 behind them."""
    persons: Counts
    """How many persons have each."""
    values: Codes
    """The protected value that makes each of them break the promise; -1 where persons are too few."""
    counts: Counts
    """How many of the persons have it."""


@njit
def list_slots(nodes: Nodes, n_sequences: int) -> Counts:
    """Give the slot of each sequence; the empty one, which has the number 0, has none."""
    slot_of = np.full(n_sequences, -1, np.int64)
    for slot in range(nodes.shape[0]):
        if nodes[slot, KEY] >= 0:
            slot_of[nodes[slot, NAME] >> 1] = slot
    return slot_of


@njit
def want(nodes: Nodes, slot_of: Counts, signature: Signature, c: float, with_value: int, among: int) -> int:
    """Mark the sequences whose protected values must be told apart, and what leads to them; give how many.

    No share of a single value exceeds that of all of them. So a sequence is wanted only if the latter is
    above `c`, or above the largest share that is known already, `with_value` of `among`.
    """
    base = 2 * signature.marks.size
    for number in range(1, slot_of.size):
        nodes[slot_of[number], SEEN] = UNWANTED
    n_wanted = 0
    for number in range(1, slot_of.size):
        slot = slot_of[number]
        if nodes[slot, NAME] & 1:
            persons, have = nodes[slot, COUNT] & (WITH_VALUE - 1), nodes[slot, COUNT] // WITH_VALUE
            if _exceeds_share(have, c, persons) or have * among > with_value * persons:
                n_wanted += 1
                above = number
                while above > 0 and nodes[slot_of[above], SEEN] == UNWANTED:
                    nodes[slot_of[above], SEEN] = -1
                    above = nodes[slot_of[above], KEY] // base
    return n_wanted


@njit
def _write_path(nodes: Nodes, slot_of: Counts, number: int, base: int, ranks: Counts, path: Counts) -> int:
    """Write the items of a sequence into `path`, each by its rank, and give their number.

    `SAME_EVENT` is added where an item belongs to the event of the one before it; so paths of one length are
    in label order, and a shorter event before a longer one that it begins.
    """
    size = 0
    while number > 0:
        key = nodes[slot_of[number], KEY]
        path[size] = ranks[(key % base) >> 1] + SAME_EVENT * (key & 1)
        size += 1
        number = key // base
    for i in range(size // 2):
        path[i], path[size - 1 - i] = path[size - 1 - i], path[i]
    path[size:] = -1
    return size


@njit
def _precedes(left: Counts, left_size: int, right: Counts, right_size: int) -> bool:
    """Tell whether a path is shorter than another, or as long and before it in label order."""
    if left_size != right_size:
        return left_size < right_size
    for i in range(left_size):
        if left[i] != right[i]:
            return bool(left[i] < right[i])
    return False


@njit
def judge(
    nodes: Nodes,
    slot_of: Counts,
    held: Nodes,
    signature: Signature,
    most: int,
    k: int,
    c: float,
    n_shown: int,
) -> Found:
    """Find the smallest support, the largest confidence, and what breaks the promise."""
    base = 2 * signature.marks.size
    is_broken = np.zeros(slot_of.size, np.bool_)
    fewest, violations = -1, 0
    for number in range(1, slot_of.size):
        slot = slot_of[number]
        if nodes[slot, NAME] & 1:
            persons = nodes[slot, COUNT] & (WITH_VALUE - 1)
            fewest = persons if fewest < 0 else min(fewest, persons)
            if persons < k:
                is_broken[number] = True
                violations += 1
    with_value, among = 0, 1
    for slot in range(held.shape[0]):
        if held[slot, KEY] >= 0:
            number = held[slot, KEY] // signature.n_values
            have, persons = held[slot, 1], nodes[slot_of[number], COUNT] & (WITH_VALUE - 1)
            if have * among > with_value * persons:
                with_value, among = have, persons
            if _exceeds_share(have, c, persons) and not is_broken[number]:
                is_broken[number] = True
                violations += 1
    shown = np.full(n_shown, -1, np.int64)
    sizes = np.zeros(n_shown, np.int64)
    paths = np.full((n_shown, most), -1, np.int64)
    path = np.empty(most, np.int64)
    n_found = 0
    for number in range(1, slot_of.size):
        if is_broken[number]:
            size = _write_path(nodes, slot_of, number, base, signature.ranks, path)
            if n_found == n_shown and not _precedes(path, size, paths[n_found - 1], sizes[n_found - 1]):
                continue
            place = n_found if n_found < n_shown else n_found - 1
            n_found = place + 1
            while place > 0 and _precedes(path, size, paths[place - 1], sizes[place - 1]):
                shown[place], sizes[place] = shown[place - 1], sizes[place - 1]
                paths[place] = paths[place - 1]
                place -= 1
            shown[place], sizes[place] = number, size
            paths[place] = path
    persons_of = np.empty(n_found, np.int64)
    values = np.full(n_found, -1, np.int32)
    counts = np.zeros(n_found, np.int64)
    for place in range(n_found):
        persons_of[place] = nodes[slot_of[shown[place]], COUNT] & (WITH_VALUE - 1)
        if persons_of[place] >= k:
            for value in range(signature.n_values):
                slot = find(held, shown[place] * signature.n_values + value)
                if held[slot, KEY] >= 0 and held[slot, 1] > counts[place]:
                    values[place], counts[place] = value, held[slot, 1]
    return Found(fewest, with_value, among, violations, paths[:n_found].copy(), persons_of, values, counts)
