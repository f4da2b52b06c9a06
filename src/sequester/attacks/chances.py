"""Chances of all targets together, where nothing was drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.attacks.share import Share

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def exact_of(values: npt.NDArray[np.float64]) -> Share:
    """Give the mean of numbers that are known for everybody; 0 where there is nobody.

    Examples
    --------
    >>> import numpy as np
    >>> exact_of(np.array([0.5, 1.0])), exact_of(np.array([]))
    (Share(value=0.75, interval=(0.75, 0.75)), Share(value=0.0, interval=(0.0, 0.0)))
    """
    mean = float(values.mean()) if values.size else 0.0
    return Share(mean, (mean, mean))


def exactly(value: float) -> Share:
    """Give a number that is known and not drawn.

    Examples
    --------
    >>> exactly(0.25)
    Share(value=0.25, interval=(0.25, 0.25))
    """
    return Share(value, (value, value))
