"""Attribute inference: how sure somebody becomes of a protected value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sequester.attacks.crowds import Windows, find_crowds
from sequester.attacks.risk import Risk, largest_of, mean_of
from sequester.attacks.world import TARGETS, World
from sequester.datasets import SEED
from sequester.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from sequester.attacks.crowds import Crowds
    from sequester.attacks.evidence import Evidence
    from sequester.attacks.pieces import PieceKind, Pieces
    from sequester.attacks.share import Share
    from sequester.data.table import EventTable
    from sequester.engine import Engine

    Shares = npt.NDArray[np.float64]

InferenceMeasure = Literal["confidence", "at_risk", "guess", "group", "close"]
"""What is counted; see `Inference`."""
CLOSE = 0.05
"""A number is close to another if they differ by at most this share of the attribute's range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """Somebody knows a few items of a person, and reads off what those have in common whom they fit.

    ``confidence`` is the largest share of candidates with one protected value, ``at_risk`` with any: how sure
    one can become of somebody. ``guess`` is the mean share of candidates who have a value that the target
    really has, over the targets with one; its baseline is the mean of the same shares among everybody, and
    what lies above it is what the release tells (skewness). ``group`` is the same for values of the same
    group of similar ones, ``close`` for numbers that differ little from the target's.
    """

    kind: PieceKind = "ordered"
    """What is known."""
    known: int = 1
    """How many items, at most."""
    measure: InferenceMeasure = "confidence"
    """What is counted."""
    groups: Mapping[str, str] | None = None
    """Protected label to its group of similar values, for ``group``; others stand alone."""
    shown: bool = False
    """Stars fit nothing: only what is shown counts."""

    def __post_init__(self) -> None:
        if self.measure not in get_args(InferenceMeasure):
            msg = f"measure must be one of {', '.join(get_args(InferenceMeasure))}, got {self.measure!r}"
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
        world = World.of(released, original, targets=targets, seed=seed, groups=self.groups, engine=engine)
        return self.judge(world)

    def judge(self, world: World) -> Risk:
        """Look in a world that is ready; one with groups is made of the same groups."""
        if not world.ground.names:
            msg = "original must have protected values, there are none"
            raise ParameterError(msg)
        found = world.find(self.kind, self.known, shown=self.shown)
        evidence = world.evidence(timed=self.kind == "gaps")
        if self.measure in ("confidence", "at_risk"):
            raw, release, control = (self._largest(each) for each in found[1:])
            baseline = self._base(evidence.release)
        else:
            windows = self._windows(world, found.pieces)
            concerned = np.diff(windows.offsets) > 0
            baseline = (
                float(_base_rates(windows, evidence.release)[concerned].mean()) if concerned.any() else 0.0
            )
            raw, release, control = (
                mean_of(self._own(world, found.pieces, windows, each, crowds)[concerned])
                for each, crowds in zip(evidence, found[1:], strict=True)
            )
        return Risk(
            release.value,
            release.interval,
            baseline,
            control,
            raw=raw,
            name=self.name,
            kind=self.kind,
            known=self.known,
            targets=len(found.pieces),
        )

    def _largest(self, crowds: Crowds) -> Share:
        return largest_of(crowds.share(crowds.most if self.measure == "confidence" else crowds.at_risk))

    def _base(self, evidence: Evidence) -> float:
        """Give the share of all persons with the most frequent protected value, or with any."""
        n_persons = max(evidence.n_persons, 1)
        if self.measure == "confidence":
            return float(evidence.base_rates.max(initial=0) / n_persons)
        has_value = np.diff(evidence.histories.value_offsets) > 0
        return float(evidence.histories.weights[has_value].sum() / n_persons)

    def _windows(self, world: World, pieces: Pieces) -> Windows:
        own = world.own_windows(pieces)
        if self.measure == "guess":
            return own
        lows, highs = (_groups if self.measure == "group" else _close)(world, self.groups or {})
        return Windows(offsets=own.offsets, lows=lows[own.lows], highs=highs[own.lows])

    def _own(
        self, world: World, pieces: Pieces, windows: Windows, evidence: Evidence, crowds: Crowds
    ) -> Shares:
        if self.measure != "guess":
            crowds = find_crowds(
                pieces, evidence, world.ground, windows=windows, shown=self.shown, engine=world.engine
            )
        return crowds.share(crowds.own)


def has_numbers(world: World) -> bool:
    """Tell whether some attribute has nothing but numbers to protect, so that values can be close."""
    lows, highs = _close(world, {})
    return bool((lows < highs).any())


def _groups(world: World, groups: Mapping[str, str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Give the first and the last value of each value's group; groups stand side by side."""
    keys = [(attribute, groups.get(label, label)) for attribute, label in world.ground.names]
    lows = np.array([keys.index(key) for key in keys], np.int32)
    highs = np.array([len(keys) - 1 - keys[::-1].index(key) for key in keys], np.int32)
    return lows, highs


def _close(world: World, groups: Mapping[str, str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Give the first and the last value that is close to each; a value that is no number is close to none."""
    del groups  # numbers stand in their own order
    names = world.ground.names
    lows = np.arange(len(names), dtype=np.int32)
    highs = lows.copy()
    for attribute in dict.fromkeys(attribute for attribute, _ in names):
        places = [place for place, name in enumerate(names) if name[0] == attribute]
        try:
            numbers = np.array([float(names[place][1]) for place in places])
        except ValueError:
            continue
        if not np.isfinite(numbers).all() or (np.diff(numbers) < 0).any():
            continue
        reach = CLOSE * (numbers[-1] - numbers[0])
        lows[places] = places[0] + np.searchsorted(numbers, numbers - reach)
        highs[places] = places[0] + np.searchsorted(numbers, numbers + reach, side="right") - 1
    return lows, highs


def _base_rates(windows: Windows, evidence: Evidence) -> Shares:
    """Give for each piece the largest share of all persons with a value in one of its ranges."""
    histories = evidence.histories
    owners = np.repeat(np.arange(len(histories.weights)), np.diff(histories.value_offsets))
    ranges, inverse = np.unique(np.stack([windows.lows, windows.highs], axis=1), axis=0, return_inverse=True)
    rates = np.array(
        [
            histories.weights[np.unique(owners[(histories.values >= low) & (histories.values <= high)])].sum()
            for low, high in ranges.tolist()
        ],
        np.float64,
    ) / max(evidence.n_persons, 1)
    found = np.zeros(len(windows.offsets) - 1)
    pieces = np.repeat(np.arange(len(found)), np.diff(windows.offsets))
    np.maximum.at(found, pieces, rates[inverse.ravel()])
    return found
