"""Which frequent patterns a release lost, and which it has that were not frequent before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.mining.frequent import MAX_PATTERNS, frequent
from sequester.utility.score import Score

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.mining.patterns import Patterns

Pattern = tuple[str, ...]

LOST_FORMULA = "|S - S'|; S, S' = frequent patterns without a sensitive one, before and after"
GHOST_FORMULA = "|S' - S|; S, S' as for lost patterns"
REFERENCE = "Gwadera, Gkoulalas-Divanis, Loukides (2013), Background 4/4"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEffects:
    """Frequent patterns that are lost, and ghosts: patterns that are frequent in the release alone.

    A pattern that contains a sensitive one has to go with it, and counts as neither.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original = Sequences.from_rows(["abc", "abc", "ab"])
    >>> released = Sequences.from_rows(["bac", "bac", "ab"])
    >>> effects = SideEffects(sensitive=frozenset({("a", "b")}), min_support=2)
    >>> effects.ghosts(released, original=original)
    (('b', 'a'), ('b', 'a', 'c'))
    >>> {name: score.value for name, score in effects.score(released, original=original).items()}
    {'lost_patterns': 0.0, 'ghost_patterns': 2.0}

    References
    ----------
    Gwadera, Gkoulalas-Divanis, Loukides (2013), Background 4/4, (II).
    """

    sensitive: frozenset[Pattern]
    """Patterns that are hidden on purpose."""
    min_support: int
    """Persons that make a pattern frequent."""
    max_length: int | None = None
    """Longest pattern that counts."""
    max_patterns: int = MAX_PATTERNS
    """More patterns than this on either side are refused."""

    def score(
        self, released: EventTable | Sequences, *, original: EventTable | Sequences
    ) -> dict[str, Score]:
        """Count ``lost_patterns`` and ``ghost_patterns``."""
        before, after = self._mine(original), self._mine(released)
        n_shared = len(before & after)
        up_to = "" if self.max_length is None else f" and at most {self.max_length} items"
        what = f"patterns of at least {self.min_support} persons{up_to}"
        return {
            "lost_patterns": Score(
                value=float(len(before) - n_shared),
                goal="minimize",
                bounds=(0, len(before)),
                means=f"How many of the {len(before)} {what} can no longer be found, those that had to be "
                "hidden left aside.",
                formula=LOST_FORMULA,
                reference=REFERENCE,
            ),
            "ghost_patterns": Score(
                value=float(len(after) - n_shared),
                goal="minimize",
                bounds=(0, None),
                means=f"How many {what} are found that were not so frequent before.",
                formula=GHOST_FORMULA,
                reference=REFERENCE,
            ),
        }

    def lost(
        self, released: EventTable | Sequences, *, original: EventTable | Sequences
    ) -> tuple[Pattern, ...]:
        """List the lost patterns, shortest first, then in label order."""
        return _listed(self._mine(original) - self._mine(released))

    def ghosts(
        self, released: EventTable | Sequences, *, original: EventTable | Sequences
    ) -> tuple[Pattern, ...]:
        """List the ghosts, shortest first, then in label order."""
        return _listed(self._mine(released) - self._mine(original))

    def _mine(self, data: EventTable | Sequences) -> set[Pattern]:
        """Mine what is frequent and contains no sensitive pattern."""
        found = frequent(
            data, min_support=self.min_support, max_length=self.max_length, max_patterns=self.max_patterns
        )
        owed = _contain_any(found, self.sensitive)
        return {labels for labels, is_owed in zip(found.labels, owed, strict=True) if not is_owed}


def _contain_any(patterns: Patterns, sensitive: frozenset[Pattern]) -> list[bool]:
    codes = patterns.codebook.codes
    known = [each for each in sorted(sensitive) if all(label in codes for label in each)]
    secrets = np.array([codes[label] for each in known for label in each], np.int32)
    offsets = np.cumsum([0, *map(len, known)]).astype(np.int64)
    marks = kernels.hiding_rows.mark_secrets(patterns.codes, patterns.offsets, secrets, offsets)
    owed: list[bool] = marks.reshape(len(patterns), len(known)).any(axis=1).tolist()
    return owed


def _listed(patterns: set[Pattern]) -> tuple[Pattern, ...]:
    return tuple(sorted(patterns, key=lambda each: (len(each), each)))
