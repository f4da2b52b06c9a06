"""Linkage: how few persons of a release fit what somebody knows of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from sequester.attacks.adversary import Adversary
from sequester.attacks.risk import larger_of, largest_of, mean_of, median_of, share_of

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.attacks.risk import Risk
    from sequester.attacks.share import Share
    from sequester.attacks.world import Trial, World

LinkageMeasure = Literal["candidates", "unique", "below_k", "prosecutor", "journalist", "marketer"]
"""What is counted; see `Linkage`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linkage(Adversary):
    """Somebody knows a few items of a person, and looks for them in the release.

    Whoever fits is a candidate. ``candidates`` is one over the median number of candidates, ``unique`` the
    share of targets with one candidate, ``below_k`` with fewer than `k` but at least one. The prosecutor
    knows that the target is in the release and takes any candidate: ``prosecutor`` is their largest chance,
    one over the fewest candidates. The journalist does not know that, so that whoever fits in the original
    may be the target, too. The marketer looks for everybody: ``marketer`` is the mean chance, and the share
    that is expected to be found. Prosecutor and journalist try the rarest items, too, beside those drawn at
    random, on which all estimates rest. All suppose that the target is among the candidates, which can only
    be worse than it is.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"user": list("112233"), "n": [1, 2] * 3, "page": list("ababba")})
    >>> table = EventTable(frame, Schema(person="user", order="n", symbol="page"))
    >>> released = EventTable(frame.filter(pl.col("user") != "3"), table.schema)
    >>> risk = Linkage(known=2).run(released, original=table)
    >>> risk.value, risk.raw.value
    (0.5, 1.0)
    """

    measures: ClassVar[tuple[str, ...]] = get_args(LinkageMeasure)

    measure: LinkageMeasure = "prosecutor"
    """What is counted."""
    k: int = 5
    """How many candidates are few, for ``below_k``."""

    def judge(self, world: World) -> Risk:
        """Look in a world that is ready."""
        found = self._find(world)
        rarest = self._find_rarest(world) if self.measure in ("prosecutor", "journalist") else None
        raw, release, control = map(self._measure, found)
        if rarest is not None:
            others = [self._measure(each) for each in rarest]
            raw, release, control = map(larger_of, (raw, release, control), others)
        shares = raw, release, control
        chance = self._chance(max(found.release.evidence.n_persons, 1))
        return self._risk(world, found, shares, baseline=chance, rarest=rarest)

    def _chance(self, n_persons: int) -> float:
        """Give the risk of somebody to whom everybody is a candidate."""
        if self.measure == "unique":
            return float(n_persons == 1)
        if self.measure == "below_k":
            return float(n_persons < self.k)
        return 1 / n_persons

    def _measure(self, trial: Trial) -> Share:
        sizes = trial.crowds.sizes
        match self.measure:
            case "candidates":
                return median_of(sizes[sizes > 0])
            case "unique":
                return share_of(sizes == 1)
            case "below_k":
                return share_of((sizes > 0) & (sizes < self.k))
            case "journalist":
                may_be_meant = np.maximum(sizes, trial.in_original.sizes)
                return largest_of(_chances(np.where(sizes > 0, may_be_meant, 0)))
            case "marketer":
                return mean_of(_chances(sizes))
            case _:
                return largest_of(_chances(sizes))


def _chances(sizes: Counts) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Give the chance to pick one of so many; 0 where there is nobody."""
    return np.where(sizes > 0, 1 / np.maximum(sizes, 1), 0.0)
