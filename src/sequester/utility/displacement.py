"""How far visits were moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

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

Side = Literal["original", "released"]
"""Whose visits are followed."""
_MEANS = {
    "original": "Metres from a visited region to one that is released instead, middle to middle and in the "
    "same order, on average over the visits of those who are released; 0 says that all are still there.",
    "released": "Metres from a released region to one that was visited, middle to middle and in the same "
    "order, on average over the released visits; 0 says that no visit was made up.",
}

FORMULA = "least Σ over visits of metres(visit, visit of the other side), in order, / visits"
REFERENCE = "Sakoe, Chiba (1978), with every visit of one side matched"


@dataclass(frozen=True, slots=True)
class Displacement:
    """Metres from a visited region to one that is released of its person, in the same order, on average.

    Every visit of one side is matched with one of the other, later ones with the same or later ones, so that
    the sum of distances between the middles of regions is least. From the original to the release it says how
    far the visits were moved that took place; the other way how far from everything are those that are shown:
    a made-up visit far away shows only there. Who is not released does not count: nothing is near to nothing.
    Where nobody is released the displacement is 0.

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
    >>> back = Displacement(regions, "released")
    >>> round(back.score(Sequences.from_rows(["ab", "ab"]), original=original).value)
    278
    """

    regions: Regions
    """What the symbols stand for."""
    side: Side = "original"
    """Whose visits are followed to the other side."""

    def __post_init__(self) -> None:
        if self.side not in get_args(Side):
            msg = f"side must be one of {', '.join(get_args(Side))}, got {self.side!r}"
            raise ParameterError(msg)

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
        here, there = (before, after) if self.side == "original" else (after, before)
        sums = kernels.near_paths.lay_over(*there, *here, metres)
        is_both = (np.diff(here[1]) > 0) & (np.diff(there[1]) > 0)
        n_visits = int((np.diff(here[1]) * is_both) @ pairs.weights)
        return Score(
            value=float(sums @ pairs.weights) / max(n_visits, 1),
            goal="minimize",
            bounds=(0, None),
            means=_MEANS[self.side],
            formula=FORMULA,
            reference=REFERENCE,
        )
