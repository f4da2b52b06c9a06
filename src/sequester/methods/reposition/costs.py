"""What it costs to publish a record later than it came, or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester._validation import is_number, positive
from sequester.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

NAMED = ("linear", "quadratic")
"""Cost functions that have a name."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of every distance within a window, and of suppression.

    Examples
    --------
    >>> costs = Costs.of("quadratic", window=3, suppression={"HIV": 9})
    >>> costs.mu, costs.betas(["flu", "HIV"])
    ((0.0, 1.0, 4.0), [5.0, 9.0])
    >>> Costs.of([0, 2, 3, 5], window=3)
    Traceback (most recent call last):
    sequester.errors.ParameterError: cost must not rise less than before, it does at distance 2: 2 to 3
    """

    mu: tuple[float, ...]
    """Distance to cost, for every distance within the window."""
    beta: float
    """The cost of suppressing a record of a value that has none of its own."""
    beta_of: Mapping[str, float]
    """The cost of suppressing a record, per value."""

    @classmethod
    def of(
        cls,
        cost: str | Sequence[float],
        *,
        window: int,
        suppression: float | Mapping[str, float] | None = None,
    ) -> Costs:
        """Read the parameters; a cost that breaks C1, C2 or C3 is refused by its distance."""
        mu = _distances(cost, window)
        usual = mu[window - 1] + 1
        if suppression is None:
            return cls(mu, usual, {})
        if isinstance(suppression, Mapping):
            own = {
                str(value): positive(f"suppression_cost.{value}", each) for value, each in suppression.items()
            }
            return cls(mu, usual, own)
        return cls(mu, positive("suppression_cost", suppression), {})

    def betas(self, values: Iterable[str]) -> list[float]:
        """List the suppression costs of values."""
        return [self.beta_of.get(value, self.beta) for value in values]


def _distances(cost: object, window: int) -> tuple[float, ...]:
    if isinstance(cost, str):
        if cost not in NAMED:
            msg = f'cost must be "linear", "quadratic" or a list of numbers, got {cost!r}'
            raise ParameterError(msg)
        power = 1 + NAMED.index(cost)
        return tuple(float(distance**power) for distance in range(window))
    if not isinstance(cost, Sequence) or not all(is_number(each) for each in cost):
        msg = f'cost must be "linear", "quadratic" or a list of numbers, got {cost!r}'
        raise ParameterError(msg)
    if len(cost) < window:
        msg = f"cost must have a number for each distance from 0 to {window - 1}, got {len(cost)} numbers"
        raise ParameterError(msg)
    if cost[0] != 0:
        msg = f"cost must be 0 at distance 0, got {cost[0]:g}"
        raise ParameterError(msg)
    for distance in range(1, len(cost)):
        step = cost[distance] - cost[distance - 1]
        where = f"at distance {distance}: {cost[distance - 1]:g} to {cost[distance]:g}"
        if step <= 0:
            msg = f"cost must rise with every distance, it does not {where}"
            raise ParameterError(msg)
        before = cost[distance - 1] - cost[distance - 2] if distance > 1 else step
        # Costs in decimals: what differs by rounding only is the same.
        if step < before * (1 - 1e-12):
            msg = f"cost must not rise less than before, it does {where}"
            raise ParameterError(msg)
    return tuple(float(each) for each in cost[:window])
