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

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets

WORD = 62
"""Positions per word."""
LANES = 32
"""Rows that walk the tree together: enough for the compiler to fill vector registers."""
_ONES = 2**WORD - 1
_UNIT = 32
"""A key is ``(length << 32) - depth``: a longer common subsequence first, then a shallower node."""


@njit
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
    nodes = guesses.copy()
    masks = np.zeros((n_symbols, LANES), np.int64)
    states = np.zeros((heights[0] + 1, LANES), np.int64)
    common = np.zeros((heights[0] + 1, LANES), np.int64)
    places = np.zeros(n_symbols, np.int64)
    together = np.empty(LANES, np.int64)
    n_together = 0
    for i in range(rows.size):
        row = items[offsets[rows[i]] : offsets[rows[i] + 1]]
        if row.size <= WORD:
            together[n_together] = i
            n_together += 1
        else:
            nodes[i] = _walk_alone(row, guesses[i], symbols, depths, ends, heights, places)
        if n_together == LANES or (i == rows.size - 1 and n_together > 0):
            _walk_together(
                items,
                offsets,
                rows,
                together[:n_together],
                symbols,
                depths,
                ends,
                heights,
                masks,
                states,
                common,
                nodes,
            )
            n_together = 0
    return nodes


@njit
def _walk_together(
    items: Codes,
    offsets: Offsets,
    rows: Counts,
    together: Counts,
    symbols: Codes,
    depths: Codes,
    ends: Codes,
    heights: Codes,
    masks: Counts,
    states: Counts,
    common: Counts,
    nodes: Codes,
) -> None:
    """Walk the tree once for the rows ``rows[together]``, at most `LANES`, of at most `WORD` items each.

    ``nodes[together]`` comes with guesses and leaves with the closest nodes; `masks` comes and leaves zero.
    """
    # A lane without a row has no positions and a key that nothing beats.
    sizes = np.zeros(LANES, np.int64)
    best = np.full(LANES, 1 << (_UNIT + 16), np.int64)
    states[0] = 0
    for lane in range(together.size):
        row = rows[together[lane]]
        start, stop = offsets[row], offsets[row + 1]
        unused = WORD - (stop - start)
        for i in range(start, stop):
            masks[items[i], lane] |= 1 << (unused + i - start)
        states[0, lane] = (_ONES >> unused) << unused
        sizes[lane] = stop - start
        # One below the key of the guess: the first node in preorder that is as good takes it.
        guess = np.int64(depths[nodes[together[lane]]])
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
            for lane in range(together.size):
                key = (length[lane] << _UNIT) - depth
                if key > best[lane]:
                    best[lane] = key
                    nodes[together[lane]] = node
        # Each level below adds at most one, and no path has more in common with a row than the row has items.
        hope = 0
        for lane in range(LANES):
            reach = min(sizes[lane], length[lane] + height)
            hope |= best[lane] - ((reach << _UNIT) - (depth + reach - length[lane]))
        node = node + 1 if hope < 0 else ends[node]

    for lane in range(together.size):
        row = rows[together[lane]]
        for i in range(offsets[row], offsets[row + 1]):
            masks[items[i], lane] = 0


@njit
def _walk_alone(
    row: Codes, guess: int, symbols: Codes, depths: Codes, ends: Codes, heights: Codes, places: Counts
) -> int:
    """Walk the tree for one row of any length. `places` comes and leaves all zero."""
    masks = _mask_positions(row, places)
    states = np.empty((heights[0] + 1, masks.shape[1]), np.int64)
    common = np.zeros(heights[0] + 1, np.int64)
    _read(masks[-1], masks[0], states[0])
    best = (np.int64(depths[guess]) << _UNIT) - depths[guess] - 1
    best_node = guess
    node = 1
    while node < symbols.size:
        depth = depths[node]
        mask = masks[places[symbols[node]]]
        length = common[depth - 1] + _read(states[depth - 1], mask, states[depth])
        common[depth] = length
        if (length << _UNIT) - depth > best:
            best = (length << _UNIT) - depth
            best_node = node
        reach = min(row.size, length + heights[node])
        hope = (reach << _UNIT) - (depth + reach - length)
        node = node + 1 if hope > best else ends[node]
    for i in range(row.size):
        places[row[i]] = 0
    return best_node


@njit
def _mask_positions(row: Codes, places: Counts) -> Counts:
    """Note where each symbol stands in `row`; the mask of symbol ``s`` is line ``places[s]``.

    Line 0 has no position, for symbols that are not in `row`; the last line has all of them. Only the symbols
    of `row` get a line, so a large alphabet costs nothing. `places` comes all zero.
    """
    n_lines = 1
    for i in range(row.size):
        if places[row[i]] == 0:
            places[row[i]] = n_lines
            n_lines += 1
    n_words = max(1, -(-row.size // WORD))
    unused = n_words * WORD - row.size
    masks = np.zeros((n_lines + 1, n_words), np.int64)
    for i in range(row.size):
        word, bit = divmod(unused + i, WORD)
        masks[places[row[i]], word] |= 1 << bit
        masks[n_lines, word] |= 1 << bit
    return masks


@njit
def _read(above: Counts, mask: Counts, here: Counts) -> int:
    """Write the state after one more symbol into `here`; return by how much the length has grown.

    An empty mask copies the state.
    """
    carry = 0
    for word in range(above.size):
        read = above[word] & mask[word]
        total = above[word] + read + carry
        carry = total >> WORD
        here[word] = (total | (above[word] ^ read)) & _ONES
    return carry


@njit
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
        unused = masks.shape[1] * WORD - row.size
        states = np.empty((path.size + 1, masks.shape[1]), np.int64)
        _read(masks[-1], masks[0], states[0])
        for depth in range(1, path.size + 1):
            _read(states[depth - 1], masks[places[path[depth - 1]]], states[depth])
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
