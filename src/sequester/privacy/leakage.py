"""What released sequences tell about sensitive patterns, person by person, in bits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.errors import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts
    from sequester.data.sequences import Sequences

    Bits = npt.NDArray[np.float64]

MOST_TUPLES = 1 << 62
"""Index tuples of one person that can be counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leakage:
    """For each pattern and person: how often it occurs, what that is in bits, and what the release tells."""

    patterns: tuple[tuple[str, ...], ...]
    """The sensitive patterns, shorter ones first, then in the order of their labels."""
    occurrences: Counts
    """Cell ``[p, i]``: index tuples of person ``i`` that spell pattern ``p``."""
    entropy: Bits
    """Cell ``[p, i]``: P log2 1/P in the original."""
    leakage: Bits
    """Cell ``[p, i]``: what the release tells of it."""
    posterior: Bits
    """Cell ``[p, i]``: the surest guess, the largest share of the pattern among tuples that look alike."""
    is_shown: npt.NDArray[np.bool_]
    """Cell ``[p, i]``: somewhere the pattern is released as it is."""

    @property
    def lengths(self) -> Counts:
        """Pattern to its number of symbols."""
        return np.array([len(pattern) for pattern in self.patterns], np.int64)

    def per_length(self, bits: Bits) -> tuple[Counts, Bits]:
        """Add up the rows of patterns of one length: the lengths, and one row for each."""
        lengths = np.unique(self.lengths)
        sums = [bits[self.lengths == length].sum(axis=0) for length in lengths]
        return lengths, np.array(sums).reshape(len(lengths), bits.shape[1])


def count_tuples(n_events: int, length: int, window: int) -> int:
    """Count the index tuples of `length` places within `window` steps, among `n_events` events.

    Examples
    --------
    >>> count_tuples(3, 2, 1), count_tuples(3, 2, 2), count_tuples(1, 2, 5)
    (2, 3, 0)
    """
    if n_events <= window:
        return comb(n_events, length)
    return (n_events - window) * comb(window, length - 1) + comb(window, length)


def tuple_counts(lengths: Counts, length: int, window: int) -> Counts:
    """Count the index tuples of many persons; more than can be counted are refused."""
    distinct, place = np.unique(lengths, return_inverse=True)
    counts = [count_tuples(n_events, length, window) for n_events in distinct.tolist()]
    if max(counts, default=0) > MOST_TUPLES:
        msg = (
            f"window must be shorter: patterns of length {length} have more than 2^62 index tuples in a "
            f"window of {window}"
        )
        raise ParameterError(msg)
    return np.array(counts, np.int64)[place]


def measure_leakage(
    released: Sequences, original: Sequences, patterns: Sequence[tuple[str, ...]], *, window: int
) -> Leakage:
    """Compare a release with its original, place by place.

    Both have the same persons in the same order. The leakage of pattern p is the sum over its images q of
    P[p, q] log2 (P[p, q] / (P[p] P[q])), which is P[p] log2 1/P[h(p)] where all occurrences of a symbol are
    released alike; the shares are among all index tuples of the length that fit into the window.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> found = measure_leakage(
    ...     Sequences.from_rows(["AAA"]), Sequences.from_rows(["aab"]), [("a", "b")], window=2
    ... )
    >>> found.occurrences.tolist(), found.leakage.tolist(), found.posterior.round(2).tolist()
    ([[2]], [[0.0]], [[0.67]])
    """
    before_column, after_column = original.symbol, released.symbol
    offsets = original.person_offsets
    if not np.array_equal(offsets, released.person_offsets):
        msg = "release and original must have the same persons with the same number of events each"
        raise InputError(msg)
    before, after = original.columns[before_column], released.columns[after_column]
    before_book, after_book = original.codebooks[before_column], released.codebooks[after_column]
    ordered = sorted(set(patterns), key=lambda pattern: (len(pattern), pattern))
    shape = (len(ordered), original.n_persons)
    occurrences, is_shown = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    entropy, leakage, posterior = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    everybody = np.ones(original.n_persons, np.bool_)
    images_of: dict[int, Codes] = {}
    tuples: dict[int, Counts] = {}
    for row, pattern in enumerate(ordered):
        if len(pattern) not in tuples:
            tuples[len(pattern)] = tuple_counts(np.diff(offsets), len(pattern), window)
        if not all(label in before_book.codes for label in pattern):
            continue
        codes = before_book.encode(pattern)
        counts = kernels.window_counts.count_spelled(before, before, offsets, codes, codes, window, everybody)
        occurs = counts > 0
        n_tuples, some = tuples[len(pattern)][occurs], counts[occurs]
        occurrences[row] = counts
        entropy[row, occurs] = some / n_tuples * np.log2(n_tuples / some)
        for code in codes.tolist():
            if code not in images_of:
                images_of[code] = np.unique(after[before == code])
        for image in product(*(images_of[code].tolist() for code in codes.tolist())):
            look = np.array(image, np.int32)
            joint = kernels.window_counts.count_spelled(before, after, offsets, codes, look, window, occurs)
            met = joint > 0
            if not met.any():
                continue
            alike = kernels.window_counts.count_spelled(after, after, offsets, look, look, window, met)[met]
            both, all_of = joint[met], counts[met]
            n_tuples = tuples[len(pattern)][met]
            # In this order 1 / 1 comes out of what is generalized to the root, and its logarithm is 0.
            leakage[row, met] += both / n_tuples * np.log2((both / all_of) / (alike / n_tuples))
            posterior[row, met] = np.maximum(posterior[row, met], both / alike)
            is_shown[row, met] |= tuple(after_book.decode(image)) == pattern
    return Leakage(
        patterns=tuple(ordered),
        occurrences=occurrences,
        entropy=entropy,
        leakage=leakage,
        posterior=posterior,
        is_shown=is_shown,
    )
