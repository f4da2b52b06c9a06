"""How far two distributions of a number lie apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Amounts = npt.NDArray[np.float64]


def transport(left: Amounts, right: Amounts) -> float:
    """Give the least mean distance by which values have to be moved to turn one distribution into the other.

    Also known as the first Wasserstein or the earth mover's distance. Without values on either side there is
    nothing to move.

    Examples
    --------
    >>> transport(np.array([1.0, 3.0]), np.array([3.0, 3.0, 1.0, 5.0]))
    1.0

    References
    ----------
    Vallender (1974): the area between the two distribution functions.
    """
    if not len(left) or not len(right):
        return 0.0
    points = np.unique(np.concatenate([left, right]))
    shares = [np.searchsorted(np.sort(side), points[:-1], side="right") / len(side) for side in (left, right)]
    return float((np.abs(shares[0] - shares[1]) * np.diff(points)).sum())
