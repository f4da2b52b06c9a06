"""After how many steps persons come back to an item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.mining.support import sequences_of
from sequester.utility.distributions import transport
from sequester.utility.score import Score
from sequester.utility.units import units_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

FORMULA = "∫ |F(x) - F'(x)| dx; F, F' = shares of returns after at most x steps, before and after"
REFERENCE = "Vallender (1974), the first Wasserstein distance"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnGaps:
    """By how many steps the gaps between an item and its next occurrence are changed, on average.

    A release of symbols tells no times, so gaps are counted in events. Where one side has no returns at all
    the distance is 0.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original, released = Sequences.from_rows(["abcab"]), Sequences.from_rows(["aabbc"])
    >>> ReturnGaps().score(released, original=original).value  # after 3 steps, then after 1
    2.0
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable | Sequences) -> Score:
        """Compare the gaps of all items of all persons."""
        units = units_of(original)
        return Score(
            value=transport(_returns(sequences_of(released)), _returns(sequences_of(original))),
            goal="minimize",
            bounds=(0, None),
            means=f"By how many steps the gaps after which a {units.one} comes back to an item lie apart "
            "from those of the original, on average, whoever has which; 0 is the same gaps.",
            formula=FORMULA,
            reference=REFERENCE,
        )


def _returns(sequences: Sequences) -> npt.NDArray[np.float64]:
    """List after how many steps each item comes again."""
    offsets = sequences.person_offsets
    persons = np.repeat(np.arange(sequences.n_persons, dtype=np.int64), np.diff(offsets))
    book = len(sequences.codebooks[sequences.symbol])
    keys = persons * max(book, 1) + sequences.columns[sequences.symbol]
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    return np.asarray(np.diff(order)[same], np.float64)
