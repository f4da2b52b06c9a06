"""Compare what follows what: rows of two transition matrices, one of leaves and one of nodes of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Amounts = npt.NDArray[np.float64]

TIE = 1e-9
"""Expected counts that differ by less than this share are equal."""


@njit
def _tally(first: int, stop: int, row_to: Codes, row_counts: Counts, guess: int) -> tuple[int, int]:
    """Count the events of a row, and those that a guess hits."""
    total, hit = 0, 0
    for e in range(first, stop):
        total += row_counts[e]
        if row_to[e] == guess:
            hit = row_counts[e]
    return total, hit


@njit
def compare_leaves(
    rows: Codes,
    row_offsets: Offsets,
    row_to: Codes,
    row_counts: Counts,
    from_offsets: Offsets,
    to_nodes: Codes,
    to_counts: Counts,
    usual: int,
) -> tuple[Amounts, Counts]:
    """Compare rows where both sides have leaves alone; otherwise as `compare_nodes`."""
    gaps = np.empty(rows.size, np.float64)
    hits = np.zeros(rows.size, np.int64)
    for i in range(rows.size):
        mass, most, guess = 0, 0, usual
        for e in range(from_offsets[rows[i]], from_offsets[rows[i] + 1]):
            mass += to_counts[e]
            if to_counts[e] > most:
                most, guess = to_counts[e], to_nodes[e]
        total, hits[i] = _tally(row_offsets[i], row_offsets[i + 1], row_to, row_counts, guess)
        if mass == 0:
            gaps[i] = 1.0
            continue
        # Both rows are sorted by what follows.
        apart, shared = 0.0, 0.0
        at = from_offsets[rows[i]]
        for e in range(row_offsets[i], row_offsets[i + 1]):
            while at < from_offsets[rows[i] + 1] and to_nodes[at] < row_to[e]:
                at += 1
            estimate = 0.0
            if at < from_offsets[rows[i] + 1] and to_nodes[at] == row_to[e]:
                estimate = to_counts[at] / mass
            apart += abs(row_counts[e] / total - estimate)
            shared += estimate
        gaps[i] = (apart + max(1.0 - shared, 0.0)) / 2
    return gaps, hits


@njit
def compare_nodes(
    rows: Codes,
    row_offsets: Offsets,
    row_to: Codes,
    row_counts: Counts,
    from_offsets: Offsets,
    to_nodes: Codes,
    to_counts: Counts,
    usual: int,
    parent: Codes,
    leaves: Counts,
    subtree_end: Codes,
) -> tuple[Amounts, Counts]:
    """Give each row's distance from the original's and how many of its events the likeliest guess hits.

    Row ``i`` of the original says how often leaf ``rows[i]`` is followed by ``row_to`` (sorted), from
    ``row_offsets[i]`` on. Node ``u`` of the release is followed by ``to_nodes`` (sorted) from
    ``from_offsets[u]`` on. A node stands for each of its leaves with the same probability. The distance is
    the total variation; a leaf of which the release says nothing is 1 apart, and `usual` is guessed.
    Nodes are numbered with ancestors first. Among equally likely leaves the first is guessed.
    """
    gaps = np.empty(rows.size, np.float64)
    hits = np.zeros(rows.size, np.int64)
    chances = np.empty(parent.size, np.float64)
    for i in range(rows.size):
        chances[:] = 0.0
        mass = 0.0
        node = rows[i]
        while True:
            for e in range(from_offsets[node], from_offsets[node + 1]):
                share = to_counts[e] / leaves[node]
                chances[to_nodes[e]] += share
                mass += share
            if node == 0:
                break
            node = parent[node]
        guess, most = usual, 0.0
        if mass > 0.0:
            chances[0] /= leaves[0]
            for v in range(1, parent.size):
                chances[v] = chances[v] / leaves[v] + chances[parent[v]]
                if subtree_end[v] == v + 1 and chances[v] > most * (1.0 + TIE):
                    guess, most = v, chances[v]
        total, hits[i] = _tally(row_offsets[i], row_offsets[i + 1], row_to, row_counts, guess)
        if mass == 0.0:
            gaps[i] = 1.0
            continue
        apart, shared = 0.0, 0.0
        for e in range(row_offsets[i], row_offsets[i + 1]):
            estimate = chances[row_to[e]] / mass
            apart += abs(row_counts[e] / total - estimate)
            shared += estimate
        gaps[i] = (apart + max(1.0 - shared, 0.0)) / 2
    return gaps, hits
