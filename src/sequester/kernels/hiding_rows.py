"""One row and the secrets in it: how often they are there, through which places, and where to begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Weights = npt.NDArray[np.float64]


class Secrets(NamedTuple):
    """Sensitive patterns, and patterns that may not be where they were not."""

    items: Codes
    """The sensitive patterns, one after the other."""
    offsets: Offsets
    """Pattern ``s`` is ``items[offsets[s]:offsets[s + 1]]``."""
    slack: Counts
    """Rows that support each and must no longer."""
    forbidden: Codes
    """The forbidden patterns, one after the other."""
    forbidden_offsets: Offsets
    """Their ends."""
    seen: Counts
    """Pairs ``first * n_symbols + second`` that may occur, ascending; any may where there are none."""
    n_symbols: int
    """Size of the alphabet."""


@njit
def contains(row: Codes, pattern: Codes) -> bool:
    """Tell whether `row` contains `pattern` in order, gaps allowed."""
    at = 0
    for i in range(row.size):
        if at < pattern.size and row[i] == pattern[at]:
            at += 1
    return at == pattern.size


@njit
def mark_secrets(items: Codes, offsets: Offsets, secrets: Codes, secret_offsets: Offsets) -> Mask:
    """Mark which row contains which secret: entry ``row * n_secrets + secret``."""
    n_secrets = secret_offsets.size - 1
    marks = np.zeros((offsets.size - 1) * n_secrets, np.bool_)
    for row in range(offsets.size - 1):
        for secret in range(n_secrets):
            marks[row * n_secrets + secret] = contains(
                items[offsets[row] : offsets[row + 1]],
                secrets[secret_offsets[secret] : secret_offsets[secret + 1]],
            )
    return marks


@njit
def possible_secrets(row: Codes, secrets: Secrets) -> Codes:
    """List the secrets whose symbols a row holds often enough, in whatever order."""
    found = np.empty(secrets.offsets.size - 1, np.int32)
    n_found = 0
    is_used = np.zeros(row.size, np.bool_)
    for secret in range(secrets.offsets.size - 1):
        is_used[:] = False
        missing = False
        for j in range(secrets.offsets[secret], secrets.offsets[secret + 1]):
            missing = True
            for i in range(row.size):
                if not is_used[i] and row[i] == secrets.items[j]:
                    is_used[i] = True
                    missing = False
                    break
            if missing:
                break
        if not missing:
            found[n_found] = secret
            n_found += 1
    return found[:n_found].copy()


@njit
def count_ways(row: Codes, pattern: Codes, ways: Weights) -> float:
    """Count the ways to choose places of `row` that hold `pattern` in order; `ways` is room to work in."""
    ways[0] = 1.0
    for j in range(pattern.size):
        ways[j + 1] = 0.0
    for i in range(row.size):
        for j in range(pattern.size - 1, -1, -1):
            if row[i] == pattern[j]:
                ways[j + 1] += ways[j]
    return float(ways[pattern.size])


@njit
def count_all_ways(row: Codes, secrets: Secrets, possible: Codes, ways: Weights, at_most: float) -> float:
    """Add up the ways of all possible secrets; counting stops above `at_most`."""
    total = 0.0
    for secret in possible:
        pattern = secrets.items[secrets.offsets[secret] : secrets.offsets[secret + 1]]
        total += count_ways(row, pattern, ways)
        if total > at_most:
            break
    return total


@njit
def count_through(row: Codes, secrets: Secrets, possible: Codes) -> Weights:
    """Count, for each place, the ways of all possible secrets that go through it."""
    through = np.zeros(row.size, np.float64)
    for secret in possible:
        start = secrets.offsets[secret]
        size = secrets.offsets[secret + 1] - start
        # Ways to have had the first j items before a place, and to have the items from j on after it.
        before = np.zeros((row.size + 1, size + 1), np.float64)
        before[0, 0] = 1.0
        for i in range(row.size):
            for j in range(size + 1):
                before[i + 1, j] = before[i, j]
            for j in range(size):
                if row[i] == secrets.items[start + j]:
                    before[i + 1, j + 1] += before[i, j]
        after = np.zeros(size + 1, np.float64)
        after[size] = 1.0
        for i in range(row.size - 1, -1, -1):
            for j in range(size):
                if row[i] == secrets.items[start + j]:
                    through[i] += before[i, j] * after[j + 1]
            for j in range(size):
                if row[i] == secrets.items[start + j]:
                    after[j] += after[j + 1]
    return through


@njit
def spread_embedding(row: Codes, pattern: Codes, n_left: int, places: Codes) -> None:
    """Choose places of `pattern`: its first `n_left` items as early, the others as late as can be.

    Requires that the row contains the pattern: then the early ones end before the late ones begin.
    """
    i = 0
    for j in range(n_left):
        while row[i] != pattern[j]:
            i += 1
        places[j] = i
        i += 1
    i = row.size - 1
    for j in range(pattern.size - 1, n_left - 1, -1):
        while row[i] != pattern[j]:
            i -= 1
        places[j] = i
        i -= 1


@njit
def breaks_rules(before: Codes, after: Codes, secrets: Secrets) -> bool:
    """Tell whether a forbidden pattern, or a pair that nobody had, is in `after` and was not in `before`."""
    for rule in range(secrets.forbidden_offsets.size - 1):
        pattern = secrets.forbidden[secrets.forbidden_offsets[rule] : secrets.forbidden_offsets[rule + 1]]
        if contains(after, pattern) and not contains(before, pattern):
            return True
    if secrets.seen.size:
        for i in range(after.size):
            for j in range(i + 1, after.size):
                if after[i] >= 0 and after[j] >= 0:
                    key = after[i] * np.int64(secrets.n_symbols) + after[j]
                    at = np.searchsorted(secrets.seen, key)
                    if at == secrets.seen.size or secrets.seen[at] != key:
                        return True
    return False
