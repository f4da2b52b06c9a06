"""Columns that follow from other columns, by comparing all rows; a column is a list, None is a gap."""

from __future__ import annotations

from itertools import combinations, permutations


def determines(one, other):
    """Equal values of `one` come with equal values of `other`, and that says something about both."""
    pairs = list(zip(one, other, strict=True))
    says_something = len(set(other)) > 1 and 1 < len(set(one)) < len(one)
    return says_something and all(b == d for (a, b), (c, d) in combinations(pairs, 2) if a == c)


def determined(columns):
    """All pairs of names of which the first determines the second."""
    return {(a, b) for a, b in permutations(columns, 2) if determines(columns[a], columns[b])}


def add_up(one, other, total):
    """Where all three have a value, the first two add up to the third, and none of them is constant."""
    rows = [row for row in zip(one, other, total, strict=True) if None not in row]
    varied = all(len(set(column)) > 1 for column in zip(*rows, strict=True)) if rows else False
    return varied and all(a + b == c for a, b, c in rows)


def sums(columns):
    """All triples of names, the first two as they stand in the table, whose first two add up to the third."""
    return {
        (a, b, c)
        for a, b in combinations(columns, 2)
        for c in columns
        if c not in (a, b) and add_up(columns[a], columns[b], columns[c])
    }
