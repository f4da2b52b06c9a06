"""Parameters to begin with: they depend on who is at risk, how many values there are, and what occurs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sequester.data.table import EventTable

TENTHS = 10
NOTHING = "(none)"
"""Stands for a pattern where there are no symbols."""
USUAL = 5
"""A share of a half, in tenths, unless so many are at risk that it could not be kept."""


def default_share(table: EventTable) -> float:
    """Return a half, or a tenth of all persons more than have a protected value.

    Examples
    --------
    >>> from sequester.testing.checks import history_table
    >>> default_share(history_table(["ab"] * 4)), default_share(history_table(["ab"]))
    (0.5, 1.0)
    """
    _, offsets = table.values_of_persons(table.protected_values)
    is_at_risk = np.diff(offsets) > 0
    share = float(is_at_risk.mean()) if len(is_at_risk) else 0.0
    return min(max(USUAL, math.ceil(TENTHS * share) + 1), TENTHS) / TENTHS


def default_pattern(table: EventTable) -> list[list[str]]:
    """Return the first two different symbols of the first person who has them, as a pattern that occurs.

    Examples
    --------
    >>> from sequester.testing.checks import symbol_table
    >>> default_pattern(symbol_table(["aa", "bba"])), default_pattern(symbol_table(["aa"]))
    ([['b', 'a']], [['a', 'a']])
    """
    if table.symbol is None or not table.n_events:
        return [[NOTHING]]
    sequences = table.sequences
    codes, offsets = sequences.columns[sequences.symbol], sequences.person_offsets
    labels = sequences.codebooks[sequences.symbol].labels
    changes = np.flatnonzero(codes[1:] != codes[:-1])
    inside = changes[~np.isin(changes + 1, offsets)]
    if len(inside):
        first = int(inside[0])
        return [[labels[codes[first]], labels[codes[first + 1]]]]
    return [[labels[code] for code in codes[offsets[0] : offsets[1]][:2]]]


def default_level(table: EventTable, *, at_most: int) -> int:
    """Return a whole l of at least 2, below half of the sensitive values, that the most frequent allows.

    Examples
    --------
    >>> from sequester.testing.checks import record_table
    >>> default_level(record_table(["abcdef", "ab"]), at_most=5)
    3
    >>> default_level(record_table(["abcdef", "aaaaaa"]), at_most=5)
    2
    """
    columns = table.schema.sensitive_columns
    if not columns or not table.n_events:
        return 2
    counts = table.frame[columns[0]].drop_nulls().value_counts()["count"]
    most_frequent = max(counts.to_numpy(), default=1)
    return max(2, min(at_most, len(counts) // 2, int(table.n_events // most_frequent)))


ENOUGH_RECORDS = 5
"""Records of a snapshot for each of the l values that it must show, in the mean."""


def default_snapshot(table: EventTable, *, level: int) -> str:
    """Return the finest of day, week and month that has enough records in the mean; order without times.

    Examples
    --------
    >>> from sequester.testing.checks import record_table
    >>> default_snapshot(record_table(["ab", "c"]), level=2)
    'order'
    """
    if table.times is None:
        return "order"
    if (table.schema.time_format or "%d").endswith("%m"):
        return "month"  # no day is written
    for unit, every in (("day", "1d"), ("week", "1w")):
        n_snapshots = table.times.dt.truncate(every).n_unique()
        if table.n_events >= ENOUGH_RECORDS * level * n_snapshots:
            return unit
    return "month"
