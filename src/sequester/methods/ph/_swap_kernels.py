"""Count the swaps between two orders of the same items: the Cayley distance where items may repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Matrix = npt.NDArray[np.int64]


@inner
def _filled(size: int, value: int) -> Counts:
    """Return an array of one value; what numpy has for it takes longer to compile."""
    values = np.empty(size, np.int64)
    for i in range(size):
        values[i] = value
    return values


@inner
def _take_cycle(moves: Matrix, size: int, parents: Counts, queue: Counts) -> int:
    """Take a shortest cycle of at most `size` out of the moves; return its length, 0 where there is none."""
    n = moves.shape[0]
    for start in range(n):
        for node in range(n):
            parents[node] = -1
        queue[0] = start
        head, tail, level, level_end = 0, 1, 0, 1
        while head < tail and level < size:
            node = queue[head]
            head += 1
            for other in range(n):
                if moves[node, other] > 0:
                    if other == start:
                        moves[node, start] -= 1
                        while node != start:
                            moves[parents[node], node] -= 1
                            node = parents[node]
                        return level + 1
                    if parents[other] < 0:
                        parents[other] = node
                        queue[tail] = other
                        tail += 1
            if head == level_end:
                level += 1
                level_end = tail
    return 0


@njit
def count_swaps(before: Codes, after: Codes, offsets: Offsets, n_symbols: int) -> Counts:
    """Count, for each row, the swaps of two places that turn `before` into `after`.

    Items that are equal may stand for each other, whichever way takes fewer swaps: as many cycles as possible
    are taken out of the moves, short ones first. A place of `after` with -1 holds what is missing in the row.
    """
    swaps: Counts = _filled(offsets.size - 1, 0)
    local_of = _filled(n_symbols, -1)
    for row in range(offsets.size - 1):
        start, stop = offsets[row], offsets[row + 1]
        # Give the moved symbols numbers of their own, and find out what is missing.
        met, balance = _filled(stop - start, -1), _filled(stop - start, 0)
        n_met = 0
        for i in range(start, stop):
            if before[i] != after[i]:
                for side in (before[i], after[i]):
                    if side >= 0 and local_of[side] < 0:
                        local_of[side] = n_met
                        met[n_met] = side
                        n_met += 1
                balance[local_of[before[i]]] += 1
                if after[i] >= 0:
                    balance[local_of[after[i]]] -= 1
        # What is missing goes to its own place where it was deleted there, and to any such place otherwise.
        filled = _filled(stop - start, -1)
        for i in range(stop - start):
            filled[i] = after[start + i]
        for is_own in (True, False):
            for i in range(stop - start):
                if filled[i] < 0:
                    own = local_of[before[start + i]]
                    for symbol in range(n_met):
                        if balance[symbol] > 0 and (symbol == own or not is_own):
                            balance[symbol] -= 1
                            filled[i] = met[symbol]
                            break
        moves = _filled(n_met * n_met, 0).reshape(n_met, n_met)
        n_moves = 0
        for i in range(stop - start):
            if before[start + i] != filled[i]:
                moves[local_of[before[start + i]], local_of[filled[i]]] += 1
                n_moves += 1
        for j in range(n_met):
            local_of[met[j]] = -1
        parents, queue = _filled(n_met, -1), _filled(n_met + 1, -1)
        n_cycles = 0
        size = 2
        while size <= n_met:
            if _take_cycle(moves, size, parents, queue):
                n_cycles += 1
            else:
                size += 1
        swaps[row] = n_moves - n_cycles
    return swaps
