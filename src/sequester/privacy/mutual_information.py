"""Mutual information privacy: a person's released sequence reveals little about where patterns occurred."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from itertools import product
from math import comb
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from sequester._validation import as_patterns, is_number, one_of, true_or_false, within
from sequester.engine import LocalEngine
from sequester.errors import InputError, ParameterError
from sequester.kernels.compiler import njit
from sequester.kernels.rows import frozen
from sequester.mining.support import sequences_of
from sequester.privacy.model import N_WITNESSES, ONE_SYMBOL, Verdict, all_digits, in_percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable, SequenceData
    from sequester.engine import Engine
    from sequester.privacy.model import Layout

    Bits = npt.NDArray[np.float64]

Measure = Literal["exact", "paper"]
"""What counts as leakage: mutual information of all outcomes, or the paper's sum over sensitive patterns."""
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
    is_shown: Mask
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


def count_spelled(
    before: Codes,
    after: Codes,
    offsets: Offsets,
    pattern: Codes,
    image: Codes,
    window: int,
    is_asked: Mask,
) -> Counts:
    """Count, per row, the index tuples that spell `pattern` in `before` and `image` in `after`.

    See `count_fitting`. Requires ``pattern.size == image.size > 0``.
    """
    fits = _spells(pattern, before), _spells(image, after)
    return count_fitting((before, after), offsets, fits, window, is_asked)


def _spells(pattern: Codes, codes: Codes) -> Mask:
    """Mark in row ``k`` the code ``pattern[k]``, among all that `codes` may hold."""
    n_codes = max(int(codes.max(initial=0)), int(pattern.max())) + 1
    spells: Mask = np.arange(n_codes) == pattern[:, None]
    return spells


def count_fitting(
    sides: tuple[Codes, Codes], offsets: Offsets, fits: tuple[Mask, Mask], window: int, is_asked: Mask
) -> Counts:
    """Count, per row, the index tuples whose codes fit on both sides: the original and the release.

    Code ``c`` of a side fits in the k-th place of a tuple where ``fits[side][k, c]``. A tuple
    ``i1 < ... < im`` counts where ``im - i1 <= window``. Rows that are not asked for count 0. Requires rows
    of the same places on both sides, and fewer than 2^63 tuples.
    """
    counts, ways = np.zeros(len(offsets) - 1, np.int64), np.empty(len(fits[0]), np.int64)
    arrays = [frozen(np.ascontiguousarray(each)) for each in (*sides, offsets, *fits, is_asked)]
    _count_fitting(*arrays, window, ways, counts)
    return counts


@njit
def _count_fitting(
    before: Codes,
    after: Codes,
    offsets: Offsets,
    fits_before: Mask,
    fits_after: Mask,
    is_asked: Mask,
    window: int,
    ways: Counts,
    counts: Counts,
) -> None:
    """Count in `counts`; `ways` are those to fill the first k + 1 places from the current start on."""
    length = ways.size
    for row in range(offsets.size - 1):
        if not is_asked[row]:
            continue
        stop = offsets[row + 1]
        total = 0
        for start in range(offsets[row], stop):
            if not (fits_before[0, before[start]] and fits_after[0, after[start]]):
                continue
            ways[0] = 1
            for k in range(1, length):
                ways[k] = 0
            for place in range(start + 1, min(start + window + 1, stop)):
                # Backwards, so that a place serves each tuple once.
                for k in range(length - 1, 0, -1):
                    if fits_before[k, before[place]] and fits_after[k, after[place]]:
                        ways[k] += ways[k - 1]
            total += ways[length - 1]
        counts[row] = total


