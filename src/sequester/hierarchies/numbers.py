"""Exact numbers from labels and parameters, and back to text as people write them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sequester.hierarchies.labels import as_number, counted, in_label_order, listed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sequester.hierarchies.finding import Finding
    from sequester.hierarchies.outline import Source


def exact(parameter: object) -> Fraction | None:
    """Read a parameter as it was written, 0.1 as one tenth; None where it is no finite number.

    Examples
    --------
    >>> exact(0.1), exact(7), exact(float("nan")), exact("x")
    (Fraction(1, 10), Fraction(7, 1), None, None)
    """
    if isinstance(parameter, bool) or not isinstance(parameter, int | float):
        return None
    number = as_number(str(parameter))
    return None if number is None else Fraction(number)


def as_numbers(values: Iterable[str], source: Source) -> tuple[dict[str, int | Fraction], list[Finding]]:
    """Read values as exact numbers; those that are none make one finding."""
    numbers: dict[str, int | Fraction] = {}
    other: list[str] = []
    for value in values:
        number = as_number(value)
        if number is None:
            other.append(value)
        else:
            numbers[value] = number
    if not other:
        return numbers, []
    text = f"{counted(len(other), 'value is not a number', 'values are not numbers')}: {listed(other)}"
    labels = tuple(in_label_order(other))
    return numbers, [source.say("error", "not-a-number", text, labels=labels, count=len(other))]


def plain(number: int | Fraction) -> str:
    """Write a number that has finitely many decimals without an exponent.

    Examples
    --------
    >>> plain(7), plain(Fraction(-5, 2)), plain(Fraction(1, 1000))
    ('7', '-2.5', '0.001')
    """
    if number.denominator == 1:
        return str(number)
    decimals = 0
    while number.denominator != 1:
        number *= 10
        decimals += 1
    digits = f"{abs(number.numerator):0{decimals + 1}d}"
    text = f"{digits[:-decimals]}.{digits[-decimals:]}"
    return f"-{text}" if number < 0 else text


def two_digits(number: int | Fraction) -> Fraction:
    """Round to two significant digits, halves to the even neighbour.

    Examples
    --------
    >>> [plain(two_digits(Fraction(text))) for text in ("1234", "0.01267", "65", "-999", "0")]
    ['1200', '0.013', '65', '-1000', '0']
    """
    if number == 0:
        return Fraction(0)
    size, step = Fraction(number), Fraction(1)
    while abs(size) / step >= 100:
        step *= 10
    while abs(size) / step < 10:
        step /= 10
    return round(size / step) * step
