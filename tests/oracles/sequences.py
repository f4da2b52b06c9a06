"""Subsequences, supports, sequence k-anonymity, pattern similarity and edit distance, word for word.

A database is a list of rows; a row is a string or a tuple of labels. Supports count rows.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations


def is_subsequence(pattern, row):
    """There are places i1 < i2 < ... of `row` that hold the items of `pattern`."""
    return any(
        tuple(row[place] for place in places) == tuple(pattern)
        for places in combinations(range(len(row)), len(pattern))
    )


def support(pattern, rows):
    """How many rows contain `pattern`."""
    return sum(1 for row in rows if is_subsequence(pattern, row))


def subsequences(row):
    """All subsequences of a row, without the empty one."""
    return {
        tuple(row[place] for place in places)
        for size in range(1, len(row) + 1)
        for places in combinations(range(len(row)), size)
    }


def all_subsequences(rows):
    """S(D): all subsequences of all rows, without the empty one."""
    return set().union(*(subsequences(row) for row in rows))


def smallest_support(released, rows):
    """The smallest support in `rows` of any subsequence of `released`; None where there is no subsequence."""
    return min((support(pattern, rows) for pattern in all_subsequences(released)), default=None)


def is_strictly_k_anonymous(released, k):
    """Every subsequence of a released record is contained in at least k released records."""
    return all(support(pattern, released) >= k for pattern in all_subsequences(released))


def satisfies_definition_1(released, original, k):
    """The sum over T in S(D') of [supp_D(T) < k] * supp_D'(T) is 0."""
    return (
        sum(
            support(pattern, released)
            for pattern in all_subsequences(released)
            if support(pattern, original) < k
        )
        == 0
    )


def violating_records(released, k, *databases):
    """Distinct released records with fewer than k supporters somewhere: shortest first, then by label."""
    found = {
        tuple(record)
        for record in released
        if len(record) and any(support(record, rows) < k for rows in databases)
    }
    return sorted(found, key=lambda record: (len(record), record))


def minimum_prefix(pattern, row):
    """The shortest beginning of `row` that contains `pattern`; None where `row` does not."""
    for size in range(len(row) + 1):
        if is_subsequence(pattern, row[:size]):
            return tuple(row[:size])
    return None


def frequent(rows, min_support, max_length=None):
    """S(D, sigma): every pattern with at least `min_support` supporters, and their number."""
    counted = {pattern: support(pattern, rows) for pattern in all_subsequences(rows)}
    return {
        pattern: count
        for pattern, count in counted.items()
        if count >= min_support and (max_length is None or len(pattern) <= max_length)
    }


def sim1(released, original, min_support, max_length=None):
    """Mean over S(D', sigma) of the smaller relative frequency over the larger; empty rows are no records."""
    released, original = [row for row in released if row], [row for row in original if row]
    patterns = frequent(released, min_support, max_length)
    if not patterns:
        return Fraction(0 if frequent(original, min_support, max_length) else 1)
    ratios = []
    for pattern in patterns:
        after = Fraction(support(pattern, released), len(released))
        before = Fraction(support(pattern, original), len(original)) if original else Fraction(0)
        ratios.append(min(after, before) / max(after, before))
    return sum(ratios) / len(ratios)


def sim2(released, original, min_support, max_length=None):
    """The smaller number of frequent patterns over the larger; 1 where there are none on either side."""
    after = len(frequent(released, min_support, max_length))
    before = len(frequent(original, min_support, max_length))
    return Fraction(1) if after == before == 0 else Fraction(min(after, before), max(after, before))


def levenshtein(left, right):
    """Fewest insertions, deletions and substitutions that turn `left` into `right`."""
    costs = {(i, 0): i for i in range(len(left) + 1)} | {(0, j): j for j in range(len(right) + 1)}
    for i in range(1, len(left) + 1):
        for j in range(1, len(right) + 1):
            costs[i, j] = min(
                costs[i - 1, j] + 1,
                costs[i, j - 1] + 1,
                costs[i - 1, j - 1] + (left[i - 1] != right[j - 1]),
            )
    return costs[len(left), len(right)]
