"""Loss per privacy gain ILPG: what was paid for each further person that somebody is hidden among."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.errors import ParameterError
from sequester.utility.classes import class_sizes, telling
from sequester.utility.score import Score
from sequester.utility.units import units_of

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

FORMULA = "ILPG = IL / (PG + 1); PG = max(0, smallest class of the release - smallest class of the original)"
REFERENCE = "Fung, Wang, Yu (2005); Sehatkar (2014), Eq. 2.8"


@dataclass(frozen=True, slots=True, kw_only=True)
class LossPerGain:
    """The information loss over one more than the privacy gained.

    Privacy is the size of the smallest class of persons whose histories are alike; a release that leaves it
    as it was, or makes it smaller, gains none.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.testing import symbol_table
    >>> original = symbol_table(["ab", "ab", "ac", "b"])
    >>> released = Sequences.from_rows(["ab", "ab", "ab", ""])
    >>> LossPerGain(information_loss=0.75).score(released, original=original).value  # classes of 1, then of 3
    0.25

    References
    ----------
    Fung, Wang, Yu (2005); Sehatkar (2014), Eq. 2.8, with the smallest class for the anonymity.
    """

    information_loss: float
    """What the release lost, from 0 to 1."""

    def __post_init__(self) -> None:
        if not 0 <= self.information_loss <= 1:
            msg = f"information_loss must be from 0 to 1, got {self.information_loss}"
            raise ParameterError(msg)

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
        """Find the smallest classes of both sides."""
        units = units_of(original)
        names = telling(original)
        before, after = (int(class_sizes(side, names).min(initial=2**62)) for side in (original, released))
        gain = max(after - before, 0) if max(before, after) < 2**62 else 0
        return Score(
            value=self.information_loss / (gain + 1),
            goal="minimize",
            bounds=(0, 1),
            means=f"The information loss over one more than the privacy gained, which is by how many "
            f"{units.many} the smallest group of those who are released alike has grown; 0 is no loss.",
            formula=FORMULA,
            reference=REFERENCE,
        )
