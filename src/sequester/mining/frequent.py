"""Every pattern that enough persons contain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.errors import ParameterError
from sequester.mining.patterns import Patterns, Supporters
from sequester.mining.support import sequences_of

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.codebook import Codebook
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

MAX_PATTERNS = 1_000_000
"""As many patterns as anybody would look at; more are refused."""


def frequent(
    data: EventTable | Sequences,
    *,
    min_support: int,
    max_length: int | None = None,
    supporters: bool = False,
    max_patterns: int = MAX_PATTERNS,
) -> Patterns:
    """Find every pattern, gaps allowed, that at least `min_support` persons contain.

    More than `max_patterns` are refused rather than held in memory. Who contains each of them is kept where
    `supporters` are asked for.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> sequences = Sequences.from_rows(["abab", "ab", "ba"])
    >>> dict(frequent(sequences, min_support=2))
    {('a',): 3, ('a', 'b'): 2, ('b',): 3, ('b', 'a'): 2}
    >>> dict(frequent(sequences, min_support=2, max_length=1))
    {('a',): 3, ('b',): 3}

    References
    ----------
    Pei, Han, Mortazavi-Asl, Pinto, Chen, Dayal, Hsu (2001), PrefixSpan.
    """
    _check_numbers(min_support=min_support, max_length=max_length, max_patterns=max_patterns)
    sequences = sequences_of(data)
    column = sequences.symbol
    rows = sequences.distinct(column)
    found = _mine(
        rows.items,
        rows.offsets,
        rows.weights,
        sequences.codebooks[column],
        min_support=min_support,
        max_length=max_length,
        max_patterns=max_patterns,
    )
    return _with_supporters(found, rows.items, rows.offsets, rows.row_of_person) if supporters else found


def frequent_itemsets(
    data: EventTable | Sequences,
    *,
    min_support: int,
    max_length: int | None = None,
    supporters: bool = False,
    max_patterns: int = MAX_PATTERNS,
) -> Patterns:
    """Find every set of items, whatever their order, that at least `min_support` persons have.

    An itemset is written as its labels in label order, and has no item twice.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> dict(frequent_itemsets(Sequences.from_rows(["abab", "ba", "ca"]), min_support=2))
    {('a',): 3, ('a', 'b'): 2, ('b',): 2}
    """
    _check_numbers(min_support=min_support, max_length=max_length, max_patterns=max_patterns)
    sequences = sequences_of(data)
    column = sequences.symbol
    book, rows = sequences.codebooks[column], sequences.distinct(column)
    # Among ascending rows without repeats, subsequences and subsets are the same.
    items, offsets = kernels.prefixspan.sort_symbols(rows.items, rows.offsets, len(book))
    found = _mine(
        items,
        offsets,
        rows.weights,
        book,
        min_support=min_support,
        max_length=max_length,
        max_patterns=max_patterns,
    )
    return _with_supporters(found, items, offsets, rows.row_of_person) if supporters else found


def _check_numbers(**numbers: int | None) -> None:
    for name, value in numbers.items():
        if value is not None and value < 1:
            msg = f"{name} must be at least 1, got {value}"
            raise ParameterError(msg)


def _mine(
    items: Codes,
    offsets: Offsets,
    weights: Counts,
    book: Codebook,
    *,
    min_support: int,
    max_length: int | None,
    max_patterns: int,
) -> Patterns:
    # A pattern has no more supporters than its rarest symbol, so the rare ones need not be walked over.
    is_kept = kernels.prefixspan.weigh_symbols(items, offsets, weights, len(book)) >= min_support
    items, offsets = kernels.prefixspan.drop_symbols(items, offsets, is_kept)
    longest = int(np.diff(offsets).max(initial=1))
    codes, pattern_offsets, supports, is_complete = kernels.prefixspan.mine_frequent(
        items,
        offsets,
        weights,
        len(book),
        min_support,
        longest if max_length is None else min(max_length, longest),
        max_patterns,
    )
    if not is_complete:
        msg = (
            f"more than {max_patterns} patterns have at least {min_support} supporters: raise min_support, "
            "lower max_length, or raise max_patterns"
        )
        raise ParameterError(msg)
    return Patterns(codes, pattern_offsets, supports, book)


def _with_supporters(found: Patterns, items: Codes, offsets: Offsets, row_of_person: Codes) -> Patterns:
    rows = [
        np.flatnonzero(kernels.containment.mark_supporters(items, offsets, found.codes[start:stop]))
        for start, stop in zip(found.offsets[:-1], found.offsets[1:], strict=True)
    ]
    bounds = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    holders = Supporters(
        np.concatenate([np.empty(0, np.int64), *rows]).astype(np.int32), bounds, row_of_person
    )
    return Patterns(found.codes, found.offsets, found.supports, found.codebook, holders)
