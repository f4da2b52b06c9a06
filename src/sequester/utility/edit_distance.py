"""How many items of a person's sequence were changed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sequester.engine.local import usable_cores
from sequester.utility.pairs import aligned
from sequester.utility.score import Score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester._typing import Counts
    from sequester.data.sequences import Distinct, Sequences
    from sequester.data.table import EventTable

SURROGATES = range(0xD800, 0xE000)
"""Code points that a text may not hold."""
MAX_CHARACTERS = 0x110000 - len(SURROGATES)
"""Symbols that can be written as one character each."""
FORMULA = "Σ over persons of L(t, t') / persons; L = fewest insertions, deletions and substitutions of events"
REFERENCE = "Levenshtein (1966); Pensa, Monreale, Pinelli, Pedreschi (2008), Definition 4"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditDistance:
    """Fewest insertions, deletions and substitutions from a person's sequence to the released, on average.

    Persons stand in the same order on both sides. A person who is not released counts with all of their
    items. Without persons the distance is 0.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original = Sequences.from_rows(["DEJF", "BK", "XY", "A"])
    >>> released = Sequences.from_rows(["ADEF", "BK", "", "A"])
    >>> EditDistance().score(released, original=original).value
    1.0

    References
    ----------
    Pensa, Monreale, Pinelli, Pedreschi (2008), Definition 4.
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable | Sequences) -> Score:
        """Compare person by person, equal pairs once."""
        # Loaded here because only this measure needs it.
        from rapidfuzz.distance import Levenshtein  # noqa: PLC0415
        from rapidfuzz.process import cpdist  # noqa: PLC0415

        pairs = aligned(released, original)
        before, after = written(pairs.before, pairs.n_symbols), written(pairs.after, pairs.n_symbols)
        distances: Counts = cpdist(
            [before[row] for row in pairs.before_rows],
            [after[row] for row in pairs.after_rows],
            scorer=Levenshtein.distance,
            dtype=np.int64,
            workers=usable_cores(),
        )
        unit = pairs.unit.removesuffix("s")
        return Score(
            value=int(distances @ pairs.weights) / max(pairs.n_persons, 1),
            goal="minimize",
            bounds=(0, None),
            means=f"How many items had to be inserted, deleted or substituted per {unit}, on average; "
            f"0 is unchanged, and a {unit} that is not released counts with all items.",
            formula=FORMULA,
            reference=REFERENCE,
        )


def written(rows: Distinct, n_symbols: int) -> Sequence[Sequence[object]]:
    """Write each row as a text with one character per item; as numbers where characters do not suffice."""
    bounds = list(pairwise(rows.offsets.tolist()))
    if n_symbols > MAX_CHARACTERS:
        return [rows.items[a:b].tolist() for a, b in bounds]
    points = np.where(rows.items < SURROGATES.start, rows.items, rows.items + len(SURROGATES))
    text = points.astype("<u4").tobytes().decode("utf-32-le")
    return [text[a:b] for a, b in bounds]
