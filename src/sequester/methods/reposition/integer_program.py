"""The least loss of a whole window, by an integer program over counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]
from scipy.sparse import coo_array  # type: ignore[import-untyped]

from sequester.errors import InternalError

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from sequester._typing import Counts

_PATIENCE = 600.0
"""Seconds after which the best arrangement that was found is taken."""


def best_arrangement(
    present: Counts,
    *,
    level: Fraction,
    mu: npt.NDArray[np.float64],
    betas: npt.NDArray[np.float64],
    fixed: Counts | None = None,
    most_nodes: int | None = None,
) -> Counts | None:
    """Return how many records of each home, slot and value are published for the least loss.

    ``present[home, value]`` counts the records that came, ``fixed[slot, value]`` others that are in a slot in
    any case. Records move to later slots only, and every slot is eligible. Among arrangements of the same
    loss one is taken that keeps timestamps in order. ``betas`` are per value, or per home and value. With
    ``most_nodes`` the search ends after so many, and returns None where it is not done; without it, after
    some minutes, with the best that was found.

    Examples
    --------
    >>> from fractions import Fraction
    >>> present = np.array([[1, 0, 1], [1, 1, 1], [1, 0, 0]])
    >>> best = best_arrangement(present, level=Fraction(2), mu=np.arange(3.0), betas=np.full(3, 3.0))
    >>> best.sum(axis=0).tolist()
    [[1, 0, 1], [1, 0, 1], [1, 1, 0]]
    """
    n_homes, n_values = present.shape
    pairs = [(home, slot) for home in range(n_homes) for slot in range(home, n_homes)]
    n_moves = len(pairs) * n_values
    # Moves first, then the size of every slot.
    saved = np.broadcast_to(betas, present.shape)
    moves_cost = [mu[slot - home] - saved[home] for home, slot in pairs]
    cost = np.concatenate([*moves_cost, np.zeros(n_homes)])
    rows, columns, factors = [], [], []
    for number, (home, slot) in enumerate(pairs):
        for value in range(n_values):
            move = number * n_values + value
            # Not more than came; the share of the slot; the size of the slot.
            rows += [
                home * n_values + value,
                (n_homes + slot) * n_values + value,
                2 * n_homes * n_values + slot,
            ]
            columns += [move, move, move]
            factors += [1, level.numerator, 1]
    for slot in range(n_homes):
        for value in range(n_values):
            rows.append((n_homes + slot) * n_values + value)
            columns.append(n_moves + slot)
            factors.append(-level.denominator)
        rows.append(2 * n_homes * n_values + slot)
        columns.append(n_moves + slot)
        factors.append(-1)
    n_rows = 2 * n_homes * n_values + n_homes
    matrix = coo_array((factors, (rows, columns)), shape=(n_rows, n_moves + n_homes)).tocsr()
    there = np.zeros_like(present) if fixed is None else fixed
    sizes = -there.sum(axis=1)
    most = np.concatenate([present.ravel(), -level.numerator * there.ravel(), sizes])
    least = np.concatenate([np.full(2 * n_homes * n_values, -np.inf), sizes])
    limit = {"time_limit": _PATIENCE} if most_nodes is None else {"node_limit": most_nodes}
    found = milp(
        cost,
        constraints=LinearConstraint(matrix, least, most),
        integrality=np.ones(n_moves + n_homes),
        bounds=Bounds(0, np.inf),
        options={"mip_rel_gap": 0.0, **limit},
    )
    if most_nodes is not None and found.status != 0:
        return None
    if found.x is None:
        # To publish nothing is always possible.
        msg = f"the integer program of the first window found nothing: {found.message}"
        raise InternalError(msg)
    moves = np.round(found.x[:n_moves]).astype(np.int64)
    arranged = np.zeros((n_homes, n_homes, n_values), np.int64)
    for number, (home, slot) in enumerate(pairs):
        arranged[home, slot] = moves[number * n_values : (number + 1) * n_values]
    return _in_order(arranged)


def _in_order(arranged: Counts) -> Counts:
    """Let earlier records go to earlier slots (Theorem 1), which costs no more and is forward still."""
    n_homes, _, n_values = arranged.shape
    ordered = np.zeros_like(arranged)
    for value in range(n_values):
        leaving, room = arranged[:, :, value].sum(axis=1), arranged[:, :, value].sum(axis=0)
        home = slot = 0
        while home < n_homes and slot < n_homes:
            count = min(leaving[home], room[slot])
            ordered[home, slot, value] += count
            leaving[home] -= count
            room[slot] -= count
            home, slot = home + (not leaving[home]), slot + (not room[slot])
    return ordered
