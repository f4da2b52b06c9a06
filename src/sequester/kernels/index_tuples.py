"""Every index tuple of a sequence within a window, counted once by the symbols it spells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts

DENSE = 1 << 24
"""Cells of a table that is counted in directly; where more could occur, tuples are hashed."""
MOST_DISTINCT = 1 << 25
"""Different tuples that are held at a time."""
_EMPTY = -1


@njit(cache=True, nogil=True)
def next_steps(steps: Counts, widest: int) -> bool:
    """Move to the next choice of rising steps of at most `widest`; False after the last."""
    k = steps.size - 1
    while k >= 0 and steps[k] == widest - (steps.size - 1 - k):
        k -= 1
    if k < 0:
        return False
    steps[k] += 1
    for after in range(k + 1, steps.size):
        steps[after] = steps[after - 1] + 1
    return True


@njit(cache=True, nogil=True)
def _count_dense(symbols: Codes, n_symbols: int, length: int, window: int) -> Counts:
    """Count in a table of ``n_symbols ** length`` cells, the first symbol being the highest digit."""
    table = np.zeros(n_symbols**length, np.int64)
    n = symbols.size
    steps = np.arange(1, length)
    widest = min(window, n - 1)
    if n < length or widest < length - 1:
        return table
    more = True
    while more:
        last = steps[length - 2] if length > 1 else 0
        if length == 2:
            for i in range(n - last):
                if symbols[i] >= 0 and symbols[i + last] >= 0:
                    table[symbols[i] * n_symbols + symbols[i + last]] += 1
        elif length == 3:
            middle = steps[0]
            for i in range(n - last):
                if symbols[i] >= 0 and symbols[i + middle] >= 0 and symbols[i + last] >= 0:
                    key = (symbols[i] * n_symbols + symbols[i + middle]) * n_symbols + symbols[i + last]
                    table[key] += 1
        else:
            for i in range(n - last):
                key = np.int64(symbols[i])
                for k in range(length - 1):
                    symbol = symbols[i + steps[k]]
                    key = _EMPTY if key < 0 or symbol < 0 else key * n_symbols + symbol
                if key >= 0:
                    table[key] += 1
        more = next_steps(steps, widest)
    return table


@njit(cache=True, nogil=True)
def _slot(keys: Counts, key: int) -> int:
    """Find the place of a key in an open table whose size is a power of two."""
    mask = keys.size - 1
    at = (key ^ (key >> 12) ^ (key >> 27)) & mask
    while keys[at] != _EMPTY and keys[at] != key:
        at = (at + 1) & mask
    return at


@njit(cache=True, nogil=True)
def _count_hashed(
    symbols: Codes, n_symbols: int, length: int, window: int, most: int
) -> tuple[Counts, Counts]:
    """Count in a growing open table: keys in rising order and their counts; none beyond `most` keys."""
    keys, counts = np.full(1 << 12, _EMPTY, np.int64), np.zeros(1 << 12, np.int64)
    n_keys, n = 0, symbols.size
    steps = np.arange(1, length)
    widest = min(window, n - 1)
    more = n >= length and widest >= length - 1
    while more:
        last = steps[length - 2] if length > 1 else 0
        for i in range(n - last):
            key: int = symbols[i]
            for k in range(length - 1):
                symbol = symbols[i + steps[k]]
                key = _EMPTY if key < 0 or symbol < 0 else key * n_symbols + symbol
            if key < 0:
                continue
            at = _slot(keys, key)
            if keys[at] == _EMPTY:
                keys[at] = key
                n_keys += 1
            counts[at] += 1
            if 2 * n_keys > keys.size:
                if n_keys > most:
                    return np.empty(0, np.int64), np.empty(0, np.int64)
                old_keys, old_counts = keys, counts
                keys = np.full(4 * old_keys.size, _EMPTY, np.int64)
                counts = np.zeros(4 * old_keys.size, np.int64)
                for old in range(old_keys.size):
                    if old_keys[old] != _EMPTY:
                        at = _slot(keys, old_keys[old])
                        keys[at] = old_keys[old]
                        counts[at] = old_counts[old]
        more = next_steps(steps, widest)
    used = np.flatnonzero(keys != _EMPTY)
    order = np.argsort(keys[used])
    return keys[used][order], counts[used][order]


@njit(cache=True, nogil=True)
def count_tuples(
    symbols: Codes, n_symbols: int, length: int, window: int, dense: int, most: int
) -> tuple[npt.NDArray[np.int32], Counts]:
    """List the different tuples of `length` symbols within the window, in order, and how often each occurs.

    A symbol of -1 takes part in no tuple. A table of up to `dense` cells is counted in directly. Nothing is
    listed where there are more than `most` different ones. Requires ``length > 0`` and
    ``n_symbols ** length < 2^63``.
    """
    if np.float64(n_symbols) ** length <= dense:
        table = _count_dense(symbols, n_symbols, length, window)
        keys = np.flatnonzero(table)
        counts = table[keys]
        if keys.size > most:
            keys, counts = keys[:0], counts[:0]
    else:
        keys, counts = _count_hashed(symbols, n_symbols, length, window, most)
    tuples = np.empty((keys.size, length), np.int32)
    for row in range(keys.size):
        rest = keys[row]
        for k in range(length - 1, -1, -1):
            tuples[row, k] = rest % n_symbols
            rest //= n_symbols
    return tuples, counts
