"""Index tuples counted once, what a generalization leaks, and the two greedy searches of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Numbers = npt.NDArray[np.float64]

NEAR = 1e-12
"""Losses whose difference is a smaller share of the largest are equal."""
HITS, SHARE, PATTERN_BOUND = 0, 1, 2
"""Columns of `Problem.pattern_numbers`."""
SIZE, GROUP_BOUND = 0, 1
"""Columns of `Problem.group_numbers`."""
CLOSED, FRESH = -1, -2
"""A symbol that goes no further down, and one whose block is to be measured."""
EMPTY = -1
"""A free place of a hash table."""


class Problem(NamedTuple):
    """One person's symbols, tuples and secret patterns; symbols are numbered from 0 as they occur here."""

    paths: Codes
    """Cell ``[s, d]``: the node above symbol ``s`` at depth ``d``; beyond its leaf the leaf itself."""
    leaf_depths: Counts
    """Symbol to the depth of its leaf."""
    costs: Numbers
    """Cell ``[s, d]``: what it costs to release all of symbol ``s`` at depth ``d``."""
    patterns: Codes
    """One row of symbols per pattern, filled up with -1."""
    pattern_groups: Counts
    """Pattern to the group of its length."""
    pattern_numbers: Numbers
    """Pattern to how often it occurs, its share P among the tuples of its length, and its own bound."""
    group_numbers: Numbers
    """Group to the number of all index tuples of its length, and to the bound of its patterns together."""
    tuples: Codes
    """One row of symbols per different tuple, group after group, filled up with -1."""
    counts: Counts
    """Tuple to how often it occurs."""
    list_offsets: Offsets
    """Symbol ``s`` at place ``k`` of group ``g`` has the list ``(g * widest + k) * n_symbols + s``."""
    list_tuples: Codes
    """The tuples of all lists."""
    is_exact: bool
    """Whether the tuples that are no pattern count as an outcome, too."""


@njit
def tally_tuples(
    symbols: Codes,
    places: Counts,
    n_symbols: int,
    length: int,
    window: int,
    keys: Counts,
    counts: Counts,
    most: int,
) -> tuple[Counts, Counts]:
    """Count every choice of `length` rising places within the window by the symbols it spells.

    The key of a choice has its symbols as digits, the first being the highest. Without `keys` the count of
    key ``i`` is ``counts[i]``. Otherwise both are a hash table, a power of two of places, which grows; it
    comes back empty where there are more than `most` different keys. Requires ``length > 1``.
    """
    n_places, n_keys, end = places.size, 0, 0
    is_dense = keys.size == 0
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
            if is_dense:
                for last in range(at[k - 1] + 1, end):
                    counts[row + symbols[last]] += 1
            else:
                for last in range(at[k - 1] + 1, end):
                    slot = find_slot(keys, row + symbols[last])
                    if keys[slot] == EMPTY:
                        keys[slot] = row + symbols[last]
                        n_keys += 1
                    counts[slot] += 1
                    if 2 * n_keys > keys.size:
                        if n_keys > most:
                            return keys[:0], counts[:0]
                        keys, counts = enlarge_table(keys, counts)
            k -= 1
    return keys, counts


@njit
def find_slot(keys: Counts, key: int) -> int:
    """Return the place of a key in a hash table, or the free one where it belongs."""
    mask = keys.size - 1
    at = (key ^ (key >> 12) ^ (key >> 27)) & mask
    while keys[at] != EMPTY and keys[at] != key:
        at = (at + 1) & mask
    return at


@njit
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
    """Write the tuples of every list of `Problem` to `listed`; `ends` has where each list begins."""
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


@njit
def _looks_like(tuples: Codes, row: int, patterns: Codes, pattern: int, length: int, nodes: Codes) -> bool:
    k = 0
    while k < length and nodes[tuples[row, k]] == nodes[patterns[pattern, k]]:
        k += 1
    return k == length


@njit
def _count_alike(problem: Problem, nodes: Codes, pattern: int, base: int, length: int) -> int:
    """Count the index tuples that are released as `pattern` is, from the shortest lists that hold them."""
    tuples, patterns, offsets = problem.tuples, problem.patterns, problem.list_offsets
    n_symbols = nodes.size
    place, fewest = 0, np.int64(-1)
    for k in range(length):
        node, start = nodes[patterns[pattern, k]], base + k * n_symbols
        size = np.int64(0)
        for symbol in range(n_symbols):
            if nodes[symbol] == node:
                size += offsets[start + symbol + 1] - offsets[start + symbol]
        if fewest < 0 or size < fewest:
            place, fewest = k, size
    node, start = nodes[patterns[pattern, place]], base + place * n_symbols
    total = 0
    for symbol in range(n_symbols):
        if nodes[symbol] == node:
            for at in range(offsets[start + symbol], offsets[start + symbol + 1]):
                row = problem.list_tuples[at]
                if _looks_like(tuples, row, patterns, pattern, length, nodes):
                    total += problem.counts[row]
    return total


