"""One row and the sensitive patterns in it: how often they are there, through which places; deletion, swaps.

A row is changed in an alphabet of its own, the local symbols 0, 1, ... in order of appearance. Deleted places
are -1. A table of patterns has one per row, filled up with -1, which ends each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.methods.ph._trie_kernels import (
    AFTER,
    ALPHABET,
    BEFORE,
    LEFT,
    N_SYMBOLS,
    ROOT,
    ROW,
    SUPPORT,
    Task,
    Trie,
    Work,
    fill_next,
    find_slot,
    walk_change,
    walk_row,
)
from sequester.ragged import offsets_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.methods.ph._trie_kernels import CodeTable, Floats, FloatTable

    Table = npt.NDArray[np.int64]


MAX_TIES = 8
"""Places with equally many embeddings whose deletion is compared."""


class Sensitive(NamedTuple):
    """Sensitive patterns, and patterns that may not be where they were not."""

    patterns: CodeTable
    """The sensitive patterns, in codes."""
    excess: Counts
    """Rows that support each and must no longer."""
    forbidden: CodeTable
    """The forbidden patterns, in codes."""
    seen: Counts
    """Pairs ``first * n_symbols + second`` that may occur, ascending; any may where there are none."""


@njit
def localize(items: Codes, start: int, stop: int, work: Work) -> int:
    """Write a row in an alphabet of its own, with what follows its places; return its different symbols."""
    codes, local_of = work.codes, work.local_of
    n_local = 0
    for i in range(start, stop):
        if local_of[items[i]] < 0:
            local_of[items[i]] = n_local
            codes[ALPHABET, n_local] = items[i]
            codes[LEFT, n_local] = 0
            n_local += 1
        codes[ROW, i - start] = local_of[items[i]]
        codes[LEFT, local_of[items[i]]] += 1
    fill_next(work, ROW, stop - start, n_local, BEFORE)
    return n_local


@inner
def forget_alphabet(n_local: int, work: Work) -> None:
    """Make `local_of` fit for the next row."""
    for symbol in range(n_local):
        work.local_of[work.codes[ALPHABET, symbol]] = -1


@njit
def list_possible(patterns: CodeTable, work: Work, local: CodeTable, numbers: Counts) -> int:
    """List the patterns whose items the row has often enough, in whatever order; return how many there are.

    They are written to `local` in local symbols, their numbers to `numbers`.
    """
    left, local_of = work.codes[LEFT], work.local_of
    n_possible = 0
    for pattern in range(patterns.shape[0]):
        size = 0
        is_there = True
        while is_there and patterns[pattern, size] >= 0:
            symbol = local_of[patterns[pattern, size]]
            is_there = symbol >= 0 and left[symbol] > 0
            if is_there:
                left[symbol] -= 1
                local[n_possible, size] = symbol
                size += 1
        for j in range(size):
            left[local[n_possible, j]] += 1
        if is_there:
            local[n_possible, size] = -1
            numbers[n_possible] = pattern
            n_possible += 1
    return n_possible


@njit
def contains(items: Codes, start: int, stop: int, pattern: Codes) -> bool:
    """Return whether ``items[start:stop]`` contains `pattern`, which -1 may end, in order, gaps allowed."""
    at = 0
    for i in range(start, stop):
        if at < pattern.size and items[i] == pattern[at] and items[i] >= 0:
            at += 1
    return at == pattern.size or pattern[at] < 0


@njit
def count_ways(codes: CodeTable, which: int, task: Task, pattern: Codes, ways: FloatTable) -> float:
    """Count the ways to choose places of ``codes[which]`` that hold `pattern` in order."""
    size = 0
    ways[0, 0] = 1.0
    while pattern[size] >= 0:
        size += 1
        ways[0, size] = 0.0
    for i in range(task.size):
        for j in range(size - 1, -1, -1):
            if codes[which, i] == pattern[j]:
                ways[0, j + 1] += ways[0, j]
    return float(ways[0, size])


@njit
def count_all_ways(work: Work, which: int, task: Task, at_most: float) -> float:
    """Add up the ways of all possible patterns; counting stops above `at_most`."""
    total = 0.0
    for each in range(task.n_possible):
        total += count_ways(work.codes, which, task, work.local[each], work.ways)
        if total > at_most:
            break
    return total


@njit
def count_through(work: Work, which: int, task: Task) -> float:
    """Count, for each place, the ways of all possible patterns that go through it; return the most."""
    row, ways, through = work.codes[which], work.ways, work.through
    last = task.size + 1  # the row of `ways` for the items from j on after a place
    for i in range(task.size):
        through[i] = 0.0
    most = 0.0
    for each in range(task.n_possible):
        pattern = work.local[each]
        size = 0
        while pattern[size] >= 0:
            ways[0, size] = 0.0
            ways[last, size] = 0.0
            size += 1
        # Ways to have had the first j items before a place, and to have the items from j on after it.
        ways[0, size] = 0.0
        ways[0, 0] = 1.0
        ways[last, size] = 1.0
        for i in range(task.size):
            for j in range(size + 1):
                ways[i + 1, j] = ways[i, j]
            for j in range(size):
                if row[i] == pattern[j]:
                    ways[i + 1, j + 1] += ways[i, j]
        for i in range(task.size - 1, -1, -1):
            for j in range(size):
                if row[i] == pattern[j]:
                    through[i] += ways[i, j] * ways[last, j + 1]
            for j in range(size):
                if row[i] == pattern[j]:
                    ways[last, j] += ways[last, j + 1]
            most = max(most, through[i])
    return most


@njit
def weigh(trie: Trie, work: Work, which: int, task: Task, start: int, stop: int) -> tuple[int, int]:
    """Weigh ``codes[which]`` against the row as it was; candidates go to ``work.hits[start:stop]``."""
    last_change = -1
    for i in range(task.size):
        if work.codes[which, i] != work.codes[ROW, i]:
            last_change = i
    fill_next(work, which, task.size, task.n_local, AFTER)
    effects, n_hits = walk_change(trie, work, task, last_change, start, stop, 0)
    return effects, n_hits


@inner
def delete_rest(trie: Trie, work: Work, which: int, task: Task, by_symbol: bool) -> int:
    """Delete the place in most embeddings until no sensitive pattern is left; return the number of deletions.

    Of several such places, that which loses the fewest patterns; or `by_symbol`, that whose symbol has the
    fewest supporters.
    """
    row = work.codes[which]
    n_deleted = 0
    while True:
        most = count_through(work, which, task)
        if most == 0.0:
            return n_deleted
        best, least, n_ties = -1, 0, 0
        for i in range(task.size):
            if work.through[i] != most or n_ties == MAX_TIES:
                continue
            if by_symbol:
                key = ROOT * trie.sizes[N_SYMBOLS] + work.codes[ALPHABET, row[i]]
                slot = find_slot(trie.slots, key)
                harm = trie.nodes[trie.slots[slot, 1], SUPPORT] if trie.slots[slot, 0] >= 0 else 0
            else:
                n_ties += 1
                was, row[i] = row[i], -1
                harm, _ = weigh(trie, work, which, task, 0, 0)
                row[i] = was
            if best < 0 or harm < least:
                best, least = i, harm
        row[best] = -1
        n_deleted += 1


@njit
def scan_rows(
    trie: Trie,
    items: Codes,
    offsets: Offsets,
    rows: Counts,
    weights: Counts,
    marks: Mask,
    sensitive: Sensitive,
    min_support: int,
    work: Work,
    ranks: Counts,
) -> None:
    """Add the weights of `rows` to the demand of every node they contain; or, where they are 0, rank rows.

    The rank of a row is the number of the candidates that it supports and that changing it could cost a
    supporter; see `walk_row`. ``marks[row, pattern]`` tells which sensitive patterns are in a row.
    """
    for number in range(rows.size):
        row = rows[number]
        n_local = localize(items, offsets[row], offsets[row + 1], work)
        for symbol in range(n_local):
            work.codes[LEFT, symbol] = 0
        excess = 0
        for pattern in range(marks.shape[1]):
            if marks[row, pattern]:
                excess += sensitive.excess[pattern]
                size = 0
                while sensitive.patterns[pattern, size] >= 0:
                    work.codes[LEFT, work.local_of[sensitive.patterns[pattern, size]]] = 1
                    size += 1
        forget_alphabet(n_local, work)
        ranks[number] = walk_row(trie, work, n_local, weights[number], min_support, excess)


@njit
def pass_rows(
    rows: Counts, weights: Counts, marks: Mask, thresholds: Counts, passed: Counts, n_changed: Counts
) -> None:
    """Let rows pass in the order given, while every pattern stays below its threshold; count who must not.

    Requires that each of `rows` has a sensitive pattern. `passed` counts per pattern, from 0.
    """
    for number in range(rows.size):
        row = rows[number]
        n_passed = weights[row]
        for pattern in range(thresholds.size):
            if marks[row, pattern]:
                n_passed = min(n_passed, thresholds[pattern] - 1 - passed[pattern])
        for pattern in range(thresholds.size):
            if marks[row, pattern]:
                passed[pattern] += n_passed
        n_changed[number] = weights[row] - n_passed


@njit
def count_matchings(items: Codes, offsets: Offsets, pattern: Codes, ways: Floats, counts: Floats) -> None:
    """Count the ways in which each row contains `pattern`; a deleted item is -1."""
    for row in range(offsets.size - 1):
        ways[0] = 1.0
        for j in range(pattern.size):
            ways[j + 1] = 0.0
        for i in range(offsets[row], offsets[row + 1]):
            for j in range(pattern.size - 1, -1, -1):
                if items[i] == pattern[j]:
                    ways[j + 1] += ways[j]
        counts[row] = ways[pattern.size]


@njit
def delete_matchings(items: Codes, offsets: Offsets, rows: Counts, pattern: Codes, ways: FloatTable) -> None:
    """Set places of `rows` to -1 until none contains `pattern`: each time the first in most matchings.

    `ways` has two rows more than the longest row has places, and one column more than the pattern has items.
    """
    size = pattern.size
    for number in range(rows.size):
        start, length = offsets[rows[number]], offsets[rows[number] + 1] - offsets[rows[number]]
        best = 0
        while best >= 0:
            for j in range(size + 1):
                ways[0, j] = 1.0 if j == 0 else 0.0
                ways[length + 1, j] = 1.0 if j == size else 0.0
            for i in range(length):
                for j in range(size + 1):
                    ways[i + 1, j] = ways[i, j]
                for j in range(size):
                    if items[start + i] == pattern[j]:
                        ways[i + 1, j + 1] += ways[i, j]
            most, best = 0.0, -1
            for i in range(length - 1, -1, -1):
                through = 0.0
                for j in range(size):
                    if items[start + i] == pattern[j]:
                        through += ways[i, j] * ways[length + 1, j + 1]
                for j in range(size):
                    if items[start + i] == pattern[j]:
                        ways[length + 1, j] += ways[length + 1, j + 1]
                if through > 0.0 and through >= most:
                    most, best = through, i
            if best >= 0:
                items[start + best] = -1


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
