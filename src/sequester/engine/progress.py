"""How far a run has come: a callback with a fraction and the name of the phase."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Called with the finished share of the work, 0 to 1, and the phase that runs now."""


def silent(fraction: float, phase: str) -> None:
    """Report nothing."""


def part(progress: Progress, start: float, stop: float) -> Progress:
    """Give a phase its own 0 to 1 inside a longer run.

    Examples
    --------
    >>> seen = []
    >>> inner = part(lambda fraction, phase: seen.append((fraction, phase)), 0.5, 1.0)
    >>> inner(0.5, "writing")
    >>> seen
    [(0.75, 'writing')]
    """

    def report(fraction: float, phase: str) -> None:
        progress(start + (stop - start) * fraction, phase)

    return report
