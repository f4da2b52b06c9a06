"""Index tuples counted once, what a generalization leaks, and the two greedy searches of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Numbers = npt.NDArray[np.float64]

NEAR = 1e-12
"""Losses whose difference is a smaller share of that of everything at the root are equal."""
HITS, SHARE, PATTERN_BOUND = 0, 1, 2
"""Columns of `Patterns.numbers`."""
SIZE, GROUP_BOUND = 0, 1
"""Columns of `Patterns.group_numbers`."""
CLOSED, FRESH = -1, -2
"""A symbol that goes no further down, and one whose block is to be measured."""
EMPTY = -1
"""A free place of a hash table."""


class SecretPatterns(NamedTuple):
    """The secret patterns that one person's sequence has, and what may leak of them."""

    symbols: Codes
    """One row of symbols per pattern, filled up with -1."""
    groups: Counts
    """Pattern to the group of its length."""
    numbers: Numbers
    """Pattern to how often it occurs, its share P among the tuples of its length, and its own bound."""
    group_numbers: Numbers
    """Group to the number of all index tuples of its length, and to the bound of its patterns together."""
    is_exact: bool
    """Whether the tuples that are no pattern count as an outcome, too."""


class Tuples(NamedTuple):
    """The different index tuples of one person's sequence, each counted once."""

    symbols: Codes
    """One row of symbols per different tuple, group after group, filled up with -1."""
    counts: Counts
    """Tuple to how often it occurs."""
    list_offsets: Offsets
    """Symbol ``s`` at place ``k`` of group ``g`` has the list ``(g * widest + k) * n_symbols + s``."""
    listed: Codes
    """The tuples of all lists."""


class PersonProblem(NamedTuple):
    """One person's symbols, numbered from 0 as they occur here, their tuples and secret patterns."""

    paths: Codes
    """Cell ``[s, d]``: the node above symbol ``s`` at depth ``d``; beyond its leaf the leaf itself."""
    leaf_depths: Counts
    """Symbol to the depth of its leaf."""
    costs: Numbers
    """Cell ``[s, d]``: what it costs to release all of symbol ``s`` at depth ``d``."""
    near: float
    """Losses that differ by no more are equal."""
    patterns: SecretPatterns
    """What is to be hidden."""
    tuples: Tuples
    """What it is hidden among."""


@njit
def tally_tuples(
    symbols: Codes,
    places: Counts,
    n_symbols: int,
    length: int,
    window: int,
    counts: Counts,
    keys: Counts | None,
    most: int,
) -> tuple[Counts, Counts] | None:
    """Count every choice of `length` rising places within the window by the symbols it spells.

    The key of a choice has its symbols as digits, the first being the highest. Without `keys` the count of
    key ``i`` is ``counts[i]``. Otherwise both are a hash table, a power of two of places, which comes back
    larger where it has to, and empty where there are more than `most` different keys. Requires
    ``length > 1``.
    """
    n_places, n_keys, end = places.size, 0, 0
    table: Any = keys
    often = counts
    at, prefix = np.empty(length, np.int64), np.empty(length, np.int64)
    for first in range(n_places):
        while end < n_places and places[end] - places[first] <= window:
            end += 1
        at[0], prefix[0] = first, symbols[first]
        at[1], k = first, 1
        while k > 0:
            if k < length - 1:
                at[k] += 1
                if at[k] < end:
                    prefix[k] = prefix[k - 1] * n_symbols + symbols[at[k]]
                    k += 1
                    at[k] = at[k - 1]
                else:
                    k -= 1
                continue
            row = prefix[k - 1] * n_symbols
            # The compiler leaves out what is not asked for.
            if keys is None:
                for last in range(at[k - 1] + 1, end):
                    counts[row + symbols[last]] += 1
            else:
                for last in range(at[k - 1] + 1, end):
                    slot = find_slot(table, row + symbols[last])
                    if table[slot] == EMPTY:
                        table[slot] = row + symbols[last]
                        n_keys += 1
                    often[slot] += 1
                    if 2 * n_keys > table.size:
                        if n_keys > most:
                            return table[:0], often[:0]
                        table, often = enlarge_table(table, often)
            k -= 1
    return None if keys is None else (table, often)


@inner
def find_slot(keys: Counts, key: int) -> int:
    """Return the place of a key in a hash table, or the free one where it belongs."""
    mask = keys.size - 1
    at = (key ^ (key >> 12) ^ (key >> 27)) & mask
    while keys[at] != EMPTY and keys[at] != key:
        at = (at + 1) & mask
    return at


