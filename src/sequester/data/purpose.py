"""What a release is for: columns, or orders of values, that somebody will predict from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sequester.errors import ParameterError

FORM = 'a column, or a list of columns and of patterns such as ["ward=A", "ward=B"]'


@dataclass(frozen=True, slots=True)
class Purpose:
    """What is to be predicted from the release.

    Examples
    --------
    >>> Purpose.of({"predict": "readmitted"})
    Purpose(predict=('readmitted',))
    >>> Purpose.of({"predict": ["readmitted", ["ward=A", "ward=B"]]}).predict[1]
    ('ward=A', 'ward=B')
    """

    predict: tuple[str | tuple[str, ...], ...]
    """Columns, or patterns: values of a person in order, each written ``column=value``."""

    @classmethod
    def of(cls, given: object) -> Purpose:
        """Return the purpose that a table of the configuration describes."""
        if isinstance(given, Purpose):
            return given
        asked = given.get("predict") if isinstance(given, Mapping) and {*given} == {"predict"} else None
        listed = [asked] if isinstance(asked, str) else asked
        if not isinstance(listed, list | tuple) or not listed or not all(map(_is_target, listed)):
            msg = f"purpose must be a table with predict: {FORM}; got {given!r}"
            raise ParameterError(msg)
        return cls(tuple(each if isinstance(each, str) else tuple(each) for each in listed))


def _is_target(given: object) -> bool:
    if isinstance(given, str):
        return bool(given)
    return (
        isinstance(given, list | tuple)
        and bool(given)
        and all(isinstance(each, str) and "=" in each for each in given)
    )
