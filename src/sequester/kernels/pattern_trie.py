"""Patterns in a trie with live supports, and what a changed row does to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Flags = npt.NDArray[np.int8]

EXACT = 1
"""The support is known; without it, it is at most what is written."""
FREQUENT = 2
"""The pattern was frequent before anything was changed."""
OWED = 4
"""The pattern contains a sensitive one, and has to go with it."""
ROOT = 0


class Trie(NamedTuple):
    """Nodes are patterns; the child of a node by a symbol is found in an open table of keys."""

    keys: Counts
    """``node * n_symbols + symbol`` of each slot, or -1."""
    children: Codes
    """The child that each slot leads to."""
    symbols: Codes
    """The last symbol of each node."""
    parents: Codes
    """The node without its last symbol."""
    depths: Codes
    """Symbols of each node."""
    supports: Counts
    """Rows that contain the node now, by weight."""
    demand: Counts
    """Rows that contain the node and are still to be changed."""
    flags: Flags
    """EXACT, FREQUENT, OWED."""
    sizes: Counts
    """Nodes in use; symbols of the alphabet; support that a node without an entry has at most."""


@njit
def _slot_of(keys: Counts, key: int) -> int:
    """Give the slot that holds `key`, or the free one where it belongs."""
    mask = keys.size - 1
    # A multiplicative hash of 31 bits, so that no product overflows and the JIT may be off.
    slot = (((key & 0x7FFFFFFF) * 0x9E3779B1 + (key >> 31)) >> 9) & mask
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit
def find_child(trie: Trie, node: int, symbol: int) -> int:
    """Give the child of `node` by `symbol`, or -1."""
    key = node * trie.sizes[1] + symbol
    slot = _slot_of(trie.keys, key)
    return trie.children[slot] if trie.keys[slot] == key else -1


@njit
def add_child(trie: Trie, node: int, symbol: int, support: int, flags: int) -> int:
    """Make the child of `node` by `symbol`, which there is none of. Requires room for a node."""
    child = int(trie.sizes[0])
    key = node * trie.sizes[1] + symbol
    slot = _slot_of(trie.keys, key)
    trie.keys[slot] = key
    trie.children[slot] = child
    trie.symbols[child] = symbol
    trie.parents[child] = node
    trie.depths[child] = trie.depths[node] + 1
    trie.supports[child] = support
    trie.demand[child] = 0
    trie.flags[child] = flags
    trie.sizes[0] += 1
    return child


@njit
def enter_patterns(
    trie: Trie,
    patterns: Codes,
    offsets: Offsets,
    supports: Counts,
    min_support: int,
    secrets: Codes,
    secret_offsets: Offsets,
) -> None:
    """Enter patterns with their supports; what a pattern begins with is entered before it."""
    for pattern in range(offsets.size - 1):
        start, stop = offsets[pattern], offsets[pattern + 1]
        node = ROOT
        for i in range(start, stop - 1):
            node = find_child(trie, node, patterns[i])
        flags = EXACT
        if supports[pattern] >= min_support:
            flags |= FREQUENT
        for secret in range(secret_offsets.size - 1):
            at, end = secret_offsets[secret], secret_offsets[secret + 1]
            for i in range(start, stop):
                if at < end and patterns[i] == secrets[at]:
                    at += 1
            if at == end:
                flags |= OWED
        add_child(trie, node, patterns[stop - 1], supports[pattern], flags)


@njit
def copy_trie(trie: Trie, wider: Trie) -> None:
    """Copy all nodes into a trie with more room, which is empty."""
    for node in range(1, trie.sizes[0]):
        child = add_child(
            wider, trie.parents[node], trie.symbols[node], trie.supports[node], trie.flags[node]
        )
        wider.demand[child] = trie.demand[node]


@njit
def fill_next(row: Codes, n_local: int, following: Codes) -> None:
    """Write, for each place and local symbol, the place after its next occurrence, or -1.

    The row holds local symbols, -1 where something was deleted. Place ``p`` has the entries
    ``following[p * n_local : (p + 1) * n_local]``; there is one place more than the row is long.
    """
    last = row.size * n_local
    for symbol in range(n_local):
        following[last + symbol] = -1
    for place in range(row.size - 1, -1, -1):
        at = place * n_local
        for symbol in range(n_local):
            following[at + symbol] = following[at + n_local + symbol]
        if row[place] >= 0:
            following[at + row[place]] = place + 1


@njit
def add_demand(trie: Trie, row_next: Codes, alphabet: Codes, max_length: int, weight: int) -> int:
    """Add `weight` to the demand of every node that a row contains; give their number, owed ones apart.

    `row_next` is from `fill_next` with as many local symbols as the `alphabet`, which holds their codes.
    """
    n_local = alphabet.size
    nodes = np.empty(max_length + 1, np.int64)
    places = np.empty(max_length + 1, np.int64)
    turns = np.zeros(max_length + 1, np.int64)
    nodes[0] = ROOT
    places[0] = 0
    depth = 0
    n_found = 0
    while depth >= 0:
        if turns[depth] == n_local or depth == max_length:
            depth -= 1
            continue
        symbol = turns[depth]
        turns[depth] += 1
        place = row_next[places[depth] * n_local + symbol]
        if place < 0:
            continue
        child = find_child(trie, nodes[depth], alphabet[symbol])
        if child < 0:
            continue
        trie.demand[child] += weight
        n_found += not trie.flags[child] & OWED
        depth += 1
        nodes[depth] = child
        places[depth] = place
        turns[depth] = 0
    return n_found


@njit
def weigh_change(
    trie: Trie,
    before_next: Codes,
    after_next: Codes,
    alphabet: Codes,
    last_change: int,
    max_length: int,
    min_support: int,
    remaining: int,
    hits: Codes,
) -> tuple[int, int]:
    """Say what a changed row would do now: patterns lost and ghosts made, net, and candidates hit.

    A frequent pattern that a row loses is lost now if it has no supporter to spare, and is a candidate if it
    has fewer to spare than rows with it are still to be changed. A pattern that a row gains is a ghost now if
    it lacks one supporter, and is a candidate if it lacks no more than there are rows to be changed. The
    second answer counts the candidates; their nodes are written into `hits` as far as it has room.
    """
    n_local = alphabet.size
    nodes = np.empty(max_length + 1, np.int64)
    befores = np.empty(max_length + 1, np.int64)
    afters = np.empty(max_length + 1, np.int64)
    turns = np.zeros(max_length + 1, np.int64)
    nodes[0] = ROOT
    befores[0] = 0
    afters[0] = 0
    depth = 0
    effects, n_hits = 0, 0
    while depth >= 0:
        if turns[depth] == n_local or depth == max_length:
            depth -= 1
            continue
        symbol = turns[depth]
        turns[depth] += 1
        before, after = befores[depth], afters[depth]
        if before >= 0:
            before = before_next[before * n_local + symbol]
        if after >= 0:
            after = after_next[after * n_local + symbol]
        if before < 0 and after < 0:
            continue
        child = find_child(trie, nodes[depth], alphabet[symbol])
        if child < 0:
            # Nobody knows the pattern: with one supporter more it has at most so many.
            if before < 0 and trie.sizes[2] + 1 >= min_support:
                effects += 1
            continue
        if trie.flags[child] & OWED:
            continue
        support = trie.supports[child]
        is_hit = False
        if after < 0:
            if trie.flags[child] & FREQUENT:
                effects += support == min_support
                is_hit = min_support <= support and support - min_support < trie.demand[child]
            else:
                effects -= support == min_support
        elif before < 0:
            if trie.flags[child] & FREQUENT:
                effects -= support == min_support - 1
            else:
                effects += support == min_support - 1
                is_hit = support < min_support and support + remaining >= min_support
        if is_hit:
            if n_hits < hits.size:
                hits[n_hits] = child
            n_hits += 1
        if before == after and before > last_change:
            continue  # What follows is the same in both.
        depth += 1
        nodes[depth] = child
        befores[depth] = before
        afters[depth] = after
        turns[depth] = 0
    return effects, n_hits


@njit
def enter_change(
    trie: Trie,
    before_next: Codes,
    after_next: Codes,
    alphabet: Codes,
    last_change: int,
    max_length: int,
    min_support: int,
    room: int,
    close: Codes,
) -> int:
    """Count a changed row: what it lost and gained, patterns that were unknown included.

    Gives the number of nodes whose support is only bounded and may now be one short of `min_support`; they
    are written into `close` as far as it has room. At most `room` nodes are made; requires room for them.
    """
    n_local = alphabet.size
    nodes = np.empty(max_length + 1, np.int64)
    befores = np.empty(max_length + 1, np.int64)
    afters = np.empty(max_length + 1, np.int64)
    turns = np.zeros(max_length + 1, np.int64)
    nodes[0] = ROOT
    befores[0] = 0
    afters[0] = 0
    depth = 0
    n_close = 0
    while depth >= 0:
        if turns[depth] == n_local or depth == max_length:
            depth -= 1
            continue
        symbol = turns[depth]
        turns[depth] += 1
        before, after = befores[depth], afters[depth]
        if before >= 0:
            before = before_next[before * n_local + symbol]
        if after >= 0:
            after = after_next[after * n_local + symbol]
        if before < 0 and after < 0:
            continue
        child = find_child(trie, nodes[depth], alphabet[symbol])
        if child < 0:
            if before >= 0 and before == after and before > last_change:
                continue
            if after < 0 or room == 0:
                continue  # What is lost without having been known can only become rarer.
            room -= 1
            known = trie.sizes[2]
            child = add_child(trie, nodes[depth], alphabet[symbol], known, EXACT if known == 0 else 0)
        if after < 0:
            trie.supports[child] -= 1
        elif before < 0:
            trie.supports[child] += 1
            if not trie.flags[child] & EXACT and trie.supports[child] + 1 >= min_support:
                if n_close < close.size:
                    close[n_close] = child
                n_close += 1
        if before == after and before > last_change:
            continue
        depth += 1
        nodes[depth] = child
        befores[depth] = before
        afters[depth] = after
        turns[depth] = 0
    return n_close