def measure_leakage(
    released: Sequences,
    original: Sequences,
    patterns: Sequence[tuple[str, ...]],
    *,
    window: int,
    engine: Engine | None = None,
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

    90 a and 10 b, released as they are. Where a stands is revealed by the other symbols as well:

    >>> row = Sequences.from_rows(["a" * 90 + "b" * 10])
    >>> found = measure_leakage(row, row, [("a",)], window=1)
    >>> [round(float(found.by_length(measure)[1][0, 0]), 3) for measure in ("paper", "exact")]
    [0.137, 0.469]
    """
    if not np.array_equal(original.person_offsets, released.person_offsets):
        msg = "release and original must have the same persons with the same number of events each"
        raise InputError(msg)
    engine = engine or LocalEngine()
    parts = engine.split(original.n_persons) or [range(0)]
    found = [*engine.map(_measure_part, parts, shared=(released, original, patterns, window))]
    cells = {
        each.name: np.concatenate([getattr(one, each.name) for one in found], axis=1)
        for each in fields(Leakage)
        if each.name != "patterns"
    }
    return Leakage(patterns=found[0].patterns, **cells)


def _measure_part(
    persons: range, shared: tuple[Sequences, Sequences, Sequence[tuple[str, ...]], int]
) -> Leakage:
    """Compare what was released of some persons with their originals."""
    released, original, patterns, window = shared
    taken = np.arange(persons.start, persons.stop)
    released, original = released.take(taken), original.take(taken)
    offsets = original.person_offsets
    before, after, before_book = original.codes, released.codes, original.codebook
    ordered = sorted(set(patterns), key=lambda pattern: (len(pattern), pattern))
    lengths = sorted({len(pattern) for pattern in ordered})
    shape, per_length = (len(ordered), original.n_persons), (len(lengths), original.n_persons)
    occurrences, is_shown = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    leakage, other_leakage, posterior = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    none_leakage, sensitive = np.zeros(per_length), np.zeros(per_length, np.int64)
    tuples = [tuple_counts(np.diff(offsets), length, window) for length in lengths]
    spelled = {
        row: before_book.encode(pattern)
        for row, pattern in enumerate(ordered)
        if all(label in before_book.codes for label in pattern)
    }
    everybody = np.ones(original.n_persons, np.bool_)
    for row, codes in spelled.items():
        occurrences[row] = count_spelled(before, before, offsets, codes, codes, window, everybody)
    rows_of = np.array([lengths.index(len(pattern)) for pattern in ordered], np.int64)
    np.add.at(sensitive, rows_of, occurrences)
    for number, (length, n_tuples) in enumerate(zip(lengths, tuples, strict=True)):
        for image, joint, alike in _count_images(
            before, after, offsets, spelled, occurrences, length=length, window=window
        ):
            hits = np.sum([*joint.values()], axis=0)
            some = hits > 0
            none_leakage[number, some] -= _rest(alike[some], hits[some], n_tuples[some])
            for row, both in joint.items():
                met = both > 0
                share, all_of = both[met] / n_tuples[met], occurrences[row, met]
                # In this order 1 / 1 comes out of what is generalized to the root, and its logarithm is 0.
                bits = np.log2((both[met] / all_of) / (alike[met] / n_tuples[met]))
                leakage[row, met] += share * bits
                other_leakage[row, met] -= _rest(alike[met], both[met], n_tuples[met])
                posterior[row, met] = np.maximum(posterior[row, met], both[met] / alike[met])
                is_shown[row, met] |= tuple(released.codebook.decode(image)) == ordered[row]
    among = np.array(tuples, np.int64).reshape(per_length)
    shares = np.divide(occurrences, among[rows_of], out=np.ones(shape), where=occurrences > 0)
    other_entropy = _rest(among[rows_of], occurrences, among[rows_of])
    none_entropy = _rest(among, sensitive, among)
    return Leakage(
        patterns=tuple(ordered),
        occurrences=occurrences,
        entropy=shares * np.log2(1 / shares),
        leakage=leakage,
        other_entropy=other_entropy,
        other_leakage=other_entropy + other_leakage,
        none_entropy=none_entropy,
        none_leakage=none_entropy + none_leakage,
        posterior=posterior,
        is_shown=is_shown,
    )


def _count_images(
    before: Codes,
    after: Codes,
    offsets: Offsets,
    spelled: Mapping[int, Codes],
    occurrences: Counts,
    *,
    length: int,
    window: int,
) -> Iterator[tuple[tuple[int, ...], dict[int, Counts], Counts]]:
    """Yield each image of the patterns of a length, how often it is of which, and how often it occurs.

    The tuples of each person are counted who have the image in the place of a pattern.
    """
    for image, rows in _images(before, after, spelled, length).items():
        look = np.array(image, np.int32)
        joint = {
            row: count_spelled(before, after, offsets, spelled[row], look, window, occurrences[row] > 0)
            for row in rows
        }
        some = np.any([*joint.values()], axis=0)
        if some.any():
            yield image, joint, count_spelled(after, after, offsets, look, look, window, some)


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
    # One order, whoever else is counted: sums are the same to the last digit.
    return dict(sorted(found.items()))


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


LONGEST_WINDOW = 2**31 - 1
"""Steps that a window may have: kernels count them in 32 bits."""
SLACK = 1e-9
"""Share of the entropy by which rounding may lift a leakage above its bound."""
DIGITS = 4
"""Decimals of the level that is reported; it is rounded up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """A pattern of which the release tells more than was promised; the most telling one of its length."""

    pattern: tuple[str, ...]
    """The pattern."""
    person: str
    """Whose sequence it is."""
    bits: float
    """What leaks: of the pattern in the worst case, otherwise of all patterns of its length together."""
    bound: float
    """What may leak, in bits."""

    def __str__(self) -> str:
        spelled = " → ".join(self.pattern)
        return f"{spelled} ({self.person}): {self.bits:.4f} bits leak, {self.bound:.4f} may"


@dataclass(frozen=True, slots=True, kw_only=True)
class MutualInformationPrivacy:
    """For each person and pattern length, the sensitive patterns leak at most the bound.

    An occurrence of a pattern is an index tuple ``i1 < ... < im`` with ``im - i1 <= window`` that spells it.
    Pick one of all such tuples of the length at random. Let S be the sensitive pattern that it spells, or
    *none*, and G what is released at its places. With ``measure = "exact"`` what leaks is the mutual
    information I(S; G), the sum over all outcomes s, none included, and images g of
    P[s, g] log2 (P[s, g] / (P[s] P[g])); the unchanged sequence leaks the entropy H(S). The bound is the
    share `max_leakage` of H(S), or `max_leakage_bits`. With `worst_case` each pattern keeps a bound of its
    own: S is then "is it this pattern?", and the share is one of the entropy of that, h(P[s]).

    With ``measure = "paper"`` it is the leakage of the paper, which leaves out the outcome *none*: the sum
    over sensitive patterns of P[p] log2 1/P[h(p)], h(p) being what is released of p (Equation 2; where one
    symbol is released in different ways, the sum over images as above). Shares are of the same sum for the
    unchanged sequence, and in the worst case of each pattern's own term. It is never more than the mutual
    information: it does not count what is revealed by tuples that are certainly not sensitive.

    Both are 0 where everything is released as one symbol. Neither rises when released symbols are merged,
    because then G tells no more than before (data-processing inequality; the paper's is the part of I(S; G)
    that belongs to sensitive outcomes, P[s] times the divergence of G given s from G, and each such part
    falls by itself).

    Whether a text search still finds the pattern plays no part: a symbol that is released under a name that
    stands for it alone leaks all it did. Checking needs the original. This bounds an average over the
    occurrences in one person's own sequence, against an adversary who knows how often each pattern occurs; it
    does not hide that it occurs, and is not differential privacy.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original = Sequences.from_rows(["aabxab"])
    >>> model = MutualInformationPrivacy(sensitive=frozenset({("a", "b")}), window=2, max_leakage=0.6)
    >>> model.check(Sequences.from_rows(["AABxAB"]), original=original).holds
    False
    >>> model.check(Sequences.from_rows(["AAAxAA"]), original=original)
    Verdict(holds=True, achieved={'max_leakage': 0.4126}, witnesses=())

    The two measures, for 90 a and 10 b that are released as they are:

    >>> row = Sequences.from_rows(["a" * 90 + "b" * 10])
    >>> for measure in ("exact", "paper"):
    ...     asked = {"sensitive": {("a",)}, "max_leakage_bits": 0.15, "measure": measure}
    ...     MutualInformationPrivacy(**asked).check(row, original=row).achieved
    {'max_leakage_bits': 0.469}
    {'max_leakage_bits': 0.1369}

    References
    ----------
    Bonomi, Fan, Jin (2016), Definition 2 and Equation 2. Cover, Thomas (2006), Theorem 2.8.1.
    """

    layouts: ClassVar[tuple[Layout, ...]] = (ONE_SYMBOL,)
    needs_original: ClassVar[bool] = True
    """A release does not show which of its tuples were sensitive."""
    needs_hierarchies: ClassVar[bool] = True
    level_meanings: ClassVar[Mapping[str, str]] = {
        "max_leakage": "at most this share of what the unchanged data would reveal",
        "max_leakage_bits": "at most this many bits about where the patterns are",
    }
    attacks: ClassVar[str] = "positions"

    sensitive: frozenset[tuple[str, ...]] = field(default=frozenset(), metadata={"published": False})
    """The patterns; never published, because they would give themselves away."""
    window: int = 10
    """Steps between the first and the last event of an occurrence, at most."""
    max_leakage: float | None = None
    """Share of the entropy that may leak, 0 to 1; 0.5 unless bits are given."""
    max_leakage_bits: float | None = None
    """Bits that may leak, instead."""
    worst_case: bool = False
    """Bound each pattern by itself and not only all of one length together."""
    measure: Measure = "exact"
    """Mutual information, or the paper's sum over sensitive patterns."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", frozenset(as_patterns("sensitive", self.sensitive)))
        object.__setattr__(self, "window", within("window", self.window, 1, LONGEST_WINDOW))
        share, bits = checked_bounds(self.max_leakage, self.max_leakage_bits)
        object.__setattr__(self, "max_leakage", share)
        object.__setattr__(self, "max_leakage_bits", bits)
        true_or_false("worst_case", self.worst_case)
        one_of("measure", self.measure, get_args(Measure))

    def about(self, table: EventTable) -> MutualInformationPrivacy:  # noqa: ARG002
        """Return the promise, which takes nothing from a table."""
        return self

    def leakage(
        self, released: SequenceData, original: SequenceData, *, engine: Engine | None = None
    ) -> Leakage:
        """Count what the release reveals about every pattern and person, by both measures."""
        return measure_leakage(
            sequences_of(released),
            sequences_of(original),
            tuple(self.sensitive),
            window=self.window,
            engine=engine,
        )

    def bounds(self, found: Leakage) -> tuple[Counts, Bits, Bits, Bits]:
        """Lay out what is bounded: the length of each row, its leakage, its entropy, its bound, by person."""
        lengths, leakage, entropy = found.by_length(self.measure)
        if self.worst_case:
            lengths, (leakage, entropy) = found.lengths, found.by_pattern(self.measure)
        if self.max_leakage_bits is not None:
            return lengths, leakage, entropy, np.full(leakage.shape, self.max_leakage_bits)
        return lengths, leakage, entropy, (self.max_leakage or 0.0) * entropy

    def check(
        self, released: SequenceData, *, original: SequenceData | None = None, engine: Engine | None = None
    ) -> Verdict:
        """Count index tuples in release and original, person by person.

        ``achieved`` has the largest share (or number of bits) that leaks anywhere, rounded up. `violations`
        counts persons and lengths, or persons and patterns in the worst case; the witnesses are the five
        that are furthest above their bound.

        Parameters
        ----------
        released
            The released table or sequences.
        original
            What they were made from.
        engine
            Where to count; threads of this process by default.

        Returns
        -------
        Verdict
            Whether the promise holds, the best level that holds, and witnesses where it does not.
        """
        if original is None:
            msg = "MutualInformationPrivacy compares with the original, and none was given"
            raise InputError(msg)
        misfit = _misfit(released, original)
        if misfit is not None:
            return Verdict(holds=False, achieved={}, witnesses=(misfit,), violations=1)
        return self.judge(self.leakage(released, original, engine=engine), _names(original))

    def judge(self, found: Leakage, names: Sequence[str]) -> Verdict:
        """Hold what was counted against the bounds; `names` are the persons."""
        lengths, leakage, entropy, bound = self.bounds(found)
        by_pattern = found.by_pattern(self.measure)[0]
        excess = leakage - (bound + SLACK * entropy)
        rows, persons = np.nonzero(excess > 0)
        worst_first = np.lexsort((persons, rows, -excess[rows, persons]))[:N_WITNESSES]
        witnesses = []
        for row, person in zip(rows[worst_first], persons[worst_first], strict=True):
            among = np.array([row]) if self.worst_case else np.flatnonzero(found.lengths == lengths[row])
            loudest = among[np.argmax(by_pattern[among, person])]
            witnesses.append(
                Leak(
                    pattern=found.patterns[loudest],
                    person=names[person],
                    bits=float(leakage[row, person]),
                    bound=float(bound[row, person]),
                )
            )
        holds = not rows.size
        return Verdict(
            holds=holds,
            achieved=self._achieved(leakage, entropy, holds=holds),
            witnesses=tuple(witnesses),
            violations=int(rows.size),
        )

    def _achieved(self, leakage: Bits, entropy: Bits, *, holds: bool) -> dict[str, float]:
        if self.max_leakage_bits is not None:
            name, asked, level = "max_leakage_bits", self.max_leakage_bits, leakage.max(initial=0.0)
        else:
            shares = np.divide(leakage, entropy, out=np.zeros(leakage.shape), where=entropy > 0)
            name, asked, level = "max_leakage", self.max_leakage or 0.0, shares.max(initial=0.0)
        stated = math.ceil(round(float(level) * 10**DIGITS, 3)) / 10**DIGITS
        # A level that holds is never stated as one above the bound because it was rounded.
        return {name: min(stated, asked) if holds else stated}

    def claim(self) -> dict[str, object]:
        """Return the parameters that may be published; the patterns are not among them."""
        bound = (
            {"max_leakage": self.max_leakage}
            if self.max_leakage_bits is None
            else {"max_leakage_bits": self.max_leakage_bits}
        )
        return {"window": self.window, **bound, "worst_case": self.worst_case, "measure": self.measure}

    def in_words(self) -> str:
        """Return the promise in a sentence for people."""
        if self.max_leakage_bits is None:
            amount = f"{in_percent(self.max_leakage or 0.0)} of what the unchanged symbols would reveal"
        else:
            amount = f"{all_digits(self.max_leakage_bits)} bits"
        what = (
            "whether each secret pattern, taken by itself, stood there"
            if self.worst_case
            else "which secret pattern of that length stood there, if any"
        )
        counted = (
            "mutual information"
            if self.measure == "exact"
            else "by the paper's leakage measure, which leaves out what is revealed by places without a "
            "secret pattern; the mutual information may be larger"
        )
        return (
            f"The symbols released at some places of a person's sequence, in order and within {self.window} "
            f"steps, reveal to an adversary who knows how often each secret pattern occurs at most {amount} "
            f"about {what} ({counted}; on average over all such places of that person)."
        )


def checked_bounds(share: object, bits: object) -> tuple[float | None, float | None]:
    """Return the share or the bits, one of them None; 0.5 where neither is given."""
    if share is not None and bits is not None:
        msg = "max_leakage_bits must not be given together with max_leakage: one of them is the bound"
        raise ParameterError(msg)
    if bits is not None:
        return None, _number("max_leakage_bits", bits, most=math.inf)
    return 0.5 if share is None else _number("max_leakage", share, most=1.0), None


def _number(name: str, value: object, *, most: float) -> float:
    if not is_number(value):
        msg = f"{name} must be a number, got {value!r}"
        raise ParameterError(msg)
    number = float(value)
    if not 0 <= number <= most:
        rule = "0 or more" if math.isinf(most) else f"0 to {most:g}"
        msg = f"{name} must be {rule}, got {value}"
        raise ParameterError(msg)
    return number


def _names(original: SequenceData) -> Sequence[str]:
    persons = getattr(original, "persons", None)
    if persons is not None:
        return list(persons)
    return [f"person {number}" for number in range(1, sequences_of(original).n_persons + 1)]


def _misfit(released: SequenceData, original: SequenceData) -> str | None:
    """Describe who has another number of events in the release; only equal places can be compared."""
    after, before = sequences_of(released), sequences_of(original)
    if after.n_persons != before.n_persons:
        return f"{after.n_persons:,} persons are released, the original has {before.n_persons:,}"
    lengths, now = np.diff(before.person_offsets), np.diff(after.person_offsets)
    wrong = np.flatnonzero(lengths != now)
    if not wrong.size:
        return None
    first = wrong[0]
    return (
        f"{_names(original)[first]}: {now[first]:,} events are released, the original has {lengths[first]:,}"
    )
