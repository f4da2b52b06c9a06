"""The least loss of a whole window, by an integer program over counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]
from scipy.sparse import coo_array  # type: ignore[import-untyped]

from sequester.errors import InternalError

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from sequester._typing import Counts, Mask

_PATIENCE = 600.0
"""Seconds after which the best arrangement that was found is taken."""


@dataclass(frozen=True, slots=True)
class Named:
    """Records that are planned one by one, because their persons have several in the window."""

    homes: Counts
    """The home of each record."""
    values: Counts
    """The value of each record."""
    persons: Counts
    """The number of its person, from 0."""
    taken: Mask
    """Person and slot to whether a record of theirs is there in any case."""


def best_arrangement(
    present: Counts,
    *,
    level: Fraction,
    mu: npt.NDArray[np.float64],
    betas: npt.NDArray[np.float64],
    fixed: Counts | None = None,
    named: Named | None = None,
    most_nodes: int | None = None,
) -> Counts | None:
    """Return how many records of each home, slot and value are published for the least loss.

    ``present[home, value]`` counts the records that came, ``fixed[slot, value]`` others that are in a slot in
    any case. Records move to later slots only, and every slot is eligible. Among arrangements of the same
    loss one is taken that keeps timestamps in order. ``betas`` are per value, or per home and value. `named`
    records are not counted in ``present``; of each of their persons at most one is in a slot, and behind the
    homes, the answer has each of them. With ``most_nodes`` the search ends after so many, and returns None
    where it is not done; without it, after some minutes, with the best that was found.

    Examples
    --------
    >>> from fractions import Fraction
    >>> present = np.array([[1, 0, 1], [1, 1, 1], [1, 0, 0]])
    >>> best = best_arrangement(present, level=Fraction(2), mu=np.arange(3.0), betas=np.full(3, 3.0))
    >>> best.sum(axis=0).tolist()
    [[1, 0, 1], [1, 0, 1], [1, 1, 0]]
    """
    n_homes, n_values = present.shape
    moves = list_moves(n_homes, n_values, len(mu), named)
    limit = {"time_limit": _PATIENCE} if most_nodes is None else {"node_limit": most_nodes}
    saved = np.broadcast_to(betas, present.shape)
    cost = mu[moves.slots - moves.homes] - saved[moves.homes, moves.values]
    found = solve(present, moves, cost, level=level, fixed=fixed, named=named, mip_rel_gap=0.0, **limit)
    if most_nodes is not None and found.status != 0:
        return None
    if found.x is None:
        # To publish nothing is always possible.
        msg = f"the integer program of the first window found nothing: {found.message}"
        raise InternalError(msg)
    n_records = len(named.homes) if named else 0
    arranged = np.zeros((n_homes + n_records, n_homes, n_values), np.int64)
    group = np.where(moves.records >= 0, n_homes + moves.records, moves.homes)
    arranged[group, moves.slots, moves.values] = np.round(found.x[: len(cost)]).astype(np.int64)
    arranged[:n_homes] = _in_order(arranged[:n_homes])
    return arranged


def solve(
    present: Counts,
    moves: Moves,
    cost: npt.NDArray[np.float64],
    *,
    level: Fraction,
    fixed: Counts | None = None,
    named: Named | None = None,
    **options: float,
) -> Any:
    """Return what scipy finds: how many records make each of the moves, then the size of every slot."""
    n_homes, n_values = present.shape
    n_moves, n_cells = len(cost), n_homes * n_values
    every, slots = np.arange(n_moves), np.arange(n_homes)
    n_persons = len(named.taken) if named else 0
    is_named = moves.records >= 0
    persons = named.persons[moves.records[is_named]] if named else moves.records[:0]
    # Not more than came, or the record once; the share of the slot; its size; each person once in a slot.
    source = np.where(is_named, 2 * n_cells + n_homes + moves.records, moves.homes * n_values + moves.values)
    n_records = len(named.homes) if named else 0
    once = 2 * n_cells + n_homes + n_records + persons * n_homes + moves.slots[is_named]
    entries = (
        (source, every, 1),
        (n_cells + moves.slots * n_values + moves.values, every, level.numerator),
        (n_cells + np.arange(n_cells), np.repeat(n_moves + slots, n_values), -level.denominator),
        (2 * n_cells + moves.slots, every, 1),
        (2 * n_cells + slots, n_moves + slots, -1),
        (once, every[is_named], 1),
    )
    rows, columns = (np.concatenate([each[axis] for each in entries]) for axis in (0, 1))
    factors = np.concatenate([np.full(len(each[0]), each[2]) for each in entries])
    there = np.zeros_like(present) if fixed is None else fixed
    sizes = -there.sum(axis=1)
    ones = np.ones(n_records + n_persons * n_homes)
    most = np.concatenate([present.ravel(), -level.numerator * there.ravel(), sizes, ones])
    least = np.full(len(most), -np.inf)
    least[2 * n_cells : 2 * n_cells + n_homes] = sizes
    matrix = coo_array((factors, (rows, columns)), shape=(len(most), n_moves + n_homes)).tocsr()
    return milp(
        np.concatenate([cost, np.zeros(n_homes)]),
        constraints=LinearConstraint(matrix, least, most),
        integrality=np.ones(n_moves + n_homes),
        bounds=Bounds(0, np.inf),
        options=options,
    )


class Moves(NamedTuple):
    """The variables of the program: records that come with a home, and are published in a slot."""

    homes: Counts
    slots: Counts
    values: Counts
    records: Counts
    """The number of a named record; -1 for others, which are counted."""


def list_moves(n_homes: int, n_values: int, size: int, named: Named | None = None) -> Moves:
    """Return the moves to the same and later slots, within a window of some size."""
    pairs = np.array(
        [(home, slot) for home in range(n_homes) for slot in range(home, min(home + size, n_homes))], np.int64
    )
    homes, slots = np.repeat(pairs.reshape(-1, 2), n_values, axis=0).T
    values = np.tile(np.arange(n_values), len(pairs))
    moves = Moves(homes, slots, values, np.full(len(homes), -1, np.int64))
    if named is None:
        return moves
    may = ~named.taken[named.persons] & (np.arange(n_homes) >= named.homes[:, np.newaxis])
    records, places = np.nonzero(may)
    own = Moves(named.homes[records], places, named.values[records], records)
    return Moves(*(np.concatenate(each) for each in zip(moves, own, strict=True)))


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
