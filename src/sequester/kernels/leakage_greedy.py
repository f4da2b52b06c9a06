"""Top-Down and Bottom-Up: the two ways of the paper to a generalization that leaks little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit
from sequester.kernels.leakage import (
    Problem,
    count_all_alike,
    is_private,
    moved_symbols,
    nodes_at,
    recount_alike,
)

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask

NEAR = 1e-12
"""Losses whose difference is a smaller share of the largest are equal."""


@njit
def _scale(problem: Problem) -> float:
    """The loss of everything at the root, against which differences are small or not."""
    loss: float = NEAR * problem.costs[:, 0].sum()
    return loss


@njit
def depths_of_root(problem: Problem, is_active: Mask) -> Counts:
    """Put the active symbols on the root and leave the others as they are."""
    depths = problem.leaf_depths.copy()
    for symbol in range(depths.size):
        if is_active[symbol]:
            depths[symbol] = 0
    return depths


@njit
def is_enough(problem: Problem, is_active: Mask) -> bool:
    """Tell whether it is private to have the active symbols on the root and the others as they are."""
    nodes = nodes_at(problem, depths_of_root(problem, is_active))
    private: bool = is_private(problem, nodes, count_all_alike(problem, nodes))
    return private


@njit
def _block(problem: Problem, depths: Counts, is_active: Mask, node: int, depth: int) -> Codes:
    """List the active symbols that stand directly above `node`, which is at `depth`, and lie below it."""
    found = np.empty(depths.size, np.int32)
    n_found = 0
    for symbol in range(depths.size):
        if (
            is_active[symbol]
            and depths[symbol] == depth - 1
            and problem.leaf_depths[symbol] >= depth
            and problem.paths[symbol, depth] == node
        ):
            found[n_found] = symbol
            n_found += 1
    return found[:n_found]


@njit
def _rank_by_frequency(frequencies: Counts) -> Counts:
    """Symbol to its place when the most frequent come first, then the lowest numbers."""
    ranks = np.zeros(frequencies.size, np.int64)
    for symbol in range(frequencies.size):
        for other in range(frequencies.size):
            more = frequencies[other] > frequencies[symbol]
            if more or (frequencies[other] == frequencies[symbol] and other < symbol):
                ranks[symbol] += 1
    return ranks


@njit
def top_down(problem: Problem, is_active: Mask) -> Counts:
    """Refine the active symbols from the root while that stays private; the answer is a depth per symbol.

    A block of symbols that moves to a child saves the same whatever the others do, and what is not private
    once never will be (Lemma 1 for the paper's measure, the data-processing inequality for both), so each
    block is tried once, the most saving first. That is the answer of
    Algorithm 1, which tries all blocks in every round. Among equals the one with the rarest symbol is first,
    because the rounds of Algorithm 1 go from frequent to rare and keep the last.

    Requires that it is private to have all active symbols on the root.
    """
    n_symbols = problem.paths.shape[0]
    depths: Counts = depths_of_root(problem, is_active)
    nodes = nodes_at(problem, depths)
    alike = count_all_alike(problem, nodes)
    near = _scale(problem)
    ranks = _rank_by_frequency(problem.frequencies)
    # Symbols that could go down; those below one child of a node go together, as a block.
    is_open = is_active.copy()
    for symbol in range(n_symbols):
        is_open[symbol] = is_open[symbol] and problem.leaf_depths[symbol] > 0
    savings = np.zeros(n_symbols)
    latest = np.zeros(n_symbols, np.int64)
    fresh = is_open.copy()
    while True:
        for symbol in range(n_symbols):
            if fresh[symbol]:
                depth = depths[symbol] + 1
                saved, last = 0.0, np.int64(-1)
                for other in _block(problem, depths, is_active, problem.paths[symbol, depth], depth):
                    saved += problem.costs[other, depth - 1] - problem.costs[other, depth]
                    last = max(last, ranks[other])
                savings[symbol], latest[symbol] = saved, last
        fresh[:] = False
        best = -1
        for symbol in range(n_symbols):
            if is_open[symbol] and (
                best < 0
                or savings[symbol] > savings[best] + near
                or (savings[symbol] >= savings[best] - near and latest[symbol] > latest[best])
            ):
                best = symbol
        if best < 0:
            return depths
        depth = depths[best] + 1
        block = _block(problem, depths, is_active, problem.paths[best, depth], depth)
        new = nodes.copy()
        for symbol in block:
            new[symbol] = problem.paths[symbol, depth]
        counted = recount_alike(problem, nodes, new, block, alike)
        if is_private(problem, new, counted):
            nodes, alike = new, counted
            for symbol in block:
                depths[symbol] = depth
                is_open[symbol] = depth < problem.leaf_depths[symbol]
                fresh[symbol] = is_open[symbol]
        else:
            for symbol in block:
                is_open[symbol] = False


@njit
def common_ancestor(parents: Codes, node_depths: Codes, a: int, b: int) -> int:
    """The lowest node at or above both."""
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
def bottom_up(problem: Problem, may_lift: Mask, parents: Codes, node_depths: Codes) -> Counts:
    """Merge the closest patterns of one length, then lift blocks, until it is private: a depth per symbol.

    Requires that it is private to have all symbols on the root that may be lifted.
    """
    n_symbols = problem.paths.shape[0]
    n_clusters = problem.patterns.shape[0]
    near = _scale(problem)
    depths = problem.leaf_depths.copy()
    nodes = nodes_at(problem, depths)
    alike = count_all_alike(problem, nodes)
    centroids = np.zeros(problem.patterns.shape, np.int32)
    for pattern in range(n_clusters):
        for k in range(problem.group_lengths[problem.pattern_groups[pattern]]):
            centroids[pattern, k] = nodes[problem.patterns[pattern, k]]
    groups = problem.pattern_groups.copy()
    target = np.full(parents.size, np.int32(-1))
    while not is_private(problem, nodes, alike):
        new = nodes.copy()
        closest, best_left, best_right = -1.0, -1, -1
        for left in range(n_clusters):
            for right in range(left + 1, n_clusters):
                if groups[left] != groups[right]:
                    continue
                length = problem.group_lengths[groups[left]]
                generalize_alike(centroids[left], centroids[right], length, parents, node_depths, target)
                distance = 0.0
                for symbol in range(n_symbols):
                    if target[nodes[symbol]] >= 0:
                        distance += problem.costs[symbol, node_depths[target[nodes[symbol]]]]
                for k in range(length):
                    target[centroids[left, k]] = -1
                    target[centroids[right, k]] = -1
                if best_left < 0 or distance < closest - near:
                    closest, best_left, best_right = distance, left, right
        if best_left >= 0:
            length = problem.group_lengths[groups[best_left]]
            generalize_alike(
                centroids[best_left], centroids[best_right], length, parents, node_depths, target
            )
            for symbol in range(n_symbols):
                if target[nodes[symbol]] >= 0:
                    new[symbol] = target[nodes[symbol]]
            left_nodes, right_nodes = centroids[best_left].copy(), centroids[best_right].copy()
            for cluster in range(n_clusters):
                for k in range(problem.group_lengths[groups[cluster]]):
                    if target[centroids[cluster, k]] >= 0:
                        centroids[cluster, k] = target[centroids[cluster, k]]
            for k in range(length):
                target[left_nodes[k]] = -1
                target[right_nodes[k]] = -1
            n_clusters -= 1
            for cluster in range(best_right, n_clusters):
                centroids[cluster] = centroids[cluster + 1]
                groups[cluster] = groups[cluster + 1]
        else:
            _lift_cheapest(problem, nodes, new, depths, may_lift, parents.size, near)
        moved = moved_symbols(nodes, new)
        alike = recount_alike(problem, nodes, new, moved, alike)
        nodes = new
        for symbol in moved:
            depths[symbol] = node_depths[nodes[symbol]]
    return depths


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
    extra = np.zeros(n_nodes)
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
