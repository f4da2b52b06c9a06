"""Results for the internal page beside the release: attacks, reasons, run time and memory."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester.attacks.risk import Risk
    from sequester.engine import Progress
    from sequester.explanation.explanation import Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A part of the work and how long it took."""

    name: str
    """What was done."""
    seconds: float
    """How long that took."""

    def to_json(self) -> dict[str, Any]:
        """Return the part of the document about this phase."""
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
        """Return the part of the document about time and memory."""
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
    """Why a result is missing."""


NO_FINDINGS = Findings()
"""No results."""


_KIBIBYTE = 1024


class Stopwatch:
    """Measures phase after phase: a phase ends where the next one begins.

    Examples
    --------
    >>> ticks = iter([0.0, 1.0, 4.0, 4.5])
    >>> watch = Stopwatch(clock=lambda: next(ticks))
    >>> watch.begin("reading")
    >>> watch.begin("protecting")
    >>> [(each.name, each.seconds) for each in watch.read().phases]
    [('reading', 3.0), ('protecting', 0.5)]
    """

    def __init__(self, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._began = clock()
        self._seconds: dict[str, float] = {}
        self._phase: str | None = None

    def begin(self, phase: str) -> None:
        """Begin a phase; one that has been there before goes on."""
        now = self._clock()
        self._end(now)
        self._phase, self._began = phase, now

    def timed(self, progress: Progress, phase: str) -> Progress:
        """Begin a phase, and return a `progress` that measures each part it reports by itself."""
        self.begin(phase)

        def report(fraction: float, part: str) -> None:
            if part != self._phase:
                self.begin(part)
            progress(fraction, part)

        return report

    def read(self) -> Timings:
        """Return how long each phase has taken so far."""
        now = self._clock()
        self._end(now)
        self._began = now
        return Timings(
            phases=tuple(Phase(name=name, seconds=seconds) for name, seconds in self._seconds.items()),
            peak_bytes=peak_bytes(),
        )

    def _end(self, now: float) -> None:
        if self._phase is not None:
            self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + now - self._began


def peak_bytes() -> int:
    """Return the largest resident memory of this process so far; 0 where the system does not tell.

    Examples
    --------
    >>> peak_bytes() >= 0
    True
    """
    try:
        import resource  # noqa: PLC0415  (not on every system)
    except ImportError:
        return 0
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Bytes on a Mac, kibibytes elsewhere.
    return int(largest if sys.platform == "darwin" else largest * _KIBIBYTE)
