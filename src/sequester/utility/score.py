"""A score, and the pair of release and original that measures look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from sequester._repr import Card, CardRepr, number
from sequester.errors import ParameterError
from sequester.mining.support import sequences_of

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable, SequenceData
    from sequester.privacy.model import PrivacyModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One number about what a release is still good for: a share of which less is better by default."""

    value: float
    """The number."""
    goal: Literal["minimize", "maximize"] = "minimize"
    """Which way is better."""
    bounds: tuple[float, float | None] = (0, 1)
    """Smallest and largest possible value; None where there is no largest."""
    means: str
    """What the number says, in one sentence, with its parameters."""
    formula: str = ""
    """How it is computed, as it would be written on paper."""
    reference: str = ""
    """Where the definition is from, and where it was completed."""


_SHOWN_SCORES = 12


class Scores(CardRepr, dict[str, Score]):
    """Scores by name; they print as a short table, information loss first.

    Examples
    --------
    >>> f1, loss = Score(value=0.75, goal="maximize", means=""), Score(value=0.12, means="")
    >>> Scores({"f1": f1, "information_loss": loss})
    Utility: 2 measures
      information_loss  0.12  less is better, 0 to 1
      f1                0.75  more is better, 0 to 1
    """

    def _card(self) -> Card:
        """Return the scores as a short table."""
        names = sorted(self, key=lambda name: name != "information_loss")
        values = {name: number(self[name].value) for name in names}
        width = max(map(len, values.values()), default=0)
        more = len(names) - _SHOWN_SCORES
        return Card(
            title=f"Utility: {len(names)} measures",
            facts=tuple(
                (name, f"{values[name]:{width}}  {direction(self[name])}") for name in names[:_SHOWN_SCORES]
            ),
            remarks=(f"and {more} more; release.utility[name].means says what a number means",) * (more > 0),
        )


def direction(score: Score) -> str:
    """Return which way a measure gets better, and its range.

    Examples
    --------
    >>> direction(Score(value=0.5, bounds=(0, None), means=""))
    'less is better, 0 or more'
    >>> direction(Score(value=-0.1, bounds=(-1, None), means=""))
    'closer to 0 is better, -1 or more'
    """
    low, high = score.bounds
    better = "less" if score.goal == "minimize" else "more"
    if score.goal == "minimize" and low < 0:
        better = "closer to 0"
    reach = f"{number(low)} or more" if high is None else f"{number(low)} to {number(high)}"
    return f"{better} is better, {reach}"


def unit_of(data: SequenceData) -> str:
    """Return what has a sequence of its own: a person or a trip.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> unit_of(Sequences.from_rows(["ab"]))
    'person'
    """
    return "person" if sequences_of(data).owners is None else "trip"


def attribute_weights(original: EventTable) -> dict[str, float]:
    """Return the attributes that count, with their weights: the symbol, or quasi-identifiers above 0.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> attribute_weights(symbol_table(["ab"]))
    {'symbol': 1.0}
    """
    if original.symbol is not None:
        return {original.symbol: 1.0}
    return {name: each.weight for name, each in original.schema.quasi.items() if each.weight > 0}


def require_same_persons(released: Sequences, original: Sequences) -> None:
    """Refuse two sides that do not have the same number of persons, who stand in the same order on both."""
    if released.n_persons != original.n_persons:
        msg = (
            "released and original must have the same persons, "
            f"there are {released.n_persons} and {original.n_persons}"
        )
        raise ParameterError(msg)


SAMPLED = "Measured on a random sample of"
"""How a score says that not everybody was looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePair:
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
        return bool(attribute_weights(self.original))

    @property
    def makes_coarser(self) -> bool:
        """Values become coarser along trees: those of quasi-identifiers, or symbols with a taxonomy."""
        if self.has_symbols:
            return self.model.needs_hierarchies
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

    def sampled(self, most_events: int) -> ReleasePair:
        """Compare a sample of persons where there are more events; records are never sampled."""
        if not self.has_persons:
            return self
        released, original = sample_persons(self.released, self.original, most_events=most_events)
        return self if original is self.original else replace(self, released=released, original=original)

    def with_note(self, score: Score) -> Score:
        """Return the score with a note that these persons are a sample, unless it has one."""
        if SAMPLED in score.means:
            return score
        said = f"{SAMPLED} {self.original.n_persons:,} {unit_of(self.original)}s."
        return replace(score, means=f"{score.means} {said}")


Run = Callable[[ReleasePair], Score | Mapping[str, Score]]
"""Finds one score, or several by name."""


class Condition(NamedTuple):
    """When measures apply."""

    text: str
    """In words."""
    holds: Callable[[ReleasePair], bool]
    """Whether they apply to a release."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One or several scores, when they apply, and how they are found."""

    called: str
    """The scores, as a release has them, with a blank between them."""
    run: Run
    """Finds them."""
    phase: str
    """What is being done while they are found."""
    when: Condition
    """When they apply."""
    most_events: int | None = None
    """Where there are more events, a sample of persons has to do; without it everybody is looked at."""

    @property
    def names(self) -> tuple[str, ...]:
        """The scores, as a release has them."""
        return tuple(self.called.split())


def sample_persons(
    released: Sequences, original: EventTable, *, most_events: int
) -> tuple[Sequences, EventTable]:
    """Draw persons, always the same ones, until they have as many events as there may be.

    Both sides stand in the same order. Where all persons fit, nothing is copied; somebody is always taken.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> table = symbol_table(["ab", "b", "abc", "a"])
    >>> part, whole = sample_persons(table.sequences, table, most_events=4)
    >>> whole.n_events <= 4, part.to_rows() == whole.sequences.to_rows()
    (True, True)
    """
    if original.n_events <= most_events or original.n_persons < 2:
        return released, original
    order = np.random.default_rng(0).permutation(original.n_persons)
    lengths = np.diff(original.person_offsets)[order]
    n_taken = max(int(np.searchsorted(np.cumsum(lengths), most_events, side="right")), 1)
    persons = np.sort(order[:n_taken]).astype(np.int64)
    return released.take(persons), original.take(persons, keep_labels=True)
