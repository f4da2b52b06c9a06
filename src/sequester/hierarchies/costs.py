"""What it costs to publish a node instead of a leaf below it, per node, as flat arrays for kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask


def information_loss(leaves: Counts, is_exact: Mask) -> npt.NDArray[np.float64]:
    """The share of the domain that a node stands for: 1 for the root, 0 for a leaf.

    Examples
    --------
    >>> information_loss(np.array([4, 3, 1]), np.array([False, False, True])).tolist()
    [1.0, 0.75, 0.0]
    """
    return np.where(is_exact, 0.0, leaves / leaves[0])


def linear(depth: Codes, is_exact: Mask) -> npt.NDArray[np.float64]:
    """``(D - d) / D`` at depth ``d`` of a tree of height ``D``: 1 for the root, 0 for a leaf."""
    height = max(int(depth.max()), 1)  # a tree of nothing but its root costs what a root costs
    return np.where(is_exact, 0.0, 1 - depth / height)


def exponential(depth: Codes, is_exact: Mask) -> npt.NDArray[np.float64]:
    """``2^-d`` at depth ``d``: 1 for the root, 0 for a leaf."""
    return np.where(is_exact, 0.0, np.exp2(-depth.astype(np.float64)))


def cost_table(kind: str, *, leaves: Counts, depth: Codes, is_exact: Mask) -> npt.NDArray[np.float64]:
    """Give the costs by their name in a configuration; what is exact, a leaf, costs nothing at any depth.

    References
    ----------
    Bonomi (2016), utility loss UL; c(a, a) = 0.
    """
    if kind == "information-loss":
        return information_loss(leaves, is_exact)
    if kind == "linear":
        return linear(depth, is_exact)
    if kind == "exponential":
        return exponential(depth, is_exact)
    msg = f"cost must be information-loss, linear or exponential, got {kind!r}"
    raise ParameterError(msg)
