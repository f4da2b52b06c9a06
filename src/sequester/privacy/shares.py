"""How models read the parameters that they share: whole numbers, shares, and lists of protected values."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Real

from sequester.errors import ParameterError

_FRACTION = re.compile(r"[0-9]{1,9}(/0*[1-9][0-9]{0,8}|\.[0-9]{1,9})?")


def whole_number(name: str, value: object, *, least: int) -> int:
    """Read a whole number of at least `least`; those of numpy are whole numbers, too.

    Examples
    --------
    >>> whole_number("k", 2, least=2)
    2
    >>> whole_number("k", 1, least=2)
    Traceback (most recent call last):
    sequester.errors.ParameterError: k must be at least 2, got 1
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        msg = f"{name} must be a whole number, got {value!r}"
        raise ParameterError(msg)
    number = operator.index(value)
    if number < least:
        msg = f"{name} must be at least {least}, got {number}"
        raise ParameterError(msg)
    return number


def share_of(c: object) -> Fraction:
    """Read a share exactly: a finite number, or a fraction in text.

    Examples
    --------
    >>> share_of("1/3"), share_of(0.5)
    (Fraction(1, 3), Fraction(1, 2))
    """
    if isinstance(c, str) and _FRACTION.fullmatch(c):
        return Fraction(c)
    if not isinstance(c, bool) and isinstance(c, Real) and math.isfinite(c):
        return c if isinstance(c, Fraction) else Fraction(float(c))
    msg = f'c must be a number or a fraction such as "1/3", got {c!r}'
    raise ParameterError(msg)


def plain_share(c: object) -> float | str:
    """Write a share above 0 and at most 1 as a certificate has it; refuse any other.

    Examples
    --------
    >>> plain_share(Fraction(1, 3)), plain_share(1)
    ('1/3', 1)
    """
    share = share_of(c)
    if not 0 < share <= 1:
        msg = f"c must be above 0 and at most 1, got {c!r}"
        raise ParameterError(msg)
    if isinstance(c, Fraction):
        return str(c)
    return c if isinstance(c, int | float | str) else float(share)


def in_percent(c: float | str) -> str:
    """Write a share for people, with all its digits: a rounded one could promise more than is checked.

    Examples
    --------
    >>> in_percent(0.5), in_percent(0.3333334), in_percent("1/3")
    ('50 %', '33.33334 %', '1/3')
    """
    if isinstance(c, str):
        return c
    percent = (100 * Decimal(repr(float(c)))).normalize()
    return f"{percent:f} %"


def lists_of_text(name: str, given: object) -> dict[str, tuple[str, ...]]:
    """Read a table of lists of text.

    Examples
    --------
    >>> lists_of_text("protect", {"ill": ["HIV"]})
    {'ill': ('HIV',)}
    """
    if isinstance(given, Mapping) and all(
        isinstance(key, str)
        and not isinstance(values, str)
        and isinstance(values, list | tuple | set | frozenset)
        and all(isinstance(value, str) for value in values)
        for key, values in given.items()
    ):
        return {key: tuple(values) for key, values in given.items()}
    msg = f"{name} must lead from attributes to lists of text, got {given!r}"
    raise ParameterError(msg)