@inner
def enlarge_table(keys: Counts, counts: Counts) -> tuple[Counts, Counts]:
    """Return a hash table of four times the size with the same contents."""
    more_keys, more_counts = np.empty(4 * keys.size, np.int64), np.empty(4 * keys.size, np.int64)
    for slot in range(more_keys.size):
        more_keys[slot], more_counts[slot] = EMPTY, 0
    for old in range(keys.size):
        if keys[old] != EMPTY:
            slot = find_slot(more_keys, keys[old])
            more_keys[slot], more_counts[slot] = keys[old], counts[old]
    return more_keys, more_counts


@njit
def list_tuples(tuples: Codes, group_offsets: Offsets, n_symbols: int, ends: Offsets, listed: Codes) -> None:
    """Write the tuples of every list of `Tuples` to `listed`; `ends` has where each list begins."""
    widest = tuples.shape[1]
    for group in range(group_offsets.size - 1):
        for row in range(group_offsets[group], group_offsets[group + 1]):
            for k in range(widest):
                if tuples[row, k] >= 0:
                    each = (group * widest + k) * n_symbols + tuples[row, k]
                    listed[ends[each]] = row
                    ends[each] += 1


@njit
def mark_participants(codes: Codes, pattern: Codes, window: int, marked: Mask) -> None:
    """Mark every place that takes part in an occurrence of `pattern` within the window."""
    length = pattern.size
    earliest, latest = np.empty(length, np.int64), np.empty(length, np.int64)
    for start in range(codes.size):
        if codes[start] != pattern[0]:
            continue
        stop = min(start + window + 1, codes.size)
        k, place = 0, start
        while place < stop and k < length:
            if codes[place] == pattern[k]:
                earliest[k] = place
                k += 1
            place += 1
        if k < length:
            continue
        k, place = length - 1, stop - 1
        while k > 0:
            if codes[place] == pattern[k]:
                latest[k] = place
                k -= 1
            place -= 1
        marked[start] = True
        for k in range(1, length):
            for place in range(earliest[k], latest[k] + 1):
                if codes[place] == pattern[k]:
                    marked[place] = True


@inner
def _looks_like(tuples: Codes, row: int, patterns: Codes, pattern: int, length: int, nodes: Codes) -> bool:
    k = 0
    while k < length and nodes[tuples[row, k]] == nodes[patterns[pattern, k]]:
        k += 1
    return k == length


@inner
def _shortest_lists(offsets: Offsets, pattern: Codes, length: int, base: int, nodes: Codes) -> int:
    """Return the place of a pattern at which the fewest tuples look like it."""
    place, fewest = 0, np.int64(-1)
    for k in range(length):
        size = np.int64(0)
        for symbol in range(nodes.size):
            if nodes[symbol] == nodes[pattern[k]]:
                each = base + k * nodes.size + symbol
                size += offsets[each + 1] - offsets[each]
        if fewest < 0 or size < fewest:
            place, fewest = k, size
    return place


@njit
def recount_alike(
    tuples: Tuples, patterns: SecretPatterns, nodes: Codes, new: Codes, alike: Counts, after: Counts
) -> None:
    """Count, per pattern, the index tuples that are released as it is, after symbols moved to `new` nodes.

    Patterns that have a moved symbol are counted anew, from the shortest lists that hold what looks like
    them; of the others only tuples with a moved symbol change. With nodes of -1 everything is counted.
    """
    rows, symbols, offsets = tuples.symbols, patterns.symbols, tuples.list_offsets
    widest, n_symbols = rows.shape[1], nodes.size
    for pattern in range(alike.size):
        base = patterns.groups[pattern] * widest * n_symbols
        length, has_moved = 0, False
        while length < widest and symbols[pattern, length] >= 0:
            symbol = symbols[pattern, length]
            has_moved = has_moved or nodes[symbol] != new[symbol]
            length += 1
        total = np.int64(0) if has_moved else alike[pattern]
        only = _shortest_lists(offsets, symbols[pattern], length, base, new) if has_moved else -1
        for k in range(length):
            if has_moved and k != only:
                continue
            node = new[symbols[pattern, k]]
            for symbol in range(n_symbols):
                is_there, was_there = new[symbol] == node, nodes[symbol] == node
                if not is_there and (has_moved or not was_there):
                    continue
                if not has_moved and nodes[symbol] == new[symbol]:
                    continue
                each = base + k * n_symbols + symbol
                for at in range(offsets[each], offsets[each + 1]):
                    row = tuples.listed[at]
                    if has_moved:
                        if _looks_like(rows, row, symbols, pattern, length, new):
                            total += tuples.counts[row]
                        continue
                    # A tuple with several moved symbols counts with the first.
                    is_first = True
                    for earlier in range(k):
                        other = rows[row, earlier]
                        is_first = is_first and nodes[other] == new[other]
                    if is_first:
                        if _looks_like(rows, row, symbols, pattern, length, nodes):
                            total -= tuples.counts[row]
                        if _looks_like(rows, row, symbols, pattern, length, new):
                            total += tuples.counts[row]
        after[pattern] = total


