"""The most frequent short patterns within a window, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import ParameterError
from sequester.mining.support import sequences_of
from sequester.utility.score import Score

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable


@dataclass(frozen=True, slots=True, kw_only=True)
class TopPatterns:
    """The share of the original's most frequent ordered pairs that are among those of the release, as such.

    A pair counts once for each two places of one person, at most `window` steps apart.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> measure = TopPatterns(most=2, window=1)
    >>> original, released = Sequences.from_rows(["ababc"]), Sequences.from_rows(["aXaXc"])
    >>> measure.top(original)
    [(('a', 'b'), 2), (('b', 'a'), 1)]
    >>> measure.top(released)
    [(('a', 'X'), 2), (('X', 'a'), 1)]
    >>> measure.score(released, original=original).value
    0.0

    References
    ----------
    Bonomi, Fan, Jin (2016), Figure 9.
    """

    most: int = 10
    """How many patterns are compared."""
    window: int = 10
    """Steps between the two places, at most."""

    def __post_init__(self) -> None:
        for name in ("most", "window"):
            if getattr(self, name) < 1:
                msg = f"{name} must be at least 1, got {getattr(self, name)}"
                raise ParameterError(msg)

    def top(self, data: EventTable | Sequences) -> list[tuple[tuple[str, str], int]]:
        """List the most frequent pairs with their counts; among equals the first in label order."""
        sequences = sequences_of(data)
        codes = sequences.columns[sequences.symbol].astype(np.int64)
        book = sequences.codebooks[sequences.symbol]
        lengths = np.diff(sequences.person_offsets)
        ends = np.repeat(sequences.person_offsets[1:], lengths)
        places = np.arange(len(codes))
        keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
        for step in range(1, min(self.window, int(lengths.max(initial=1)) - 1) + 1):
            first = places[places + step < ends]
            found, often = np.unique(codes[first] * len(book) + codes[first + step], return_counts=True)
            keys, at = np.unique(np.concatenate([keys, found]), return_inverse=True)
            counts = np.bincount(at, np.concatenate([counts, often]), len(keys)).astype(np.int64)
        best = np.lexsort((keys, -counts))[: self.most]
        return [
            ((book.labels[key // len(book)], book.labels[key % len(book)]), int(count))
            for key, count in zip(keys[best].tolist(), counts[best], strict=True)
        ]

    def score(self, released: EventTable | Sequences, *, original: EventTable | Sequences) -> Score:
        """Mine both sides and compare; nothing to mine is nothing lost."""
        before = [pattern for pattern, _ in self.top(original)]
        after = {pattern for pattern, _ in self.top(released)}
        return Score(
            value=sum(pattern in after for pattern in before) / len(before) if before else 1.0,
            goal="maximize",
            bounds=(0, 1),
            means=f"Share of the {self.most} most frequent ordered pairs of symbols within {self.window} "
            f"steps in the original that are among the {self.most} of the release.",
            formula="|top n pairs before ∩ top n pairs after| / |top n pairs before|",
            reference="Bonomi, Fan, Jin (2016), Figure 9",
        )
