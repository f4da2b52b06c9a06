"""Which candidates no other one beats, which is recommended, and which do better than their neighbours.

A point is a risk and a loss, both of which should be small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.workflow.comparison.tried import Tried

PARAMETERS = ("k", "l")
"""How large the crowds are that a promise speaks of."""
_ALIKE = 1e-12


@dataclass(frozen=True, slots=True)
class Point:
    """What a candidate costs: who may be found, and what is lost."""

    risk: float
    """What the adversary achieves."""
    loss: float
    """What is lost; a measure that should be large, with its sign turned."""
    most: float = math.nan
    """The upper end of the interval of the risk."""
    crowd: float = 0.0
    """The k (or l) that is promised."""


def frontier(points: Mapping[int, Point]) -> tuple[int, ...]:
    """List, from the lowest risk on, the points that no other one beats in one way and equals in the other.

    Of points that are alike, the one with the larger promised crowd counts, then the first.

    Examples
    --------
    >>> frontier({0: Point(0.1, 0.5), 1: Point(0.2, 0.3), 2: Point(0.2, 0.4), 3: Point(0.3, 0.3)})
    (0, 1)
    """
    best = math.inf
    kept = []
    for place in sorted(points, key=lambda each: (*_costs(points[each]), -points[each].crowd, each)):
        if points[place].loss < best - _ALIKE:
            kept.append(place)
            best = points[place].loss
    return tuple(kept)


def recommend(points: Mapping[int, Point], *, max_risk: float | None = None) -> int | None:
    """Pick a point of the frontier; None where there is none.

    With `max_risk`: the least loss among points whose risk is certainly, by the upper end of its interval, at
    most that. Without: the knee, which is the point nearest to the best risk and the best loss of the
    frontier, each counted in shares of the way from its best to its worst there. Of two that are as near, the
    one with the lower risk.

    Examples
    --------
    >>> points = {0: Point(0.1, 0.9, 0.11), 1: Point(0.2, 0.4, 0.21), 2: Point(0.9, 0.3, 0.91)}
    >>> recommend(points), recommend(points, max_risk=0.15), recommend(points, max_risk=0.05)
    (1, 0, None)
    """
    if max_risk is not None:
        points = {place: each for place, each in points.items() if each.most <= max_risk}
        return min(
            points,
            key=lambda each: (points[each].loss, points[each].risk, -points[each].crowd, each),
            default=None,
        )
    kept = frontier(points)
    if not kept:
        return None
    risks = [points[each].risk for each in kept]
    losses = [points[each].loss for each in kept]
    distances = [
        round(math.hypot(_way(risk, risks), _way(loss, losses)), 12)
        for risk, loss in zip(risks, losses, strict=True)
    ]
    return kept[distances.index(min(distances))]


def _costs(point: Point) -> tuple[float, float]:
    """Round what differs by the order of additions only."""
    return round(point.risk, 12), round(point.loss, 12)


def crowd_of(tried: Tried) -> float:
    """Give the k, or l, of a candidate; 0 where it has neither."""
    for parameter in PARAMETERS:
        value = tried.parameters.get(parameter)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return 0.0


def _way(value: float, values: Sequence[float]) -> float:
    """Give the share of the way from the best to the worst."""
    best, worst = min(values), max(values)
    return (value - best) / (worst - best) if worst > best else 0.0


def local_optima(tried: Sequence[Tried], losses: Mapping[int, float]) -> tuple[int, ...]:
    """List the candidates that lose less than both their neighbours, which differ from them in k (or l) only.

    Neighbours are the next smaller and the next larger value that was tried and can be kept; the smallest and
    the largest have only one, and are never listed.
    """
    found = []
    for parameter in PARAMETERS:
        rows: dict[tuple[str, str], list[tuple[float, int]]] = {}
        for place in losses:
            value = tried[place].parameters.get(parameter)
            if isinstance(value, int | float) and not isinstance(value, bool):
                others = {name: each for name, each in tried[place].parameters.items() if name != parameter}
                rows.setdefault((tried[place].method, repr(sorted(others.items()))), []).append(
                    (value, place)
                )
        for row in rows.values():
            places = [place for _, place in sorted(row)]
            for (before, here), (_, after) in pairwise(pairwise(places)):
                if losses[here] < min(losses[before], losses[after]) - _ALIKE:
                    found.append(here)
    return tuple(sorted(found))
