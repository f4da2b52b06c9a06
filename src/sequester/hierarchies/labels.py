"""Labels: reserved ones, their order, how messages show them, and which of them look alike."""

from __future__ import annotations

import re
import unicodedata
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
    if not is_number_label(label):
        return None
    return int(label) if _WHOLE.fullmatch(label) else Fraction(label)


def is_number_label(label: str) -> bool:
    """Return whether a label is ordered as a number: digits, one point at most, a short exponent."""
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
    if all(is_number_label(label) for label in ordered):
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
    """Return a number with the noun that agrees: ``counted(2, "leaf", "leaves")``.

    Examples
    --------
    >>> counted(1, "value is", "values are"), counted(1200, "value is", "values are")
    ('1 value is', '1,200 values are')
    """
    return f"{number:,} {one if number == 1 else many}"


DECIMAL = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)$"
"""A plain decimal number, without an exponent and without separators of thousands."""
_DECIMAL = re.compile(DECIMAL)
_UNSEEN = ("Cc", "Cf")
_VARIATION = re.compile("[\ufe00-\ufe0f]")


def caseless(label: str) -> str:
    r"""Return a label in Unicode form NFKC, case-folded, without blanks around it and unseen characters.

    A run of blanks within the label becomes one blank. Unseen are control and format characters, such as a
    zero-width space, and variation selectors.

    Examples
    --------
    >>> caseless(" Ann\u00a0  Lee\u200b"), caseless("Straße"), caseless("ＨＩＶ")
    ('ann lee', 'strasse', 'hiv')
    """
    if label.isascii() and label.isprintable():
        return " ".join(label.lower().split())
    # All unseen characters but variation selectors are not printable.
    is_seen = label.isprintable() and _VARIATION.search(label) is None
    text = label if is_seen else "".join(letter for letter in label if _is_seen(letter))
    while True:
        folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
        if folded == text:
            return text
        text = folded


def _is_seen(letter: str) -> bool:
    hidden = unicodedata.category(letter) in _UNSEEN or _VARIATION.match(letter) is not None
    return not hidden or letter.isspace()


def canonical_label(label: str) -> str:
    """Return what all labels that look alike have in common.

    Examples
    --------
    >>> [canonical_label(label) for label in ("HIV ", "hiv", "01", "+1.0", "-0", "1e3")]
    ['hiv', 'hiv', '1', '1', '0', '1e3']
    """
    text = caseless(label)
    if _DECIMAL.match(text) is None:
        return text
    whole, _, fraction = text.lstrip("+-").partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    number = f"{whole}.{fraction}" if fraction else whole
    return f"-{number}" if text[0] == "-" and number != "0" else number


def groups_alike(labels: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the groups of different labels that look alike, in order of their first label.

    Examples
    --------
    >>> groups_alike(["flu", "HIV", "hiv", "1", "HIV ", "01"])
    [('HIV', 'HIV ', 'hiv'), ('01', '1')]
    """
    groups: dict[str, dict[str, None]] = {}
    for label in labels:
        groups.setdefault(canonical_label(label), {})[label] = None
    return [tuple(sorted(group)) for group in groups.values() if len(group) > 1]


def match_alike(unknown: Iterable[str], known: Iterable[str]) -> list[tuple[str, str]]:
    """Return each unknown label with the first known one that looks like it, in label order.

    Examples
    --------
    >>> match_alike(["flu ", "mumps"], ["cold", "flu"])
    [('flu ', 'flu')]
    """
    wanted = {label: canonical_label(label) for label in in_label_order(unknown)}
    if not wanted:
        return []
    found: dict[str, str] = {}
    looked_for = set(wanted.values())
    for label in known:
        form = canonical_label(label)
        if form in looked_for:
            found[form] = min(found.get(form, label), label)
    return [(label, found[form]) for label, form in wanted.items() if form in found]
