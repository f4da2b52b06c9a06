"""Phase I: the patterns whose supports are followed while rows change, and what has to be hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.errors import ParameterError
from sequester.mining.frequent import MAX_PATTERNS, frequent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.sequences import Distinct, Sequences
    from sequester.engine import Engine, Progress
    from sequester.kernels.pattern_trie import Trie

MAX_FOLLOWED = 200_000
"""Patterns below the threshold that are followed from the start; others are bounded until they matter."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What has to be hidden, in codes, and from whom."""

    rows: Distinct
    """The distinct sequences."""
    n_symbols: int
    """Size of the alphabet."""
    secrets: Codes
    """The sensitive patterns that occur, one after the other, in label order."""
    secret_offsets: Offsets
    """Their ends."""
    thresholds: Counts
    """Supporters that each must stay below."""
    min_support: int
    """Supporters that make a pattern frequent."""
    max_length: int
    """Longest pattern whose side effects count."""
    marks: Mask
    """Which sequence contains which secret: a row per sequence."""
    supports: Counts
    """Supporters of each secret."""

    @classmethod
    def of(
        cls,
        sequences: Sequences,
        patterns: Sequence[tuple[str, ...]],
        thresholds: Sequence[int],
        *,
        min_support: int,
        max_length: int,
    ) -> Problem:
        """Encode the sensitive patterns; one with a label that does not occur is hidden as it is."""
        column = sequences.symbol
        book, rows = sequences.codebooks[column], sequences.distinct(column)
        known = sorted(
            (tuple(book.encode(pattern).tolist()), threshold)
            for pattern, threshold in zip(patterns, thresholds, strict=True)
            if all(label in book.codes for label in pattern)
        )
        secrets = np.array([code for codes, _ in known for code in codes], np.int32)
        offsets = np.cumsum([0, *(len(codes) for codes, _ in known)]).astype(np.int64)
        marks = kernels.hiding_rows.mark_secrets(rows.items, rows.offsets, secrets, offsets)
        marks = marks.reshape(rows.n_rows, len(known))
        return cls(
            rows=rows,
            n_symbols=len(book),
            secrets=secrets,
            secret_offsets=offsets,
            thresholds=np.array([threshold for _, threshold in known], np.int64),
            min_support=min_support,
            max_length=max_length,
            marks=marks,
            supports=rows.weights @ marks,
        )

    @property
    def excess(self) -> Counts:
        """Supporters of each secret that must lose it."""
        too_many: Counts = np.maximum(self.supports - self.thresholds + 1, 0)
        return too_many

    def secret(self, number: int) -> Codes:
        """The codes of a sensitive pattern."""
        return self.secrets[self.secret_offsets[number] : self.secret_offsets[number + 1]]


def follow(sequences: Sequences, problem: Problem, *, engine: Engine, progress: Progress) -> Trie:
    """Mine what is frequent, and what could become so, and enter it into a trie."""
    lowest = max(problem.min_support - int(problem.excess.sum()), 1)
    while True:
        try:
            patterns = frequent(
                sequences,
                min_support=lowest,
                max_length=problem.max_length,
                max_patterns=MAX_FOLLOWED if lowest < problem.min_support else MAX_PATTERNS,
                engine=engine,
                progress=progress,
            )
            break
        except ParameterError:
            if lowest == problem.min_support:
                raise
            # More than anybody can follow: begin closer to the threshold.
            lowest += (problem.min_support - lowest + 1) // 2
    trie = make_trie(2 * len(patterns) + 100_000, problem.n_symbols, lowest - 1)
    kernels.pattern_trie.enter_patterns(
        trie,
        patterns.codes,
        patterns.offsets,
        patterns.supports,
        problem.min_support,
        problem.secrets,
        problem.secret_offsets,
    )
    return trie


def make_trie(n_nodes: int, n_symbols: int, known: int) -> Trie:
    """Make a trie with room for so many nodes; a pattern without a node has at most `known` supporters."""
    n_slots = 1 << (2 * n_nodes).bit_length()
    return kernels.pattern_trie.Trie(
        np.full(n_slots, -1, np.int64),
        np.empty(n_slots, np.int32),
        np.zeros(n_nodes, np.int32),
        np.zeros(n_nodes, np.int32),
        np.zeros(n_nodes, np.int32),
        np.zeros(n_nodes, np.int64),
        np.zeros(n_nodes, np.int64),
        np.zeros(n_nodes, np.int8),
        np.array([1, n_symbols, known], np.int64),
    )


def widen(trie: Trie) -> Trie:
    """Give the same trie with room for twice as many nodes."""
    wider = make_trie(2 * len(trie.symbols), int(trie.sizes[1]), int(trie.sizes[2]))
    kernels.pattern_trie.copy_trie(trie, wider)
    return wider