@inner
def _open_nats(alike: float, hits: float) -> float:
    """Return what is open about `alike` tuples, `hits` of them a pattern, for the others, in nats."""
    nats: float = -(alike - hits) * np.log1p(-hits / alike) if hits < alike else 0.0
    return nats


@inner
def _hits_alike(patterns: SecretPatterns, nodes: Codes, alike: Counts, pattern: int) -> float:
    """Count the occurrences of patterns that are released as `pattern` is; -1 unless it is their first."""
    symbols, hits = patterns.symbols, 0.0
    for other in range(alike.size):
        if patterns.groups[other] != patterns.groups[pattern] or alike[other] != alike[pattern]:
            continue
        k = 0
        while (
            k < symbols.shape[1]
            and symbols[pattern, k] >= 0
            and nodes[symbols[other, k]] == nodes[symbols[pattern, k]]
        ):
            k += 1
        if k == symbols.shape[1] or symbols[pattern, k] < 0:
            if other < pattern:
                return -1.0
            hits += patterns.numbers[other, HITS]
    return hits


@njit
def is_private(patterns: SecretPatterns, nodes: Codes, alike: Counts, with_none: bool) -> bool:
    """Return whether each pattern stays within its bound, and the sums within those of the groups.

    By the exact measure the outcome that a tuple is no pattern counts, too. With N tuples, H of them
    patterns, and per image F tuples and H_g patterns, the leakage about that outcome, the sum over images of
    P[none, g] log2 (P[none, g] / (P[none] P[g])), is what is open about N of which H are patterns, less the
    sum of what is open about F of which H_g are. Images without a pattern have nothing open.

    Without `with_none` that outcome is left out of the sums of groups. Only `alike` matters then, and
    the leakage falls as it rises.
    """
    numbers = patterns.numbers
    for group in range(patterns.group_numbers.shape[0]):
        n_tuples, bound = patterns.group_numbers[group, SIZE], patterns.group_numbers[group, GROUP_BOUND]
        leaked = 0.0
        for pattern in range(alike.size):
            if patterns.groups[pattern] != group:
                continue
            hits = numbers[pattern, HITS]
            bits = numbers[pattern, SHARE] * np.log2(n_tuples / alike[pattern])
            leaked += bits
            if patterns.is_exact:
                others = _open_nats(n_tuples, hits) - _open_nats(float(alike[pattern]), hits)
                bits += others / n_tuples / np.log(2.0)
            if bits > numbers[pattern, PATTERN_BOUND]:
                return False
        if leaked > bound:
            return False
        if patterns.is_exact and with_none and bound < np.inf:
            n_hits, still_open = 0.0, 0.0
            for pattern in range(alike.size):
                if patterns.groups[pattern] == group:
                    n_hits += numbers[pattern, HITS]
                    hits = _hits_alike(patterns, nodes, alike, pattern)
                    if hits >= 0:
                        still_open += _open_nats(float(alike[pattern]), hits)
            leaked = (_open_nats(n_tuples, n_hits) - still_open) / n_tuples / np.log(2.0)
            for pattern in range(alike.size):
                if patterns.groups[pattern] == group:
                    leaked += numbers[pattern, SHARE] * np.log2(n_tuples / alike[pattern])
            if leaked > bound:
                return False
    return True


