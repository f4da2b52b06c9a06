"""Inference: how sure an adversary becomes of a protected value, or of a person's presence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from sequester.attacks.candidate_sets import ValueRanges, find_candidates, without_known
from sequester.attacks.linkage import Adversary
from sequester.attacks.risk import CONFIDENCE, Proportion, largest_of, mean_of, proportion_of
from sequester.data.schema import Protect
from sequester.errors import ParameterError
from sequester.hierarchies.labels import ROOT
from sequester.ragged import owners_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts
    from sequester.attacks.background_knowledge import BackgroundKnowledge
    from sequester.attacks.candidate_sets import Evidence
    from sequester.attacks.context import AttackContext, Trial, Trials
    from sequester.attacks.domain import ProtectedValues
    from sequester.attacks.risk import Risk
    from sequester.data.table import EventTable

    Shares = npt.NDArray[np.float64]


InferenceMeasure = Literal["confidence", "at_risk", "guess", "group", "close"]
"""What is counted; see `Inference`."""
CLOSE = 0.05
"""A number is close to another if they differ by at most this share of the attribute's range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference(Adversary):
    """An adversary knows a few items of a person, and reads off what those who match have in common.

    ``confidence`` is the largest share of candidates with one protected value, ``at_risk`` with any: how sure
    one can become of a person. Both try the rarest items, too, beside those drawn at random. ``guess`` is the
    mean share of candidates who have a value that the target really has, over the targets with one; its
    baseline is the mean of the same shares among everybody, and what lies above it is what the release tells
    (skewness). ``group`` is the same for values of the same group of similar ones, ``close`` for numbers that
    differ little from the target's.
    """

    goal: ClassVar[str] = "inference"
    measures: ClassVar[tuple[str, ...]] = get_args(InferenceMeasure)

    measure: InferenceMeasure = "confidence"
    """What is counted."""

    def judge(self, context: AttackContext) -> Risk:
        """Run in a context that is ready."""
        if not context.domain.names:
            msg = "original must have protected values, there are none"
            raise ParameterError(msg)
        return super(Inference, self).judge(context)

    def _share(self, trial: Trial) -> Proportion:
        """Return the largest share of candidates, or the mean share of those with a value of the target's."""
        candidates = trial.candidates
        if self.measure in ("confidence", "at_risk"):
            return largest_of(
                candidates.share(candidates.most if self.measure == "confidence" else candidates.at_risk)
            )
        windows = self._windows(trial)
        if self.measure != "guess":
            candidates = find_candidates(
                trial.knowledge,
                trial.evidence,
                trial.context.domain,
                windows=windows,
                shown=self.shown,
                engine=trial.context.engine,
            )
        return mean_of(candidates.share(candidates.own)[np.diff(windows.offsets) > 0])

    def _chance(self, found: Trials) -> float:
        """Return the share of all persons with the most frequent protected value, any, or the target's."""
        evidence = found.release.evidence
        if self.measure == "confidence":
            return float(evidence.base_rates.max(initial=0) / max(evidence.n_persons, 1))
        if self.measure == "at_risk":
            has_value = np.diff(evidence.histories.value_offsets) > 0
            return float(evidence.person_weights[has_value].sum() / max(evidence.n_persons, 1))
        windows = self._windows(found.release)
        base = _base_rates(windows, evidence)[np.diff(windows.offsets) > 0]
        return float(base.mean()) if base.size else 0.0

    def _windows(self, trial: Trial) -> ValueRanges:
        own = trial.windows
        if self.measure == "guess":
            return own
        names = trial.context.domain.names
        lows, highs = _groups(names, trial.context.groups or {}) if self.measure == "group" else _close(names)
        return without_known(
            ValueRanges(offsets=own.offsets, lows=lows[own.lows], highs=highs[own.lows]),
            trial.knowledge.value_code,
            trial.knowledge.last_code,
        )


def has_numbers(context: AttackContext) -> bool:
    """Return whether some attribute has nothing but numbers to protect, so that values can be close."""
    lows, highs = _close(context.domain.names)
    return bool((lows < highs).any())


def _groups(names: ProtectedValues, groups: Mapping[str, str]) -> tuple[Codes, Codes]:
    """Return the first and the last value of each value's group; groups stand side by side."""
    keys = [(attribute, groups.get(label, label)) for attribute, label in names]
    lows = np.array([keys.index(key) for key in keys], np.int32)
    highs = np.array([len(keys) - 1 - keys[::-1].index(key) for key in keys], np.int32)
    return lows, highs


def _close(names: ProtectedValues) -> tuple[Codes, Codes]:
    """Return the first and the last value that is close to each; what is no number is close to none."""
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


