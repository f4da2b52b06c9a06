"""Count the swaps between two orders of the same items: the Cayley distance where items may repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.ragged import offsets_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Table = npt.NDArray[np.int64]

_MET, _BALANCE, _FILLED, _PARENTS, _QUEUE, _N_FIELDS = range(6)
"""Of the symbols that move in a row, by numbers of their own: which they are, how often each is missing, what
a place holds in the end, the node before each and those to visit in the search for a cycle."""


def count_swaps(before: Codes, after: Codes, offsets: Offsets, n_symbols: int) -> Counts:
    """Count, for each row, the swaps of two places that turn `before` into `after`.

    Items that are equal may stand for each other, whichever way takes fewer swaps: as many cycles as possible
    are taken out of the moves, short ones first. A place of `after` with -1 holds what is missing in the row.
    """
    lengths = np.diff(offsets)
    n_moved = np.diff(offsets_of(before != after)[offsets])
    most = int(np.minimum(2 * n_moved, lengths).max(initial=0))
    local_of = np.full(n_symbols, -1, np.int64)
    scratch = np.empty((_N_FIELDS, int(lengths.max(initial=0)) + 1), np.int64)
    swaps = np.empty(len(lengths), np.int64)
    _fill_swaps(before, after, offsets, local_of, scratch, np.empty(most * most, np.int64), swaps)
    return swaps


@inner
def _take_cycle(moves: Counts, n: int, size: int, scratch: Table) -> int:
    """Take a shortest cycle of at most `size` out of the moves among `n` symbols; return its length, or 0."""
    for start in range(n):
        for node in range(n):
            scratch[_PARENTS, node] = -1
        scratch[_QUEUE, 0] = start
        head, tail, level, level_end = 0, 1, 0, 1
        while head < tail and level < size:
            node = scratch[_QUEUE, head]
            head += 1
            for other in range(n):
                if moves[node * n + other] > 0:
                    if other == start:
                        moves[node * n + start] -= 1
                        while node != start:
                            moves[scratch[_PARENTS, node] * n + node] -= 1
                            node = scratch[_PARENTS, node]
                        return level + 1
                    if scratch[_PARENTS, other] < 0:
                        scratch[_PARENTS, other] = node
                        scratch[_QUEUE, tail] = other
                        tail += 1
            if head == level_end:
                level += 1
                level_end = tail
    return 0


@njit
def _fill_swaps(
    before: Codes,
    after: Codes,
    offsets: Offsets,
    local_of: Counts,
    scratch: Table,
    moves: Counts,
    swaps: Counts,
) -> None:
    for row in range(swaps.size):
        start, n_places = offsets[row], offsets[row + 1] - offsets[row]
        # Give the moved symbols numbers of their own, and find out what is missing.
        n_met = 0
        for place in range(2 * n_places):
            i = start + place // 2
            symbol = before[i] if place % 2 == 0 else after[i]
            if before[i] != after[i] and symbol >= 0:
                if local_of[symbol] < 0:
                    local_of[symbol] = n_met
                    scratch[_MET, n_met], scratch[_BALANCE, n_met] = symbol, 0
                    n_met += 1
                scratch[_BALANCE, local_of[symbol]] += 1 - 2 * (place % 2)
            scratch[_FILLED, place // 2] = after[i]
        # What is missing goes to its own place where it was deleted there, and to any such place otherwise.
        for turn in range(2):
            for i in range(n_places):
                if scratch[_FILLED, i] < 0:
                    own = local_of[before[start + i]]
                    for symbol in range(n_met):
                        if scratch[_BALANCE, symbol] > 0 and (symbol == own or turn == 1):
                            scratch[_BALANCE, symbol] -= 1
                            scratch[_FILLED, i] = scratch[_MET, symbol]
                            break
        for i in range(n_met * n_met):
            moves[i] = 0
        n_moves = 0
        for i in range(n_places):
            if before[start + i] != scratch[_FILLED, i]:
                moves[local_of[before[start + i]] * n_met + local_of[scratch[_FILLED, i]]] += 1
                n_moves += 1
        for j in range(n_met):
            local_of[scratch[_MET, j]] = -1
        n_cycles, size = 0, 2
        while size <= n_met:
            if _take_cycle(moves, n_met, size, scratch) > 0:
                n_cycles += 1
            else:
                size += 1
        swaps[row] = n_moves - n_cycles
