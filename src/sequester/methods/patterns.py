"""What methods about patterns share: how patterns are given, and what is said of those that do not occur."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.errors import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

Pattern = tuple[str, ...]
"""Labels, in order."""

_SHOWN = 10


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


def absent_warnings(name: str, patterns: Iterable[Pattern], counts: Iterable[int]) -> tuple[str, ...]:
    """Return a warning for each pattern that does not occur; that none of them occurs is an error.

    Examples
    --------
    >>> absent_warnings("patterns", [("a", "b"), ("b", "c")], [3, 0])
    ('patterns: b → c does not occur in the data',)
    >>> absent_warnings("patterns", [("b", "c")], [0])
    Traceback (most recent call last):
    sequester.errors.InputError: patterns: none of them occurs in the data: b → c
    """
    counted = list(zip(patterns, counts, strict=True))
    absent = [" → ".join(pattern) for pattern, count in counted if not count]
    if counted and len(absent) == len(counted):
        more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
        msg = f"{name}: none of them occurs in the data: {', '.join(absent[:_SHOWN])}{more}"
        raise InputError(msg)
    return tuple(f"{name}: {each} does not occur in the data" for each in absent)
