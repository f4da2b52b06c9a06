"""Report how far a run has come, and keep its steps for a run that was interrupted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[np.int32] | npt.NDArray[np.int64]]


Progress = Callable[[float, str], None]
"""Called with the finished share of the work, 0 to 1, and the phase that runs now."""


def silent(fraction: float, phase: str) -> None:
    """Report nothing."""


def part(progress: Progress, start: float, stop: float) -> Progress:
    """Return a progress of 0 to 1 for one phase of a longer run.

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


class Checkpoint(Protocol):
    """Keeps named arrays. A run that finds a step kept must come to the same end as one that does it."""

    def load(self, name: str) -> Arrays | None:
        """Return the arrays of a step; None where it was not kept."""
        ...

    def save(self, name: str, arrays: Arrays) -> None:
        """Keep the arrays of a step, instead of what was kept under its name."""
        ...


class NoCheckpoint:
    """Keeps nothing.

    Examples
    --------
    >>> NoCheckpoint().load("merges") is None
    True
    """

    def load(self, name: str) -> None:
        """Return None: nothing was kept."""

    def save(self, name: str, arrays: Arrays) -> None:
        """Keep nothing."""
