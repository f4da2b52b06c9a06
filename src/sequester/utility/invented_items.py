"""How many persons the release says something untrue about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester import kernels
from sequester.utility.pairs import aligned
from sequester.utility.score import Score

if TYPE_CHECKING:
    from sequester._typing import Mask
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

FORMULA = "number of persons whose released sequence has an item that is not in their original one"
REFERENCE = "Pensa, Monreale, Pinelli, Pedreschi (2008), Fig. 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class InventedItems:
    """The number of persons whose released sequence holds an item that they never had.

    Persons stand in the same order on both sides. An item that a person had, but earlier, later or less
    often, is not invented; neither is anything about a person who is not released.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original = Sequences.from_rows(["DEJF", "BK", "XY", "A"])
    >>> released = Sequences.from_rows(["ADEF", "KB", "", "AA"])
    >>> InventedItems().score(released, original=original).value
    1.0

    References
    ----------
    Pensa, Monreale, Pinelli, Pedreschi (2008), Fig. 1: DEJF is released as ADEF.
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable | Sequences) -> Score:
        """Count the persons who got an item they never had."""
        pairs = aligned(released, original)
        is_invented: Mask = kernels.containment.mark_strangers(
            pairs.after.items,
            pairs.after.offsets,
            pairs.after_rows,
            pairs.before.items,
            pairs.before.offsets,
            pairs.before_rows,
            pairs.n_symbols,
        )
        return Score(
            value=float(pairs.weights[is_invented].sum()),
            goal="minimize",
            bounds=(0, pairs.n_persons),
            means=f"How many of the {pairs.n_persons} {pairs.unit} got an item that they never had; "
            "0 says that no item was made up.",
            formula=FORMULA,
            reference=REFERENCE,
        )
