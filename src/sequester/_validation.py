"""Checks of parameters: what a value must be, and what it was, in one sentence.

A configuration or a certificate may hold anything, so values are taken as `object` and returned as what they
must be. Numbers of numpy are numbers, too.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, TypeGuard

from sequester.errors import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

Pattern = tuple[str, ...]
"""Labels, in order."""
_FRACTION = re.compile(r"[0-9]{1,9}(/0*[1-9][0-9]{0,8}|\.[0-9]{1,9})?")


def at_least(name: str, value: object, least: int) -> int:
    """Return a whole number of at least `least`.

    Examples
    --------
    >>> at_least("k", 2, 2)
    2
    >>> at_least("k", 1, 2)
    Traceback (most recent call last):
    sequester.errors.ParameterError: k must be at least 2, got 1
    """
    number = whole_number(name, value)
    if number < least:
        msg = f"{name} must be at least {least}, got {number}"
        raise ParameterError(msg)
    return number


def within(name: str, value: object, least: int, most: int) -> int:
    """Return a whole number from `least` to `most`.

    Examples
    --------
    >>> within("window", 1001, 1, 1000)
    Traceback (most recent call last):
    sequester.errors.ParameterError: window must be from 1 to 1000, got 1001
    """
    number = whole_number(name, value)
    if not least <= number <= most:
        msg = f"{name} must be from {least} to {most}, got {number}"
        raise ParameterError(msg)
    return number


def in_range(name: str, value: float, least: float, most: float | None = None) -> None:
    """Refuse a number below `least` or above `most`.

    Examples
    --------
    >>> in_range("errands", 1.5, 0, 1)
    Traceback (most recent call last):
    sequester.errors.ParameterError: errands must be between 0 and 1, got 1.5
    """
    if not value >= least or (most is not None and value > most):
        rule = f"at least {least:,}" if most is None else f"between {least:,} and {most:,}"
        msg = f"{name} must be {rule}, got {value:,}"
        raise ParameterError(msg)


def whole_number(name: str, value: object) -> int:
    """Return a whole number."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        msg = f"{name} must be a whole number, got {value!r}"
        raise ParameterError(msg)
    return operator.index(value)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite number.

    Examples
    --------
    >>> is_number(0.5), is_number(True), is_number(float("nan")), is_number("1")
    (True, False, False, False)
    """
    try:
        return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def positive(name: str, value: object) -> float:
    """Return a finite number above 0.

    Examples
    --------
    >>> positive("beta", 0)
    Traceback (most recent call last):
    sequester.errors.ParameterError: beta must be a number above 0, got 0
    """
    if not is_number(value) or value <= 0:
        msg = f"{name} must be a number above 0, got {value!r}"
        raise ParameterError(msg)
    return float(value)


def one_of(name: str, value: object, known: Iterable[str]) -> None:
    """Refuse a word that is none of those a parameter may be.

    Examples
    --------
    >>> one_of("then", "drop", ("anatomy", "generalize", "none"))
    Traceback (most recent call last):
    sequester.errors.ParameterError: then must be "anatomy", "generalize" or "none", got 'drop'
    """
    known = tuple(known)
    if not isinstance(value, str) or value not in known:
        *first, last = (f'"{each}"' for each in known)
        words = f"{', '.join(first)} or {last}" if first else last
        msg = f"{name} must be {words}, got {value!r}"
        raise ParameterError(msg)


def true_or_false(name: str, value: object) -> None:
    """Refuse what is not a truth value.

    Examples
    --------
    >>> true_or_false("strict", 1)
    Traceback (most recent call last):
    sequester.errors.ParameterError: strict must be true or false, got 1
    """
    if not isinstance(value, bool):
        msg = f"{name} must be true or false, got {value!r}"
        raise ParameterError(msg)


def exact_fraction(name: str, value: object) -> Fraction:
    """Return a share exactly: of a finite number, or of a fraction in text.

    Examples
    --------
    >>> exact_fraction("c", "1/3"), exact_fraction("c", 0.5)
    (Fraction(1, 3), Fraction(1, 2))
    """
    if isinstance(value, str) and _FRACTION.fullmatch(value):
        return Fraction(value)
    if isinstance(value, Fraction):
        return value
    if is_number(value):
        return Fraction(float(value))
    msg = f'{name} must be a number or a fraction such as "1/3", got {value!r}'
    raise ParameterError(msg)


def share(name: str, value: object) -> float | str:
    """Return a share above 0 and at most 1 as a certificate has it: a number, or a fraction in text.

    Examples
    --------
    >>> share("c", Fraction(1, 3)), share("c", 1)
    ('1/3', 1)
    >>> share("c", 2)
    Traceback (most recent call last):
    sequester.errors.ParameterError: c must be above 0 and at most 1, got 2
    """
    exact = exact_fraction(name, value)
    if not 0 < exact <= 1:
        msg = f"{name} must be above 0 and at most 1, got {value!r}"
        raise ParameterError(msg)
    if isinstance(value, Fraction):
        return str(value)
    return value if isinstance(value, int | float | str) else float(exact)


def lists_of_text(name: str, given: object) -> dict[str, tuple[str, ...]]:
    """Return a table of lists of text.

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


def as_pattern(name: str, given: object) -> Pattern:
    """Return a list of labels as a pattern; what is no such list, or is empty, is refused by `name`.

    Examples
    --------
    >>> as_pattern("patterns[0]", ["a", "b"])
    ('a', 'b')
    >>> as_pattern("patterns[0]", "ab")
    Traceback (most recent call last):
    sequester.errors.ParameterError: patterns[0] must be a list of texts, got 'ab'
    """
    if not isinstance(given, list | tuple) or not all(isinstance(label, str) for label in given):
        msg = f"{name} must be a list of texts, got {given!r}"
        raise ParameterError(msg)
    if not given:
        msg = f"{name} must have at least one item, got an empty list"
        raise ParameterError(msg)
    return tuple(given)


def as_patterns(name: str, given: object) -> tuple[Pattern, ...]:
    """Return a list of patterns, each once, in the order given.

    Examples
    --------
    >>> as_patterns("patterns", [["a", "b"], ["b"], ["a", "b"]])
    (('a', 'b'), ('b',))
    """
    if not isinstance(given, list | tuple | set | frozenset):
        msg = f"{name} must be a list of lists of texts, got {given!r}"
        raise ParameterError(msg)
    patterns = sorted(given, key=repr) if isinstance(given, set | frozenset) else given
    return tuple(dict.fromkeys(as_pattern(f"{name}[{n}]", each) for n, each in enumerate(patterns)))


def check_address_space(least: int, purpose: str) -> None:
    """Refuse a limit on the addresses of this process (``ulimit -v``) into which `purpose` does not fit.

    Libraries end a process that meets the limit, and no line says why.
    """
    try:
        import resource  # noqa: PLC0415  (only where there is one)
    except ImportError:
        return
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY and most < least:
        msg = (
            f"ulimit -v allows {most / 1e9:.1f} GB of addresses, and {purpose} reserves {least / 1e9:.0f} GB "
            "of them, most of which it never uses: lift this limit"
        )
        raise InputError(msg)
