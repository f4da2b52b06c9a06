"""Presence: what it tells that somebody fits, or that nobody does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from sequester.attacks.adversary import Adversary
from sequester.attacks.crowds import find_crowds
from sequester.attacks.risk import share_of
from sequester.attacks.share import CONFIDENCE, Share

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.attacks.evidence import Evidence
    from sequester.attacks.pieces import Pieces
    from sequester.attacks.risk import Risk
    from sequester.attacks.world import Found, World

PresenceMeasure = Literal["absence", "membership"]
"""What is counted; see `Presence`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence(Adversary):
    """Somebody knows a few items of a person, and looks whether anybody fits at all.

    ``absence`` is the share of targets who are in the original and whom nobody of the release fits: the
    adversary learns that what was rare about them has been taken out. ``membership`` is how much more often
    somebody fits a person of the original than a stranger: the advantage of concluding from a fit that the
    target is in the data. Strangers are persons who were held out; where there are none, persons who do not
    exist, of whom values of events of the original are known, each of another person's.
    """

    measures: ClassVar[tuple[str, ...]] = get_args(PresenceMeasure)

    measure: PresenceMeasure = "absence"
    """What is counted."""

    def judge(self, world: World) -> Risk:
        """Look in a world that is ready."""
        found = self._find(world)
        if self.measure == "absence":
            raw, release, control = (share_of(each.crowds.sizes == 0) for each in found)
        else:
            raw, release, control = self._memberships(world, found)
        return self._risk(world, found, (raw, release, control), baseline=0.0)

    def _memberships(self, world: World, found: Found) -> tuple[Share, Share, Share]:
        strangers = world.draw(self.kind, self.known, strangers=True)
        shuffled = world.evidence("shuffled", timed=self.kind == "gaps", narrowed=self.narrowed)

        def sizes(pieces: Pieces, evidence: Evidence) -> Counts:
            return find_crowds(pieces, evidence, world.ground, shown=self.shown, engine=world.engine).sizes

        raw, release = (
            _advantage(each.crowds.sizes, sizes(strangers, each.evidence))
            for each in (found.raw, found.release)
        )
        # Who is a member is lost where values are dealt out anew, whoever the strangers are.
        return raw, release, _advantage(sizes(found.release.pieces, shuffled), sizes(strangers, shuffled))


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
