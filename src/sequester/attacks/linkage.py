"""Linkage: how few persons of a release fit background knowledge (prosecutor, journalist, marketer)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from sequester._validation import one_of
from sequester.attacks.background_knowledge import BEYOND
from sequester.attacks.context import TARGETS, AttackContext, coded_kept
from sequester.attacks.risk import Risk, larger_of, largest_of, mean_of, median_of, proportion_of
from sequester.datasets import SEED
from sequester.privacy.model import BoundedModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester._typing import Counts
    from sequester.attacks.background_knowledge import KnowledgeKind
    from sequester.attacks.context import Trial, Trials
    from sequester.attacks.risk import Proportion
    from sequester.data.table import EventTable
    from sequester.engine import Engine


LinkageMeasure = Literal["candidates", "unique", "below_k", "prosecutor", "journalist", "marketer"]
"""What is counted; see `Linkage`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adversary(ABC):
    """What somebody knows, how they look, and what of their success is counted."""

    goal: ClassVar[str]
    """What the adversary is after: linkage, inference or presence."""
    measures: ClassVar[tuple[str, ...]]
    """What can be counted."""

    kind: KnowledgeKind = "ordered"
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
        one_of("measure", self.measure, self.measures)

    @property
    def few(self) -> int:
        """Candidate sets below this size are small."""
        return 0

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
            AttackContext.of(
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
    def judge(self, context: AttackContext) -> Risk:
        """Run in a context that is ready."""

    def _groups(self) -> Mapping[str, str] | None:
        """Return the groups of similar values that the context is to be made of."""
        return None

    def _find(self, context: AttackContext) -> Trials:
        return context.find(self.kind, self.known, shown=self.shown, narrowed=self.narrowed)

    def _find_rarest(self, context: AttackContext) -> Trials:
        """Find candidates by the rarest items, which a random draw misses; for worst cases alone."""
        return context.find(self.kind, self.known, shown=self.shown, narrowed=self.narrowed, rarest=True)

    def _risk(
        self,
        context: AttackContext,
        found: Trials,
        shares: tuple[Proportion, Proportion, Proportion],
        *,
        baseline: float,
        rarest: Trials | None = None,
    ) -> Risk:
        """Return the risk against original, release and control."""
        raw, release, control = shares
        return Risk.of(
            release,
            baseline,
            control,
            raw=raw,
            name=self.name,
            kind=self.kind,
            known=self.known,
            targets=sum(len(each.release.knowledge) for each in (found, rarest) if each is not None),
            control_of=context.control_of,
        )


def bound_of(model: object, adversary: Adversary) -> float | None:
    """Return the largest risk that the promise `model` leaves to an adversary; None where it bounds none.

    Examples
    --------
    >>> from sequester.privacy import SequenceKAnonymity
    >>> bound_of(SequenceKAnonymity(k=4), Linkage(known=3))
    0.25
    >>> bound_of(SequenceKAnonymity(k=4), Linkage(known=3, kind="count")) is None
    True
    """
    return model.bound(adversary) if isinstance(model, BoundedModel) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Linkage(Adversary):
    """Somebody knows a few items of a person, and looks for them in the release.

    Persons who fit are candidates. ``candidates`` is one over the median number of candidates, ``unique`` the
    share of targets with one candidate, ``below_k`` with fewer than `k` but at least one. The prosecutor
    knows that the target is in the release and takes any candidate: ``prosecutor`` is their largest chance,
    one over the fewest candidates. The journalist does not know that, so that persons who fit in the original
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

    goal: ClassVar[str] = "linkage"
    measures: ClassVar[tuple[str, ...]] = get_args(LinkageMeasure)

    measure: LinkageMeasure = "prosecutor"
    """What is counted."""
    k: int = 5
    """How many candidates are few, for ``below_k``."""

    @property
    def few(self) -> int:
        """Candidate sets below this size are small."""
        return self.k

    def judge(self, context: AttackContext) -> Risk:
        """Run in a context that is ready."""
        found = self._find(context)
        rarest = self._find_rarest(context) if self.measure in ("prosecutor", "journalist") else None
        raw, release, control = map(self._measure, found)
        if rarest is not None:
            others = [self._measure(each) for each in rarest]
            raw, release, control = map(larger_of, (raw, release, control), others)
        shares = raw, release, control
        chance = self._chance(max(found.release.evidence.n_persons, 1))
        return self._risk(context, found, shares, baseline=chance, rarest=rarest)

    def _chance(self, n_persons: int) -> float:
        """Return the risk of somebody to whom everybody is a candidate."""
        if self.measure == "unique":
            return float(n_persons == 1)
        if self.measure == "below_k":
            return float(n_persons < self.k)
        return 1 / n_persons

    def _measure(self, trial: Trial) -> Proportion:
        sizes = trial.candidates.sizes
        match self.measure:
            case "candidates":
                return median_of(sizes[sizes > 0])
            case "unique":
                return proportion_of(sizes == 1)
            case "below_k":
                return proportion_of((sizes > 0) & (sizes < self.k))
            case "journalist":
                may_be_meant = np.maximum(sizes, trial.in_original.sizes)
                return largest_of(_chances(np.where(sizes > 0, may_be_meant, 0)))
            case "marketer":
                return mean_of(_chances(sizes))
            case _:
                return largest_of(_chances(sizes))


def _chances(sizes: Counts) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the chance to pick one of so many; 0 where there is nobody."""
    return np.where(sizes > 0, 1 / np.maximum(sizes, 1), 0.0)


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

    goal: ClassVar[str] = "presence"
    measures: ClassVar[tuple[str, ...]] = ("found",)

    measure: str = "found"
    """What is counted."""

    def judge(self, context: AttackContext) -> Risk:
        """Run in a context that is ready."""
        found = self._find(context)
        raw, release, control = (_mean_chance(each) for each in found)
        chance = 1 / max(found.raw.evidence.n_persons, 1)
        return self._risk(context, found, (raw, release, control), baseline=chance)


def _mean_chance(trial: Trial) -> Proportion:
    sizes = trial.candidates.sizes
    largest = np.maximum(np.maximum(sizes, trial.in_original.sizes), 1)
    return mean_of(np.where(sizes > 0, 1 / largest, 0.0))
