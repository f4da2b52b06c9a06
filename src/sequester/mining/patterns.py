"""Patterns with their supports and, on request, their supporters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.codebook import Codebook


@dataclass(frozen=True, slots=True)
class Supporters:
    """Who contains each of many patterns, as numbers of distinct sequences."""

    rows: Codes
    """The distinct sequences that contain the patterns, one pattern after the other."""
    offsets: Offsets
    """Those of pattern ``i`` are ``rows[offsets[i]:offsets[i + 1]]``, ascending."""
    row_of_person: Codes
    """For each person the number of their sequence."""

    def of(self, number: int) -> Mask:
        """Mark each person who contains pattern `number`."""
        is_holder = np.zeros(int(self.row_of_person.max(initial=-1)) + 1, np.bool_)
        is_holder[self.rows[self.offsets[number] : self.offsets[number + 1]]] = True
        marked: Mask = is_holder[self.row_of_person]
        return marked


@dataclass(frozen=True, eq=False)
class Patterns(Mapping[tuple[str, ...], int]):
    """Patterns and how many persons contain each; a mapping from labels to supports, in label order.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.mining import frequent
    >>> patterns = frequent(Sequences.from_rows(["abc", "ac", "ca"]), min_support=2, supporters=True)
    >>> dict(patterns)
    {('a',): 3, ('a', 'c'): 2, ('c',): 3}
    >>> patterns["a", "c"], ("c", "a") in patterns
    (2, False)
    >>> patterns.supporters(("a", "c")).tolist()
    [True, True, False]
    """

    codes: Codes
    """The codes of all patterns, one after the other."""
    offsets: Offsets
    """Pattern ``i`` is ``codes[offsets[i]:offsets[i + 1]]``."""
    supports: Counts
    """Persons who contain each pattern."""
    codebook: Codebook
    """What the codes mean."""
    holders: Supporters | None = None
    """Who contains each pattern, where that was asked for."""

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The labels of each pattern."""
        labels = self.codebook.decode(self.codes)
        return tuple(tuple(labels[a:b]) for a, b in pairwise(self.offsets.tolist()))

    @cached_property
    def _numbers(self) -> dict[tuple[str, ...], int]:
        return {labels: number for number, labels in enumerate(self.labels)}

    def supporters(self, pattern: tuple[str, ...]) -> Mask:
        """Mark each person (or each sequence, where persons have several) who contains one of these."""
        if self.holders is None:
            msg = "supporters were not asked for: mine with supporters=True"
            raise ParameterError(msg)
        return self.holders.of(self._numbers[pattern])

    def __getitem__(self, pattern: tuple[str, ...]) -> int:
        return int(self.supports[self._numbers[pattern]])

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.supports)

    def __repr__(self) -> str:
        return f"Patterns({len(self)} patterns)"
