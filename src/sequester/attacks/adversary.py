"""Somebody who knows a few items of a person and wants something: what all of them have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sequester.attacks.kept import coded_kept
from sequester.attacks.pieces import BEYOND
from sequester.attacks.risk import Risk
from sequester.attacks.world import TARGETS, World
from sequester.datasets import SEED
from sequester.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.attacks.pieces import PieceKind
    from sequester.attacks.share import Share
    from sequester.attacks.world import Found
    from sequester.data.table import EventTable
    from sequester.engine import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Adversary(ABC):
    """What somebody knows, how they look, and what of their success is counted."""

    measures: ClassVar[tuple[str, ...]]
    """What can be counted."""

    kind: PieceKind = "ordered"
    """What is known."""
    known: int = 1
    """How many items, at most."""
    measure: str
    """What is counted."""
    shown: bool = False
    """Stars fit nothing: only what is shown counts."""
    narrowed: bool = False
    """Generalized values are narrowed by the columns that they depend on, before anything is looked for."""

    def __post_init__(self) -> None:
        if self.measure not in self.measures:
            msg = f"measure must be one of {', '.join(self.measures)}, got {self.measure!r}"
            raise ParameterError(msg)

    @property
    def name(self) -> str:
        """What the adversary is called."""
        return f"{self.measure}{'_shown' * self.shown}{'_narrowed' * self.narrowed}"

    def run(
        self,
        released: EventTable,
        *,
        original: EventTable,
        held_out: EventTable | None = None,
        targets: int = TARGETS,
        seed: str = SEED,
        engine: Engine | None = None,
    ) -> Risk:
        """Draw targets and what is known of them from `original`, and look for them in `released`."""
        if self.kind in BEYOND:
            columns = coded_kept(original)
            released, original = released.with_kept(columns), original.with_kept(columns)
            held_out = None if held_out is None else held_out.with_kept(columns)
        return self.judge(
            World.of(
                released,
                original,
                held_out=held_out,
                targets=targets,
                seed=seed,
                groups=self._groups(),
                engine=engine,
            )
        )

    @abstractmethod
    def judge(self, world: World) -> Risk:
        """Look in a world that is ready."""

    def _groups(self) -> Mapping[str, str] | None:
        """Give the groups of similar values that the world is to be made of."""
        return None

    def _find(self, world: World) -> Found:
        return world.find(self.kind, self.known, shown=self.shown, narrowed=self.narrowed)

    def _find_rarest(self, world: World) -> Found:
        """Look for the pieces with the rarest items, which a random draw misses; for worst cases alone."""
        return world.find(self.kind, self.known, shown=self.shown, narrowed=self.narrowed, rarest=True)

    def _risk(
        self,
        world: World,
        found: Found,
        shares: tuple[Share, Share, Share],
        *,
        baseline: float,
        rarest: Found | None = None,
    ) -> Risk:
        """Put together what was achieved against original, release and control."""
        raw, release, control = shares
        return Risk(
            release.value,
            release.interval,
            baseline,
            control,
            raw=raw,
            name=self.name,
            kind=self.kind,
            known=self.known,
            targets=sum(len(each.release.pieces) for each in (found, rarest) if each is not None),
            control_of=world.control_of,
        )
