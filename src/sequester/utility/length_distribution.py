"""Whether persons still have as many events as they had, taken together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.mining.support import sequences_of
from sequester.utility.distributions import transport
from sequester.utility.score import Score
from sequester.utility.units import units_of

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

FORMULA = "∫ |F(x) - F'(x)| dx; F, F' = shares of all persons with at most x events, before and after"
REFERENCE = "Vallender (1974), the first Wasserstein distance"


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthDistribution:
    """By how many events the numbers of events per person have to be changed, on average, to be as before.

    Who has which number does not matter. A person who is not released has 0 events.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original, released = Sequences.from_rows(["abc", "a"]), Sequences.from_rows(["a", "ab"])
    >>> LengthDistribution().score(released, original=original).value  # 1 and 3, then 1 and 2
    0.5
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable | Sequences) -> Score:
        """Compare the numbers of events of all persons."""
        after, before = (
            np.diff(sequences_of(side).person_offsets).astype(np.float64) for side in (released, original)
        )
        units = units_of(original)
        return Score(
            value=transport(after, before),
            goal="minimize",
            bounds=(0, None),
            means=f"By how many events the lengths of all {units.many} lie apart from those of the original, "
            f"on average, whoever has which; 0 is the same lengths, and a {units.one} that is not released "
            "has none.",
            formula=FORMULA,
            reference=REFERENCE,
        )
