"""Where adversaries act: the original, what became of it, and the same dealt out anew."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.attacks.crowds import Crowds, Windows, find_crowds
from sequester.attacks.evidence import Clock, Evidence
from sequester.attacks.ground import Ground
from sequester.attacks.pieces import Pieces, draw, draw_targets
from sequester.attacks.protected import values_of
from sequester.datasets import SEED
from sequester.datasets.draws import generator
from sequester.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester._typing import Codes, Offsets
    from sequester.attacks.pieces import PieceKind
    from sequester.data.table import EventTable
    from sequester.engine import Engine

TARGETS = 10_000
"""Pieces of knowledge that are tried of every kind and size."""


class Found(NamedTuple):
    """The same pieces, looked for in three places."""

    pieces: Pieces
    """What was known."""
    raw: Crowds
    """Whom it fits in the original."""
    release: Crowds
    """Whom it fits in the release."""
    control: Crowds
    """Whom it fits in a release whose values were dealt out anew."""


class Three(NamedTuple):
    """One kind of evidence of each of the three."""

    raw: Evidence
    release: Evidence
    control: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """An original and its release, ready to be attacked; whatever was found is remembered."""

    original: EventTable
    """The table that was protected."""
    released: EventTable
    """What became of it."""
    ground: Ground
    """The trees that both share."""
    seed: str
    """Decides who is a target, what is known of them, and how the control is dealt out."""
    targets: int
    """Pieces of every kind and size."""
    engine: Engine | None
    """Runs the counting."""
    values: Codes
    """The protected values of all persons of the original."""
    value_offsets: Offsets
    """Person ``i`` has the values ``value_offsets[i]`` to ``value_offsets[i + 1]``."""
    _evidence: dict[bool, Three] = field(default_factory=dict, repr=False)
    _found: dict[tuple[PieceKind, int, bool], Found] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        released: EventTable,
        original: EventTable,
        *,
        targets: int = TARGETS,
        seed: str = SEED,
        groups: Mapping[str, str] | None = None,
        engine: Engine | None = None,
    ) -> World:
        """Prepare the two tables; `groups` leads from protected labels to groups of similar ones."""
        if targets < 1:
            msg = f"targets must be at least 1, got {targets}"
            raise ParameterError(msg)
        ground = Ground.of(original, released, groups)
        values, value_offsets = values_of(original.sequences, original.schema, ground.names)
        return cls(
            original=original,
            released=released,
            ground=ground,
            seed=seed,
            targets=targets,
            engine=engine,
            values=values,
            value_offsets=value_offsets,
        )

    def evidence(self, *, timed: bool = False) -> Three:
        """Give what the three tables show; when events were counts only if `timed`."""
        if timed not in self._evidence:
            clock = Clock.of(self.original, self.ground) if timed else None
            make = partial(Evidence.of, ground=self.ground, clock=clock)
            self._evidence[timed] = Three(
                make(self.original),
                make(self.released),
                make(self.released, shuffle=generator("attack control", self.seed)),
            )
        return self._evidence[timed]

    def draw(self, kind: PieceKind, known: int, *, strangers: bool = False) -> Pieces:
        """Draw pieces of persons of the original, or of strangers who do not exist."""
        if known < 1:
            msg = f"known must be at least 1, got {known}"
            raise ParameterError(msg)
        rng = generator(f"attack {kind} {known}", self.seed)
        return draw(
            kind,
            known,
            draw_targets(self.original.n_persons, self.targets, rng),
            table=self.original,
            cells=self.ground.cells(self.original.sequences),
            ground=self.ground,
            rng=rng,
            strangers=strangers,
        )

    def find(self, kind: PieceKind, known: int, *, shown: bool = False) -> Found:
        """Look for pieces in all three, and count their targets' own values; `shown`: stars fit nothing."""
        if (kind, known, shown) not in self._found:
            pieces = self.draw(kind, known)
            look = partial(
                find_crowds,
                pieces,
                ground=self.ground,
                windows=self.own_windows(pieces),
                shown=shown,
                engine=self.engine,
            )
            self._found[kind, known, shown] = Found(pieces, *map(look, self.evidence(timed=kind == "gaps")))
        return self._found[kind, known, shown]

    def forget(self) -> None:
        """Let go of what was found; it can be found again."""
        self._found.clear()

    def own_windows(self, pieces: Pieces) -> Windows:
        """Give each piece the protected values of its target, one by one."""
        firsts = self.value_offsets[pieces.persons]
        counts = self.value_offsets[pieces.persons + 1] - firsts
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts) + np.repeat(firsts, counts)
        own = self.values[places]
        return Windows(offsets=offsets, lows=own, highs=own)
