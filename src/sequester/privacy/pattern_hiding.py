"""Pattern hiding: nobody can mine what must not be known from the release."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from sequester._validation import at_least
from sequester.errors import InputError, ParameterError
from sequester.mining.support import find_new_pairs, sequences_of, supporters, supports
from sequester.privacy.model import N_WITNESSES, ONE_SYMBOL, Verdict, in_percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.data.table import SequenceData
    from sequester.engine import Engine
    from sequester.privacy.model import Layout


UNSEEN = "unseen"
"""Forbids every ordered pair that nobody has in the original."""

Pattern = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternHiding:
    """Every sensitive pattern has fewer than `min_support` supporters.

    A supporter is a person whose events contain the pattern in order, gaps allowed. Checked with the original
    beside it, a forbidden pattern is also nowhere where it was not before: who has it had it before.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> model = PatternHiding(sensitive=frozenset({("a", "c")}), min_support=2)
    >>> model.check(Sequences.from_rows(["abc", "ac", "ca"]))
    Verdict(holds=False, achieved={'min_support': 3}, witnesses=(('a', 'c'),))

    References
    ----------
    Gwadera, Gkoulalas-Divanis, Loukides (2013), Motivation 2/3 and Background 4/4.
    """

    layouts: ClassVar[tuple[Layout, ...]] = (ONE_SYMBOL,)
    needs_original: ClassVar[bool] = True
    """The patterns would give away what they hide, so only those who know them can check."""
    needs_hierarchies: ClassVar[bool] = False
    level_meanings: ClassVar[Mapping[str, str]] = {
        "min_support": "fewer persons than this have each hidden pattern"
    }
    attacks: ClassVar[str] = "hidden patterns"

    sensitive: frozenset[Pattern] = field(metadata={"published": False})
    """Patterns nobody may mine from the release."""
    min_support: int | float
    """Supporters that make a pattern actionable: persons, or a fraction of them below 1, rounded up."""
    thresholds: Mapping[Pattern, int | float] = field(default_factory=dict, metadata={"published": False})
    """Sensitive patterns with a number of their own instead of `min_support`."""
    forbidden: frozenset[Pattern] | str = field(default=frozenset(), metadata={"published": False})
    """Patterns that may not be where they were not; ``"unseen"``: every pair that nobody has in order."""

    def __post_init__(self) -> None:
        sensitive = frozenset(tuple(pattern) for pattern in self.sensitive)
        object.__setattr__(self, "sensitive", sensitive)
        if not sensitive or () in sensitive:
            msg = "sensitive must have at least one pattern, and each at least one item"
            raise ParameterError(msg)
        object.__setattr__(self, "min_support", as_threshold("min_support", self.min_support))
        thresholds = {tuple(pattern): value for pattern, value in self.thresholds.items()}
        for pattern, value in thresholds.items():
            name = f"the min_support of {' → '.join(pattern)}"
            thresholds[pattern] = as_threshold(name, value)
            if pattern not in sensitive:
                msg = f"{name} is given, but the pattern is not sensitive"
                raise ParameterError(msg)
        object.__setattr__(self, "thresholds", thresholds)
        if isinstance(self.forbidden, str):
            if self.forbidden != UNSEEN:
                msg = f'forbidden must be a list of patterns or "{UNSEEN}", got {self.forbidden!r}'
                raise ParameterError(msg)
        else:
            object.__setattr__(self, "forbidden", frozenset(tuple(pattern) for pattern in self.forbidden))

    def about(self, table: SequenceData) -> PatternHiding:
        """Return the promise in persons, where it was given as a share of those in the table."""
        return replace(
            self,
            min_support=persons(self.min_support, table.n_persons),
            thresholds={
                pattern: persons(value, table.n_persons) for pattern, value in self.thresholds.items()
            },
        )

    def threshold(self, pattern: Pattern) -> int | float:
        """Return the number of supporters that `pattern` must stay below."""
        return self.thresholds.get(pattern, self.min_support)

    def check(
        self, released: SequenceData, *, original: SequenceData | None = None, engine: Engine | None = None
    ) -> Verdict:
        """Count the supporters of every sensitive pattern, and find forbidden ones that are new.

        ``achieved["min_support"]`` is the smallest number that would hold for the patterns that have none of
        their own (for all, where all have one). `violations` counts sensitive patterns with too many
        supporters and forbidden ones that are new; the witnesses are the first five of them, sensitive ones
        first, shortest first, then in label order. Forbidden patterns are compared person by person: both
        sides must have the same persons in the same order.

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
        promise = self.about(released if original is None else original)
        patterns = sorted(promise.sensitive)
        counts = supports(patterns, released, engine=engine).tolist()
        general = [
            count
            for pattern, count in zip(patterns, counts, strict=True)
            if pattern not in promise.thresholds
        ]
        broken = [
            pattern
            for pattern, count in zip(patterns, counts, strict=True)
            if count >= promise.threshold(pattern)
        ]
        broken.sort(key=len)
        if promise.forbidden:
            if original is None:
                msg = "PatternHiding with forbidden patterns compares with the original, and none was given"
                raise InputError(msg)
            broken += sorted(
                _new_patterns(promise.forbidden, released, original), key=lambda each: (len(each), each)
            )
        return Verdict(
            holds=not broken,
            achieved={"min_support": max(general or counts) + 1},
            witnesses=tuple(broken[:N_WITNESSES]),
            violations=len(broken),
        )

    def claim(self) -> dict[str, object]:
        """Return the threshold; the patterns themselves must not be published."""
        return {"min_support": self.min_support}

    def in_words(self) -> str:
        """Return the promise in a sentence for people."""
        few = (
            f"{in_percent(self.min_support)} of the persons, rounded up to whole persons"
            if isinstance(self.min_support, float)
            else f"{self.min_support:,} persons"
        )
        own = " (some patterns: than a number of their own)" if self.thresholds else ""
        new = (
            " No pattern that was declared implausible is in a record that did not contain it before."
            if self.forbidden
            else ""
        )
        return (
            f"Each of the patterns that the publisher hides is contained, in order and with any gaps, in the "
            f"released records of fewer than {few}{own}. The patterns are not published.{new}"
        )


