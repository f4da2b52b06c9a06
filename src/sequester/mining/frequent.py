"""Every pattern that enough persons contain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.errors import ParameterError
from sequester.mining.support import sequences_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.codebook import Codebook
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

MAX_PATTERNS = 1_000_000
"""As many patterns as anybody would look at; more are refused."""


@dataclass(frozen=True, eq=False)
class Patterns(Mapping[tuple[str, ...], int]):
    """Patterns and how many persons contain each; a mapping from labels to supports, in label order.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> patterns = frequent(Sequences.from_rows(["abc", "ac", "ca"]), min_support=2)
    >>> dict(patterns)
    {('a',): 3, ('a', 'c'): 2, ('c',): 3}
    >>> patterns["a", "c"], ("c", "a") in patterns
    (2, False)
    """

    codes: Codes
    """The codes of all patterns, one after the other."""
    offsets: Offsets
    """Pattern ``i`` is ``codes[offsets[i]:offsets[i + 1]]``."""
    supports: Counts
    """Persons who contain each pattern."""
    codebook: Codebook
    """What the codes mean."""

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The labels of each pattern."""
        labels = self.codebook.decode(self.codes)
        return tuple(tuple(labels[a:b]) for a, b in pairwise(self.offsets.tolist()))

    @cached_property
    def _numbers(self) -> dict[tuple[str, ...], int]:
        return {labels: number for number, labels in enumerate(self.labels)}

    def __getitem__(self, pattern: tuple[str, ...]) -> int:
        return int(self.supports[self._numbers[pattern]])

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.supports)

    def __repr__(self) -> str:
        return f"Patterns({len(self)} patterns)"


def frequent(
    data: EventTable | Sequences,
    *,
    min_support: int,
    max_length: int | None = None,
    max_patterns: int = MAX_PATTERNS,
) -> Patterns:
    """Find every pattern, gaps allowed, that at least `min_support` persons contain.

    More than `max_patterns` are refused rather than held in memory.

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
    for name, value in (
        ("min_support", min_support),
        ("max_length", max_length),
        ("max_patterns", max_patterns),
    ):
        if value is not None and value < 1:
            msg = f"{name} must be at least 1, got {value}"
            raise ParameterError(msg)
    sequences = sequences_of(data)
    column = sequences.symbol
    book, rows = sequences.codebooks[column], sequences.distinct(column)
    # A pattern has no more supporters than its rarest symbol, so the rare ones need not be walked over.
    is_kept = (
        kernels.prefixspan.weigh_symbols(rows.items, rows.offsets, rows.weights, len(book)) >= min_support
    )
    items, offsets = kernels.prefixspan.drop_symbols(rows.items, rows.offsets, is_kept)
    longest = int(np.diff(offsets).max(initial=1))
    codes, pattern_offsets, supports, is_complete = kernels.prefixspan.mine_frequent(
        items,
        offsets,
        rows.weights,
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
