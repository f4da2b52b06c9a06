"""A share of persons, with an interval that it lies in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CONFIDENCE = 0.95
"""How often an interval around a drawn share covers the share of everybody, at least."""


@dataclass(frozen=True, slots=True)
class Share:
    """A share of persons, counted among all of them or estimated from persons drawn at random.

    Examples
    --------
    >>> Share.counted(3, 12)
    Share(value=0.25, interval=(0.25, 0.25))
    >>> Share.counted(3, 12, undecided=1)
    Share(value=0.25, interval=(0.25, 0.3333333333333333))
    >>> low, high = Share.drawn(0, 100).interval
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """

    value: float
    """The share that was found, 0 to 1."""
    interval: tuple[float, float]
    """Where the true share lies; both ends are the value where it is known exactly."""

    @classmethod
    def counted(cls, found: int, of: int, *, undecided: int = 0) -> Share:
        """Give the share of everybody; `undecided` persons may belong to it as well."""
        if not of:
            return cls(0.0, (0.0, 0.0))
        return cls(found / of, (found / of, (found + undecided) / of))

    @classmethod
    def drawn(cls, found: int, of: int, *, undecided: int = 0, confidence: float = CONFIDENCE) -> Share:
        """Estimate the share of everybody from `of` persons drawn at random, with the exact interval.

        The interval is that of Clopper and Pearson, at 95 % unless told. Persons are drawn without putting
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

    def to_json(self) -> dict[str, Any]:
        """Give the ``R`` of the documents that commands print."""
        return {"value": self.value, "interval": list(self.interval)}


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
    >>> rounded_percent(0), rounded_percent(0.004), rounded_percent(0.1587), rounded_percent(0.996)
    ('0%', 'less than 1%', 'about 16%', 'more than 99%')
    """
    if value in (0, 1):
        return f"{100 * value:.0f}%"
    if value < 0.01:
        return "less than 1%"
    return "more than 99%" if value > 0.99 else f"about {100 * value:.0f}%"
