"""How far visits were moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.data.codebook import Codebook
from sequester.errors import ParameterError
from sequester.mining.support import sequences_of
from sequester.utility.pairs import aligned
from sequester.utility.score import Score

if TYPE_CHECKING:
    from sequester.data.regions import Regions
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

MOST_SYMBOLS = 10_000
"""Above, the distances between all pairs of regions take more memory than the answer is worth."""


@dataclass(frozen=True, slots=True)
class Displacement:
    """Metres from a visited region to one that is released of its person, in the same order, on average.

    Every original visit is matched with a released one, later ones with the same or later ones, so that the
    sum of distances between the middles of regions is least. Who is not released does not count: nothing is
    near to nothing. Where nobody is released the displacement is 0.

    Examples
    --------
    >>> from sequester.data.regions import Regions, box
    >>> from sequester.data.sequences import Sequences
    >>> regions = Regions({"a": box(0, 0, 0.01, 0.01), "b": box(0, 0.01, 0.01, 0.02)}, {"a": (), "b": ()})
    >>> original = Sequences.from_rows(["ab", "a"])
    >>> round(Displacement(regions).score(original, original=original).value)
    0
    >>> round(Displacement(regions).score(Sequences.from_rows(["a", "ab"]), original=original).value)
    371
    """

    regions: Regions
    """What the symbols stand for."""

    def score(self, released: EventTable | Sequences, *, original: EventTable | Sequences) -> Score:
        """Compare person by person, or trip by trip, equal pairs once."""
        pairs = aligned(released, original)
        if pairs.n_symbols > MOST_SYMBOLS:
            msg = f"displacement needs at most {MOST_SYMBOLS:,} symbols, there are {pairs.n_symbols:,}"
            raise ParameterError(msg)
        books = [each.codebooks[each.symbol].labels for each in map(sequences_of, (released, original))]
        metres = self.regions.metres(Codebook.of(label for book in books for label in book).labels)
        before = kernels.distinct.gather_rows(pairs.before.items, pairs.before.offsets, pairs.before_rows)
        after = kernels.distinct.gather_rows(pairs.after.items, pairs.after.offsets, pairs.after_rows)
        sums = kernels.near_paths.lay_over(*after, *before, metres)
        is_released = np.diff(after[1]) > 0
        n_visits = int((np.diff(before[1]) * is_released) @ pairs.weights)
        return Score(
            value=float(sums @ pairs.weights) / max(n_visits, 1),
            goal="minimize",
            bounds=(0, None),
            means="Metres from a visited region to one that is released instead, middle to middle and in the "
            "same order, on average over the visits of those who are released; 0 is unchanged.",
        )
