"""Every index tuple of a sequence within a window, counted once by the symbols it spells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts

DENSE = 1 << 24
"""Cells of a table that is counted in directly; where more could occur, tuples are hashed."""
MOST_DISTINCT = 1 << 25
"""Different tuples that are held at a time."""
_EMPTY = -1


@njit
def next_choice(places: Counts, choice: Counts, window: int) -> bool:
    """Move to the next rising choice of places that fits into the window; False after the last.

    Requires that the present choice fits. All choices of the same first place follow each other.
    """
    last = choice.size - 1
    for k in range(last, -1, -1):
        first = choice[0] if k > 0 else choice[0] + 1
        # The places after this one move along, each to the next.
        end = choice[k] + 1 + last - k
        if end < places.size and places[end] - places[first] <= window:
            choice[k] += 1
            for after in range(k + 1, last + 1):
                choice[after] = choice[after - 1] + 1
            return True
    # No choice from here: look for the next first place that has one.
    for first in range(choice[0] + 2, places.size - last):
        if places[first + last] - places[first] <= window:
            for k in range(last + 1):
                choice[k] = first + k
            return True
    return False


@njit
def first_choice(places: Counts, length: int, window: int) -> Counts:
    """Find the first rising choice that fits; an empty one where there is none."""
    for first in range(places.size - length + 1):
        if places[first + length - 1] - places[first] <= window:
            return np.arange(first, first + length)
    return np.arange(0)


@njit
def _count_dense(symbols: Codes, places: Counts, n_symbols: int, length: int, window: int) -> Counts:
    """Count in a table of ``n_symbols ** length`` cells, the first symbol being the highest digit."""
    table = np.zeros(n_symbols**length, np.int64)
    n = places.size
    if length == 2:
        for a in range(n):
            b = a + 1
            row = symbols[a] * n_symbols
            while b < n and places[b] - places[a] <= window:
                table[row + symbols[b]] += 1
                b += 1
    elif length == 3:
        for a in range(n):
            b = a + 1
            while b < n and places[b] - places[a] <= window:
                row = (symbols[a] * n_symbols + symbols[b]) * n_symbols
                c = b + 1
                while c < n and places[c] - places[a] <= window:
                    table[row + symbols[c]] += 1
                    c += 1
                b += 1
    else:
        choice = first_choice(places, length, window)
        more = choice.size > 0
        while more:
            table[_key(symbols, choice, n_symbols)] += 1
            more = next_choice(places, choice, window)
    return table


@njit
def _key(symbols: Codes, choice: Counts, n_symbols: int) -> int:
    key = 0
    for k in range(choice.size):
        key = key * n_symbols + symbols[choice[k]]
    return key


@njit
def _slot(keys: Counts, key: int) -> int:
    """Find the place of a key in an open table whose size is a power of two."""
    mask = keys.size - 1
    at = (key ^ (key >> 12) ^ (key >> 27)) & mask
    while keys[at] != _EMPTY and keys[at] != key:
        at = (at + 1) & mask
    return at


@njit
def _count_hashed(
    symbols: Codes, places: Counts, n_symbols: int, length: int, window: int, most: int
) -> tuple[Counts, Counts]:
    """Count in a growing open table: keys in rising order and their counts; none beyond `most` keys."""
    keys, counts = np.full(1 << 12, _EMPTY, np.int64), np.zeros(1 << 12, np.int64)
    n_keys = 0
    choice = first_choice(places, length, window)
    more = choice.size > 0
    while more:
        key = _key(symbols, choice, n_symbols)
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
        more = next_choice(places, choice, window)
    used = np.flatnonzero(keys != _EMPTY)
    order = np.argsort(keys[used])
    return keys[used][order], counts[used][order]


@njit
def count_tuples(
    symbols: Codes, n_symbols: int, length: int, window: int, dense: int, most: int
) -> tuple[npt.NDArray[np.int32], Counts]:
    """List the different tuples of `length` symbols within the window, in order, and how often each occurs.

    A symbol of -1 takes part in no tuple. A table of up to `dense` cells is counted in directly. Nothing is
    listed where there are more than `most` different ones. Requires ``length > 0`` and
    ``n_symbols ** length < 2^63``.
    """
    places = np.flatnonzero(symbols >= 0)
    symbols = symbols[places]
    if np.float64(n_symbols) ** length <= dense:
        table = _count_dense(symbols, places, n_symbols, length, window)
        keys = np.flatnonzero(table)
        counts = table[keys]
        if keys.size > most:
            keys, counts = keys[:0], counts[:0]
    else:
        keys, counts = _count_hashed(symbols, places, n_symbols, length, window, most)
    tuples = np.empty((keys.size, length), np.int32)
    for row in range(keys.size):
        rest = keys[row]
        for k in range(length - 1, -1, -1):
            tuples[row, k] = rest % n_symbols
            rest //= n_symbols
    return tuples, counts
