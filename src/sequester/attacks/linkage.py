"""Linkage: how few persons of a release fit what somebody knows of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sequester.attacks.risk import Risk, largest_of, mean_of, median_of, share_of
from sequester.attacks.world import TARGETS, World
from sequester.datasets import SEED
from sequester.errors import ParameterError

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.attacks.pieces import PieceKind
    from sequester.attacks.share import Share
    from sequester.data.table import EventTable
    from sequester.engine import Engine

LinkageMeasure = Literal["candidates", "unique", "below_k", "prosecutor", "journalist", "marketer"]
"""What is counted; see `Linkage`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linkage:
    """Somebody knows a few items of a person, and looks for them in the release.

    Whoever fits is a candidate. ``candidates`` is one over the median number of candidates, ``unique`` the
    share of targets with one candidate, ``below_k`` with fewer than `k` but at least one. The prosecutor
    knows that the target is in the release and takes any candidate: ``prosecutor`` is their largest chance,
    one over the fewest candidates. The journalist does not know that, so that whoever fits in the original
    may be the target, too. The marketer looks for everybody: ``marketer`` is the mean chance, and the share
    that is expected to be found. All suppose that the target is among the candidates, which can only be worse
    than it is.

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

    kind: PieceKind = "ordered"
    """What is known."""
    known: int = 1
    """How many items, at most."""
    measure: LinkageMeasure = "prosecutor"
    """What is counted."""
    k: int = 5
    """How many candidates are few, for ``below_k``."""
    shown: bool = False
    """Stars fit nothing: only what is shown counts."""

    def __post_init__(self) -> None:
        if self.measure not in get_args(LinkageMeasure):
            msg = f"measure must be one of {', '.join(get_args(LinkageMeasure))}, got {self.measure!r}"
            raise ParameterError(msg)

    @property
    def name(self) -> str:
        """What the adversary is called."""
        return f"{self.measure}_shown" if self.shown else self.measure

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
        found = world.find(self.kind, self.known, shown=self.shown)
        raw, release, control = (self._measure(each.sizes, found.raw.sizes) for each in found[1:])
        n_persons = max(world.released.n_persons, 1)
        return Risk(
            release.value,
            release.interval,
            self._chance(n_persons),
            control,
            raw=raw,
            name=self.name,
            kind=self.kind,
            known=self.known,
            targets=len(found.pieces),
        )

    def _chance(self, n_persons: int) -> float:
        """Give the risk of somebody to whom everybody is a candidate."""
        if self.measure == "unique":
            return float(n_persons == 1)
        if self.measure == "below_k":
            return float(n_persons < self.k)
        return 1 / n_persons

    def _measure(self, sizes: Counts, original_sizes: Counts) -> Share:
        match self.measure:
            case "candidates":
                return median_of(sizes[sizes > 0])
            case "unique":
                return share_of(sizes == 1)
            case "below_k":
                return share_of((sizes > 0) & (sizes < self.k))
            case "journalist":
                return largest_of(_chances(np.where(sizes > 0, np.maximum(sizes, original_sizes), 0)))
            case "marketer":
                return mean_of(_chances(sizes))
            case _:
                return largest_of(_chances(sizes))


def _chances(sizes: Counts) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Give the chance to pick one of so many; 0 where there is nobody."""
    return np.where(sizes > 0, 1 / np.maximum(sizes, 1), 0.0)