@njit
def top_down(problem: PersonProblem, is_active: Mask, ranks: Counts, depths: Counts) -> bool:
    """Write the `depths` to which the active symbols can be refined from the root while that stays private.

    A block of symbols that moves to a child saves the same whatever the others do, and what is not private
    once never will be (Lemma 1 for the paper's measure, the data-processing inequality for both), so each
    block is tried once, the most saving first. That is the answer of Algorithm 1, which tries all blocks in
    every round. Among equals the one with the rarest symbol is first, because the rounds of Algorithm 1 go
    from frequent to rare and keep the last; `ranks` has the most frequent symbol as 0.

    Returns False where all active symbols on the root are not private.
    """
    n_symbols, n_patterns = depths.size, problem.patterns.symbols.shape[0]
    paths, costs = problem.paths, problem.costs
    nodes, new = np.empty(n_symbols, np.int32), np.empty(n_symbols, np.int32)
    alike, counted = np.empty(n_patterns, np.int64), np.empty(n_patterns, np.int64)
    # The latest rank in the block of a symbol that could go down.
    savings, latest = np.empty(n_symbols, np.float64), np.empty(n_symbols, np.int64)
    for symbol in range(n_symbols):
        depths[symbol] = 0 if is_active[symbol] else problem.leaf_depths[symbol]
        nodes[symbol], new[symbol] = -1, paths[symbol, depths[symbol]]
        latest[symbol] = FRESH if depths[symbol] < problem.leaf_depths[symbol] else CLOSED
    recount_alike(problem.tuples, problem.patterns, nodes, new, alike, counted)
    if not is_private(problem.patterns, new, counted, True):
        return False
    near = problem.near
    while True:
        alike, counted = counted, alike
        best = -1
        for symbol in range(n_symbols):
            nodes[symbol] = new[symbol]
            if latest[symbol] == FRESH:
                depth, saved = depths[symbol] + 1, 0.0
                for other in range(n_symbols):
                    is_same = is_active[other] and depths[other] == depth - 1
                    if is_same and paths[other, depth] == paths[symbol, depth]:
                        saved += costs[other, depth - 1] - costs[other, depth]
                        latest[symbol] = max(latest[symbol], ranks[other])
                savings[symbol] = saved
            if latest[symbol] != CLOSED and (
                best < 0
                or savings[symbol] > savings[best] + near
                or (savings[symbol] >= savings[best] - near and latest[symbol] > latest[best])
            ):
                best = symbol
        if best < 0:
            return True
        depth = depths[best] + 1
        for symbol in range(n_symbols):
            is_same = is_active[symbol] and depths[symbol] == depth - 1
            if is_same and paths[symbol, depth] == paths[best, depth]:
                new[symbol] = paths[symbol, depth]
        recount_alike(problem.tuples, problem.patterns, nodes, new, alike, counted)
        goes_down = is_private(problem.patterns, new, counted, True)
        if not goes_down:
            alike, counted = counted, alike
        for symbol in range(n_symbols):
            if nodes[symbol] == new[symbol]:
                continue
            latest[symbol] = CLOSED
            if goes_down:
                depths[symbol] = depth
                if depth < problem.leaf_depths[symbol]:
                    latest[symbol] = FRESH
            else:
                new[symbol] = nodes[symbol]


@inner
def common_ancestor(parents: Codes, node_depths: Codes, a: int, b: int) -> int:
    """Return the lowest node at or above both."""
    while node_depths[a] > node_depths[b]:
        a = parents[a]
    while node_depths[b] > node_depths[a]:
        b = parents[b]
    while a != b:
        a, b = parents[a], parents[b]
    return a


@njit
def generalize_alike(
    left: Codes, right: Codes, length: int, parents: Codes, node_depths: Codes, target: Codes
) -> None:
    """Write to `target`, per node of two patterns, the lowest node that makes the patterns equal.

    This is Algorithm 2: places pull their two nodes to the lowest common ancestor until nothing moves.
    """
    for k in range(length):
        target[left[k]] = left[k]
        target[right[k]] = right[k]
    moves = True
    while moves:
        moves = False
        for k in range(length):
            common = common_ancestor(parents, node_depths, target[left[k]], target[right[k]])
            if target[left[k]] != common or target[right[k]] != common:
                target[left[k]] = common
                target[right[k]] = common
                moves = True


