"""What a promise could ask less of: values of one parameter, or of one column, from near to far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sequester.data.table import EventTable
    from sequester.methods.method import Method

HUNDRED = 100
FEW = 6
"""A ladder with no more steps is tried step by step; a longer one by halving."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ladder:
    """Values that ask for less and less, the nearest first, and how a method runs with one of them."""

    parameter: str
    """What is relaxed, in words that follow those of the configuration."""
    asked: object
    """Its value now."""
    steps: Sequence[object]
    """What may be asked instead, from near to far."""
    at: Callable[[Any, EventTable, Any], tuple[Method, EventTable]]
    """Method, table and step to the method and the table that are tried."""
    words: Callable[[Any], str] = str
    """How a step, and what is asked now, is written."""
    equals: str = " = "
    """What stands between the parameter and its value."""

    @classmethod
    def of(cls, method: Method, parameter: str, steps: Sequence[object]) -> Ladder:
        """Relax a parameter of a method.

        Examples
        --------
        >>> from sequester.methods import BFP2kA
        >>> ladder = Ladder.of(BFP2kA(k=4), "k", downwards(4, 2))
        >>> ladder.asked, list(ladder.steps)
        (4, [3, 2])
        """
        return cls(
            parameter=parameter,
            asked=getattr(method, parameter),
            steps=steps,
            at=lambda method, table, step: (replace(method, **{parameter: step}), table),
            words=in_words,
        )


def downwards(asked: int, least: int) -> range:
    """Give the whole numbers below what is asked, the nearest first."""
    return range(asked - 1, least - 1, -1)


def upwards(asked: float | str | Fraction) -> list[float]:
    """Give the hundredths above a share, up to 1, the nearest first.

    Examples
    --------
    >>> upwards("49/50"), upwards(0.985), upwards(1)
    ([0.99, 1.0], [0.99, 1.0], [])
    """
    first = int(Fraction(str(asked)) * HUNDRED) + 1
    return [hundredth / HUNDRED for hundredth in range(first, HUNDRED + 1)]


def in_words(value: object) -> str:
    """Write the value of a parameter as a configuration does.

    Examples
    --------
    >>> in_words(True), in_words(0.5), in_words(12), in_words(None)
    ('true', '0.5', '12', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def first_step(ladder: Ladder, holds: Callable[[int], bool]) -> int | None:
    """Find the first step at which something holds; on a long ladder by halving.

    By halving, the step before the one that is found was tried, too, and it did not hold there.

    Examples
    --------
    >>> from sequester.methods import BFP2kA
    >>> ladder = Ladder.of(BFP2kA(k=90), "k", downwards(90, 2))
    >>> ladder.steps[first_step(ladder, lambda place: ladder.steps[place] <= 31)]
    31
    """
    last = len(ladder.steps) - 1
    if last < FEW:
        return next((place for place in range(last + 1) if holds(place)), None)
    if holds(0):
        return 0
    if not holds(last):
        return None
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
