"""Attack on sequence k-anonymity: an adversary who knows whole sequences and the method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sequester.attacks.model_attacks import Case, model_attacks
from sequester.attacks.risk import Risk, exact, exact_mean, largest_of, mean_of
from sequester.datasets.draws import generator
from sequester.errors import ParameterError, SequesterError
from sequester.mining.support import supports_of_codes
from sequester.privacy.sequence_k import SequenceKAnonymity
from sequester.ragged import gather_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts
    from sequester.attacks.risk import Proportion
    from sequester.data.sequences import Sequences
    from sequester.engine import Engine

    Chances = npt.NDArray[np.float64]


MOST_TARGETS = 1_000
"""Persons whose whole sequence somebody knows."""

DestinationMeasure = Literal["destination", "surest_destination"]
"""The mean or the largest chance."""


@dataclass(frozen=True, slots=True)
class Destinations:
    """How many records a target may be behind, for whoever knows their whole sequence."""

    reasoned: Chances
    """Chance to pick a target among the records that are what the method made of this sequence."""
    fitting: Chances
    """Chance among the records that contain the sequence, or among all where none does."""
    raw: Chances
    """Chance among those who have the same sequence in the original."""
    n_released: int
    """Records in the release."""
    is_everybody: bool
    """Everybody is a target."""

    @classmethod
    def of(
        cls,
        released: Sequences,
        original: Sequences,
        *,
        targets: int,
        seed: str,
        engine: Engine | None = None,
    ) -> Destinations:
        """Find what became of targets; both have the same persons in the same order."""
        persons: Counts = np.arange(original.n_persons)
        is_everybody = len(persons) <= min(targets, MOST_TARGETS)
        if not is_everybody:
            rng = generator("attack destinations", seed)
            persons = np.sort(rng.choice(persons, min(targets, MOST_TARGETS), replace=False))
        lengths = np.diff(released.person_offsets)
        after, before = released.distinct(released.symbol), original.distinct(original.symbol)
        is_out = lengths[persons] > 0
        n_released = int((lengths > 0).sum())
        codes, offsets = gather_rows(
            original.columns[original.symbol], original.person_offsets, persons.astype(np.int64)
        )
        fitting = supports_of_codes(
            codes,
            offsets,
            original.codebooks[original.symbol],
            after,
            released.codebooks[released.symbol],
            engine=engine,
        )
        return cls(
            np.where(is_out, 1 / after.weights[after.row_of_person[persons]], 0.0),
            1 / np.where(fitting > 0, fitting, max(n_released, 1)),
            1 / before.weights[before.row_of_person[persons]],
            n_released,
            is_everybody,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Somebody knows a person's whole sequence, and how the method works.

    A method that changes a sequence only where it must leaves frequent ones alone, and brings others where it
    always brings them. So records that merely contain the sequence are ruled out, and those that became what
    this sequence becomes remain. ``destination`` is the mean chance to pick the target among them,
    ``surest_destination`` the largest. The control is the same person without the reasoning, who takes any
    record that contains the sequence.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> rows = Sequences.from_rows(["a", "ab", "ab"])
    >>> risk = Destination(measure="surest_destination").judge(
    ...     Destinations.of(rows, rows, targets=9, seed="any")
    ... )
    >>> risk.value, risk.control.value
    (1.0, 0.5)
    """

    measure: DestinationMeasure = "destination"
    """What is counted."""

    def __post_init__(self) -> None:
        if self.measure not in get_args(DestinationMeasure):
            msg = f"measure must be one of {', '.join(get_args(DestinationMeasure))}, got {self.measure!r}"
            raise ParameterError(msg)

    def judge(self, found: Destinations) -> Risk:
        """Return the chance with and without the reasoning; nothing is claimed of it."""
        release, control, raw = (
            self._estimate(each, found) for each in (found.reasoned, found.fitting, found.raw)
        )
        return Risk(
            release.value,
            release.interval,
            1 / max(found.n_released, 1),
            control,
            raw=raw,
            name=self.measure,
            kind="whole_sequence",
            targets=len(found.reasoned),
            control_of="no reasoning",
        )

    def _estimate(self, chances: Chances, found: Destinations) -> Proportion:
        if self.measure == "destination":
            return exact_mean(chances) if found.is_everybody else mean_of(chances)
        return exact(float(chances.max(initial=0.0))) if found.is_everybody else largest_of(chances)


@model_attacks.register(SequenceKAnonymity)
def attack_destinations(model: SequenceKAnonymity, case: Case) -> list[Risk]:
    """Run the attack by whole sequences, where it is known what became of whom."""
    del model
    if case.original.owners is not None:
        return []
    case.progress(0.0, "attacking (whole sequences)")
    histories = case.histories
    if histories is None:
        histories = _replayed(case)
    if histories is None:
        return []
    case.progress(0.5, "attacking (whole sequences)")
    found = Destinations.of(
        histories, case.original.sequences, targets=case.targets, seed=case.seed, engine=case.engine
    )
    case.progress(1.0, "attacked")
    return [Destination(measure=measure).judge(found) for measure in get_args(DestinationMeasure)]


def _replayed(case: Case) -> Sequences | None:
    """Replay the method, where it is not known who is who."""
    if case.remake is None:
        return None
    try:
        return case.remake(case.original).sequences
    except SequesterError:
        return None