@njit
def bottom_up(
    problem: PersonProblem, may_lift: Mask, parents: Codes, node_depths: Codes, depths: Counts
) -> int:
    """Write the `depths` at which it is private after the closest patterns of one length were merged.

    Where there are none left to merge, blocks are lifted (Algorithm 3). Returns how often it was tested, once
    at the start and after each step, or 0 where it is not private to have all symbols on the root that may be
    lifted.
    """
    n_symbols, n_patterns = depths.size, problem.patterns.symbols.shape[0]
    nodes, new = np.empty(n_symbols, np.int32), np.empty(n_symbols, np.int32)
    alike, counted = np.empty(n_patterns, np.int64), np.empty(n_patterns, np.int64)
    for symbol in range(n_symbols):
        depths[symbol] = problem.leaf_depths[symbol]
        nodes[symbol], new[symbol] = -1, problem.paths[symbol, 0 if may_lift[symbol] else depths[symbol]]
    recount_alike(problem.tuples, problem.patterns, nodes, new, alike, counted)
    if not is_private(problem.patterns, new, counted, True):
        return 0
    for symbol in range(n_symbols):
        new[symbol] = problem.paths[symbol, depths[symbol]]
    recount_alike(problem.tuples, problem.patterns, nodes, new, alike, counted)
    centroids, groups = problem.patterns.symbols.copy(), problem.patterns.groups.copy()
    for pattern in range(n_patterns):
        for k in range(centroids.shape[1]):
            if centroids[pattern, k] >= 0:
                centroids[pattern, k] = new[centroids[pattern, k]]
    n_clusters, n_tested = n_patterns, 1
    while not is_private(problem.patterns, new, counted, True):
        for symbol in range(n_symbols):
            nodes[symbol] = new[symbol]
        alike, counted = counted, alike
        clusters = centroids[:n_clusters], groups[:n_clusters]
        if not _merge_closest(problem, nodes, new, clusters, parents, node_depths):
            _lift_cheapest(problem, nodes, new, depths, may_lift, parents.size)
        else:
            n_clusters -= 1
        n_tested += 1
        recount_alike(problem.tuples, problem.patterns, nodes, new, alike, counted)
        for symbol in range(n_symbols):
            if nodes[symbol] != new[symbol]:
                depths[symbol] = node_depths[new[symbol]]
    return n_tested


@inner
def _merge_closest(
    problem: PersonProblem,
    nodes: Codes,
    new: Codes,
    clusters: tuple[Codes, Counts],
    parents: Codes,
    node_depths: Codes,
) -> bool:
    """Merge in `new` the two clusters of one length whose merger costs least; False where there are none.

    The centroids and groups of `clusters` become those after the merger, one less.
    """
    centroids, groups = clusters
    n_clusters, widest = centroids.shape
    target = np.empty(parents.size, np.int32)
    for node in range(parents.size):
        target[node] = -1
    closest, best_left, best_right, best_length = -1.0, -1, -1, 0
    for left in range(n_clusters):
        length = 0
        while length < widest and centroids[left, length] >= 0:
            length += 1
        for right in range(left + 1, n_clusters):
            if groups[left] != groups[right]:
                continue
            generalize_alike(centroids[left], centroids[right], length, parents, node_depths, target)
            distance = 0.0
            for symbol in range(nodes.size):
                if target[nodes[symbol]] >= 0:
                    distance += problem.costs[symbol, node_depths[target[nodes[symbol]]]]
            for k in range(length):
                target[centroids[left, k]] = -1
                target[centroids[right, k]] = -1
            if best_left < 0 or distance < closest - problem.near:
                closest, best_left, best_right, best_length = distance, left, right, length
    if best_left < 0:
        return False
    generalize_alike(centroids[best_left], centroids[best_right], best_length, parents, node_depths, target)
    for symbol in range(nodes.size):
        if target[nodes[symbol]] >= 0:
            new[symbol] = target[nodes[symbol]]
    for cluster in range(n_clusters):
        source = cluster if cluster < best_right else cluster + 1
        if source == n_clusters:
            break
        groups[cluster] = groups[source]
        for k in range(widest):
            node = centroids[source, k]
            centroids[cluster, k] = target[node] if node >= 0 and target[node] >= 0 else node
    return True


@inner
def _lift_cheapest(
    problem: PersonProblem, nodes: Codes, new: Codes, depths: Counts, may_lift: Mask, n_nodes: int
) -> None:
    """Move in `new` the block of symbols on one node whose parent costs least extra, first ones first."""
    extra = np.empty(n_nodes, np.float64)
    for node in range(n_nodes):
        extra[node] = 0.0
    for symbol in range(nodes.size):
        if may_lift[symbol] and depths[symbol] > 0:
            depth = depths[symbol]
            extra[nodes[symbol]] += problem.costs[symbol, depth - 1] - problem.costs[symbol, depth]
    best = -1
    for symbol in range(nodes.size):
        can_lift = may_lift[symbol] and depths[symbol] > 0
        if can_lift and (best < 0 or extra[nodes[symbol]] < extra[nodes[best]] - problem.near):
            best = symbol
    for symbol in range(nodes.size):
        if may_lift[symbol] and nodes[symbol] == nodes[best]:
            new[symbol] = problem.paths[symbol, depths[symbol] - 1]
