"""BF-P2kA and prefix pruning as their definitions read: slow, obvious, and nothing of sequester in it.

A kept node of the prefix tree is the tuple of items on its path, so a tree is a set of tuples.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations


def lcs_length(left, right):
    """Length of the longest common subsequence, by the textbook table."""
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, a in enumerate(left, start=1):
        for j, b in enumerate(right, start=1):
            table[i][j] = table[i - 1][j - 1] + 1 if a == b else max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]


def prefix_supports(rows):
    """For each node of the prefix tree the number of rows that pass it."""
    return Counter(row[:n] for row in rows for n in range(1, len(row) + 1))


def closest(row, kept):
    """The kept path with the longest common subsequence, then the shortest, then the first in label order."""
    best = min(kept, key=lambda path: (-lcs_length(row, path), len(path), path), default=())
    return best if lcs_length(row, best) > 0 else ()


def attach(rows, kept, *, reattach=True):
    """Steps 2 and 3: rows that end on a kept node stay, the others move to their closest path, or vanish."""
    moved = {row: closest(row, kept) if reattach else () for row in set(rows) if row not in kept}
    return [row if row in kept else moved[row] for row in rows]


def release(rows, k, *, strict=True, reattach=True):
    """The released sequence of each person, ``()`` for a person of whom nothing is released.

    Every round starts again from the original sequences.
    """
    rows = [tuple(row) for row in rows]
    kept = {path for path, count in prefix_supports(rows).items() if count >= k}
    while True:
        released = attach(rows, kept, reattach=reattach)
        supports = prefix_supports(released)
        solid = {path for path in kept if supports[path] >= k}
        if not strict or solid == kept:
            return released
        kept = solid


def parts(row):
    """All subsequences of a row but the empty one."""
    return {
        tuple(row[at] for at in places)
        for n in range(len(row))
        for places in combinations(range(len(row)), n + 1)
    }


def truthful(rows, k, *, strict=True, rounds=5):
    """The longest part of each row that k released rows contain, by decreasing length."""
    rows = [tuple(row) for row in rows]
    within = [parts(row) for row in rows]
    supports = Counter(part for each in within for part in each)
    left = {part for part, count in supports.items() if count >= k}
    chosen, settled = [()] * len(rows), [False] * len(rows)

    def best(number):
        return min(within[number] & left, key=lambda part: (-len(part), -supports[part], part), default=())

    for length in range(max(map(len, rows), default=0), 0, -1):
        for _ in range(rounds):
            chosen = [chosen[n] if settled[n] else best(n) for n in range(len(rows))]
            now = {part for n, part in enumerate(chosen) if not settled[n] and len(part) == length}
            released = Counter(part for row in chosen for part in parts(row))
            left -= {part for part in now if strict and released[part] < k}
            settled = [
                done or (part in now and part in left) for done, part in zip(settled, chosen, strict=True)
            ]
        kept = {part for part, done in zip(chosen, settled, strict=True) if done}
        left = {part for part in left if len(part) != length or part in kept}
    return [part if done else () for part, done in zip(chosen, settled, strict=True)]


def cut_share(rows, k, *, strict=True, reattach=True):
    """Share of the persons whose sequence is not released as it was."""
    released = release(rows, k, strict=strict, reattach=reattach)
    return sum(tuple(row) != after for row, after in zip(rows, released, strict=True)) / len(rows)


def most_kept(rows, k):
    """The most events that stay in their place, in any release that keeps the promise.

    Each person gets a sequence that at least `k` rows contain, or nothing; each that is released is contained
    in at least `k` released ones. What stays is the longest common subsequence.
    """
    rows = [tuple(row) for row in rows]
    supports = Counter(part for row in rows for part in parts(row))
    common = [part for part, count in supports.items() if count >= k]
    choices = [
        sorted([(lcs_length(row, part), part) for part in common] + [(0, ())], key=lambda one: (-one[0], one))
        for row in rows
    ]
    room = [sum(each[0][0] for each in choices[n:]) for n in range(len(rows) + 1)]

    def search(chosen, kept, best):
        n = len(chosen)
        if kept + room[n] <= best:
            return best
        if n == len(rows):
            released = Counter(part for row in chosen for part in parts(row))
            return kept if all(released[row] >= k for row in chosen if row) else best
        for stays, part in choices[n]:
            best = search([*chosen, part], kept + stays, best)
        return best

    return search([], 0, -1)
