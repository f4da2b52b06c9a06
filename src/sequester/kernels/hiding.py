"""Hide secrets row by row, with supports that follow every change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit
from sequester.kernels.hiding_rows import Secrets, contains, possible_secrets
from sequester.kernels.hiding_search import (
    BOUNDED,
    MAX_ANSWERS,
    MAX_HITS,
    Answers,
    Orders,
    Spread,
    solve_row,
)
from sequester.kernels.hiding_task import Task, localize
from sequester.kernels.pattern_trie import EXACT, Trie, add_demand, enter_change, fill_next

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Draws = npt.NDArray[np.float64]

NEW_NODES = 20_000
"""New patterns that one changed row may bring; what a very long row gains beyond is not followed."""
CLOSE = 4096
"""Patterns of one row whose bounded support is made exact at a time."""


@njit
def add_all_demand(
    trie: Trie, items: Codes, offsets: Offsets, rows: Counts, weights: Counts, max_length: int
) -> Counts:
    """Add the weights of `rows` to the demand of every node they contain; give how many nodes each contains.

    Nodes that contain a secret are not counted.
    """
    found = np.zeros(rows.size, np.int64)
    local_of = np.full(trie.sizes[1], -1, np.int32)
    for i in range(rows.size):
        row = items[offsets[rows[i]] : offsets[rows[i] + 1]]
        local, alphabet = localize(row, local_of)
        following = np.empty((row.size + 1) * alphabet.size, np.int32)
        fill_next(local, alphabet.size, following)
        found[i] = add_demand(trie, following, alphabet, max_length, weights[i])
    return found


@njit
def count_live(
    pattern: Codes,
    items: Codes,
    offsets: Offsets,
    weights: Counts,
    changed: Codes,
    changed_offsets: Offsets,
    n_changed: int,
) -> int:
    """Count the supporters of a pattern among the rows as they were, by weight, and the changed ones."""
    total = 0
    for row in range(weights.size):
        if weights[row] > 0 and contains(items[offsets[row] : offsets[row + 1]], pattern):
            total += weights[row]
    for row in range(n_changed):
        if contains(changed[changed_offsets[row] : changed_offsets[row + 1]], pattern):
            total += 1
    return total


@njit
def hide_rows(
    first: int,
    last: int,
    targets: Counts,
    draws: Draws,
    items: Codes,
    offsets: Offsets,
    weights: Counts,
    changed: Codes,
    changed_offsets: Offsets,
    distances: Counts,
    trie: Trie,
    secrets: Secrets,
    orders: Orders,
    spread: Spread,
    max_length: int,
    min_support: int,
) -> int:
    """Change the rows ``targets[first:last]`` one after the other; stop before one that there is no room for.

    Row ``targets[t]`` becomes ``changed[changed_offsets[t]:changed_offsets[t + 1]]``, -1 where something was
    deleted, and ``distances[t]`` swaps away. `weights` counts those who still have each row. Gives the number
    of the first target that was not changed.
    """
    longest = 0
    for target in range(first, last):
        longest = max(longest, changed_offsets[target + 1] - changed_offsets[target])
    answers = Answers(
        np.empty((MAX_ANSWERS, longest), np.int32),
        np.empty(MAX_ANSWERS, np.int32),
        np.empty(MAX_ANSWERS, np.int32),
        np.empty(MAX_HITS, np.int32),
        np.zeros(MAX_ANSWERS + 1, np.int64),
        np.empty(MAX_ANSWERS, np.int32),
        np.empty(MAX_ANSWERS, np.int64),
    )
    local_of = np.full(trie.sizes[1], -1, np.int32)
    close = np.empty(CLOSE, np.int32)
    for target in range(first, last):
        if trie.sizes[0] + NEW_NODES > trie.symbols.size:
            return target
        row_number = targets[target]
        row = items[offsets[row_number] : offsets[row_number + 1]]
        local, alphabet = localize(row, local_of)
        n_local = alphabet.size
        row_next = np.empty((row.size + 1) * n_local, np.int32)
        fill_next(local, n_local, row_next)
        task = Task(
            row,
            local,
            alphabet,
            row_next,
            possible_secrets(row, secrets),
            max_length,
            min_support,
            targets.size - target,
            draws[target],
        )
        solved = changed[changed_offsets[target] : changed_offsets[target + 1]]
        distances[target], used = solve_row(task, trie, secrets, orders, spread, answers, solved)
        # Count what has changed.
        last_change = -1
        for i in range(row.size):
            if solved[i] != row[i]:
                last_change = i
                local[i] = -1
                for symbol in range(n_local):
                    if alphabet[symbol] == solved[i]:
                        local[i] = symbol
        solved_next = np.empty((row.size + 1) * n_local, np.int32)
        fill_next(local, n_local, solved_next)
        add_demand(trie, row_next, alphabet, max_length, -1)
        weights[row_number] -= 1
        n_close = enter_change(
            trie, row_next, solved_next, alphabet, last_change, max_length, min_support, NEW_NODES, close
        )
        for i in range(min(n_close, CLOSE)):
            node = close[i]
            pattern = np.empty(trie.depths[node], np.int32)
            at = node
            for j in range(pattern.size - 1, -1, -1):
                pattern[j] = trie.symbols[at]
                at = trie.parents[at]
            trie.supports[node] = count_live(
                pattern, items, offsets, weights, changed, changed_offsets, target + 1
            )
            trie.flags[node] |= EXACT
        for secret in task.possible:
            pattern = secrets.items[secrets.offsets[secret] : secrets.offsets[secret + 1]]
            secrets.slack[secret] -= contains(row, pattern)
        if used >= 0:
            spread.usage[used] += 1
            have = spread.base[used] + spread.usage[used]
            if spread.mode == BOUNDED and (
                have == spread.least or (spread.usage[used] == 1 and have > spread.least)
            ):
                for secret in range(spread.class_starts.size - 1):
                    if spread.class_starts[secret] <= used < spread.class_starts[secret + 1]:
                        spread.reached[secret] += 1
    return last
