"""Progress of a run of which nobody knows how many steps it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.engine import part

if TYPE_CHECKING:
    from sequester.engine import Progress


class Steps:
    """Each step takes a tenth of what is left of the bar.

    Examples
    --------
    >>> seen = []
    >>> steps = Steps(lambda fraction, phase: seen.append(round(fraction, 3)))
    >>> for _ in range(3):
    ...     steps.next()(1.0, "counting")
    >>> seen
    [0.1, 0.19, 0.271]
    """

    def __init__(self, progress: Progress) -> None:
        """Start at nothing."""
        self._progress = progress
        self._done = 0.0

    def next(self) -> Progress:
        """Give the next step its part of the bar."""
        start = self._done
        self._done += 0.1 * (1 - start)
        return part(self._progress, start, self._done)