@njit
def recount_alike(problem: Problem, nodes: Codes, new: Codes, alike: Counts, after: Counts) -> None:
    """Count, per pattern, the index tuples that are released as it is, after symbols moved to `new` nodes.

    Patterns that have a moved symbol are counted anew; of the others only tuples with a moved symbol change.
    With nodes of -1 everything is counted.
    """
    tuples, patterns, offsets = problem.tuples, problem.patterns, problem.list_offsets
    widest, n_symbols = tuples.shape[1], nodes.size
    for pattern in range(alike.size):
        base = problem.pattern_groups[pattern] * widest * n_symbols
        length, has_moved = 0, False
        while length < widest and patterns[pattern, length] >= 0:
            symbol = patterns[pattern, length]
            has_moved = has_moved or nodes[symbol] != new[symbol]
            length += 1
        if has_moved:
            after[pattern] = _count_alike(problem, new, pattern, base, length)
            continue
        total = alike[pattern]
        for k in range(length):
            node, start = nodes[patterns[pattern, k]], base + k * n_symbols
            for symbol in range(n_symbols):
                if nodes[symbol] == new[symbol] or (node != nodes[symbol] and node != new[symbol]):
                    continue
                for at in range(offsets[start + symbol], offsets[start + symbol + 1]):
                    row = problem.list_tuples[at]
                    is_first = True
                    for earlier in range(k):
                        other = tuples[row, earlier]
                        is_first = is_first and nodes[other] == new[other]
                    if is_first:
                        if _looks_like(tuples, row, patterns, pattern, length, nodes):
                            total -= problem.counts[row]
                        if _looks_like(tuples, row, patterns, pattern, length, new):
                            total += problem.counts[row]
        after[pattern] = total


@njit
def _open_nats(alike: float, hits: float) -> float:
    """Return what is open about `alike` tuples, `hits` of them a pattern, for the others, in nats."""
    nats: float = -(alike - hits) * np.log1p(-hits / alike) if hits < alike else 0.0
    return nats


@njit
def _told_of_others(problem: Problem, nodes: Codes, alike: Counts, group: int) -> float:
    """Return the bits that are told of tuples which are no pattern of the group.

    With N tuples, H of them patterns, and per image F tuples and H_g patterns, the sum over images of
    P[none, g] log2 (P[none, g] / (P[none] P[g])) is what is open about N of which H are patterns, less the
    sum of what is open about F of which H_g are. Images without a pattern have nothing open.
    """
    patterns, numbers, groups = problem.patterns, problem.pattern_numbers, problem.pattern_groups
    n_tuples, widest = problem.group_numbers[group, SIZE], patterns.shape[1]
    n_hits, still_open = 0.0, 0.0
    for pattern in range(alike.size):
        if groups[pattern] != group:
            continue
        n_hits += numbers[pattern, HITS]
        # The first pattern of an image speaks for all of them.
        is_first, hits = True, 0.0
        for other in range(alike.size):
            if groups[other] != group or alike[other] != alike[pattern]:
                continue
            k = 0
            while (
                k < widest
                and patterns[pattern, k] >= 0
                and nodes[patterns[other, k]] == nodes[patterns[pattern, k]]
            ):
                k += 1
            if k == widest or patterns[pattern, k] < 0:
                if other < pattern:
                    is_first = False
                    break
                hits += numbers[other, HITS]
        if is_first:
            still_open += _open_nats(float(alike[pattern]), hits)
    bits: float = (_open_nats(n_tuples, n_hits) - still_open) / n_tuples / np.log(2.0)
    return bits


@njit
def is_private(problem: Problem, nodes: Codes, alike: Counts, with_none: bool) -> bool:
    """Return whether each pattern stays within its bound, and the sums within those of the groups.

    Without `with_none` the outcome that a tuple is no pattern at all is left out, as by the paper's measure.
    Only `alike` matters then, and whatever is told falls as it rises.
    """
    numbers = problem.pattern_numbers
    for group in range(problem.group_numbers.shape[0]):
        n_tuples, bound = problem.group_numbers[group, SIZE], problem.group_numbers[group, GROUP_BOUND]
        told = 0.0
        for pattern in range(alike.size):
            if problem.pattern_groups[pattern] != group:
                continue
            bits = numbers[pattern, SHARE] * np.log2(n_tuples / alike[pattern])
            told += bits
            if problem.is_exact:
                hits = numbers[pattern, HITS]
                others = _open_nats(n_tuples, hits) - _open_nats(float(alike[pattern]), hits)
                bits += others / n_tuples / np.log(2.0)
            if bits > numbers[pattern, PATTERN_BOUND]:
                return False
        if told > bound:
            return False
        if problem.is_exact and with_none and bound < np.inf:
            told = _told_of_others(problem, nodes, alike, group)
            for pattern in range(alike.size):
                if problem.pattern_groups[pattern] == group:
                    told += numbers[pattern, SHARE] * np.log2(n_tuples / alike[pattern])
            if told > bound:
                return False
    return True


