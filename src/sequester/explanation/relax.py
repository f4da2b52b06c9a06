"""The smallest steps that would have kept more, each found by running the method with it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.explanation.explanation import Relaxation
from sequester.hierarchies.labels import counted
from sequester.methods.ladder import first_step
from sequester.methods.nearest import TimeUpError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sequester._typing import Counts
    from sequester.explanation.trial import Trial
    from sequester.methods.ladder import Ladder


@dataclass(frozen=True, kw_only=True)
class Relaxer:
    """Climbs ladders: looks for the first steps that gain anything, half and all of what is lost.

    The gain is what a step keeps, less what it loses and the release has kept.
    """

    trial: Trial
    """Runs the method."""
    lost: Counts
    """The parts that are lost now."""
    unit: str
    """What a part is: events, or values."""
    means: str
    """What is lost, in a few words."""

    def climb(self, ladder: Ladder, *, deadline: float) -> tuple[list[Relaxation], str | None]:
        """Give the relaxations that a ladder leads to, and what is to say about the rest."""
        goals = sorted({1, -(-len(self.lost) // 2), len(self.lost)})
        found: dict[int, int] = {}
        note = None
        try:
            for goal in goals:
                place = first_step(ladder, self._reaches(ladder, goal, deadline))
                if place is None:
                    break
                found.setdefault(place, goal)
        except TimeUpError:
            tried = self.trial.tried(ladder)
            n_tried = f"{len(tried):,} of {len(ladder.steps):,} steps"
            note = f"{ladder.parameter}: {n_tried} were tried in the time given"
            for goal in goals:
                place = next((each for each in tried if self._gain(ladder, each, deadline) >= goal), None)
                if place is not None:
                    found.setdefault(place, goal)
        if not found and note is None:
            first, last = ladder.words(ladder.steps[0]), ladder.words(ladder.steps[-1])
            steps = first if len(ladder.steps) == 1 else f"{first} to {last}"
            note = f"{ladder.parameter}{ladder.equals}{steps} would not have kept more"
        return [self._relaxation(ladder, place, deadline) for place in sorted(found)], note

    def _reaches(self, ladder: Ladder, goal: int, deadline: float) -> Callable[[int], bool]:
        return lambda place: self._gain(ladder, place, deadline) >= goal

    def _gain(self, ladder: Ladder, place: int, deadline: float) -> int:
        lost = self.trial.at(ladder, place, deadline=deadline)
        # What is kept less what is newly lost is the difference of the sizes.
        return 0 if lost is None else len(self.lost) - len(lost)

    def _relaxation(self, ladder: Ladder, place: int, deadline: float) -> Relaxation:
        lost = self.trial.at(ladder, place, deadline=deadline)
        after = self.lost if lost is None else lost
        kept = len(np.setdiff1d(self.lost, after, assume_unique=True))
        newly = len(np.setdiff1d(after, self.lost, assume_unique=True))
        step = ladder.steps[place]
        instead = (
            f"{ladder.parameter}{ladder.equals}{ladder.words(step)} instead of {ladder.words(ladder.asked)}"
        )
        also = f", and would have lost {counted(newly, 'other', 'others')}" if newly else ""
        return Relaxation(
            parameter=ladder.parameter,
            asked=plain(ladder.asked),
            relaxed=plain(step),
            kept=kept,
            of=len(self.lost),
            unit=self.unit,
            newly_lost=newly,
            text=f"{instead} would have kept {kept:,} of {len(self.lost):,} {self.means}{also}",
        )


def climb_all(
    relaxer: Relaxer, ladders: Sequence[Ladder], *, seconds: float
) -> tuple[list[Relaxation], list[str]]:
    """Climb every ladder; each gets an equal part of the time that is left."""
    stop = time.monotonic() + seconds
    relaxations: list[Relaxation] = []
    notes: list[str] = []
    for place, ladder in enumerate(ladders):
        now = time.monotonic()
        deadline = now + max(stop - now, 0) / (len(ladders) - place)
        found, note = relaxer.climb(ladder, deadline=deadline)
        relaxations += found
        if note is not None:
            notes.append(note)
    return relaxations, notes


def plain(value: object) -> object:
    """Make a value that JSON can hold.

    Examples
    --------
    >>> plain(("a", "b")), plain(5), plain(None)
    (['a', 'b'], 5, None)
    """
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, bool | int | float | str | None) else str(value)
