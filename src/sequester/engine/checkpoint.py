"""Steps of a long run, kept so that an interrupted run need not do them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[np.int32] | npt.NDArray[np.int64]]


class Checkpoint(Protocol):
    """Keeps named arrays. A run that finds a step kept must come to the same end as one that does it."""

    def load(self, name: str) -> Arrays | None:
        """Give the arrays of a step; None where it was not kept."""
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
        """Give nothing."""

    def save(self, name: str, arrays: Arrays) -> None:
        """Keep nothing."""