@njit
def small_loss(problem: Problem) -> float:
    """Return the difference of losses that counts as none: a share of the loss of everything at the root."""
    loss = 0.0
    for symbol in range(problem.costs.shape[0]):
        loss += problem.costs[symbol, 0]
    return NEAR * loss


@njit
def top_down(problem: Problem, is_active: Mask, ranks: Counts, depths: Counts) -> bool:
    """Write the `depths` to which the active symbols can be refined from the root while that stays private.

    A block of symbols that moves to a child saves the same whatever the others do, and what is not private
    once never will be (Lemma 1 for the paper's measure, the data-processing inequality for both), so each
    block is tried once, the most saving first. That is the answer of Algorithm 1, which tries all blocks in
    every round. Among equals the one with the rarest symbol is first, because the rounds of Algorithm 1 go
    from frequent to rare and keep the last; `ranks` has the most frequent symbol as 0.

    Returns False where all active symbols on the root are not private.
    """
    n_symbols, n_patterns = depths.size, problem.patterns.shape[0]
    paths, costs = problem.paths, problem.costs
    nodes, new = np.empty(n_symbols, np.int32), np.empty(n_symbols, np.int32)
    alike, counted = np.empty(n_patterns, np.int64), np.empty(n_patterns, np.int64)
    # The latest rank in the block of a symbol that could go down.
    savings, latest = np.empty(n_symbols, np.float64), np.empty(n_symbols, np.int64)
    for symbol in range(n_symbols):
        depths[symbol] = 0 if is_active[symbol] else problem.leaf_depths[symbol]
        nodes[symbol], new[symbol] = -1, paths[symbol, depths[symbol]]
        latest[symbol] = FRESH if depths[symbol] < problem.leaf_depths[symbol] else CLOSED
    recount_alike(problem, nodes, new, alike, counted)
    if not is_private(problem, new, counted, True):
        return False
    near = small_loss(problem)
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
        recount_alike(problem, nodes, new, alike, counted)
        goes_down = is_private(problem, new, counted, True)
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


@njit
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
def bottom_up(problem: Problem, may_lift: Mask, parents: Codes, node_depths: Codes, depths: Counts) -> bool:
    """Write the `depths` at which it is private after the closest patterns of one length were merged.

    Where there are none left to merge, blocks are lifted (Algorithm 3). Returns False where it is not private
    to have all symbols on the root that may be lifted.
    """
    n_symbols, n_patterns = depths.size, problem.patterns.shape[0]
    nodes, new = np.empty(n_symbols, np.int32), np.empty(n_symbols, np.int32)
    alike, counted = np.empty(n_patterns, np.int64), np.empty(n_patterns, np.int64)
    for symbol in range(n_symbols):
        depths[symbol] = problem.leaf_depths[symbol]
        nodes[symbol], new[symbol] = -1, problem.paths[symbol, 0 if may_lift[symbol] else depths[symbol]]
    recount_alike(problem, nodes, new, alike, counted)
    if not is_private(problem, new, counted, True):
        return False
    for symbol in range(n_symbols):
        new[symbol] = problem.paths[symbol, depths[symbol]]
    recount_alike(problem, nodes, new, alike, counted)
    near = small_loss(problem)
    centroids, groups = problem.patterns.copy(), problem.pattern_groups.copy()
    for pattern in range(n_patterns):
        for k in range(centroids.shape[1]):
            if centroids[pattern, k] >= 0:
                centroids[pattern, k] = new[centroids[pattern, k]]
    n_clusters = n_patterns
    while not is_private(problem, new, counted, True):
        for symbol in range(n_symbols):
            nodes[symbol] = new[symbol]
        alike, counted = counted, alike
        if not _merge_closest(problem, nodes, new, centroids, groups, n_clusters, parents, node_depths, near):
            _lift_cheapest(problem, nodes, new, depths, may_lift, parents.size, near)
        else:
            n_clusters -= 1
        recount_alike(problem, nodes, new, alike, counted)
        for symbol in range(n_symbols):
            if nodes[symbol] != new[symbol]:
                depths[symbol] = node_depths[new[symbol]]
    return True


@njit
def _merge_closest(
    problem: Problem,
    nodes: Codes,
    new: Codes,
    centroids: Codes,
    groups: Counts,
    n_clusters: int,
    parents: Codes,
    node_depths: Codes,
    near: float,
) -> bool:
    """Merge in `new` the two clusters of one length whose merger costs least; False where there are none."""
    widest = centroids.shape[1]
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
            if best_left < 0 or distance < closest - near:
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


@njit
def _lift_cheapest(
    problem: Problem,
    nodes: Codes,
    new: Codes,
    depths: Counts,
    may_lift: Mask,
    n_nodes: int,
    near: float,
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
        if can_lift and (best < 0 or extra[nodes[symbol]] < extra[nodes[best]] - near):
            best = symbol
    for symbol in range(nodes.size):
        if may_lift[symbol] and nodes[symbol] == nodes[best]:
            new[symbol] = problem.paths[symbol, depths[symbol] - 1]
