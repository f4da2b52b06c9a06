"""Attack on sequence k-anonymity: an adversary who knows whole sequences and the method."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sequester._validation import one_of
from sequester.attacks.risk import Risk, exact, exact_mean, largest_of, mean_of
from sequester.datasets.draws import generator
from sequester.errors import SequesterError
from sequester.mining.support import supports_of_codes
from sequester.ragged import gather_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts
    from sequester.attacks.context import Case
    from sequester.attacks.risk import Proportion
    from sequester.data.sequences import Sequences
    from sequester.engine import Engine
    from sequester.privacy.sequence_k import SequenceKAnonymity

    Chances = npt.NDArray[np.float64]


MOST_TARGETS = 1_000
"""Persons whose whole sequence is known, at most."""

DestinationMeasure = Literal["destination", "surest_destination"]
"""The mean or the largest chance."""


@dataclass(frozen=True, slots=True)
class Destinations:
    """How many records a target may be behind, for an adversary who knows their whole sequence."""

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
        after, before = released.distinct(), original.distinct()
        is_out = lengths[persons] > 0
        n_released = int((lengths > 0).sum())
        codes, offsets = gather_rows(original.codes, original.person_offsets, persons.astype(np.int64))
        fitting = supports_of_codes(
            codes,
            offsets,
            original.codebook,
            after,
            released.codebook,
            engine=engine,
        )
        return cls(
            np.where(is_out, 1 / after.weights[after.row_of_person[persons]], 0.0),
            1 / np.where(fitting > 0, fitting, max(n_released, 1)),
            1 / before.weights[before.row_of_person[persons]],
            n_released,
            is_everybody,
        )


def destination_risk(found: Destinations, *, measure: DestinationMeasure = "destination") -> Risk:
    """Return the chance of an adversary who knows a person's whole sequence, and how the method works.

    A method that changes a sequence only where it must leaves frequent ones alone, and brings others where it
    always brings them. So records that merely contain the sequence are ruled out, and those that became what
    this sequence becomes remain. ``destination`` is the mean chance to pick the target among them,
    ``surest_destination`` the largest. The control is the same person without the reasoning, who takes any
    record that contains the sequence.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> rows = Sequences.from_rows(["a", "ab", "ab"])
    >>> risk = destination_risk(
    ...     Destinations.of(rows, rows, targets=9, seed="any"), measure="surest_destination"
    ... )
    >>> risk.value, risk.control.value
    (1.0, 0.5)
    """
    one_of("measure", measure, get_args(DestinationMeasure))
    release, control, raw = (
        _estimate(each, measure, is_everybody=found.is_everybody)
        for each in (found.reasoned, found.fitting, found.raw)
    )
    return Risk.of(
        release,
        1 / max(found.n_released, 1),
        control,
        raw=raw,
        name=measure,
        kind="whole_sequence",
        targets=len(found.reasoned),
        control_of="no reasoning",
    )


def _estimate(chances: Chances, measure: DestinationMeasure, *, is_everybody: bool) -> Proportion:
    if measure == "destination":
        return exact_mean(chances) if is_everybody else mean_of(chances)
    return exact(float(chances.max(initial=0.0))) if is_everybody else largest_of(chances)


def attack_destinations(model: SequenceKAnonymity, case: Case) -> list[Risk]:
    """Run the attack by whole sequences, where it is known what became of each person."""
    del model
    if case.original.owners is not None:
        return []
    case.progress(0.0, "attacking (whole sequences)")
    histories = case.histories
    if histories is None and case.replay is not None:
        # It is not known who is who, but what the method makes of everybody.
        with suppress(SequesterError):
            histories = case.replay(case.original).sequences
    if histories is None:
        return []
    case.progress(0.5, "attacking (whole sequences)")
    found = Destinations.of(
        histories, case.original.sequences, targets=case.targets, seed=case.seed, engine=case.engine
    )
    case.progress(1.0, "attacked")
    return [destination_risk(found, measure=measure) for measure in get_args(DestinationMeasure)]
