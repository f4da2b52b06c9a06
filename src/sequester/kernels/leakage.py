"""What a generalization of one person's symbols leaks: counted once, and then only where it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Numbers = npt.NDArray[np.float64]


class Problem(NamedTuple):
    """One person's symbols, tuples and secret patterns; symbols are numbered from 0 as they occur here."""

    paths: Codes
    """Cell ``[s, d]``: the node above symbol ``s`` at depth ``d``; beyond its leaf the leaf itself."""
    leaf_depths: Counts
    """Symbol to the depth of its leaf."""
    costs: Numbers
    """Cell ``[s, d]``: what it costs to release all of symbol ``s`` at depth ``d``."""
    frequencies: Counts
    """Symbol to its number of events."""
    is_sensitive: Mask
    """Symbol to whether a pattern has it."""
    patterns: Codes
    """One row of symbols per pattern, filled up with -1."""
    pattern_groups: Counts
    """Pattern to the group of its length."""
    hits: Counts
    """Pattern to how often it occurs."""
    shares: Numbers
    """Pattern to its share P among the tuples of its length."""
    pattern_bounds: Numbers
    """Pattern to the bits that it may leak by itself."""
    group_lengths: Counts
    """Group to the length of its patterns and tuples."""
    group_sizes: Numbers
    """Group to the number of all index tuples of its length."""
    group_bounds: Numbers
    """Group to the bits that its patterns may leak together."""
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
def list_tuples(
    tuples: Codes, group_offsets: Offsets, group_lengths: Counts, n_symbols: int
) -> tuple[Offsets, Codes]:
    """List, for each group, place and symbol, the tuples that have the symbol there."""
    widest = tuples.shape[1]
    offsets = np.zeros(group_lengths.size * widest * n_symbols + 1, np.int64)
    for group in range(group_lengths.size):
        for row in range(group_offsets[group], group_offsets[group + 1]):
            for k in range(group_lengths[group]):
                offsets[(group * widest + k) * n_symbols + tuples[row, k] + 1] += 1
    for each in range(offsets.size - 1):
        offsets[each + 1] += offsets[each]
    ends = offsets.copy()
    listed = np.empty(offsets[offsets.size - 1], np.int32)
    for group in range(group_lengths.size):
        for row in range(group_offsets[group], group_offsets[group + 1]):
            for k in range(group_lengths[group]):
                each = (group * widest + k) * n_symbols + tuples[row, k]
                listed[ends[each]] = row
                ends[each] += 1
    return offsets, listed


@njit
def nodes_at(problem: Problem, depths: Counts) -> Codes:
    """Symbol to its node at the given depths."""
    nodes = np.empty(depths.size, np.int32)
    for symbol in range(depths.size):
        nodes[symbol] = problem.paths[symbol, depths[symbol]]
    return nodes


@njit
def moved_symbols(nodes: Codes, new: Codes) -> Codes:
    """List the symbols whose node differs."""
    moved = np.empty(nodes.size, np.int32)
    n_moved = 0
    for symbol in range(nodes.size):
        if nodes[symbol] != new[symbol]:
            moved[n_moved] = symbol
            n_moved += 1
    return moved[:n_moved]


@njit
def loss_at(problem: Problem, depths: Counts) -> float:
    """What a generalization costs altogether."""
    loss = 0.0
    for symbol in range(depths.size):
        loss += problem.costs[symbol, depths[symbol]]
    return loss


@njit
def _looks_like(problem: Problem, nodes: Codes, row: int, pattern: int, length: int) -> bool:
    k = 0
    while k < length and nodes[problem.tuples[row, k]] == nodes[problem.patterns[pattern, k]]:
        k += 1
    return k == length


@njit
def count_alike(problem: Problem, nodes: Codes, pattern: int) -> int:
    """Count the index tuples that are released as `pattern` is, from the shortest lists that hold them."""
    group = problem.pattern_groups[pattern]
    length = problem.group_lengths[group]
    widest, n_symbols = problem.tuples.shape[1], nodes.size
    place, fewest = 0, -1
    for k in range(length):
        node = nodes[problem.patterns[pattern, k]]
        base = (group * widest + k) * n_symbols
        size = 0
        for symbol in range(n_symbols):
            if nodes[symbol] == node:
                size += problem.list_offsets[base + symbol + 1] - problem.list_offsets[base + symbol]
        if fewest < 0 or size < fewest:
            place, fewest = k, size
    node = nodes[problem.patterns[pattern, place]]
    base = (group * widest + place) * n_symbols
    total = 0
    for symbol in range(n_symbols):
        if nodes[symbol] == node:
            for at in range(problem.list_offsets[base + symbol], problem.list_offsets[base + symbol + 1]):
                row = problem.list_tuples[at]
                if _looks_like(problem, nodes, row, pattern, length):
                    total += problem.counts[row]
    return total


@njit
def count_all_alike(problem: Problem, nodes: Codes) -> Counts:
    """Count, per pattern, the index tuples that are released as it is."""
    alike = np.empty(problem.patterns.shape[0], np.int64)
    for pattern in range(alike.size):
        alike[pattern] = count_alike(problem, nodes, pattern)
    return alike


