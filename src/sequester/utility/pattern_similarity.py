"""How much of what can be mined from the original can be mined from the release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import ParameterError
from sequester.mining.frequent import MAX_PATTERNS, frequent
from sequester.mining.support import sequences_of, supports_of_codes
from sequester.utility.score import Score

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

SIM1_FORMULA = "SIM1 = mean over s in S' of min(f'(s), f(s)) / max(f'(s), f(s))"
SIM2_FORMULA = "SIM2 = min(|S'|, |S|) / max(|S'|, |S|)"
REFERENCE = "Pensa, Monreale, Pinelli, Pedreschi (2008), section 5"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternSimilarity:
    """SIM1 compares the frequencies of the patterns that are frequent in the release, SIM2 their number.

    With S' and S the patterns of at least `min_support` persons in the release and in the original, and
    relative frequencies f' and f (persons who contain the pattern, over all persons with an event; a person
    with several sequences, such as trips, counts once):

    - SIM1 is the mean over S' of min(f', f) / max(f', f);
    - SIM2 is min(number of S', number of S) / max(the same).

    Both are 1 where S' and S are empty, and both are 0 where only S' is.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original = Sequences.from_rows(["ab", "ab", "ab", "b"])
    >>> released = Sequences.from_rows(["ab", "ab", "", ""])
    >>> scores = PatternSimilarity(min_support=2).score(released, original=original)
    >>> {name: round(score.value, 3) for name, score in scores.items()}
    {'sim1': 0.833, 'sim2': 1.0}

    References
    ----------
    Pensa, Monreale, Pinelli, Pedreschi (2008), section 5, SIM1 and SIM2. The text speaks of relative
    frequencies and is silent on empty collections. It counts trajectories, and k of them for k persons; here
    k are persons, so persons are counted throughout.
    """

    min_support: int
    """Persons that make a pattern frequent, in the release as in the original."""
    max_length: int | None = None
    """Longest pattern to compare; without it all are."""
    max_patterns: int = MAX_PATTERNS
    """More patterns than this on either side are refused."""

    def __post_init__(self) -> None:
        for name in ("min_support", "max_length", "max_patterns"):
            value = getattr(self, name)
            if value is not None and value < 1:
                msg = f"{name} must be at least 1, got {value}"
                raise ParameterError(msg)

    def score(
        self, released: EventTable | Sequences, *, original: EventTable | Sequences
    ) -> dict[str, Score]:
        """Mine both sides and compare: ``sim1`` and ``sim2``."""
        after, before = sequences_of(released), sequences_of(original)
        mined, known = (
            frequent(
                side,
                min_support=self.min_support,
                max_length=self.max_length,
                max_patterns=self.max_patterns,
            )
            for side in (after, before)
        )
        size = "of any length" if self.max_length is None else f"of at most {self.max_length} items"
        once = "" if before.owners is None else ", each once however many trips they have,"
        kind = f"patterns {size} that at least {self.min_support} persons{once} contain"
        if len(mined):
            column = before.symbol
            counts = supports_of_codes(
                mined.codes, mined.offsets, mined.codebook, before.distinct(column), before.codebooks[column]
            )
            # Both frequencies over one denominator; without an original record every f is 0.
            left, right = mined.supports * max(_n_records(before), 1), counts * _n_records(after)
            sim1 = float(np.mean(np.minimum(left, right) / np.maximum(left, right)))
        else:
            sim1 = 0.0 if len(known) else 1.0
        larger = max(len(mined), len(known))
        return {
            "sim1": Score(
                value=sim1,
                goal="maximize",
                bounds=(0, 1),
                means=f"How alike the relative frequencies in release and original are, on average over the "
                f"{kind} in the release; 1 is equal.",
                formula=SIM1_FORMULA,
                reference=REFERENCE,
            ),
            "sim2": Score(
                value=min(len(mined), len(known)) / larger if larger else 1.0,
                goal="maximize",
                bounds=(0, 1),
                means=f"How alike the numbers of {kind} in release and original are, the smaller over the "
                "larger; 1 is equally many.",
                formula=SIM2_FORMULA,
                reference=REFERENCE,
            ),
        }


def _n_records(sequences: Sequences) -> int:
    """Count the persons with at least one event."""
    has_events = np.diff(sequences.person_offsets) > 0
    if sequences.owners is None:
        return int(np.count_nonzero(has_events))
    return len(np.unique(sequences.owners[has_events]))
