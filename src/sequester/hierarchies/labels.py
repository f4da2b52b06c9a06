"""The labels of a tree: the two that are reserved, the order of siblings, and how a message shows them."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

ROOT = "*"
"""The label of every root: nothing is known."""
MISSING = "(missing)"
"""The leaf of a missing value, directly under the root."""
LONGEST = 4096
"""Characters that a label may have; a longer one is a broken quote or a document, not a value."""

# A longer run of digits is an identifier, and Python refuses to turn more than 4,300 of them into a number.
_LONGEST_NUMBER = 400
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_SHOWN_CHARACTERS = 40
_SHOWN_LABELS = 5


def as_number(label: str) -> int | Fraction | None:
    """Read a label as an exact number; None where it is none.

    Examples
    --------
    >>> as_number("-7"), as_number("2.50"), as_number("1e3"), as_number("NA")
    (-7, Fraction(5, 2), Fraction(1000, 1), None)
    """
    if not is_number(label):
        return None
    return int(label) if _WHOLE.fullmatch(label) else Fraction(label)


def is_number(label: str) -> bool:
    """Tell whether a label is ordered as a number: digits, at most one point, an exponent of three digits."""
    return len(label) <= _LONGEST_NUMBER and _NUMBER.fullmatch(label) is not None


def in_label_order(labels: Iterable[str]) -> list[str]:
    """Sort distinct labels as numbers where all of them are numbers, as text (code points) otherwise.

    The label ``(missing)`` is neither and comes last.

    Examples
    --------
    >>> in_label_order(["10", "9", "2.5"])
    ['2.5', '9', '10']
    >>> in_label_order(["10", "9", "b"])
    ['10', '9', 'b']
    >>> in_label_order(["10", "(missing)", "9"])
    ['9', '10', '(missing)']
    """
    distinct = set(labels)
    ordered = sorted(distinct - {MISSING})
    if all(is_number(label) for label in ordered):
        ordered.sort(key=numeric_key)
    return [*ordered, MISSING] if MISSING in distinct else ordered


def numeric_key(label: str) -> tuple[float, Decimal]:
    """Order labels that are numbers exactly: the slower exact value decides where the quick one ties."""
    return float(label), Decimal(label)


def quoted(label: str) -> str:
    r"""Show a label on one line of a message: quoted, control characters escaped, cut when long.

    Examples
    --------
    >>> print(quoted('a\\nb'))
    'a\\nb'
    """
    return repr(label if len(label) <= _SHOWN_CHARACTERS else f"{label[: _SHOWN_CHARACTERS - 1]}…")


def listed(labels: Collection[str]) -> str:
    """Show the first labels in label order, and how many more there are.

    Examples
    --------
    >>> listed(["b", "a"])
    "'a', 'b'"
    >>> listed([str(i) for i in range(9)])
    "'0', '1', '2', '3', '4' and 4 more"
    """
    ordered = in_label_order(labels)
    shown = ", ".join(quoted(label) for label in ordered[:_SHOWN_LABELS])
    rest = len(ordered) - _SHOWN_LABELS
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def counted(number: int, one: str, many: str) -> str:
    """Say how many in words that agree: ``counted(2, "leaf", "leaves")``.

    Examples
    --------
    >>> counted(1, "value is", "values are"), counted(1200, "value is", "values are")
    ('1 value is', '1,200 values are')
    """
    return f"{number:,} {one if number == 1 else many}"
