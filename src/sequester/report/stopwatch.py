"""How long the parts of a run take, and how much memory it holds."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from sequester.report.findings import Phase, Timings

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester.engine import Progress

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

    def heard(self, progress: Progress, phase: str) -> Progress:
        """Begin a phase, and hear in `progress` what its parts are called: each is measured by itself."""
        self.begin(phase)

        def report(fraction: float, part: str) -> None:
            if part != self._phase:
                self.begin(part)
            progress(fraction, part)

        return report

    def read(self) -> Timings:
        """Say how long everything has taken so far."""
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
    """Give the largest resident memory of this process so far; 0 where the system does not tell.

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
