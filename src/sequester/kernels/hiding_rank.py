"""Rank rows by how many candidates for loss they support."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit
from sequester.kernels.hiding_task import localize
from sequester.kernels.pattern_trie import FREQUENT, OWED, ROOT, Trie, fill_next, find_child

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets


@njit
def rank_rows(
    trie: Trie,
    items: Codes,
    offsets: Offsets,
    rows: Counts,
    marks: Mask,
    secrets: Codes,
    secret_offsets: Offsets,
    excess: Counts,
    max_length: int,
    min_support: int,
) -> Counts:
    """Count, for each of `rows`, the candidates that it supports and that changing it could cost a supporter.

    A candidate is frequent, contains no secret, shares two symbols with the secrets in the row, and has fewer
    supporters to spare than these secrets have too many (`excess`). ``marks[row * n_secrets + secret]`` tells
    which secrets are in a row.
    """
    n_secrets = secret_offsets.size - 1
    local_of = np.full(trie.sizes[1], -1, np.int32)
    ranks = np.zeros(rows.size, np.int64)
    nodes = np.empty(max_length + 1, np.int64)
    places = np.empty(max_length + 1, np.int64)
    turns = np.empty(max_length + 1, np.int64)
    shared = np.empty(max_length + 1, np.int64)
    for number in range(rows.size):
        row = items[offsets[rows[number]] : offsets[rows[number] + 1]]
        local, alphabet = localize(row, local_of)
        n_local = alphabet.size
        is_secret = np.zeros(n_local, np.bool_)
        too_many = 0
        for secret in range(n_secrets):
            if marks[rows[number] * n_secrets + secret]:
                too_many += excess[secret]
                for i in range(secret_offsets[secret], secret_offsets[secret + 1]):
                    for symbol in range(n_local):
                        is_secret[symbol] |= alphabet[symbol] == secrets[i]
        following = np.empty((row.size + 1) * n_local, np.int32)
        fill_next(local, n_local, following)
        nodes[0] = ROOT
        places[0] = 0
        turns[0] = 0
        shared[0] = 0
        depth = 0
        while depth >= 0:
            if turns[depth] == n_local or depth == max_length:
                depth -= 1
                continue
            symbol = turns[depth]
            turns[depth] += 1
            place = following[places[depth] * n_local + symbol]
            if place < 0:
                continue
            child = find_child(trie, nodes[depth], alphabet[symbol])
            # What is below a rare pattern is rare, and what is below an owed one is owed.
            if child < 0 or not trie.flags[child] & FREQUENT or trie.flags[child] & OWED:
                continue
            common = shared[depth] + is_secret[symbol]
            if common >= 2 and trie.supports[child] - min_support < too_many:
                ranks[number] += 1
            depth += 1
            nodes[depth] = child
            places[depth] = place
            turns[depth] = 0
            shared[depth] = common
    return ranks


@njit
def pass_rows(rows: Counts, weights: Counts, marks: Mask, thresholds: Counts) -> Counts:
    """Let rows pass in the order given, while every secret stays below its threshold; count who must not.

    Requires that each of `rows` has a secret.
    """
    n_secrets = thresholds.size
    passed = np.zeros(n_secrets, np.int64)
    n_changed = np.zeros(rows.size, np.int64)
    for number in range(rows.size):
        row = rows[number]
        n_passed = weights[row]
        for secret in range(n_secrets):
            if marks[row * n_secrets + secret]:
                n_passed = min(n_passed, thresholds[secret] - 1 - passed[secret])
        for secret in range(n_secrets):
            if marks[row * n_secrets + secret]:
                passed[secret] += n_passed
        n_changed[number] = weights[row] - n_passed
    return n_changed
