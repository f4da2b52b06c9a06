"""Whether as much time still passes between events, as far as a release tells time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.errors import ParameterError
from sequester.mining.support import sequences_of
from sequester.utility.attributes import attributes_of
from sequester.utility.clock import clock_of
from sequester.utility.distributions import transport
from sequester.utility.score import Score

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

FORMULA = "∫ |F(x) - F'(x)| dx; F, F' = shares of gaps between neighbours of at most x"
REFERENCE = "Vallender (1974), the first Wasserstein distance"


@dataclass(frozen=True, slots=True, kw_only=True)
class GapDistribution:
    """By how much the times between a person's events have to be changed, on average, to be as before.

    Times are read from the quasi-identifier that tells them: the time or order itself, or days since the
    first or the previous event. A coarse value is read as the mean of the leaves below it.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> tree = Hierarchy.from_tree({"early": ["1", "3"], "late": ["9"]})
    >>> roles = {"person": "who", "order": "n", "quasi": {"n": tree}}
    >>> original = EventTable(pl.DataFrame({"who": ["a", "a"], "n": ["1", "9"]}), Schema(**roles))
    >>> released = EventTable(
    ...     pl.DataFrame({"person": ["p", "p"], "order": [1, 2], "n": ["early", "9"]}),
    ...     Schema(person="person", order="order", quasi={"n": tree}, released=True),
    ... )
    >>> GapDistribution().score(released, original=original).value  # 8 before, 7 after
    1.0
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
        """Compare the gaps of all persons."""
        clock = clock_of(original)
        if clock is None:
            msg = "gaps need a quasi-identifier that tells time, and there is none"
            raise ParameterError(msg)
        sequences = sequences_of(released)
        (told,) = (each for each in attributes_of(sequences, original) if each.name == clock.name)
        after = clock.gaps(told.after, sequences.person_offsets)
        before = clock.gaps(told.before, original.person_offsets)
        return Score(
            value=transport(after, before),
            goal="minimize",
            bounds=(0, None),
            means=f"By how many {clock.unit} the gaps between neighbouring events, read from {clock.name}, "
            "lie apart from those of the original, on average, whoever has which; 0 is the same gaps.",
            formula=FORMULA,
            reference=REFERENCE,
        )
