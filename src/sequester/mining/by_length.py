"""Frequent patterns counted length by length: for few short ones, which need no compiled miner."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import ParameterError
from sequester.mining.frequent import Patterns
from sequester.mining.support import supports_of_codes
from sequester.ragged import offsets_of, owners_of

if TYPE_CHECKING:
    from sequester._typing import Codes
    from sequester.data.sequences import Distinct
    from sequester.data.text import Codebook

MOST_CANDIDATES = 100_000
"""Patterns of one length whose supporters are counted; where there are more, they are mined instead."""


def mine_by_length(
    rows: Distinct,
    book: Codebook,
    min_support: int,
    max_length: int | None,
    max_patterns: int,
    *,
    are_sets: bool,
) -> Patterns | None:
    """Count candidates length by length, each of frequent shorter ones; None where they are too many.

    Of sets, which are ascending rows without repeats, candidates are ascending, too.
    """
    if max_length is None:
        return None
    level = np.arange(len(book), dtype=np.int32)[:, None]
    found, supports = [np.empty((0, max_length), np.int32)], [np.empty(0, np.int64)]
    for length in range(1, max_length + 1):
        if len(level) > MOST_CANDIDATES:
            return None
        offsets = np.arange(len(level) + 1, dtype=np.int64) * length
        counts = supports_of_codes(np.ascontiguousarray(level).ravel(), offsets, book, rows, book)
        is_frequent = counts >= min_support
        level = level[is_frequent]
        padding = np.full((len(level), max_length - length), -1, np.int32)
        found.append(np.concatenate([level, padding], axis=1))
        supports.append(counts[is_frequent])
        if sum(map(len, found)) > max_patterns:
            msg = (
                f"more than {max_patterns} patterns have at least {min_support} supporters: raise "
                "min_support, lower max_length, or raise max_patterns"
            )
            raise ParameterError(msg)
        candidates = _extended(level)
        if candidates is None:
            return None
        level = candidates[candidates[:, -2] < candidates[:, -1]] if are_sets else candidates
    patterns, counts = np.concatenate(found), np.concatenate(supports)
    # What a pattern begins with comes before it.
    order = np.lexsort(patterns.T[::-1])
    patterns = patterns[order]
    offsets = offsets_of((patterns >= 0).sum(axis=1))
    return Patterns(patterns[patterns >= 0], offsets, counts[order], book)


def _extended(level: Codes) -> Codes | None:
    """Join patterns of which one ends as the other begins, in label order; None where they are too many."""
    length = level.shape[1]
    numbers = np.zeros(2 * len(level), np.int64)
    if length > 1:
        parts = np.concatenate([level[:, :-1], level[:, 1:]])
        numbers = np.unique(parts, axis=0, return_inverse=True)[1].ravel()
    begin, end = np.split(numbers, [len(level)])
    order = np.argsort(begin, kind="stable")
    first = np.searchsorted(begin[order], end)
    counts = np.searchsorted(begin[order], end, side="right") - first
    if counts.sum() > MOST_CANDIDATES:
        return None
    starts = offsets_of(counts)
    others = order[np.repeat(first - starts[:-1], counts) + np.arange(starts[-1])]
    joined = np.concatenate([np.repeat(level, counts, axis=0), level[others, -1:]], axis=1)
    return joined.reshape(-1, length + 1)


def as_sets(rows: Distinct, n_symbols: int) -> Distinct:
    """Return the items of each row once, in ascending order."""
    keys = np.unique(owners_of(rows.offsets) * n_symbols + rows.items)
    owners, items = np.divmod(keys, max(n_symbols, 1))
    offsets = offsets_of(np.bincount(owners, minlength=rows.n_rows))
    sets: Distinct = replace(rows, items=items.astype(np.int32), offsets=offsets)
    return sets
