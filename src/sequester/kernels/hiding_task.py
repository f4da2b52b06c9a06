"""One row to be changed: what a change to it would do, and how its secrets are deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit
from sequester.kernels.hiding_rows import Secrets, count_through
from sequester.kernels.pattern_trie import ROOT, Trie, fill_next, find_child, weigh_change

if TYPE_CHECKING:
    from sequester._typing import Codes

MAX_TIES = 8
"""Places with equally many embeddings whose deletion is compared."""


class Task(NamedTuple):
    """One row, and what changes to it are judged by."""

    row: Codes
    """As it was."""
    local: Codes
    """The same in the codes of its own alphabet."""
    alphabet: Codes
    """The codes of that."""
    row_next: Codes
    """From `fill_next`."""
    possible: Codes
    """Secrets that some order of the row could contain."""
    max_length: int
    """Longest pattern whose support is followed."""
    min_support: int
    """Supporters that make a pattern frequent."""
    remaining: int
    """Rows that are still to be changed, this one included."""
    draw: float
    """A random number below 1."""


@njit
def localize(row: Codes, local_of: Codes) -> tuple[Codes, Codes]:
    """Write a row in an alphabet of its own; `local_of` is -1 throughout, and is so again."""
    local = np.empty(row.size, np.int32)
    alphabet = np.empty(row.size, np.int32)
    n_local = 0
    for i in range(row.size):
        if local_of[row[i]] < 0:
            local_of[row[i]] = n_local
            alphabet[n_local] = row[i]
            n_local += 1
        local[i] = local_of[row[i]]
    for i in range(n_local):
        local_of[alphabet[i]] = -1
    return local, alphabet[:n_local].copy()


@njit
def weigh(task: Task, trie: Trie, after: Codes, hits: Codes) -> tuple[int, int]:
    """Weigh `after`, which holds codes and -1 for what was deleted, against the row as it was."""
    n_local = task.alphabet.size
    local = np.full(after.size, -1, np.int32)
    last_change = -1
    for i in range(after.size):
        if after[i] == task.row[i]:
            local[i] = task.local[i]
        else:
            last_change = i
            for symbol in range(n_local):
                if task.alphabet[symbol] == after[i]:
                    local[i] = symbol
    following = np.empty((after.size + 1) * n_local, np.int32)
    fill_next(local, n_local, following)
    effects, n_hits = weigh_change(
        trie,
        task.row_next,
        following,
        task.alphabet,
        last_change,
        task.max_length,
        task.min_support,
        task.remaining,
        hits,
    )
    return effects, n_hits


@njit
def delete_rest(task: Task, trie: Trie, secrets: Secrets, current: Codes) -> int:
    """Delete the place in most embeddings, ties by fewest patterns lost, until no secret is left."""
    n_deleted = 0
    no_hits = np.empty(0, np.int32)
    while True:
        through = count_through(current, secrets, task.possible)
        most = through.max() if through.size else 0.0
        if most == 0.0:
            return n_deleted
        best, least, n_ties = -1, 0, 0
        for i in range(current.size):
            if through[i] == most and n_ties < MAX_TIES:
                n_ties += 1
                was, current[i] = current[i], -1
                effects, _ = weigh(task, trie, current, no_hits)
                current[i] = was
                if best < 0 or effects < least:
                    best, least = i, effects
        current[best] = -1
        n_deleted += 1


@njit
def delete_rarest(task: Task, trie: Trie, secrets: Secrets, current: Codes) -> None:
    """Delete the place in most embeddings, ties by the symbol with fewest supporters, until none is left."""
    while True:
        through = count_through(current, secrets, task.possible)
        best, least = -1, 0
        for i in range(current.size):
            if through[i] > 0:
                support = trie.supports[find_child(trie, ROOT, current[i])]
                if best < 0 or (-through[i], support) < (-through[best], least):
                    best, least = i, support
        if best < 0:
            break
        current[best] = -1
