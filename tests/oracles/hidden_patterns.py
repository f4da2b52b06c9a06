"""What somebody finds out about hidden patterns, by going through every pattern there could be."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product


def holds(row, pattern):
    """Whether the row has the items in this order, gaps allowed."""
    rest = iter(row)
    return all(item in rest for item in pattern)


def support(rows, pattern):
    """How many rows have the pattern."""
    return sum(holds(row, pattern) for row in rows)


def share(part, whole):
    """A share of a whole; 0 of nothing."""
    return Fraction(len(part), len(whole)) if whole else Fraction(0)


def hidden(original, sensitive, threshold):
    """The sensitive patterns about which something had to be done."""
    return [pattern for pattern in sensitive if support(original, pattern) >= threshold]


def suspects(rows, sensitive, low, high):
    """All patterns of the secrets' lengths with a support from low to high."""
    alphabet = sorted({item for row in rows for item in row})
    lengths = {len(pattern) for pattern in sensitive}
    every = (pattern for length in lengths for pattern in product(alphabet, repeat=length))
    return {pattern for pattern in every if low <= support(rows, pattern) <= high}


def suspicion(original, released, sensitive, threshold, width):
    """Share of suspects that are secret, and of the hidden that are suspected, in release and original."""
    secret, gone = set(sensitive), set(hidden(original, sensitive, threshold))
    low = max(threshold - width, 1)
    found = suspects(released, sensitive, low, threshold - 1)
    before = suspects(original, sensitive, threshold, len(original))
    return {
        "suspects": (share(found & secret, found), share(before & secret, before)),
        "exposed": (share(found & gone, gone), share(before & gone, gone)),
    }


def order_chance(original, released, sensitive, threshold, kind, implausible=(), least=0):
    """Mean chance to pick the hidden order of those left: in release, in original, of all orders."""
    chances = []
    for pattern in hidden(original, sensitive, threshold):
        orders = set(permutations(pattern))
        if len(orders) == 1:
            continue
        left = orders
        if kind in ("plausible_orders", "near_orders"):
            left = {
                order
                for order in left
                if support(original, order) and not any(holds(order, each) for each in implausible)
            }
        low = threshold - max(1, threshold // 10) if kind == "near_orders" else 0
        now = {order for order in left if low <= support(released, order) < threshold}
        if kind == "used_orders":
            now = {order for order in left if support(released, order) >= least}
        then = {order for order in left if support(original, order) >= threshold}
        chances.append(
            (
                Fraction(1, len(now)) if pattern in now else Fraction(0),
                Fraction(1, len(then)) if pattern in then else Fraction(0),
                Fraction(1, len(orders)),
            )
        )
    return [sum(column) / len(chances) for column in zip(*chances, strict=True)] if chances else [0, 0, 0]


def recognized(original, released):
    """Share of released rows with two items in an order that no row of the original has."""

    def pairs(row):
        return {(row[i], row[j]) for i in range(len(row)) for j in range(i + 1, len(row))}

    seen = set().union(*map(pairs, original))
    return share([row for row in released if pairs(row) - seen], released)
