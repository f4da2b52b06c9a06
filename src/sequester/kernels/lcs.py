"""Longest common subsequences with all paths of a tree in one walk, bit-parallel.

The state of a walk is a row of ones, one bit per position of the sequence S. A zero at ``i`` says that the
longest common subsequence with ``S[:i + 1]`` is longer than with ``S[:i]``. Reading a symbol that stands at
the positions M turns V into ``(V + (V & M)) | (V & ~M)``; what the addition carries out of the last position
is by how much the longest common subsequence with all of S has grown (Hyyrö 2004).

A word holds 62 positions in its low bits, and S ends at the highest of them. So no addition overflows 64
bits, the carry is one shift away, and differences of keys keep their sign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets

WORD = 62
"""Positions per word."""
LANES = 32
"""Rows that walk the tree together: enough for the compiler to fill vector registers."""
_ONES = 2**WORD - 1
_UNIT = 32
"""A key is ``(length << 32) - depth``: a longer common subsequence first, then a shallower node."""


@njit(cache=True, nogil=True)
def closest_paths(
    items: Codes,
    offsets: Offsets,
    rows: Counts,
    guesses: Codes,
    symbols: Codes,
    depths: Codes,
    ends: Codes,
    heights: Codes,
    n_symbols: int,
) -> Codes:
    """Find for each of `rows` the node whose path has the longest common subsequence with it.

    Among equals the shallowest node wins, then the first in preorder; node 0, the root, where nothing is
    common. Requires the preorder arrays of `kernels.trie`, codes below `n_symbols`, and in `guesses` for each
    of `rows` a node whose path is a prefix of it: the first bound.
    """
    nodes = np.empty(rows.size, np.int32)
    is_short = np.empty(rows.size, np.bool_)
    for i in range(rows.size):
        is_short[i] = offsets[rows[i] + 1] - offsets[rows[i]] <= WORD
    short = np.nonzero(is_short)[0]
    masks = np.zeros((n_symbols, LANES), np.int64)
    states = np.zeros((heights[0] + 1, LANES), np.int64)
    common = np.zeros((heights[0] + 1, LANES), np.int64)
    for first in range(0, short.size, LANES):
        together = short[first : first + LANES]
        nodes[together] = _walk_together(
            items,
            offsets,
            rows[together],
            guesses[together],
            symbols,
            depths,
            ends,
            heights,
            masks,
            states,
            common,
        )
    places = np.zeros(n_symbols, np.int64)
    for long in np.nonzero(~is_short)[0]:
        row = items[offsets[rows[long]] : offsets[rows[long] + 1]]
        nodes[long] = _walk_alone(row, guesses[long], symbols, depths, ends, heights, places)
    return nodes


@njit(cache=True, nogil=True)
def _walk_together(
    items: Codes,
    offsets: Offsets,
    rows: Counts,
    guesses: Codes,
    symbols: Codes,
    depths: Codes,
    ends: Codes,
    heights: Codes,
    masks: Counts,
    states: Counts,
    common: Counts,
) -> Codes:
    """Walk the tree once for at most `LANES` rows of at most `WORD` items; `masks` comes and leaves zero."""
    nodes = guesses.copy()
    # A lane without a row has no positions and a key that nothing beats.
    sizes = np.zeros(LANES, np.int64)
    best = np.full(LANES, 1 << (_UNIT + 16), np.int64)
    states[0] = 0
    for lane in range(rows.size):
        start, stop = offsets[rows[lane]], offsets[rows[lane] + 1]
        unused = WORD - (stop - start)
        for i in range(start, stop):
            masks[items[i], lane] |= 1 << (unused + i - start)
        states[0, lane] = (_ONES >> unused) << unused
        sizes[lane] = stop - start
        # One below the key of the guess: the first node in preorder that is as good takes it.
        guess = np.int64(depths[guesses[lane]])
        best[lane] = (guess << _UNIT) - guess - 1

    node = 1
    while node < symbols.size:
        depth, height = depths[node], heights[node]
        mask, here, above = masks[symbols[node]], states[depth], states[depth - 1]
        length, length_above = common[depth], common[depth - 1]
        # The sign of a difference tells who is ahead; OR-ing all lanes keeps the loop free of branches.
        ahead = 0
        for lane in range(LANES):
            read = above[lane] & mask[lane]
            total = above[lane] + read
            here[lane] = (total | (above[lane] ^ read)) & _ONES
            grown = length_above[lane] + (total >> WORD)
            length[lane] = grown
            ahead |= best[lane] - ((grown << _UNIT) - depth)
        if ahead < 0:
            for lane in range(rows.size):
                key = (length[lane] << _UNIT) - depth
                if key > best[lane]:
                    best[lane] = key
                    nodes[lane] = node
        # Each level below adds at most one, and no path has more in common with a row than the row has items.
        hope = 0
        for lane in range(LANES):
            reach = min(sizes[lane], length[lane] + height)
            hope |= best[lane] - ((reach << _UNIT) - (depth + reach - length[lane]))
        node = node + 1 if hope < 0 else ends[node]

    for lane in range(rows.size):
        for i in range(offsets[rows[lane]], offsets[rows[lane] + 1]):
            masks[items[i], lane] = 0
    return nodes


@njit(cache=True, nogil=True)
def _walk_alone(
    row: Codes, guess: int, symbols: Codes, depths: Codes, ends: Codes, heights: Codes, places: Counts
) -> int:
    """Walk the tree for one row of any length. `places` comes and leaves all zero."""
    masks = _mask_positions(row, places)
    n_words = masks.shape[1]
    states = np.empty((heights[0] + 1, n_words), np.int64)
    common = np.zeros(heights[0] + 1, np.int64)
    states[0] = masks[0]
    best = (np.int64(depths[guess]) << _UNIT) - depths[guess] - 1
    best_node = guess
    node = 1
    while node < symbols.size:
        depth = depths[node]
        place = places[symbols[node]]
        if place == 0:
            states[depth] = states[depth - 1]
            length = common[depth - 1]
        else:
            length = common[depth - 1] + _read(states[depth - 1], masks[place], states[depth])
            if (length << _UNIT) - depth > best:
                best = (length << _UNIT) - depth
                best_node = node
        common[depth] = length
        reach = min(row.size, length + heights[node])
        hope = (reach << _UNIT) - (depth + reach - length)
        node = node + 1 if hope > best else ends[node]
    for i in range(row.size):
        places[row[i]] = 0
    return best_node


@njit(cache=True, nogil=True)
def _mask_positions(row: Codes, places: Counts) -> Counts:
    """Note where each symbol stands in `row`; the mask of symbol ``s`` is line ``places[s]``.

    Line 0 has all positions. Only the symbols of `row` get a line, so large alphabets cost nothing.
    """
    n_lines = 1
    for i in range(row.size):
        if places[row[i]] == 0:
            places[row[i]] = n_lines
            n_lines += 1
    n_words = max(1, -(-row.size // WORD))
    unused = n_words * WORD - row.size
    masks = np.zeros((n_lines, n_words), np.int64)
    for i in range(row.size):
        word, bit = divmod(unused + i, WORD)
        masks[places[row[i]], word] |= 1 << bit
        masks[0, word] |= 1 << bit
    return masks


@njit(cache=True, nogil=True)
def _read(above: Counts, mask: Counts, here: Counts) -> int:
    """Write the state after one more symbol into `here`; return by how much the length has grown."""
    carry = 0
    for word in range(above.size):
        read = above[word] & mask[word]
        total = above[word] + read + carry
        carry = total >> WORD
        here[word] = (total | (above[word] ^ read)) & _ONES
    return carry


@njit(cache=True, nogil=True)
def align_rows(
    items: Codes, offsets: Offsets, path_items: Codes, path_offsets: Offsets, n_symbols: int
) -> tuple[Mask, Codes]:
    """Match each row with its path along a longest common subsequence, as late in the row as possible.

    Returns which items of the rows are matched, and for each item of the paths the position in its row that
    it is matched with, or -1.
    """
    is_matched = np.zeros(items.size, np.bool_)
    partners = np.full(path_items.size, -1, np.int32)
    places = np.zeros(n_symbols, np.int64)
    for r in range(offsets.size - 1):
        row = items[offsets[r] : offsets[r + 1]]
        path = path_items[path_offsets[r] : path_offsets[r + 1]]
        masks = _mask_positions(row, places)
        n_words = masks.shape[1]
        unused = n_words * WORD - row.size
        states = np.empty((path.size + 1, n_words), np.int64)
        states[0] = masks[0]
        nothing = np.zeros(n_words, np.int64)
        for depth in range(1, path.size + 1):
            place = places[path[depth - 1]]
            _read(states[depth - 1], masks[place] if place > 0 else nothing, states[depth])
        # Backwards: a zero says that this item of the row is needed, the first state that has it with whom.
        position, depth = row.size, path.size
        while position > 0 and depth > 0:
            word, bit = divmod(unused + position - 1, WORD)
            if (states[depth, word] >> bit) & 1:
                position -= 1
                continue
            depth -= 1
            if (states[depth, word] >> bit) & 1:
                position -= 1
                is_matched[offsets[r] + position] = True
                partners[path_offsets[r] + depth] = position
        for i in range(row.size):
            places[row[i]] = 0
    return is_matched, partners
