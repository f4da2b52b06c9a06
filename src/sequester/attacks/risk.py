"""What an adversary achieves: a number with an interval, beside what chance and a control achieve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sequester.attacks.share import CONFIDENCE, Share

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts

SLACK = 1e-9
"""A risk is above its bound when it is so by more than this, which no rounding reaches."""


NOTHING = Share(0.0, (0.0, 1.0))
"""What is known of a share of which nothing was drawn."""


@dataclass(frozen=True, slots=True)
class Risk:
    """What one adversary achieves against a release, from 0 to 1, beside what others achieve.

    Examples
    --------
    >>> risk = Risk(0.5, (0.5, 1.0), 0.01, Share(0.1, (0.1, 1.0)), name="prosecutor", known=2, bound=0.2)
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
    """What somebody achieves who knows nothing, or guesses by what is most frequent."""
    control: Share
    """The same adversary where they cannot succeed but by chance; see `control_of`."""
    raw: Share = NOTHING
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
    """Pieces of knowledge that were tried."""
    control_of: Literal["shuffled", "held out", "no reasoning"] = "shuffled"
    """The control: a release whose values were dealt out anew, targets whom the release does not hold, or an
    adversary who does not reason about the method."""

    @property
    def is_within(self) -> bool:
        """The bound, if there is one, is kept."""
        return self.bound is None or self.value <= self.bound + SLACK

    def to_json(self) -> dict[str, Any]:
        """Give the part of the document that ``attack --json`` prints."""
        return {
            "name": self.name,
            "kind": self.kind,
            "known": self.known,
            "raw": self.raw.to_json(),
            "release": {"value": self.value, "interval": list(self.interval)},
            "control": self.control.to_json(),
            "control_of": self.control_of,
            "baseline": self.baseline,
            "bound": self.bound,
            "targets": self.targets,
        }

    def _repr_html_(self) -> str:
        # A list of one looks like a list of many; what shows lists needs to know what a risk is.
        from sequester.attacks.risks import glance  # noqa: PLC0415

        return glance([self]).html()

    def __str__(self) -> str:
        low, high = self.interval
        kind = f" ({self.kind})" if self.kind else ""
        claimed = "" if self.bound is None else f", claimed at most {self.bound:.4g}"
        return (
            f"{self.name}{kind}, {self.known} known: {self.value:.4g} [{low:.4g}, {high:.4g}], "
            f"chance {self.baseline:.4g}, control {self.control.value:.4g}{claimed}"
        )


def mean_of(values: npt.NDArray[np.float64]) -> Share:
    """Estimate the mean of numbers from 0 to 1, with an interval that holds for whatever they are.

    The interval is what Hoeffding's bound in relative entropy leaves; it covers the mean in at least 95 % of
    draws for any distribution. Where all numbers are 0, or all are 1, it is that of Clopper and Pearson.

    Examples
    --------
    >>> mean = mean_of(np.zeros(100))
    >>> mean.interval[0], round(mean.interval[1], 4), round(Share.drawn(0, 100).interval[1], 4)
    (0.0, 0.0362, 0.0362)

    References
    ----------
    Hoeffding (1963), Theorem 1, Eq. 2.1.
    """
    if not values.size:
        return NOTHING
    mean = min(max(float(values.mean()), 0.0), 1.0)
    most = math.log(2 / (1 - CONFIDENCE)) / values.size
    return Share(mean, (_edge(mean, 0.0, most), _edge(mean, 1.0, most)))


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
    """Give the relative entropy of two coins, in nats."""
    if not 0 < other < 1:
        return math.inf
    heads = mean * math.log(mean / other) if mean > 0 else 0.0
    tails = (1 - mean) * math.log((1 - mean) / (1 - other)) if mean < 1 else 0.0
    return heads + tails


def largest_of(values: npt.NDArray[np.float64]) -> Share:
    """Give the largest number that was met; of what was not drawn nothing is known but that it is at most 1.

    Examples
    --------
    >>> largest_of(np.array([0.2, 0.5]))
    Share(value=0.5, interval=(0.5, 1.0))
    """
    largest = float(values.max(initial=0.0))
    return Share(largest, (largest, 1.0))


def larger_of(one: Share, other: Share) -> Share:
    """Return the larger of two largest numbers that were met.

    Examples
    --------
    >>> larger_of(Share(0.5, (0.5, 1.0)), Share(0.2, (0.2, 1.0)))
    Share(value=0.5, interval=(0.5, 1.0))
    """
    return max(one, other, key=lambda each: each.value)


def share_of(marked: npt.NDArray[np.bool_]) -> Share:
    """Estimate a share of all that could be drawn, with the exact interval."""
    return Share.drawn(int(marked.sum()), int(marked.size))


def median_of(sizes: Counts) -> Share:
    """Give one over the median size, with the exact interval of the median; 0 where there are no sizes.

    Examples
    --------
    >>> median_of(np.array([4] * 100)), median_of(np.array([4] * 3))
    (Share(value=0.25, interval=(0.25, 0.25)), Share(value=0.25, interval=(0.0, 1.0)))

    References
    ----------
    David, Nagaraja (2003), Order Statistics, section 7.1.
    """
    # scipy takes longer to load than small tables take to count.
    from scipy.special import bdtr  # type: ignore[import-untyped]  # noqa: PLC0415

    n = sizes.size
    if not n:
        return NOTHING
    ordered = np.sort(sizes)
    value = float(1 / ordered[(n - 1) // 2])
    # The median lies between the j-th smallest and the j-th largest but with twice this chance.
    fits = np.flatnonzero(2 * bdtr(np.arange((n + 1) // 2), n, 0.5) <= 1 - CONFIDENCE)
    if not fits.size:
        return Share(value, (0.0, 1.0))
    j = int(fits[-1]) + 1
    return Share(value, (float(1 / ordered[n - j]), float(1 / ordered[j - 1])))
