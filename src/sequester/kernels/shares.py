"""When a share is above a bound: one definition for kernels and for everything else.

This module does not load numba; kernels that compare shares compile `exceeds_share` for themselves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from sequester._typing import Counts, Mask

TOLERANCE = 1e-9
"""A share is above a bound when it is so by more than this, which no rounding reaches."""


@overload
def exceeds_share(count: float, c: float, total: float) -> bool: ...
@overload
def exceeds_share(
    count: Counts | npt.NDArray[np.float64], c: float, total: Counts | npt.NDArray[np.float64] | float
) -> Mask: ...
def exceeds_share(
    count: float | Counts | npt.NDArray[np.float64],
    c: float,
    total: float | Counts | npt.NDArray[np.float64],
) -> bool | Mask:
    """Return whether `count` persons of `total` are more than the share `c`; element by element for arrays.

    Examples
    --------
    >>> exceeds_share(2, 0.5, 4), exceeds_share(3, 0.5, 4), exceeds_share(1, 1 / 3, 3)
    (False, True, False)
    """
    return count > c * total + TOLERANCE * total


def least_removed(count: float, c: float, total: float) -> int:
    """Return how many of `count` persons must leave so that no more than the share `c` have what they had.

    Requires ``c < 1``: ``count - d <= c * (total - d)``, solved for ``d``.

    Examples
    --------
    >>> least_removed(3, 0.5, 4), least_removed(2, 0.5, 4), least_removed(3, 1 / 3, 6)
    (2, 0, 2)
    """
    return math.ceil((count - c * total) / (1 - c) - 1e-6)
