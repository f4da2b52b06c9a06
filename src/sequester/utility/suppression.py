"""What is missing from a release: events and persons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.mining.support import sequences_of
from sequester.utility.losses import count_losses
from sequester.utility.score import Score
from sequester.utility.units import units_of

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

EVENTS_FORMULA = "lost events / n; lost = absent, deleted, nothing but *, or not in the person's new record"
PERSONS_FORMULA = "persons without a released event / persons"
REFERENCE = "Sehatkar (2014), section 2.2, suppression"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """The shares of events and of persons that a recipient does not see.

    An event is lost if it is absent, deleted, or nothing but ``*``; where a person has got another sequence,
    if it is not in a longest common subsequence of both. Persons stand in the same order on both sides.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.testing import symbol_table
    >>> released = Sequences.from_rows([["a", "*"], [], ["b"], ["b"]])
    >>> scores = Suppression().score(released, original=symbol_table(["ab", "aa", "b", "b"]))
    >>> {name: score.value for name, score in scores.items()}
    {'suppressed_events': 0.5, 'suppressed_persons': 0.25}
    """

    n_lost_events: int | None = None
    """Lost events where they have been counted before."""

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> dict[str, Score]:
        """Count what is missing: ``suppressed_events`` and ``suppressed_persons``."""
        sequences, units = sequences_of(released), units_of(original)
        released_persons = int(np.count_nonzero(np.diff(sequences.person_offsets)))
        n_lost = self.n_lost_events
        if n_lost is None:
            n_lost = count_losses(sequences, original).lost
        return {
            "suppressed_events": Score(
                value=n_lost / max(original.n_events, 1),
                goal="minimize",
                bounds=(0, 1),
                means=f"Share of the {original.n_events:,} events that the release no longer shows: absent, "
                "deleted, nothing but *, or not in the record that the person has got instead; 0 is none.",
                formula=EVENTS_FORMULA,
                reference=REFERENCE,
            ),
            "suppressed_persons": Score(
                value=1 - released_persons / original.n_persons if original.n_persons else 0.0,
                goal="minimize",
                bounds=(0, 1),
                means=f"Share of the {original.n_persons:,} {units.many} of which nothing is released; 0 is "
                "none.",
                formula=PERSONS_FORMULA,
                reference=REFERENCE,
            ),
        }
