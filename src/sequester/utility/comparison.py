"""A release beside its original: what the measures that apply are decided by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sequester.privacy.mutual_information import MutualInformationPrivacy
from sequester.utility.sample import sample_persons
from sequester.utility.units import units_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.privacy.model import PrivacyModel
    from sequester.utility.score import Score

SAMPLED = "Measured on a random sample of"
"""How a score says that not everybody was looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A release beside its original, and what is known about the way from one to the other."""

    released: Sequences
    """Events of each person of the original, in its order; of records without persons, all of them as one."""
    original: EventTable
    """What it was made from."""
    model: PrivacyModel
    """The promise."""
    has_persons: bool = True
    """Persons keep their histories; False where records are published without persons."""
    n_lost_events: int | None = None
    """Events that are lost, where the method has counted them."""
    information_loss: float | None = None
    """What the method itself says the release lost, from 0 to 1."""

    @property
    def has_symbols(self) -> bool:
        """Events are one symbol each."""
        return self.original.symbol is not None

    @property
    def has_attributes(self) -> bool:
        """There is a symbol, or a quasi-identifier with a weight."""
        return self.has_symbols or any(each.weight > 0 for each in self.original.schema.quasi.values())

    @property
    def makes_coarser(self) -> bool:
        """Values become coarser along trees: those of quasi-identifiers, or symbols with a taxonomy."""
        if self.has_symbols:
            return isinstance(self.model, MutualInformationPrivacy)
        return self.has_attributes

    @property
    def has_plain_symbols(self) -> bool:
        """Persons have symbols that are released as such or not at all."""
        return self.has_persons and self.has_symbols and not self.makes_coarser

    @property
    def shows_sensitive(self) -> bool:
        """There are sensitive columns, and events are released with their values."""
        columns = self.original.schema.sensitive_columns
        return bool(columns) and all(name in self.released.columns for name in columns)

    def sampled(self, most_events: int) -> Comparison:
        """Compare a sample of persons where there are more events; records are never sampled."""
        if not self.has_persons:
            return self
        released, original = sample_persons(self.released, self.original, most_events=most_events)
        return self if original is self.original else replace(self, released=released, original=original)

    def told(self, score: Score) -> Score:
        """Have a score say that these persons are a sample, unless it says so already."""
        if SAMPLED in score.means:
            return score
        said = f"{SAMPLED} {self.original.n_persons:,} {units_of(self.original).many}."
        return replace(score, means=f"{score.means} {said}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One or several scores, when they apply, and how they are found."""

    names: tuple[str, ...]
    """The scores, as a release has them."""
    phase: str
    """What is being done while they are found."""
    when: str
    """When they apply, in words."""
    applies: Callable[[Comparison], bool]
    """Whether they apply."""
    run: Callable[[Comparison], Mapping[str, Score]]
    """Finds them."""
    most_events: int | None = None
    """Where there are more events, a sample of persons has to do; without it everybody is looked at."""
