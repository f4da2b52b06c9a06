"""Attribute inference: how sure somebody becomes of a protected value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from sequester.attacks.adversary import Adversary
from sequester.attacks.crowds import Windows, find_crowds, without_told
from sequester.attacks.risk import larger_of, largest_of, mean_of
from sequester.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from sequester.attacks.evidence import Evidence
    from sequester.attacks.risk import Risk
    from sequester.attacks.share import Share
    from sequester.attacks.world import Trial, World

    Shares = npt.NDArray[np.float64]

InferenceMeasure = Literal["confidence", "at_risk", "guess", "group", "close"]
"""What is counted; see `Inference`."""
CLOSE = 0.05
"""A number is close to another if they differ by at most this share of the attribute's range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference(Adversary):
    """Somebody knows a few items of a person, and reads off what those have in common whom they fit.

    ``confidence`` is the largest share of candidates with one protected value, ``at_risk`` with any: how sure
    one can become of somebody. Both try the rarest items, too, beside those drawn at random. ``guess`` is the
    mean share of candidates who have a value that the target really has, over the targets with one; its
    baseline is the mean of the same shares among everybody, and what lies above it is what the release tells
    (skewness). ``group`` is the same for values of the same group of similar ones, ``close`` for numbers that
    differ little from the target's.
    """

    measures: ClassVar[tuple[str, ...]] = get_args(InferenceMeasure)

    measure: InferenceMeasure = "confidence"
    """What is counted."""
    groups: Mapping[str, str] | None = None
    """Protected label to its group of similar values, for ``group``; others stand alone."""

    def judge(self, world: World) -> Risk:
        """Look in a world that is ready; one with groups is made of the same groups."""
        if not world.ground.names:
            msg = "original must have protected values, there are none"
            raise ParameterError(msg)
        found = self._find(world)
        is_largest = self.measure in ("confidence", "at_risk")
        measure = self._largest if is_largest else self._mean
        (raw, _), (release, baseline), (control, _) = (measure(world, each) for each in found)
        if not is_largest:
            return self._risk(world, found, (raw, release, control), baseline=baseline)
        rarest = self._find_rarest(world)
        others = [measure(world, each)[0] for each in rarest]
        shares = larger_of(raw, others[0]), larger_of(release, others[1]), larger_of(control, others[2])
        return self._risk(world, found, shares, baseline=baseline, rarest=rarest)

    def _groups(self) -> Mapping[str, str] | None:
        return self.groups

    def _largest(self, world: World, trial: Trial) -> tuple[Share, float]:
        """Give the largest share of candidates, and the same of everybody."""
        del world
        crowds = trial.crowds
        largest = largest_of(crowds.share(crowds.most if self.measure == "confidence" else crowds.at_risk))
        return largest, self._base(trial.evidence)

    def _mean(self, world: World, trial: Trial) -> tuple[Share, float]:
        """Give the mean share of candidates with a value of the target's, and the same of everybody."""
        windows, crowds = self._windows(world, trial), trial.crowds
        concerned = np.diff(windows.offsets) > 0
        if self.measure != "guess":
            crowds = find_crowds(
                trial.pieces,
                trial.evidence,
                world.ground,
                windows=windows,
                shown=self.shown,
                engine=world.engine,
            )
        base = _base_rates(windows, trial.evidence)[concerned]
        return mean_of(crowds.share(crowds.own)[concerned]), float(base.mean()) if base.size else 0.0

    def _base(self, evidence: Evidence) -> float:
        """Give the share of all persons with the most frequent protected value, or with any."""
        n_persons = max(evidence.n_persons, 1)
        if self.measure == "confidence":
            return float(evidence.base_rates.max(initial=0) / n_persons)
        has_value = np.diff(evidence.histories.value_offsets) > 0
        return float(evidence.person_weights[has_value].sum() / n_persons)

    def _windows(self, world: World, trial: Trial) -> Windows:
        own = trial.windows
        if self.measure == "guess":
            return own
        lows, highs = (_groups if self.measure == "group" else _close)(world, self.groups or {})
        return without_told(
            Windows(offsets=own.offsets, lows=lows[own.lows], highs=highs[own.lows]), trial.pieces.told
        )


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
    histories, weights = evidence.histories, evidence.person_weights
    owners = np.repeat(np.arange(len(histories.weights)), np.diff(histories.value_offsets))
    ranges, inverse = np.unique(np.stack([windows.lows, windows.highs], axis=1), axis=0, return_inverse=True)
    rates = np.array(
        [
            weights[np.unique(owners[(histories.values >= low) & (histories.values <= high)])].sum()
            for low, high in ranges.tolist()
        ],
        np.float64,
    ) / max(evidence.n_persons, 1)
    found = np.zeros(len(windows.offsets) - 1)
    pieces = np.repeat(np.arange(len(found)), np.diff(windows.offsets))
    np.maximum.at(found, pieces, rates[inverse.ravel()])
    return found
