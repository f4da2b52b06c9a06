"""What was found out about a release beside what it is: attacks, reasons, and how long it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sequester.attacks.risk import Risk
    from sequester.explanation.explanation import Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A part of the work and how long it took."""

    name: str
    """What was done."""
    seconds: float
    """How long that took."""

    def to_json(self) -> dict[str, Any]:
        """Give the part of the document about this phase."""
        return {"name": self.name, "seconds": round(self.seconds, 3)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """How long each part of the work took, and the most memory that was held at once.

    Examples
    --------
    >>> phases = (Phase(name="reading", seconds=0.5), Phase(name="protecting", seconds=2.0))
    >>> Timings(phases=phases, peak_bytes=300_000_000).seconds
    2.5
    >>> short = Phase(name="checked", seconds=0.001)
    >>> [each.name for each in Timings(phases=(*phases, short), peak_bytes=0).longest]
    ['reading', 'protecting', 'everything else']
    """

    phases: tuple[Phase, ...]
    """In the order they came."""
    peak_bytes: int
    """Largest resident memory of the process so far."""

    @property
    def seconds(self) -> float:
        """All phases together."""
        return sum(each.seconds for each in self.phases)

    @property
    def longest(self) -> tuple[Phase, ...]:
        """The phases that take at least a hundredth of the time, and the rest together."""
        least = self.seconds / 100
        shown = [each for each in self.phases if each.seconds >= least]
        rest = self.seconds - sum(each.seconds for each in shown)
        return (
            (*shown, Phase(name="everything else", seconds=rest))
            if len(shown) < len(self.phases)
            else (*shown,)
        )

    def to_json(self) -> dict[str, Any]:
        """Give the part of the document about time and memory."""
        return {
            "phases": [each.to_json() for each in self.phases],
            "seconds": round(self.seconds, 3),
            "peak_bytes": self.peak_bytes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What the internal page says beside what is in the release itself; what is missing is left out."""

    risks: tuple[Risk, ...] = ()
    """What simulated adversaries achieved."""
    explanation: Explanation | None = None
    """What was changed and why, and what would have kept more."""
    timings: Timings | None = None
    """How long it took."""
    notes: tuple[str, ...] = ()
    """Why something was not found out."""


NOTHING = Findings()
"""Nobody has looked."""
