"""Presence: what it tells that somebody fits, or that nobody does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from sequester.attacks.crowds import find_crowds
from sequester.attacks.risk import Risk, share_of
from sequester.attacks.share import CONFIDENCE, Share
from sequester.attacks.world import TARGETS, World
from sequester.datasets import SEED
from sequester.errors import ParameterError

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.attacks.pieces import PieceKind
    from sequester.data.table import EventTable
    from sequester.engine import Engine

PresenceMeasure = Literal["absence", "membership"]
"""What is counted; see `Presence`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """Somebody knows a few items of a person, and looks whether anybody fits at all.

    ``absence`` is the share of targets who are in the original and whom nobody of the release fits: the
    adversary learns that what was rare about them has been taken out. ``membership`` is how much more often
    somebody fits a person of the original than a stranger, a person who does not exist: the advantage of
    concluding from a fit that the target is in the data. What is known of strangers are values of events of
    the original, each of another person's.
    """

    kind: PieceKind = "ordered"
    """What is known."""
    known: int = 1
    """How many items, at most."""
    measure: PresenceMeasure = "absence"
    """What is counted."""

    def __post_init__(self) -> None:
        if self.measure not in get_args(PresenceMeasure):
            msg = f"measure must be one of {', '.join(get_args(PresenceMeasure))}, got {self.measure!r}"
            raise ParameterError(msg)

    @property
    def name(self) -> str:
        """What the adversary is called."""
        return self.measure

    def run(
        self,
        released: EventTable,
        *,
        original: EventTable,
        targets: int = TARGETS,
        seed: str = SEED,
        engine: Engine | None = None,
    ) -> Risk:
        """Draw targets and what is known of them from `original`, and look for them in `released`."""
        return self.judge(World.of(released, original, targets=targets, seed=seed, engine=engine))

    def judge(self, world: World) -> Risk:
        """Look in a world that is ready."""
        found = world.find(self.kind, self.known)
        if self.measure == "absence":
            raw, release, control = (share_of(each.sizes == 0) for each in found[1:])
        else:
            strangers = world.draw(self.kind, self.known, strangers=True)
            raw, release, control = (
                _advantage(
                    crowds.sizes, find_crowds(strangers, each, world.ground, engine=world.engine).sizes
                )
                for each, crowds in zip(world.evidence(timed=self.kind == "gaps"), found[1:], strict=True)
            )
        return Risk(
            release.value,
            release.interval,
            0.0,
            control,
            raw=raw,
            name=self.name,
            kind=self.kind,
            known=self.known,
            targets=len(found.pieces),
        )


def _advantage(members: Counts, strangers: Counts) -> Share:
    """Give the difference of two shares, not below 0, with the interval that those of both leave."""
    # Each of the two is wrong half as often as both together may be.
    each = 1 - (1 - CONFIDENCE) / 2
    theirs, others = (
        Share.drawn(int((sizes > 0).sum()), sizes.size, confidence=each) for sizes in (members, strangers)
    )
    low = max(theirs.interval[0] - others.interval[1], 0.0)
    high = max(theirs.interval[1] - others.interval[0], 0.0)
    return Share(max(theirs.value - others.value, 0.0), (low, high))
