"""What released sequences tell about sensitive patterns, person by person, in bits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import comb
from typing import TYPE_CHECKING, Literal

import numpy as np

from sequester import kernels
from sequester.errors import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts
    from sequester.data.sequences import Sequences

    Bits = npt.NDArray[np.float64]

Measure = Literal["exact", "paper"]
"""What counts as told: the mutual information of all outcomes, or the paper's sum over sensitive patterns."""
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
    other_entropy: Bits
    """Cell ``[p, i]``: (1 - P) log2 1/(1 - P), the term of the tuples that are not the pattern."""
    other_leakage: Bits
    """Cell ``[p, i]``: what the release tells of these."""
    none_entropy: Bits
    """Cell ``[m, i]``: the term of the outcome that a tuple of the ``m``-th length is none of them."""
    none_leakage: Bits
    """Cell ``[m, i]``: what the release tells of that outcome."""
    posterior: Bits
    """Cell ``[p, i]``: the surest guess, the largest share of the pattern among tuples that look alike."""
    is_shown: npt.NDArray[np.bool_]
    """Cell ``[p, i]``: somewhere the pattern is released as it is."""

    @property
    def lengths(self) -> Counts:
        """Pattern to its number of symbols."""
        return np.array([len(pattern) for pattern in self.patterns], np.int64)

    def by_pattern(self, measure: Measure) -> tuple[Bits, Bits]:
        """Return leakage and entropy of each pattern by itself.

        The exact measure is the mutual information of "is it this pattern?" and what is released; the paper's
        is the pattern's term of its sum.
        """
        if measure == "paper":
            return self.leakage, self.entropy
        return np.maximum(self.leakage + self.other_leakage, 0.0), self.entropy + self.other_entropy

    def by_length(self, measure: Measure) -> tuple[Counts, Bits, Bits]:
        """Return the lengths, and leakage and entropy of all patterns of each length together.

        The exact measure is the mutual information of "which sensitive pattern is it, if any?" and what is
        released; the paper's leaves out the outcome that it is none.
        """
        lengths = np.unique(self.lengths)
        leakage, entropy = (
            np.array([bits[self.lengths == length].sum(axis=0) for length in lengths]).reshape(
                self.none_entropy.shape
            )
            for bits in (self.leakage, self.entropy)
        )
        if measure == "paper":
            return lengths, leakage, entropy
        # Rounding may leave less than nothing.
        return lengths, np.maximum(leakage + self.none_leakage, 0.0), entropy + self.none_entropy


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

    Both have the same persons in the same order. The shares are among all index tuples of the length that fit
    into the window. An outcome s, a pattern or none of them, leaks the sum over its images g of
    P[s, g] log2 (P[s, g] / (P[s] P[g])). For a pattern all of whose occurrences are released alike this is
    P[s] log2 1/P[h(s)].

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> found = measure_leakage(
    ...     Sequences.from_rows(["AAA"]), Sequences.from_rows(["aab"]), [("a", "b")], window=2
    ... )
    >>> found.occurrences.tolist(), found.leakage.tolist(), found.posterior.round(2).tolist()
    ([[2]], [[0.0]], [[0.67]])

    90 a and 10 b, released as they are. Where a stands is told by the other symbols as well:

    >>> row = Sequences.from_rows(["a" * 90 + "b" * 10])
    >>> found = measure_leakage(row, row, [("a",)], window=1)
    >>> [round(float(found.by_length(measure)[1][0, 0]), 3) for measure in ("paper", "exact")]
    [0.137, 0.469]
    """
    before_column, after_column = original.symbol, released.symbol
    offsets = original.person_offsets
    if not np.array_equal(offsets, released.person_offsets):
        msg = "release and original must have the same persons with the same number of events each"
        raise InputError(msg)
    before, after = original.columns[before_column], released.columns[after_column]
    before_book, after_book = original.codebooks[before_column], released.codebooks[after_column]
    ordered = sorted(set(patterns), key=lambda pattern: (len(pattern), pattern))
    lengths = sorted({len(pattern) for pattern in ordered})
    shape, per_length = (len(ordered), original.n_persons), (len(lengths), original.n_persons)
    occurrences, is_shown = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    leakage, other_leakage, posterior = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    none_leakage, tuples = np.zeros(per_length), np.zeros(per_length, np.int64)
    count = kernels.window_counts.count_spelled
    everybody = np.ones(original.n_persons, np.bool_)
    for number, length in enumerate(lengths):
        tuples[number] = tuple_counts(np.diff(offsets), length, window)
    spelled = {
        row: before_book.encode(pattern)
        for row, pattern in enumerate(ordered)
        if all(label in before_book.codes for label in pattern)
    }
    for row, codes in spelled.items():
        occurrences[row] = count(before, before, offsets, codes, codes, window, everybody)
    rows_of = np.array([lengths.index(len(pattern)) for pattern in ordered], np.int64)
    sensitive = np.zeros(per_length, np.int64)
    np.add.at(sensitive, rows_of, occurrences)
    for number, length in enumerate(lengths):
        n_tuples = tuples[number]
        for image, rows in _images(before, after, spelled, length).items():
            look = np.array(image, np.int32)
            joint = [
                count(before, after, offsets, spelled[row], look, window, occurrences[row] > 0)
                for row in rows
            ]
            hits = np.sum(joint, axis=0)
            some = hits > 0
            if not some.any():
                continue
            alike = count(after, after, offsets, look, look, window, some)
            none_leakage[number, some] -= _rest(alike[some], hits[some], n_tuples[some])
            for row, both in zip(rows, joint, strict=True):
                met = both > 0
                share, all_of = both[met] / n_tuples[met], occurrences[row, met]
                # In this order 1 / 1 comes out of what is generalized to the root, and its logarithm is 0.
                bits = np.log2((both[met] / all_of) / (alike[met] / n_tuples[met]))
                leakage[row, met] += share * bits
                other_leakage[row, met] -= _rest(alike[met], both[met], n_tuples[met])
                posterior[row, met] = np.maximum(posterior[row, met], both[met] / alike[met])
                is_shown[row, met] |= tuple(after_book.decode(image)) == ordered[row]
    shares = np.divide(occurrences, tuples[rows_of], out=np.ones(shape), where=occurrences > 0)
    entropy = shares * np.log2(1 / shares)
    other_entropy = _rest(tuples[rows_of], occurrences, tuples[rows_of])
    none_entropy = _rest(tuples, sensitive, tuples)
    return Leakage(
        patterns=tuple(ordered),
        occurrences=occurrences,
        entropy=entropy,
        leakage=leakage,
        other_entropy=other_entropy,
        other_leakage=other_entropy + other_leakage,
        none_entropy=none_entropy,
        none_leakage=none_entropy + none_leakage,
        posterior=posterior,
        is_shown=is_shown,
    )


def _images(
    before: Codes, after: Codes, spelled: Mapping[int, Codes], length: int
) -> dict[tuple[int, ...], list[int]]:
    """List all that a pattern of a length may be released as, each with the patterns that may be it."""
    images_of: dict[int, list[int]] = {}
    found: dict[tuple[int, ...], list[int]] = {}
    for row, codes in spelled.items():
        if len(codes) == length:
            for code in codes.tolist():
                if code not in images_of:
                    images_of[code] = np.unique(after[before == code]).tolist()
            for image in product(*(images_of[code] for code in codes.tolist())):
                found.setdefault(image, []).append(row)
    return found


def _rest(alike: Counts, hits: Counts, n_tuples: Counts) -> Bits:
    """Return what is open, in bits, about tuples that look alike and are not among the `hits`.

    That is (F - H) / N log2 F / (F - H). Images without a hit have nothing open, so that what the release
    tells about all tuples that are no hit is this for all tuples together, less the sum over images: the sum
    of P[none, g] log2 (P[none, g] / (P[none] P[g])), with nothing to add for images that are not listed.
    """
    is_open = (hits > 0) & (hits < alike)
    share = np.divide(hits, alike, out=np.zeros(alike.shape), where=is_open)
    weight = np.divide(alike - hits, n_tuples, out=np.zeros(alike.shape), where=is_open)
    # The logarithm of a number next to 1 keeps its digits this way.
    bits: Bits = weight * -np.log1p(-share) / np.log(2)
    return bits
