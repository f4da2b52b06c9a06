"""The orders in which the items of a pattern can stand."""

from __future__ import annotations

from collections import Counter
from math import factorial, prod

Pattern = tuple[str, ...]
"""Labels, in order."""


def n_orders(pattern: Pattern) -> int:
    """Count the different orders of a pattern's items.

    Examples
    --------
    >>> n_orders(("a", "b", "c")), n_orders(("a", "b", "a"))
    (6, 3)
    """
    return factorial(len(pattern)) // prod(map(factorial, Counter(pattern).values()))


def distinct_orders(pattern: Pattern) -> list[Pattern]:
    """List the different orders of a pattern's items, in label order.

    Examples
    --------
    >>> distinct_orders(("b", "a", "a"))
    [('a', 'a', 'b'), ('a', 'b', 'a'), ('b', 'a', 'a')]
    """
    order = sorted(pattern)
    orders = [tuple(order)]
    while True:
        # The next one in label order: the last place that can grow grows as little as it can.
        place = len(order) - 2
        while place >= 0 and order[place] >= order[place + 1]:
            place -= 1
        if place < 0:
            return orders
        other = next(i for i in range(len(order) - 1, place, -1) if order[i] > order[place])
        order[place], order[other] = order[other], order[place]
        order[place + 1 :] = reversed(order[place + 1 :])
        orders.append(tuple(order))