@njit
def recount_alike(problem: Problem, nodes: Codes, new: Codes, moved: Codes, alike: Counts) -> Counts:
    """Count again after the symbols `moved` went from their node in `nodes` to that in `new`.

    Patterns that have a moved symbol are counted anew; of the others only tuples with a moved symbol change.
    """
    is_moved = np.zeros(nodes.size, np.bool_)
    for symbol in moved:
        is_moved[symbol] = True
    widest, n_symbols = problem.tuples.shape[1], nodes.size
    after = alike.copy()
    for pattern in range(alike.size):
        group = problem.pattern_groups[pattern]
        length = problem.group_lengths[group]
        has_moved = False
        for k in range(length):
            has_moved = has_moved or is_moved[problem.patterns[pattern, k]]
        if has_moved:
            after[pattern] = count_alike(problem, new, pattern)
            continue
        for k in range(length):
            node = nodes[problem.patterns[pattern, k]]
            base = (group * widest + k) * n_symbols
            for symbol in moved:
                if node != nodes[symbol] and node != new[symbol]:
                    continue
                first, last = problem.list_offsets[base + symbol], problem.list_offsets[base + symbol + 1]
                for at in range(first, last):
                    row = problem.list_tuples[at]
                    is_first = True
                    for earlier in range(k):
                        is_first = is_first and not is_moved[problem.tuples[row, earlier]]
                    if not is_first:
                        continue
                    if _looks_like(problem, nodes, row, pattern, length):
                        after[pattern] -= problem.counts[row]
                    if _looks_like(problem, new, row, pattern, length):
                        after[pattern] += problem.counts[row]
    return after


@njit
def _open_nats(alike: float, hits: float) -> float:
    """What is open about `alike` tuples of which `hits` are a pattern, for those that are not, in nats."""
    nats: float = -(alike - hits) * np.log1p(-hits / alike) if hits < alike else 0.0
    return nats


@njit
def _told_of_others(problem: Problem, nodes: Codes, alike: Counts, group: int) -> float:
    """Count the bits that are told of tuples which are no pattern of the group.

    With N tuples, H of them patterns, and per image F tuples and H_g patterns, the sum over images of
    P[none, g] log2 (P[none, g] / (P[none] P[g])) is what is open about N of which H are patterns, less the
    sum of what is open about F of which H_g are. Images without a pattern have nothing open.
    """
    n_tuples = problem.group_sizes[group]
    length = problem.group_lengths[group]
    n_hits, still_open = 0, 0.0
    for pattern in range(alike.size):
        if problem.pattern_groups[pattern] != group:
            continue
        n_hits += problem.hits[pattern]
        # The first pattern of an image speaks for all of them.
        is_first, hits = True, 0
        for other in range(alike.size):
            if problem.pattern_groups[other] != group or alike[other] != alike[pattern]:
                continue
            k = 0
            while k < length and nodes[problem.patterns[other, k]] == nodes[problem.patterns[pattern, k]]:
                k += 1
            if k == length:
                if other < pattern:
                    is_first = False
                    break
                hits += problem.hits[other]
        if is_first:
            still_open += _open_nats(alike[pattern], hits)
    bits: float = (_open_nats(n_tuples, n_hits) - still_open) / n_tuples / np.log(2.0)
    return bits


@njit
def is_within(problem: Problem, alike: Counts) -> bool:
    """Tell whether each pattern stays within its bound, and their sums within those of the groups.

    Only `alike` matters here, and whatever is told falls as it rises. By the paper's measure there is no more
    to ask.
    """
    sums = np.zeros(problem.group_bounds.size)
    for pattern in range(alike.size):
        group = problem.pattern_groups[pattern]
        n_tuples = problem.group_sizes[group]
        bits = problem.shares[pattern] * np.log2(n_tuples / alike[pattern])
        sums[group] += bits
        if problem.is_exact:
            hits = problem.hits[pattern]
            others = _open_nats(n_tuples, hits) - _open_nats(alike[pattern], hits)
            bits += others / n_tuples / np.log(2.0)
        if bits > problem.pattern_bounds[pattern]:
            return False
    fits = True
    for group in range(sums.size):
        fits = fits and sums[group] <= problem.group_bounds[group]
    return fits


@njit
def is_private(problem: Problem, nodes: Codes, alike: Counts) -> bool:
    """Tell whether what leaks stays within the bounds of patterns and groups."""
    if not is_within(problem, alike):
        return False
    if problem.is_exact:
        for group in range(problem.group_bounds.size):
            if problem.group_bounds[group] < np.inf:
                told = _told_of_others(problem, nodes, alike, group)
                for pattern in range(alike.size):
                    if problem.pattern_groups[pattern] == group:
                        share = problem.group_sizes[group] / alike[pattern]
                        told += problem.shares[pattern] * np.log2(share)
                if told > problem.group_bounds[group]:
                    return False
    return True
