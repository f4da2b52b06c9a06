"""The discernibility measure DM: among how many others a person can no longer be discerned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.mining.support import sequences_of
from sequester.utility.classes import class_sizes, telling
from sequester.utility.score import Score
from sequester.utility.units import units_of

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

FORMULA = "DM = (Σ over classes E of |E|² + |suppressed| · n) / n; E = persons with the same released history"
REFERENCE = "Bayardo, Agrawal (2005); Sehatkar (2014), section 2.3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discernibility:
    """The mean number of persons who are released alike; who is not released is alike to everybody.

    Two persons are alike if their released histories are equal in every quasi-identifier that has a weight,
    or in their symbols.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.testing import symbol_table
    >>> original = symbol_table(["ab", "ab", "b", "c"])
    >>> Discernibility().score(original, original=original).value  # (2 + 2 + 1 + 1) / 4
    1.5
    >>> released = Sequences.from_rows(["ab", "ab", "b", ""])
    >>> Discernibility().score(released, original=original).value  # (2 + 2 + 1 + 4) / 4
    2.25

    References
    ----------
    Bayardo, Agrawal (2005); Sehatkar (2014), section 2.3. The record is a person's history, and the sum is
    divided by the persons.
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
        """Fold equal histories and average the sizes of classes over persons."""
        units = units_of(original)
        sizes = class_sizes(released, telling(original))
        n = sequences_of(original).n_persons
        total = int((sizes * sizes).sum()) + (n - int(sizes.sum())) * n
        return Score(
            value=total / n if n else 1.0,
            goal="minimize",
            bounds=(1, max(n, 1)),
            means=f"How many {units.many} are released alike, on average over {units.many}; 1 says that all "
            f"differ, and one that is not released counts as alike to all {n:,}.",
            formula=FORMULA,
            reference=REFERENCE,
        )
