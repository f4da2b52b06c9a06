"""Tracked patterns in a trie with live supports, and what a changed row does to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts

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


class Work(NamedTuple):
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


class Task(NamedTuple):
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
def fill_next(work: Work, which: int, size: int, n_local: int, to: int) -> None:
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
def walk_row(trie: Trie, work: Work, n_local: int, weight: int, min_support: int, excess: int) -> int:
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
    trie: Trie, work: Work, task: Task, last_change: int, start: int, stop: int, room: int
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
