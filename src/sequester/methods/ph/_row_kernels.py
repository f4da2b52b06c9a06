"""One row: the tracked patterns in it, what a change does to them, and the sensitive patterns in it.

Tracked patterns are a trie with live supports. A row is changed in an alphabet of its own, the local symbols
0, 1, ... in order of appearance. Deleted places are -1. A table of patterns has one per row, filled up with
-1, which ends each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.ragged import offsets_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Table = npt.NDArray[np.int64]
    CodeTable = npt.NDArray[np.int32]
    Floats = npt.NDArray[np.float64]
    FloatTable = npt.NDArray[np.float64]

EXACT = 1
"""The support is known; without it, it is at most what is written."""
FREQUENT = 2
"""The pattern was frequent before anything was changed."""
OWED = 4
"""The pattern contains a sensitive one, and has to go with it."""
ROOT = 0

SYMBOL, PARENT, DEPTH, SUPPORT, DEMAND, FLAGS = range(6)
"""Of a node: its last symbol, the node without it, its symbols, the rows that contain it now, by weight,
those of them that are still to be changed (asked of frequent patterns only), and EXACT, FREQUENT, OWED."""
N_NODES, N_SYMBOLS, KNOWN = range(3)
"""Nodes in use; symbols of the alphabet; support that a pattern without a node has at most."""
BEFORE, AFTER = range(2)
"""The row as it was, and as it would be."""
_NODE, _BEFORE, _AFTER, _TURN = range(4)


ROW, CURRENT, TRIAL, STEP, SOLVED, ALPHABET, LEFT = range(7)
"""Of `Work.codes`: the row as it was, while it is changed, with an order tried, with the best order that
leaves fewer embeddings, as it is in the end; the codes of the local symbols, and a number for each."""


class Trie(NamedTuple):
    """Nodes are patterns; the child of a node by a symbol is found in an open table of keys."""

    slots: Table
    """``node * n_symbols + symbol`` or -1, and the child that this leads to."""
    nodes: Table
    """SYMBOL to FLAGS of each node."""
    sizes: Counts
    """N_NODES, N_SYMBOLS and KNOWN."""


class RowScratch(NamedTuple):
    """Room to work in, for the longest row."""

    codes: CodeTable
    """Rows in local symbols; see ROW to LEFT."""
    following: CodeTable
    """The row before and after a change, see `fill_next`."""
    stack: Table
    """One row more than the longest pattern that is tracked."""
    ways: FloatTable
    """Two rows more than places, one column more than items of a pattern."""
    through: Floats
    """Embeddings through each place."""
    local_of: Codes
    """For each code its local symbol; -1 between rows."""
    possible: Counts
    """Sensitive patterns whose items the row has."""
    local: CodeTable
    """The same in local symbols."""
    forbidden: CodeTable
    """Forbidden patterns whose items the row has, in local symbols."""
    choices: CodeTable
    """Places that are put in another order, a choice of them per row."""
    hits: Counts
    """Nodes of candidates."""


class RowTask(NamedTuple):
    """The row at hand, and what changes to it are judged by."""

    size: int
    """Its places."""
    n_local: int
    """Its different symbols."""
    n_possible: int
    """Sensitive patterns that some order of it could contain."""
    n_forbidden: int
    """Forbidden patterns likewise."""
    min_support: int
    """Supporters that make a pattern frequent."""
    remaining: int
    """Rows that are still to be changed, this one included."""


@inner
def find_slot(slots: Table, key: int) -> int:
    """Return the slot that holds `key`, or the free one where it belongs."""
    mask = slots.shape[0] - 1
    # A multiplicative hash of 31 bits, so that no product overflows and the JIT may be off.
    slot: int = (((key & 0x7FFFFFFF) * 0x9E3779B1 + (key >> 31)) >> 9) & mask
    while slots[slot, 0] >= 0 and slots[slot, 0] != key:
        slot = (slot + 1) & mask
    return slot


@njit
def index_nodes(trie: Trie) -> None:
    """Enter all nodes but the root into slots that are free."""
    for node in range(1, trie.sizes[N_NODES]):
        key = trie.nodes[node, PARENT] * trie.sizes[N_SYMBOLS] + trie.nodes[node, SYMBOL]
        slot = find_slot(trie.slots, key)
        trie.slots[slot, 0], trie.slots[slot, 1] = key, node


@inner
def fill_next(work: RowScratch, which: int, size: int, n_local: int, to: int) -> None:
    """Write, for each place of a row and each local symbol, the place after its next occurrence, or -1.

    Place ``p`` of the row ``codes[which]`` of `size` has the entries ``following[to, p * n_local : (p + 1) *
    n_local]``; there is one place more than the row is long.
    """
    codes, following = work.codes, work.following
    for symbol in range(n_local):
        following[to, size * n_local + symbol] = -1
    for place in range(size - 1, -1, -1):
        at = place * n_local
        for symbol in range(n_local):
            following[to, at + symbol] = following[to, at + n_local + symbol]
        if codes[which, place] >= 0:
            following[to, at + codes[which, place]] = place + 1


@njit
def walk_row(trie: Trie, work: RowScratch, n_local: int, weight: int, min_support: int, excess: int) -> int:
    """Add `weight` to the demand of every node that a row contains; or, where it is 0, count candidates.

    A candidate is frequent, contains no sensitive pattern, has two of the symbols that LEFT marks, and fewer
    supporters to spare than `excess`.
    """
    stack, following, codes = work.stack, work.following, work.codes
    n_found = 0
    depth = 0
    stack[0, _NODE], stack[0, _BEFORE], stack[0, _AFTER], stack[0, _TURN] = ROOT, 0, 0, 0
    while depth >= 0:
        symbol = stack[depth, _TURN]
        if symbol == n_local or depth == stack.shape[0] - 1:
            depth -= 1
            continue
        stack[depth, _TURN] += 1
        place = following[BEFORE, stack[depth, _BEFORE] * n_local + symbol]
        if place < 0:
            continue
        key = stack[depth, _NODE] * trie.sizes[N_SYMBOLS] + codes[ALPHABET, symbol]
        slot = find_slot(trie.slots, key)
        if trie.slots[slot, 0] < 0:
            continue
        child = trie.slots[slot, 1]
        shared = stack[depth, _AFTER] + codes[LEFT, symbol]
        if weight != 0:
            trie.nodes[child, DEMAND] += weight
        elif trie.nodes[child, FLAGS] & (FREQUENT | OWED) != FREQUENT:
            continue  # What is below a rare pattern is rare, and what is below an owed one is owed.
        elif shared > 1 and trie.nodes[child, SUPPORT] - min_support < excess:
            n_found += 1
        depth += 1
        stack[depth, _NODE], stack[depth, _BEFORE] = child, place
        stack[depth, _AFTER], stack[depth, _TURN] = shared, 0
    return n_found


@inner
def weigh_node(
    nodes: Table, node: int, is_gained: bool, min_support: int, remaining: int
) -> tuple[int, bool]:
    """Return what losing or gaining a row does to a node now, and whether it could do more later.

    A frequent pattern that a row loses is lost now if it has no supporter to spare, and is a candidate if it
    has fewer to spare than rows with it are still to be changed. A pattern that a row gains is a ghost now if
    it lacks one supporter, and is a candidate if it lacks no more than there are rows to be changed.
    """
    support = nodes[node, SUPPORT]
    is_frequent = nodes[node, FLAGS] & FREQUENT > 0
    if is_gained:
        effect = int(support == min_support - 1)
        is_hit = not is_frequent and support < min_support and support + remaining >= min_support
        return -effect if is_frequent else effect, is_hit
    effect = int(support == min_support)
    is_hit = is_frequent and min_support <= support and support - min_support < nodes[node, DEMAND]
    return effect if is_frequent else -effect, is_hit


@njit
def walk_change(
    trie: Trie, work: RowScratch, task: RowTask, last_change: int, start: int, stop: int, room: int
) -> tuple[int, int]:
    """Weigh what a changed row would do now; or, where there is `room`, count the change.

    Weighing returns patterns lost and ghosts made, net, and the number of candidates, whose nodes are written
    to ``hits[start:stop]`` as far as there is room. Counting changes the supports, makes at most `room` nodes
    for patterns that the row gained and that were unknown, and returns the number of nodes whose support is
    only bounded and may now be one short of `min_support`; they are written to `hits`.
    """
    nodes, stack, following, hits = trie.nodes, work.stack, work.following, work.hits
    n_local, min_support, known = task.n_local, task.min_support, trie.sizes[KNOWN]
    counts = room > 0
    effects, n_hits = 0, 0
    depth = 0
    stack[0, _NODE], stack[0, _BEFORE], stack[0, _AFTER], stack[0, _TURN] = ROOT, 0, 0, 0
    while depth >= 0:
        symbol = stack[depth, _TURN]
        if symbol == n_local or depth == stack.shape[0] - 1:
            depth -= 1
            continue
        stack[depth, _TURN] += 1
        before, after = stack[depth, _BEFORE], stack[depth, _AFTER]
        if before >= 0:
            before = np.int64(following[BEFORE, before * n_local + symbol])
        if after >= 0:
            after = np.int64(following[AFTER, after * n_local + symbol])
        if before < 0 and after < 0:
            continue
        goes_on = before != after or before <= last_change  # Otherwise what follows is the same in both.
        code = np.int64(work.codes[ALPHABET, symbol])
        key = stack[depth, _NODE] * trie.sizes[N_SYMBOLS] + code
        slot = find_slot(trie.slots, key)
        child = trie.slots[slot, 1]
        is_hit = False
        if trie.slots[slot, 0] < 0:
            if not counts:
                # Nobody knows the pattern: with one supporter more it has at most so many.
                effects += before < 0 and known + 1 >= min_support
                continue
            if not goes_on or after < 0 or room == 0:
                continue  # What is lost without having been known can only become rarer.
            room -= 1
            child = trie.sizes[N_NODES]
            trie.sizes[N_NODES] += 1
            trie.slots[slot, 0], trie.slots[slot, 1] = key, child
            nodes[child, SYMBOL], nodes[child, PARENT] = code, stack[depth, _NODE]
            nodes[child, DEPTH], nodes[child, SUPPORT], nodes[child, DEMAND] = depth + 1, known, 0
            nodes[child, FLAGS] = EXACT if known == 0 else 0
        if counts:
            if after < 0:
                nodes[child, SUPPORT] -= 1
            elif before < 0:
                nodes[child, SUPPORT] += 1
                is_hit = nodes[child, FLAGS] & EXACT == 0 and nodes[child, SUPPORT] + 1 >= min_support
        elif nodes[child, FLAGS] & OWED:
            continue
        elif before < 0 or after < 0:
            effect, is_hit = weigh_node(nodes, child, before < 0, min_support, task.remaining)
            effects += effect
        if is_hit:
            if start + n_hits < stop:
                hits[start + n_hits] = child
            n_hits += 1
        if goes_on:
            depth += 1
            stack[depth, _NODE], stack[depth, _BEFORE] = child, before
            stack[depth, _AFTER], stack[depth, _TURN] = after, 0
    return effects, n_hits


MAX_TIES = 8
"""Places with equally many embeddings whose deletion is compared."""


class SensitivePatterns(NamedTuple):
    """Sensitive patterns."""

    patterns: CodeTable
    """Their codes."""
    excess: Counts
    """Rows that support each and must no longer."""


@njit
def localize(items: Codes, start: int, stop: int, work: RowScratch) -> int:
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
def forget_alphabet(n_local: int, work: RowScratch) -> None:
    """Make `local_of` fit for the next row."""
    for symbol in range(n_local):
        work.local_of[work.codes[ALPHABET, symbol]] = -1


@njit
def list_possible(patterns: CodeTable, work: RowScratch, local: CodeTable, numbers: Counts) -> int:
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


@inner
def length_of(pattern: Codes) -> int:
    """Return the number of items of a pattern, which -1 may end."""
    size = 0
    while size < pattern.size and pattern[size] >= 0:
        size += 1
    return size


@njit
def count_ways(items: Codes, start: int, stop: int, pattern: Codes, ways: Floats) -> float:
    """Count the ways to choose places of ``items[start:stop]`` that hold `pattern` in order."""
    size = length_of(pattern)
    ways[0] = 1.0
    for j in range(size):
        ways[j + 1] = 0.0
    for i in range(start, stop):
        for j in range(size - 1, -1, -1):
            if items[i] == pattern[j]:
                ways[j + 1] += ways[j]
    return float(ways[size])


@njit
def count_all_ways(work: RowScratch, which: int, task: RowTask, at_most: float) -> float:
    """Add up the ways of all possible patterns; counting stops above `at_most`."""
    total = 0.0
    for each in range(task.n_possible):
        total += count_ways(work.codes[which], 0, task.size, work.local[each], work.ways[0])
        if total > at_most:
            break
    return total


@inner
def add_through(row: Codes, length: int, pattern: Codes, ways: FloatTable, through: Floats) -> None:
    """Add, for each of the places of a row, the ways of a pattern that go through it.

    `ways` has two rows more than there are places, and one column more than the pattern has items.
    """
    size, last = length_of(pattern), length + 1
    # Ways to have had the first j items before a place, and, in the last row, to have those from j on after.
    for j in range(size + 1):
        ways[0, j] = 1.0 if j == 0 else 0.0
        ways[last, j] = 1.0 if j == size else 0.0
    for i in range(length):
        for j in range(size + 1):
            ways[i + 1, j] = ways[i, j]
        for j in range(size):
            if row[i] == pattern[j]:
                ways[i + 1, j + 1] += ways[i, j]
    for i in range(length - 1, -1, -1):
        for j in range(size):
            if row[i] == pattern[j]:
                through[i] += ways[i, j] * ways[last, j + 1]
        for j in range(size):
            if row[i] == pattern[j]:
                ways[last, j] += ways[last, j + 1]


@njit
def count_through(work: RowScratch, which: int, task: RowTask) -> float:
    """Count, for each place, the ways of all possible patterns that go through it; return the most."""
    through = work.through
    for i in range(task.size):
        through[i] = 0.0
    for each in range(task.n_possible):
        add_through(work.codes[which], task.size, work.local[each], work.ways, through)
    most = 0.0
    for i in range(task.size):
        most = max(most, through[i])
    return most


@njit
def weigh(trie: Trie, work: RowScratch, which: int, task: RowTask, start: int, stop: int) -> tuple[int, int]:
    """Weigh ``codes[which]`` against the row as it was; candidates go to ``work.hits[start:stop]``."""
    last_change = -1
    for i in range(task.size):
        if work.codes[which, i] != work.codes[ROW, i]:
            last_change = i
    fill_next(work, which, task.size, task.n_local, AFTER)
    effects, n_hits = walk_change(trie, work, task, last_change, start, stop, 0)
    return effects, n_hits


@inner
def delete_rest(trie: Trie, work: RowScratch, which: int, task: RowTask, by_symbol: bool) -> int:
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
    sensitive: SensitivePatterns,
    min_support: int,
    work: RowScratch,
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
                for j in range(length_of(sensitive.patterns[pattern])):
                    work.codes[LEFT, work.local_of[sensitive.patterns[pattern, j]]] = 1
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
        counts[row] = count_ways(items, offsets[row], offsets[row + 1], pattern, ways)


@njit
def delete_matchings(items: Codes, offsets: Offsets, rows: Counts, pattern: Codes, ways: FloatTable) -> None:
    """Set places of `rows` to -1 until none contains `pattern`: each time the first in most matchings.

    `ways` has two rows more than the longest row has places, and one column more than the pattern has items.
    """
    through = np.empty(ways.shape[0] - 2, np.float64)
    for number in range(rows.size):
        start, length = offsets[rows[number]], offsets[rows[number] + 1] - offsets[rows[number]]
        best = 0
        while best >= 0:
            for i in range(length):
                through[i] = 0.0
            add_through(items[start:], length, pattern, ways, through)
            most, best = 0.0, -1
            for i in range(length):
                if through[i] > most:
                    most, best = through[i], i
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
