"""The prefix tree in flat arrays, and longest common subsequences with all of its paths in one walk.

Nodes are in preorder, the root is node 0, children are in the order of their codes. A parent stands before
its children, and the subtree of ``v`` is the range from ``v`` to ``ends[v]``.

A walk reads bits in parallel. Its state is a row of ones, one bit per position of the sequence S. A zero at
``i`` says that the longest common subsequence with ``S[:i + 1]`` is longer than with ``S[:i]``. Reading a
symbol that stands at the positions M turns V into ``(V + (V & M)) | (V & ~M)``; what the addition carries out
of the last position is by how much the longest common subsequence with all of S has grown (Hyyrö 2004).

A word holds 62 positions in its low bits, and S ends at the highest of them. So no addition overflows 64
bits, the carry is one shift away, and differences of keys keep their sign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.methods.p2ka.algorithm import PrefixTree

    Rows = tuple[Codes, Offsets]
    """Items and offsets: row ``r`` is ``items[offsets[r]:offsets[r + 1]]``."""

WORD = 62
"""Positions per word."""
LANES = 32
"""Rows that walk the tree together: enough for the compiler to fill vector registers."""
WHOLE = 1000
"""What a pair of equal symbols weighs; near ones weigh less, others nothing."""
_ONES = 2**WORD - 1
_UNIT = 32
"""A key is ``(length << 32) - depth``: a longer common subsequence first, then a shallower node."""


@njit
def grow(
    sequences: Rows, before: Counts, min_support: int, nodes: Codes, waiting: Counts, deepest: Codes
) -> int:
    """Grow the nodes that rows of at least `min_support` weight pass through, and return how many there are.

    Writes symbol, depth and parent of each node to the lines of `nodes`, and the deepest node on the path of
    each row to `deepest`; ``before[r]`` is the weight of the rows before row ``r``. Requires rows in
    lexicographic order, a prefix before what it begins, room for all nodes in `nodes` and `waiting`, and
    ``min_support > 0``.
    """
    items, offsets = sequences
    symbols, depths, parents = nodes[0], nodes[1], nodes[2]
    # What waits is the first row of a node, the row after its last, and its parent.
    waiting[0, 0], waiting[1, 0], waiting[2, 0] = 0, offsets.size - 1, -1
    n_waiting, n_nodes = 1, 0
    while n_waiting > 0:
        n_waiting -= 1
        low, high, parent = waiting[0, n_waiting], waiting[1, n_waiting], waiting[2, n_waiting]
        node = n_nodes
        n_nodes += 1
        depth = 0
        symbols[node], parents[node] = -1, 0
        if parent >= 0:
            depth = depths[parent] + 1
            symbols[node], parents[node] = items[offsets[low] + depth - 1], parent
        depths[node] = depth
        # From the last row to the first, so that the first child is on top of the stack and comes next.
        group_high = high
        while group_high > low:
            last = group_high - 1
            deepest[last] = node
            if offsets[last + 1] - offsets[last] == depth:
                group_high = last
                continue
            symbol = items[offsets[last] + depth]
            group_low = last
            while (
                group_low > low
                and offsets[group_low] - offsets[group_low - 1] > depth
                and items[offsets[group_low - 1] + depth] == symbol
            ):
                group_low -= 1
                deepest[group_low] = node
            if before[group_high] - before[group_low] >= min_support:
                waiting[0, n_waiting], waiting[1, n_waiting] = group_low, group_high
                waiting[2, n_waiting] = node
                n_waiting += 1
            group_high = group_low
    return n_nodes


@njit
def measure_subtrees(parents: Codes, ends: Codes, heights: Codes) -> None:
    """Write where the subtree of each node ends, and how many levels it has below the node."""
    for node in range(parents.size):
        ends[node], heights[node] = node + 1, 0
    for node in range(parents.size - 1, 0, -1):
        parent = parents[node]
        ends[parent] = max(ends[parent], ends[node])
        heights[parent] = max(heights[parent], heights[node] + 1)


@njit
def count_owners(
    parents: Codes, targets: Codes, owned: Codes, owned_offsets: Offsets, passing: Counts
) -> None:
    """Count in `passing` the owners of whose rows one has a path through each node.

    Paths go from the root to ``targets[row]``. Owner ``o`` owns the rows
    ``owned[owned_offsets[o]:owned_offsets[o + 1]]``. Requires `passing` of 0.
    """
    passed_by = np.empty(parents.size, np.int64)
    for node in range(parents.size):
        passed_by[node] = -1
    for owner in range(owned_offsets.size - 1):
        for i in range(owned_offsets[owner], owned_offsets[owner + 1]):
            node = targets[owned[i]]
            while passed_by[node] != owner:
                passed_by[node] = owner
                passing[node] += 1
                node = parents[node]


@njit
def closest_paths(
    sequences: Rows, rows: Counts, tree: PrefixTree, masks: Counts, states: Counts, nodes: Codes
) -> None:
    """Find for each of `rows` the node whose path has the longest common subsequence with it.

    Among equals the shallowest node wins, then the first in preorder; node 0, the root, where nothing is
    common. `nodes` comes with a node for each of `rows` whose path is a prefix of it, the first bound, and
    leaves with the closest ones. Rows have at most `WORD` items each; `LANES` of them walk the tree together.
    `masks` has a line for each code, and comes and leaves zero; `states` has two lines for each depth, and
    two more.
    """
    items, offsets = sequences
    symbols, depths, ends, heights = tree.symbols, tree.depths, tree.ends, tree.heights
    best, sizes = states[-1], states[-2]
    for first in range(0, rows.size, LANES):
        n_together = min(LANES, rows.size - first)
        for lane in range(LANES):
            # A lane without a row has no positions and a key that nothing beats.
            states[0, lane], states[1, lane] = 0, 0
            sizes[lane], best[lane] = 0, 1 << (_UNIT + 16)
        for lane in range(n_together):
            row = rows[first + lane]
            start, stop = offsets[row], offsets[row + 1]
            unused = WORD - (stop - start)
            for i in range(start, stop):
                masks[items[i], lane] |= 1 << (unused + i - start)
            states[0, lane], sizes[lane] = (_ONES >> unused) << unused, stop - start
            # One below the key of the guess: the first node in preorder that is as good takes it.
            guess = np.int64(depths[nodes[first + lane]])
            best[lane] = (guess << _UNIT) - guess - 1
        node = 1
        while node < symbols.size:
            depth, height = np.int64(depths[node]), heights[node]
            mask, here, above = masks[symbols[node]], states[2 * depth], states[2 * depth - 2]
            length, length_above = states[2 * depth + 1], states[2 * depth - 1]
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
                for lane in range(n_together):
                    key = (length[lane] << _UNIT) - depth
                    if key > best[lane]:
                        best[lane], nodes[first + lane] = key, node
            # Each level below adds at most one, and no path has more in common with a row than it has items.
            reachable = 0
            for lane in range(LANES):
                reach = min(sizes[lane], length[lane] + height)
                reachable |= best[lane] - ((reach << _UNIT) - (depth + reach - length[lane]))
            node = node + 1 if reachable < 0 else ends[node]
        for lane in range(n_together):
            row = rows[first + lane]
            for i in range(offsets[row], offsets[row + 1]):
                masks[items[i], lane] = 0


@njit
def closest_of_long(
    sequences: Rows, rows: Counts, tree: PrefixTree, room: tuple[Counts, Counts, Counts], nodes: Codes
) -> None:
    """Do as `closest_paths` for rows of any length, one by one; `room` is from `room_for`.

    The first column of `states` has the common lengths.
    """
    (items, offsets), (places, masks, states) = sequences, room
    symbols, depths, ends, heights = tree.symbols, tree.depths, tree.ends, tree.heights
    for number in range(rows.size):
        row = items[offsets[rows[number]] : offsets[rows[number] + 1]]
        n_words = _mask_positions(row, places, masks, states[0])
        states[0, 0] = 0
        guess = np.int64(depths[nodes[number]])
        best = (guess << _UNIT) - guess - 1
        node = 1
        while node < symbols.size:
            depth = np.int64(depths[node])
            mask = masks[places[symbols[node]]]
            length = states[depth - 1, 0] + _read(states[depth - 1], mask, states[depth], n_words)
            states[depth, 0] = length
            if (length << _UNIT) - depth > best:
                best, nodes[number] = (length << _UNIT) - depth, node
            reach = min(row.size, length + heights[node])
            reachable = (reach << _UNIT) - (depth + reach - length)
            node = node + 1 if reachable > best else ends[node]
        for i in range(row.size):
            places[row[i]] = 0


@inner
def _mask_positions(row: Codes, places: Counts, masks: Counts, state: Counts) -> int:
    """Write where each symbol stands in `row`, and the first state; return the number of words.

    The mask of symbol ``s`` is line ``places[s]``. Line 0 has no position, for symbols that are not in `row`.
    Only the symbols of `row` get a line, so a large alphabet costs nothing. Words begin in column 1. `places`
    comes all zero.
    """
    n_lines = 1
    for i in range(row.size):
        if places[row[i]] == 0:
            places[row[i]] = n_lines
            n_lines += 1
    n_words = max(1, -(-row.size // WORD))
    unused = n_words * WORD - row.size
    for word in range(1, n_words + 1):
        state[word] = 0
        for line in range(n_lines):
            masks[line, word] = 0
    for i in range(row.size):
        word, bit = 1 + (unused + i) // WORD, (unused + i) % WORD
        masks[places[row[i]], word] |= 1 << bit
        state[word] |= 1 << bit
    return n_words


@inner
def _read(above: Counts, mask: Counts, here: Counts, n_words: int) -> int:
    """Write the state after one more symbol into `here`; return by how much the length has grown."""
    carry = 0
    for word in range(1, n_words + 1):
        read = above[word] & mask[word]
        total = above[word] + read + carry
        carry = total >> WORD
        here[word] = (total | (above[word] ^ read)) & _ONES
    return carry


@njit
def heaviest_paths(
    sequences: Rows, rows: Counts, tree: PrefixTree, weights: Codes, sums: Counts, nodes: Codes
) -> None:
    """Find for each of `rows` the node whose path, matched with it in order, weighs most.

    Among equals the shallowest node wins, then the first in preorder; node 0, the root, where nothing weighs.
    ``weights[a, b]`` is what item ``a`` of a row and symbol ``b`` of a path weigh as a pair, at most `WHOLE`.
    `sums` has a line of 0 for each depth, one longer than the longest row.
    """
    items, offsets = sequences
    symbols, depths, ends, heights = tree.symbols, tree.depths, tree.ends, tree.heights
    for i in range(rows.size):
        start, size = offsets[rows[i]], offsets[rows[i] + 1] - offsets[rows[i]]
        best, best_depth, best_node = 0, 0, 0
        node = 1
        while node < symbols.size:
            depth, symbol = depths[node], symbols[node]
            here, above = sums[depth], sums[depth - 1]
            for place in range(size):
                paired = above[place] + weights[items[start + place], symbol]
                here[place + 1] = max(above[place + 1], here[place], paired)
            weight = here[size]
            if weight > best or (weight == best and weight > 0 and depth < best_depth):
                best, best_depth, best_node = weight, depth, node
            # Each level below adds a pair at most, and a row has no more pairs than items.
            reach = min(np.int64(size) * WHOLE, weight + np.int64(heights[node]) * WHOLE)
            is_promising = reach > best or (reach == best and depth < best_depth)
            node = node + 1 if is_promising else ends[node]
        nodes[i] = best_node


@njit
def longest_parts(
    sequences: Rows,
    rows: Counts,
    tree: PrefixTree,
    supports: Counts,
    is_open: Mask,
    places: Counts,
    nodes: Codes,
) -> None:
    """Find for each of `rows` the deepest open node whose path it contains, in order and with gaps.

    Among equals the node with most `supports` wins, then the first in preorder; node 0 where there is none.
    `places` has one more than the deepest node has items: where the item of each depth was found.
    """
    items, offsets = sequences
    symbols, depths, ends, heights = tree.symbols, tree.depths, tree.ends, tree.heights
    for i in range(rows.size):
        start, stop = offsets[rows[i]], offsets[rows[i] + 1]
        best, best_depth = 0, 0
        places[0] = start
        node = 1
        while node < symbols.size:
            depth, at = depths[node], places[depths[node] - 1]
            while at < stop and items[at] != symbols[node]:
                at += 1
            if at == stop:
                node = ends[node]
                continue
            places[depth] = at + 1
            if is_open[node] and (
                depth > best_depth or (depth == best_depth and supports[node] > supports[best])
            ):
                best, best_depth = node, depth
            reach = depth + min(heights[node], stop - at - 1)
            node = node + 1 if reach >= best_depth and reach > depth else ends[node]
        nodes[i] = best


@njit
def align_rows(
    sequences: Rows, paths: Rows, room: tuple[Counts, Counts, Counts], is_matched: Mask, partners: Codes
) -> None:
    """Match each row with its path along a longest common subsequence, as late in the row as possible.

    Marks in `is_matched` which items of the rows are matched, and writes to `partners` for each item of the
    paths the position in its row that it is matched with; those of others stay. `room` is from `room_for`.
    """
    (items, offsets), (path_items, path_offsets), (places, masks, states) = sequences, paths, room
    for r in range(offsets.size - 1):
        row = items[offsets[r] : offsets[r + 1]]
        path = path_items[path_offsets[r] : path_offsets[r + 1]]
        n_words = _mask_positions(row, places, masks, states[0])
        unused = n_words * WORD - row.size
        for depth in range(1, path.size + 1):
            _read(states[depth - 1], masks[places[path[depth - 1]]], states[depth], n_words)
        # Backwards: a zero says that this item of the row is needed, the first state that has it with whom.
        position, depth = row.size, path.size
        while position > 0 and depth > 0:
            word, bit = 1 + (unused + position - 1) // WORD, (unused + position - 1) % WORD
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


def room_for(longest: int, n_symbols: int, depth: int) -> tuple[Counts, Counts, Counts]:
    """Return `places`, `masks` and `states` for rows of up to `longest` items and paths of up to `depth`.

    `places` is all zero, before and after.
    """
    n_words = max(1, -(-longest // WORD))
    masks = np.empty((min(longest, n_symbols) + 1, n_words + 1), np.int64)
    return np.zeros(n_symbols, np.int64), masks, np.empty((depth + 1, n_words + 1), np.int64)
