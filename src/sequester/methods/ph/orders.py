"""Orders of a few places by increasing Cayley distance: what PDPG tries, nearest first."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from sequester.methods.ph._kernels import SHORT, Orders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester._typing import Codes

BUDGET = 5040
"""Orders of one size that are tried: all of 7 places, the nearest of more."""
LONGEST = 64
"""Places; a longer pattern is hidden by deletion."""


def orders_of(size: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """List orders of `size` places, one per row, by increasing Cayley distance, and their distances.

    An order takes, at place ``j``, the item of place ``order[j]``; the one without change is left out. A
    permutation of m elements extends one of m - 1 by a cycle of its own, or by a place behind one of the
    earlier elements, which makes it one swap farther; so each order is made once. Where a distance has more
    orders than the budget has left, some are drawn.

    Examples
    --------
    >>> places, distances = orders_of(3, np.random.default_rng(0))
    >>> places.tolist(), distances.tolist()
    ([[0, 2, 1], [1, 0, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]], [1, 1, 1, 2, 2])
    """
    found: list[tuple[int, ...]] = []
    distances: list[int] = []
    for distance in range(1, size):
        left = BUDGET - len(found)
        is_whole = _is_within(size, distance, left)
        if is_whole:
            level = _all_orders(size, distance)
        else:
            level = sorted({_draw_order(size, distance, rng) for _ in range(left)})
        found += level
        distances += [distance] * len(level)
        if not is_whole:
            break
    return np.array(found, np.int32).reshape(len(found), size), np.array(distances, np.int32)


def order_tables(sizes: Sequence[int], rng: np.random.Generator) -> Orders:
    """Put the orders of all sizes up to the largest of `sizes` into one table; others are left empty."""
    largest = max((each for each in sizes if each <= LONGEST), default=1)
    wanted = {*range(2, SHORT + 1), *sizes}
    places, distances = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    n_places, n_orders = [0], [0]
    for size in range(max(largest, SHORT) + 1):
        rows, steps = orders_of(size, rng) if size in wanted and size > 1 else (places[0], distances[0])
        places.append(rows.ravel())
        distances.append(steps)
        n_places.append(rows.size)
        n_orders.append(len(steps))
    starts = np.column_stack([np.cumsum(n_places), np.cumsum(n_orders)])
    return Orders(np.concatenate(places), np.concatenate(distances), starts)


def _is_within(size: int, distance: int, budget: int) -> bool:
    """Return whether no more than `budget` permutations of `size` elements are `distance` swaps away."""
    if size <= SHORT:
        return True
    # Unsigned Stirling numbers of the first kind, by their recurrence.
    row = [1]
    for m in range(1, size + 1):
        row = [0, *row]
        row = [row[k] + (m - 1) * (row[k + 1] if k + 1 < len(row) else 0) for k in range(m + 1)]
    return row[size - distance] <= min(budget, factorial(size))


@cache
def _all_orders(size: int, distance: int) -> list[tuple[int, ...]]:
    """Return every order that is `distance` swaps away, sorted: choose who is inserted, and behind whom."""
    found = []
    for inserted in combinations(range(1, size), distance):
        behind = [0] * distance
        while True:
            found.append(_made(size, inserted, behind))
            at = 0
            while at < distance and behind[at] == inserted[at] - 1:
                behind[at] = 0
                at += 1
            if at == distance:
                break
            behind[at] += 1
    return sorted(found)


def _draw_order(size: int, distance: int, rng: np.random.Generator) -> tuple[int, ...]:
    inserted = sorted(rng.choice(np.arange(1, size), distance, replace=False).tolist())
    return _made(size, inserted, [int(rng.integers(each)) for each in inserted])


def _made(size: int, inserted: Sequence[int], behind: Sequence[int]) -> tuple[int, ...]:
    order = list(range(size))
    for element, other in zip(inserted, behind, strict=True):
        order[element], order[other] = order[other], element
    return tuple(order)
