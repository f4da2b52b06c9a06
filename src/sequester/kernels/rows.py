"""Rows of codes: their different symbols, which are equal, their order; and buffers that grow.

Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``. The functions without a decorator prepare what the loops
need, so that each loop is compiled once, for codes of 32 bits. The last ones are for other kernels; they sort
themselves, because the sort of numpy takes a second to compile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.ragged import owners_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Integers = npt.NDArray[np.integer[Any]]

MOST = 2**31 - 1
"""The largest code."""


def list_symbols(items: Integers, offsets: Offsets, n_symbols: int) -> tuple[Codes, Offsets]:
    """List the different symbols of each row, by first appearance. Requires codes below `n_symbols`."""
    symbols = np.empty(len(items), np.int32)
    symbol_offsets = np.zeros(len(offsets), np.int64)
    _list_symbols(_codes(items), frozen(offsets), np.full(n_symbols, -1, np.int64), symbols, symbol_offsets)
    return symbols[: symbol_offsets[-1]], symbol_offsets


def weigh_symbols(items: Integers, offsets: Offsets, weights: Counts, n_symbols: int) -> Counts:
    """Return the weight of the rows that hold each symbol. Requires codes below `n_symbols`."""
    symbols, symbol_offsets = list_symbols(items, offsets, n_symbols)
    totals = np.bincount(symbols, weights[owners_of(symbol_offsets)], n_symbols)
    return totals.astype(np.int64)


def fold_rows(items: Integers, offsets: Offsets) -> tuple[Codes, Counts]:
    """Return for each row the number of its first equal row, and those first rows in order of appearance.

    Equality is exact: a hash only chooses where to look.
    """
    n_rows = len(offsets) - 1
    slots = np.full(1 << max(2 * n_rows, 16).bit_length(), -1, np.int32)
    group_of_row, first_rows = np.empty(n_rows, np.int32), np.empty(n_rows, np.int64)
    n_groups = _fold_rows(_codes(items), frozen(offsets), slots, group_of_row, first_rows)
    return group_of_row, first_rows[:n_groups]


def sort_rows(items: Integers, offsets: Offsets, rows: Counts) -> Counts:
    """Sort the row numbers `rows` by what the rows hold; equal rows keep their order."""
    orders = np.empty((2, len(rows)), np.int64)
    orders[0] = rows
    order: Counts = orders[_sort_rows(_codes(items), frozen(offsets), orders)]
    return order


def _codes(items: Integers) -> Codes:
    """Return numbers of 32 bits that are equal, and ordered, as the given ones are."""
    if items.dtype.itemsize > 4 and items.size and max(items.max(), -items.min()) > MOST:
        items = np.unique(items, return_inverse=True)[1]
    return frozen(np.ascontiguousarray(items, np.int32))


def frozen(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that cannot be written to: for numba that is a type of its own, and one is enough."""
    view = values.view()
    view.flags.writeable = False
    return view


@njit
def _list_symbols(
    items: Codes, offsets: Offsets, seen_in: Counts, symbols: Codes, symbol_offsets: Offsets
) -> None:
    n_symbols = 0
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            if seen_in[items[i]] != row:
                seen_in[items[i]] = row
                symbols[n_symbols] = items[i]
                n_symbols += 1
        symbol_offsets[row + 1] = n_symbols


@njit
def _fold_rows(items: Codes, offsets: Offsets, slots: Codes, group_of_row: Codes, first_rows: Counts) -> int:
    """Write the group of each row and the first row of each group; `slots` is twice as long, all -1."""
    n_groups = 0
    for row in range(offsets.size - 1):
        start = offsets[row]
        size = offsets[row + 1] - start
        # 32 bits of state in 64, so that no product overflows and the JIT may be off.
        digest = np.int64(2166136261) ^ size
        for i in range(start, start + size):
            digest = ((digest ^ np.int64(items[i])) * 16777619) & 0xFFFFFFFF
            digest ^= digest >> 15
        slot = digest & (slots.size - 1)
        group = slots[slot]
        while group >= 0:
            other = offsets[first_rows[group]]
            if offsets[first_rows[group] + 1] - other == size:
                n_equal = 0
                while n_equal < size and items[other + n_equal] == items[start + n_equal]:
                    n_equal += 1
                if n_equal == size:
                    break
            slot = (slot + 1) & (slots.size - 1)
            group = slots[slot]
        if group < 0:
            group = n_groups
            slots[slot] = group
            first_rows[group] = row
            n_groups += 1
        group_of_row[row] = group
    return n_groups


@inner
def _precedes(items: Codes, offsets: Offsets, left: int, right: int) -> bool:
    """Return whether row `left` comes strictly before row `right`, a prefix before what it begins."""
    a, b = offsets[left], offsets[right]
    a_stop, b_stop = offsets[left + 1], offsets[right + 1]
    while a < a_stop and b < b_stop and items[a] == items[b]:
        a += 1
        b += 1
    if a < a_stop and b < b_stop:
        return bool(items[a] < items[b])
    return bool(b < b_stop)


@njit
def _sort_rows(items: Codes, offsets: Offsets, orders: npt.NDArray[np.int64]) -> int:
    """Sort the numbers in ``orders[0]`` by merging; return which of the two orders is sorted."""
    size = orders.shape[1]
    at = 0
    width = 1
    while width < size:
        for low in range(0, size, 2 * width):
            middle = min(low + width, size)
            high = min(low + 2 * width, size)
            i, j = low, middle
            for to in range(low, high):
                if i < middle and (j >= high or not _precedes(items, offsets, orders[at, j], orders[at, i])):
                    orders[1 - at, to] = orders[at, i]
                    i += 1
                else:
                    orders[1 - at, to] = orders[at, j]
                    j += 1
        at = 1 - at
        width *= 2
    return at


@inner
def find_slot(keys: Counts, key: int) -> int:
    """Return the place of a key in a hash table, or the free one, -1, where it belongs.

    Requires a power of two of places, one of them free, and keys of 0 and more.
    """
    # Two multiplicative hashes of 31 bits each, so that no product overflows and the JIT may be off.
    mixed = ((key & 0x7FFFFFFF) * 0x9E3779B1) ^ (((key >> 31) & 0x7FFFFFFF) * 0x85EBCA77)
    slot: int = (mixed ^ (mixed >> 17) ^ (mixed >> 31)) & (keys.size - 1)
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & (keys.size - 1)
    return slot


@inner
def ensure_capacity(values: Codes, n_used: int, n_needed: int) -> Codes:
    """Return a buffer with room for `n_needed` values that begins with the first `n_used` of `values`."""
    if n_needed <= values.size:
        return values
    grown = np.empty(max(n_needed, 2 * values.size), values.dtype)
    # Not by slices: the compiler takes seconds over the message for slices that do not fit.
    for i in range(n_used):
        grown[i] = values[i]
    return grown


@inner
def ensure_rows(table: npt.NDArray[np.int64], n_used: int, n_needed: int) -> npt.NDArray[np.int64]:
    """Return a table with room for `n_needed` rows that begins with the first `n_used` of `table`."""
    if n_needed <= table.shape[0]:
        return table
    grown = np.empty((max(n_needed, 2 * table.shape[0]), table.shape[1]), np.int64)
    for i in range(n_used):
        for j in range(table.shape[1]):
            grown[i, j] = table[i, j]
    return grown


@inner
def sort_range(values: Counts, low: int, high: int) -> None:
    """Sort ``values[low:high]`` ascending, by Shell's method."""
    gap = 1
    while 3 * gap + 1 < high - low:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(low + gap, high):
            value = values[i]
            j = i
            while j >= low + gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3
