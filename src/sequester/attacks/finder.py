"""How many persons are expected to be found by somebody who does not know who was released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sequester.attacks.adversary import Adversary
from sequester.attacks.risk import mean_of

if TYPE_CHECKING:
    from sequester.attacks.risk import Risk
    from sequester.attacks.share import Share
    from sequester.attacks.world import Trial, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Finder(Adversary):
    """Somebody knows a few items of each person, picks one who fits in the release, and is right or wrong.

    Of those who fit in the original, the release may show only some, and the target need not be among them:
    of ``F`` persons who fit in the original and ``f`` in the release, the target is picked with a chance of
    one over the larger number. The risk is the mean over targets, the share of persons who are expected to be
    found; it is 0 for a target whom nobody in the release fits. Unlike the marketer's, who takes for granted
    that the target is there, it does not rise where a method leaves persons out.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"user": list("1122"), "n": [1, 2] * 2, "page": list("abab")})
    >>> table = EventTable(frame, Schema(person="user", order="n", symbol="page"))
    >>> released = EventTable(frame.filter(pl.col("user") == "1"), table.schema)
    >>> risk = Finder(kind="ordered", known=2).run(released, original=table)
    >>> risk.value, risk.raw.value
    (0.5, 0.5)

    References
    ----------
    Dankar, El Emam (2010), A method for evaluating marketer re-identification risk.
    """

    measures: ClassVar[tuple[str, ...]] = ("found",)

    measure: str = "found"
    """What is counted."""

    def judge(self, world: World) -> Risk:
        """Look in a world that is ready."""
        found = self._find(world)
        raw, release, control = (_mean_chance(each) for each in found)
        chance = 1 / max(found.raw.evidence.n_persons, 1)
        return self._risk(world, found, (raw, release, control), baseline=chance)


def _mean_chance(trial: Trial) -> Share:
    sizes = trial.crowds.sizes
    largest = np.maximum(np.maximum(sizes, trial.in_original.sizes), 1)
    return mean_of(np.where(sizes > 0, 1 / largest, 0.0))
