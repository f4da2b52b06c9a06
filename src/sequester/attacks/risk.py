"""Risks: what an adversary achieves, with an interval, beside what chance and a control achieve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sequester._repr import Card, Document, json_fields
from sequester.kernels.shares import exceeds_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from sequester._typing import Counts


CONFIDENCE = 0.95
"""How often an interval around a drawn share covers the share of everybody, at least."""


@dataclass(frozen=True, slots=True)
class Proportion(Document):
    """A proportion of persons, counted among all of them or estimated from a random sample.

    Examples
    --------
    >>> Proportion.counted(3, 12)
    Proportion(value=0.25, interval=(0.25, 0.25))
    >>> Proportion.counted(3, 12, undecided=1)
    Proportion(value=0.25, interval=(0.25, 0.3333333333333333))
    >>> low, high = Proportion.drawn(0, 100).interval
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """

    value: float
    """The share that was found, 0 to 1."""
    interval: tuple[float, float]
    """Where the true share lies; both ends are the value where it is known exactly."""

    @classmethod
    def counted(cls, found: int, of: int, *, undecided: int = 0) -> Proportion:
        """Return the share of everybody; `undecided` persons may belong to it as well."""
        if not of:
            return cls(0.0, (0.0, 0.0))
        return cls(found / of, (found / of, (found + undecided) / of))

    @classmethod
    def drawn(cls, found: int, of: int, *, undecided: int = 0, confidence: float = CONFIDENCE) -> Proportion:
        """Estimate the share of everybody from `of` persons drawn at random, with the exact interval.

        The interval is that of Clopper and Pearson, at 95 % by default. Persons are drawn without putting
        them back, which makes it wider than need be, never narrower.

        References
        ----------
        Clopper, Pearson (1934).
        """
        # scipy takes longer to load than a small table takes to count, and only drawn shares need it.
        from scipy.special import betaincinv  # type: ignore[import-untyped]  # noqa: PLC0415

        if not of:
            return cls(0.0, (0.0, 1.0))
        tail = (1 - confidence) / 2
        most = found + undecided
        low = 0.0 if found == 0 else float(betaincinv(found, of - found + 1, tail))
        high = 1.0 if most == of else float(betaincinv(most + 1, of - most, 1 - tail))
        return cls(found / of, (low, high))

    @property
    def is_exact(self) -> bool:
        """The share is known, not estimated."""
        return self.interval[0] == self.interval[1]


NOTHING = Proportion(0.0, (0.0, 1.0))
"""What is known of a share of which nothing was drawn."""


def exact(value: float) -> Proportion:
    """Return a number that is known and not drawn.

    Examples
    --------
    >>> exact(0.25)
    Proportion(value=0.25, interval=(0.25, 0.25))
    """
    return Proportion(value, (value, value))


def mean_of(values: npt.NDArray[np.float64 | np.bool_], *, is_all: bool = False) -> Proportion:
    """Estimate the mean of numbers from 0 to 1, with an interval that holds for whatever they are.

    Where they are known for everybody (`is_all`) the mean is exact, and 0 where there is nobody.

    The interval is what Hoeffding's bound in relative entropy leaves; it covers the mean in at least 95 % of
    draws for any distribution. Where all numbers are 0, or all are 1, it is that of Clopper and Pearson.

    Examples
    --------
    >>> mean = mean_of(np.zeros(100))
    >>> mean.interval[0], round(mean.interval[1], 4), round(Proportion.drawn(0, 100).interval[1], 4)
    (0.0, 0.0362, 0.0362)
    >>> mean_of(np.array([0.5, 1.0]), is_all=True), mean_of(np.array([]), is_all=True)
    (Proportion(value=0.75, interval=(0.75, 0.75)), Proportion(value=0.0, interval=(0.0, 0.0)))

    References
    ----------
    Hoeffding (1963), Theorem 1, Eq. 2.1.
    """
    if is_all:
        return exact(float(values.mean()) if values.size else 0.0)
    if not values.size:
        return NOTHING
    mean = min(max(float(values.mean()), 0.0), 1.0)
    most = math.log(2 / (1 - CONFIDENCE)) / values.size
    return Proportion(mean, (_edge(mean, 0.0, most), _edge(mean, 1.0, most)))


def _edge(mean: float, end: float, most: float) -> float:
    """Find the number between the mean and an end whose relative entropy to the mean is `most`."""
    if mean == end:
        return end
    inside, outside = mean, end
    for _ in range(60):
        middle = (inside + outside) / 2
        if _entropy(mean, middle) <= most:
            inside = middle
        else:
            outside = middle
    return outside


def _entropy(mean: float, other: float) -> float:
    """Return the relative entropy of two coins, in nats."""
    if not 0 < other < 1:
        return math.inf
    heads = mean * math.log(mean / other) if mean > 0 else 0.0
    tails = (1 - mean) * math.log((1 - mean) / (1 - other)) if mean < 1 else 0.0
    return heads + tails


def largest_of(values: npt.NDArray[np.float64], *, is_all: bool = False) -> Proportion:
    """Return the largest number; of those that were not drawn it is only known that they are at most 1.

    Examples
    --------
    >>> largest_of(np.array([0.2, 0.5]))
    Proportion(value=0.5, interval=(0.5, 1.0))
    """
    largest = float(values.max(initial=0.0))
    return Proportion(largest, (largest, largest if is_all else 1.0))


def proportion_of(marked: npt.NDArray[np.bool_]) -> Proportion:
    """Estimate a share of all that could be drawn, with the exact interval."""
    return Proportion.drawn(int(marked.sum()), int(marked.size))


def median_of(sizes: Counts) -> Proportion:
    """Return one over the median size, with the exact interval of the median; 0 where there are no sizes.

    Examples
    --------
    >>> median_of(np.array([4] * 100)), median_of(np.array([4] * 3))
    (Proportion(value=0.25, interval=(0.25, 0.25)), Proportion(value=0.25, interval=(0.0, 1.0)))

    References
    ----------
    David, Nagaraja (2003), Order Statistics, section 7.1.
    """
    # scipy takes longer to load than small tables take to count.
    from scipy.special import bdtr  # noqa: PLC0415

    n = sizes.size
    if not n:
        return NOTHING
    ordered = np.sort(sizes)
    value = float(1 / ordered[(n - 1) // 2])
    # The median lies between the j-th smallest and the j-th largest but with twice this chance.
    fits = np.flatnonzero(2 * bdtr(np.arange((n + 1) // 2), n, 0.5) <= 1 - CONFIDENCE)
    if not fits.size:
        return Proportion(value, (0.0, 1.0))
    j = int(fits[-1]) + 1
    return Proportion(value, (float(1 / ordered[n - j]), float(1 / ordered[j - 1])))


@dataclass(frozen=True, slots=True)
class Risk:
    """What one adversary achieves against a release, from 0 to 1, beside what others achieve.

    Examples
    --------
    >>> risk = Risk(0.5, (0.5, 1.0), 0.01, Proportion(0.1, (0.1, 1.0)), name="prosecutor", known=2, bound=0.2)
    >>> risk.is_within
    False
    >>> print(risk)
    prosecutor, 2 known: 0.5 [0.5, 1], chance 0.01, control 0.1, claimed at most 0.2
    """

    value: float
    """Against the release."""
    interval: tuple[float, float]
    """Where it lies for everybody and all that could be known of them, with 95 % confidence."""
    baseline: float
    """What an adversary achieves who knows nothing, or guesses by what is most frequent."""
    control: Proportion
    """The same adversary where they cannot succeed but by chance; see `control_of`."""
    raw: Proportion = NOTHING
    """The same adversary against the original."""
    name: str = ""
    """What the adversary is after."""
    kind: str = ""
    """What they know, by kind."""
    known: int = 0
    """How many items they know, at most."""
    bound: float | None = None
    """What the release claims that it cannot exceed; None where nothing is claimed about this adversary."""
    targets: int = 0
    """Targets that were tried."""
    main: bool = True
    """Among the attacks that `protect` tries by default."""
    control_of: Literal["shuffled", "held out", "no reasoning", "one release"] = "shuffled"
    """The control: a release whose values were permuted, targets whom the release does not hold, an adversary
    who does not reason about the method, or one who has one release of several."""

    @classmethod
    def of(cls, release: Proportion, baseline: float, control: Proportion, **more: Any) -> Risk:
        """Return the risk of which `release` is the share against the release; see the fields for `more`."""
        return cls(release.value, release.interval, baseline, control, **more)

    @property
    def release(self) -> Proportion:
        """What is achieved against the release, with its interval."""
        return Proportion(self.value, self.interval)

    @property
    def is_within(self) -> bool:
        """The bound, if there is one, is kept."""
        return self.bound is None or not exceeds_share(self.value, self.bound, 1)

    def to_json(self) -> dict[str, Any]:
        """Return the part of the document that ``attack --json`` prints."""
        own = json_fields(self)
        release = {"value": own.pop("value"), "interval": own.pop("interval")}
        return {"name": self.name, **own, "release": release}

    def _repr_html_(self) -> str:
        return _repr([self]).html()

    def __str__(self) -> str:
        low, high = self.interval
        kind = f" ({self.kind})" if self.kind else ""
        claimed = "" if self.bound is None else f", claimed at most {self.bound:.4g}"
        return (
            f"{self.name}{kind}, {self.known} known: {self.value:.4g} [{low:.4g}, {high:.4g}], "
            f"chance {self.baseline:.4g}, control {self.control.value:.4g}{claimed}"
        )


_HEADER = ("attack", "knows", "original", "release", "95%", "control", "chance", "claimed")


class Risks(list[Risk]):
    """A list of risks, with what was not tried and why, that shows itself as a table in a notebook.

    Examples
    --------
    >>> risk = Risk(0.5, (0.5, 1.0), 0.01, Proportion(0.1, (0.1, 1.0)), name="prosecutor", known=2)
    >>> risks = Risks([risk])
    >>> risks == [risk], "prosecutor" in risks._repr_html_()
    (True, True)
    """

    def __init__(self, risks: Iterable[Risk] = (), notes: Iterable[str] = ()) -> None:
        super().__init__(risks)
        self.notes = tuple(notes)
        """What was not tried, and why."""

    def _repr_html_(self) -> str:
        return _repr(self).html()


def _repr(risks: Sequence[Risk]) -> Card:
    """Return a table of what each adversary achieves, and whether a claim was beaten."""
    claimed = [risk for risk in risks if risk.bound is not None]
    beaten = [risk for risk in claimed if not risk.is_within]
    tried = "1 attack" if len(risks) == 1 else f"{len(risks):,} attacks"
    outcome = "nothing is claimed about them"
    if claimed:
        outcome = f"{len(beaten):,} beat the claim" if beaten else "none beats the claim"
    return Card(
        title=f"{tried}: {outcome}",
        good=not beaten if claimed else None,
        header=_HEADER,
        rows=tuple(_row(risk) for risk in risks),
    )


def _row(risk: Risk) -> tuple[str, ...]:
    low, high = risk.interval
    knows = ", ".join(filter(None, (risk.kind, f"{risk.known} known" if risk.known else "")))
    claimed = "" if risk.bound is None else f"at most {risk.bound:.4g}{'' if risk.is_within else ' ✗'}"
    return (
        risk.name,
        knows,
        f"{risk.raw.value:.4g}",
        f"{risk.value:.4g}",
        f"{low:.4g} to {high:.4g}",
        f"{risk.control.value:.4g}",
        f"{risk.baseline:.4g}",
        claimed,
    )


def percent(value: float) -> str:
    """Write a share, and never nobody or everybody where that is not so.

    Examples
    --------
    >>> percent(0), percent(0.0004), percent(0.1587), percent(0.9996), percent(1)
    ('0%', '<0.1%', '15.9%', '>99.9%', '100%')
    """
    if value in (0, 1):
        return f"{100 * value:.0f}%"
    if value < 0.001:
        return "<0.1%"
    return ">99.9%" if value > 0.999 else f"{100 * value:.1f}%"


def rounded_percent(value: float) -> str:
    """Write a share in whole percents, as it may be published.

    Examples
    --------
    >>> rounded_percent(0), rounded_percent(0.004), rounded_percent(0.985), rounded_percent(0.996)
    ('0%', 'less than 1%', 'about 99%', 'more than 99%')
    """
    if value in (0, 1):
        return f"{100 * value:.0f}%"
    if value < 0.01:
        return "less than 1%"
    return "more than 99%" if value > 0.99 else f"about {math.floor(100 * value + 0.5)}%"
