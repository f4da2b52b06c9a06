"""Rows as bit masks: which symbols are still ahead of a place, and where a symbol comes next.

The symbols of a row are ranked by first appearance, and 64 of them make a part. So masks have one word
whatever the size of the alphabet, and rows with more than 64 different symbols have several parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Offsets

    Bits = npt.NDArray[np.uint64]

_RANKS = np.zeros(67, np.int64)
for _bit in range(64):
    _RANKS[2**_bit % 67] = _bit  # the powers of two below 2**64 all differ modulo 67
_ONE = np.uint64(1)
_ALL = np.uint64(2**64 - 1)
_PRIME = np.uint64(67)


@njit
def lowest(mask: np.uint64) -> int:
    """Give the number of the lowest bit that is set. Requires ``mask > 0``."""
    rank: int = _RANKS[np.int64((mask ^ (mask & (mask - _ONE))) % _PRIME)]
    return rank


@njit
def list_parts(
    items: Codes, offsets: Offsets, n_symbols: int
) -> tuple[Codes, Offsets, Codes, Offsets, Offsets]:
    """List the parts of all rows and their symbols.

    Answers the row of each part, where its symbols begin, all symbols, the first part of each row (one
    more at the end), and where the places of each row begin among its masks. Requires codes below
    `n_symbols`.
    """
    n_rows = offsets.size - 1
    seen_in = np.full(n_symbols, -1, np.int64)
    first_parts = np.zeros(n_rows + 1, np.int64)
    n_different = np.zeros(n_rows, np.int64)
    total = 0
    for row in range(n_rows):
        for i in range(offsets[row], offsets[row + 1]):
            if seen_in[items[i]] != row:
                seen_in[items[i]] = row
                n_different[row] += 1
        total += n_different[row]
        first_parts[row + 1] = first_parts[row] + (n_different[row] + 63) // 64
    part_rows = np.empty(first_parts[n_rows], np.int32)
    part_symbols = np.empty(first_parts[n_rows], np.int64)
    symbols = np.empty(total, np.int32)
    ahead_starts = np.zeros(n_rows + 1, np.int64)
    seen_in[:] = -1
    at = 0
    for row in range(n_rows):
        for part in range(first_parts[row], first_parts[row + 1]):
            part_rows[part] = row
            part_symbols[part] = at + 64 * (part - first_parts[row])
        n_parts = first_parts[row + 1] - first_parts[row]
        ahead_starts[row + 1] = ahead_starts[row] + n_parts * (offsets[row + 1] - offsets[row] + 1)
        for i in range(offsets[row], offsets[row + 1]):
            if seen_in[items[i]] != row:
                seen_in[items[i]] = row
                symbols[at] = items[i]
                at += 1
    return part_rows, part_symbols, symbols, first_parts, ahead_starts


@njit
def mark_rows(
    items: Codes,
    offsets: Offsets,
    n_symbols: int,
    part_symbols: Offsets,
    symbols: Codes,
    first_parts: Offsets,
    ahead_starts: Offsets,
) -> tuple[Bits, Bits, Offsets]:
    """Mark the symbols ahead of each place, part by part, and the places of each symbol, 64 by 64.

    A row of ``n`` items has ``n + 1`` places, the last being its end. The third answer tells where the places
    of each row's symbols begin.
    """
    n_rows = offsets.size - 1
    bit_starts = np.zeros(n_rows + 1, np.int64)
    for row in range(n_rows):
        first, last = first_parts[row], first_parts[row + 1]
        n_different = 0
        if last > first:
            stop = part_symbols[last] if last < part_symbols.size else symbols.size
            n_different = stop - part_symbols[first]
        n_blocks = (offsets[row + 1] - offsets[row] + 63) // 64
        bit_starts[row + 1] = bit_starts[row] + n_different * n_blocks
    ahead = np.zeros(ahead_starts[n_rows], np.uint64)
    bits = np.zeros(bit_starts[n_rows], np.uint64)
    rank_of = np.zeros(n_symbols, np.int64)
    for row in range(n_rows):
        start, length = offsets[row], offsets[row + 1] - offsets[row]
        if length == 0:
            continue
        n_parts = first_parts[row + 1] - first_parts[row]
        n_blocks = (length + 63) // 64
        base = part_symbols[first_parts[row]]
        n_different = (bit_starts[row + 1] - bit_starts[row]) // n_blocks
        for rank in range(n_different):
            rank_of[symbols[base + rank]] = rank
        for place in range(length - 1, -1, -1):
            rank = rank_of[items[start + place]]
            here = ahead_starts[row] + place * n_parts
            for part in range(n_parts):
                ahead[here + part] = ahead[here + n_parts + part]
            ahead[here + (rank >> 6)] |= _ONE << np.uint64(rank & 63)
            bits[bit_starts[row] + rank * n_blocks + (place >> 6)] |= _ONE << np.uint64(place & 63)
    return ahead, bits, bit_starts


@njit
def next_place(bits: Bits, start: int, place: int) -> int:
    """Give the first place from `place` on of the symbol whose places are marked from ``bits[start]`` on.

    Requires that there is one.
    """
    block = place >> 6
    word = bits[start + block] & (_ALL << np.uint64(place & 63))
    while word == 0:
        block += 1
        word = bits[start + block]
    found: int = (block << 6) + lowest(word)
    return found
