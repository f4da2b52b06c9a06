"""Where adversaries act: the original, what became of it, and the same dealt out anew."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from sequester.attacks.crowds import Crowds, Windows, find_crowds
from sequester.attacks.evidence import Clock, Evidence
from sequester.attacks.ground import Ground
from sequester.attacks.narrowing import Narrowing
from sequester.attacks.source import Source
from sequester.datasets import SEED
from sequester.datasets.draws import generator
from sequester.errors import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester._typing import Codes
    from sequester.attacks.pieces import PieceKind, Pieces
    from sequester.data.table import EventTable
    from sequester.engine import Engine

TARGETS = 10_000
"""Pieces of knowledge that are tried of every kind and size."""
Place = Literal["original", "release", "shuffled"]
"""Where adversaries look; ``shuffled`` is the release with the values of every column dealt out anew."""


class Trial(NamedTuple):
    """Pieces of knowledge, and whom they fit in one place."""

    pieces: Pieces
    """What is known."""
    windows: Windows
    """The protected values of the targets that could be found out."""
    evidence: Evidence
    """What the place shows."""
    crowds: Crowds
    """Whom the pieces fit there."""
    in_original: Crowds
    """Whom they fit in the original."""


class Found(NamedTuple):
    """The same adversary in three places."""

    raw: Trial
    """In the original."""
    release: Trial
    """In the release."""
    control: Trial
    """Where success is chance: with persons who were held out, or with values that were dealt out anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """An original and its release, ready to be attacked; whatever was found is remembered."""

    original: EventTable
    """The table that was protected."""
    released: EventTable
    """What became of it."""
    owners: Codes | None
    """Whose each released trip is; None where persons have one sequence, or it is not known."""
    ground: Ground
    """The trees that both share."""
    inside: Source
    """The persons of the original, of whom something is known."""
    outside: Source | None
    """Persons who were held out, as a control; None where there are none."""
    seed: str
    """Decides who is a target, what is known of them, and how the control is dealt out."""
    targets: int
    """Pieces of every kind and size."""
    engine: Engine | None
    """Runs the counting."""
    _evidence: dict[tuple[Place, bool, bool], Evidence] = field(default_factory=dict, repr=False)
    _found: dict[tuple[PieceKind, int, bool, bool, bool], Found] = field(default_factory=dict, repr=False)
    _narrowing: list[Narrowing | None] = field(default_factory=list, repr=False)

    @classmethod
    def of(
        cls,
        released: EventTable,
        original: EventTable,
        *,
        held_out: EventTable | None = None,
        owners: Codes | None = None,
        targets: int = TARGETS,
        seed: str = SEED,
        groups: Mapping[str, str] | None = None,
        engine: Engine | None = None,
    ) -> World:
        """Prepare the tables; `groups` leads from protected labels to groups of similar ones."""
        given: object = targets  # Python lets anything through.
        if isinstance(given, bool) or not isinstance(given, int):
            msg = f"targets must be a whole number, got {given!r}"
            raise ParameterError(msg)
        if targets < 1:
            msg = f"targets must be at least 1, got {targets}"
            raise ParameterError(msg)
        others = () if held_out is None else (held_out,)
        ground = Ground.of(original, released, *others, groups=groups)
        return cls(
            original=original,
            released=released,
            owners=owners,
            ground=ground,
            inside=Source.of(original, ground),
            outside=None if held_out is None else _held_out(held_out, ground),
            seed=seed,
            targets=targets,
            engine=engine,
        )

    @property
    def control_of(self) -> Literal["shuffled", "held out"]:
        """What the control is."""
        return "shuffled" if self.outside is None else "held out"

    @property
    def narrowing(self) -> Narrowing | None:
        """How values follow from others of their event; None where none do."""
        if not self._narrowing:
            self._narrowing.append(Narrowing.of(self.original, self.ground))
        return self._narrowing[0]

    def evidence(self, place: Place, *, timed: bool = False, narrowed: bool = False) -> Evidence:
        """Give what a place shows; when events were counts only if `timed`."""
        if (place, timed, narrowed) not in self._evidence:
            clock = Clock.of(self.original, self.ground) if timed else None
            make = partial(
                Evidence.of,
                ground=self.ground,
                clock=clock,
                narrowing=self.narrowing if narrowed else None,
            )
            if place == "original":
                made = make(self.original)
            else:
                shuffle = generator("attack control", self.seed) if place == "shuffled" else None
                made = make(self.released, owners=self.owners, shuffle=shuffle)
            self._evidence[place, timed, narrowed] = made
        return self._evidence[place, timed, narrowed]

    def draw(self, kind: PieceKind, known: int, *, strangers: bool = False, rarest: bool = False) -> Pieces:
        """Draw pieces of persons of the original, or of strangers: who were held out, or do not exist.

        With `rarest`, take the rarest items of those who are there instead of any at random.
        """
        if known < 1:
            msg = f"known must be at least 1, got {known}"
            raise ParameterError(msg)
        rng = generator(f"attack {kind} {known}{' rarest' * rarest}", self.seed)
        if rarest:
            source = self.inside if self.outside is None or not strangers else self.outside
            return source.draw_rarest(kind, known, self.targets, rng=rng)
        if strangers and self.outside is not None:
            return self.outside.draw(kind, known, self.targets, rng=rng)
        return self.inside.draw(kind, known, self.targets, rng=rng, strangers=strangers)

    def find(
        self,
        kind: PieceKind,
        known: int,
        *,
        shown: bool = False,
        narrowed: bool = False,
        rarest: bool = False,
    ) -> Found:
        """Look for pieces in all three, and count their targets' own values; `shown`: stars fit nothing.

        Pieces are drawn at random, or are those with the `rarest` items.
        """
        key = kind, known, shown, narrowed, rarest
        if key not in self._found:
            look = partial(find_crowds, ground=self.ground, shown=shown, engine=self.engine)
            show = partial(self.evidence, timed=kind == "gaps", narrowed=narrowed)
            pieces, original, release = (
                self.draw(kind, known, rarest=rarest),
                show("original"),
                show("release"),
            )
            windows = self.inside.windows(pieces)
            raw = look(pieces, original, windows=windows)

            def trial(evidence: Evidence) -> Trial:
                return Trial(pieces, windows, evidence, look(pieces, evidence, windows=windows), raw)

            if self.outside is None:
                control = trial(show("shuffled"))
            else:
                others = self.draw(kind, known, strangers=True, rarest=rarest)
                theirs = self.outside.windows(others)
                control = Trial(
                    others,
                    theirs,
                    release,
                    look(others, release, windows=theirs),
                    look(others, original, windows=theirs),
                )
            self._found[key] = Found(Trial(pieces, windows, original, raw, raw), trial(release), control)
        return self._found[key]

    def forget(self) -> None:
        """Let go of what was found; it can be found again."""
        self._found.clear()


def _held_out(table: EventTable, ground: Ground) -> Source:
    """Read persons who were held out, whose columns are those of the original."""
    if not table.n_events:
        msg = "held_out must have events, there are none"
        raise ParameterError(msg)
    missing = [column for column in ground.columns if column not in table.sequences.columns]
    if missing:
        msg = f"held_out must have the columns of the original, and has no {missing[0]!r}"
        raise InputError(msg)
    return Source.of(table, ground)