def _base_rates(windows: ValueRanges, evidence: Evidence) -> Shares:
    """Return for each target the largest share of all persons with a value in one of its ranges."""
    histories, weights = evidence.histories, evidence.person_weights
    owners = owners_of(histories.value_offsets)
    ranges, inverse = np.unique(np.stack([windows.lows, windows.highs], axis=1), axis=0, return_inverse=True)
    rates = np.array(
        [
            weights[np.unique(owners[(histories.values >= low) & (histories.values <= high)])].sum()
            for low, high in ranges.tolist()
        ],
        np.float64,
    ) / max(evidence.n_persons, 1)
    found = np.zeros(len(windows.offsets) - 1)
    np.maximum.at(found, owners_of(windows.offsets), rates[inverse.ravel()])
    return found


def similar_values(table: EventTable) -> dict[str, str]:
    """Map protected labels to their group: the value above them, or the rule that protects them.

    Where the sensitive column has a hierarchy, values right below the same one are similar. Otherwise those
    are that one prefix or range of codes protects. A label without others like it is left out.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"who": list("abc"), "n": [1, 1, 1], "code": ["0421", "0429", "700"]})
    >>> schema = Schema("who", "n", sensitive={"code": Protect(prefix=("042",), values=("700",))})
    >>> similar_values(EventTable(frame, schema))
    {'0421': "prefix '042'", '0429': "prefix '042'"}
    """
    groups: dict[str, str] = {}
    for attribute, sensitive in table.schema.sensitive.items():
        labels = sorted(table.protected[attribute])
        trees = [table.hierarchies[name] for name in sensitive.columns if name in table.hierarchies]
        for tree in trees[:1]:
            above = {label: tree.generalize(label, 1) for label in labels if label in tree}
            groups |= {label: group for label, group in above.items() if group not in (ROOT, label)}
        if not trees and isinstance(sensitive.protect, Protect):
            for rule in sensitive.protect.rules():
                if rule.kind != "value":
                    groups |= {label: str(rule) for label in rule.matches(labels)}
    sizes = Counter(groups.values())
    return {label: group for label, group in groups.items() if sizes[group] > 1}


PresenceMeasure = Literal["absence", "membership"]
"""What is counted; see `Presence`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence(Adversary):
    """An adversary knows a few items of a person, and looks whether anybody matches at all.

    ``absence`` is the share of targets who are in the original and match nobody of the release: the
    adversary learns that what was rare about them has been taken out. ``membership`` is how much more often
    somebody matches a person of the original than a stranger: the advantage of concluding from it that the
    target is in the data. Strangers are persons who were held out; where there are none, persons who do not
    exist, of whom values of events of the original are known, each of another person's.
    """

    goal: ClassVar[str] = "presence"
    measures: ClassVar[tuple[str, ...]] = get_args(PresenceMeasure)

    measure: PresenceMeasure = "absence"
    """What is counted."""

    def _chance(self, found: Trials) -> float:
        del found
        return 0.0

    def _share(self, trial: Trial) -> Proportion:
        return proportion_of(trial.candidates.sizes == 0)

    def _shares(self, found: Sequence[Trials]) -> Iterable[Proportion]:
        if self.measure == "absence":
            return super(Presence, self)._shares(found)
        (trials,) = found
        context = trials.raw.context
        strangers = context.draw(self.kind, self.known, strangers=True)
        shuffled = context.evidence("shuffled", timed=self.kind == "gaps", narrowed=self.narrowed)

        def sizes(knowledge: BackgroundKnowledge, evidence: Evidence) -> Counts:
            return find_candidates(
                knowledge, evidence, context.domain, shown=self.shown, engine=context.engine
            ).sizes

        raw, release = (
            _advantage(each.candidates.sizes, sizes(strangers, each.evidence))
            for each in (trials.raw, trials.release)
        )
        # Who is a member is lost where values are permuted, no matter who the strangers are.
        return raw, release, _advantage(sizes(trials.release.knowledge, shuffled), sizes(strangers, shuffled))


def _advantage(members: Counts, strangers: Counts) -> Proportion:
    """Return the difference of two shares, not below 0, with the interval that those of both leave."""
    # Each of the two is wrong half as often as both together may be.
    each = 1 - (1 - CONFIDENCE) / 2
    theirs, others = (
        Proportion.drawn(int((sizes > 0).sum()), sizes.size, confidence=each)
        for sizes in (members, strangers)
    )
    low = max(theirs.interval[0] - others.interval[1], 0.0)
    high = max(theirs.interval[1] - others.interval[0], 0.0)
    return Proportion(max(theirs.value - others.value, 0.0), (low, high))