def as_threshold(name: str, value: object) -> int | float:
    """Take a number of persons, or a share of them between 0 and 1; anything else is refused by `name`.

    Examples
    --------
    >>> as_threshold("min_support", 3), as_threshold("min_support", 0.5)
    (3, 0.5)
    >>> as_threshold("min_support", 1.5)
    Traceback (most recent call last):
    sequester.errors.ParameterError: min_support must be a whole number of persons or a share below 1, got 1.5
    """
    if isinstance(value, float) and 0 < value < 1:
        return float(value)
    if not isinstance(value, bool) and hasattr(value, "__index__"):
        return at_least(name, value, 1)
    msg = f"{name} must be a whole number of persons or a share below 1, got {value!r}"
    raise ParameterError(msg)


def persons(threshold: int | float, n_persons: int) -> int:
    """Turn a share of the persons into persons, rounded up, at least one.

    Examples
    --------
    >>> persons(3, 10), persons(0.25, 10), persons(0.07, 100)
    (3, 3, 7)
    """
    if isinstance(threshold, int):
        return threshold
    # As it was written: 0.07 is meant to be seven hundredths, and as a binary number it is more.
    return max(math.ceil(Fraction(repr(threshold)) * n_persons), 1)


def _new_patterns(
    forbidden: frozenset[Pattern] | str,
    released: SequenceData,
    original: SequenceData,
) -> set[Pattern]:
    """Find the forbidden patterns that somebody has in the release and had not before."""
    if isinstance(forbidden, str):
        return {*find_new_pairs(sequences_of(released), sequences_of(original))}
    if released.n_persons != original.n_persons:
        msg = (
            "released and original must have the same persons in the same order, "
            f"there are {released.n_persons} and {original.n_persons}"
        )
        raise InputError(msg)
    return {
        pattern
        for pattern in forbidden
        if (supporters(pattern, released) & ~supporters(pattern, original)).any()
    }
