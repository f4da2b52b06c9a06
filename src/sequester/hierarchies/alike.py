"""Labels that look alike: equal but for case, blanks and Unicode form, or equal as numbers."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from sequester.hierarchies.labels import in_label_order

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def likeness(label: str) -> str:
    """Return what all labels that look alike have in common.

    Examples
    --------
    >>> likeness("HIV ") == likeness("hiv"), likeness("01"), likeness("+1.0"), likeness("-0"), likeness("1e3")
    (True, '1', '1', '0', '1e3')
    """
    text = caseless(label)
    if _DECIMAL.match(text) is None:
        return text
    whole, _, fraction = text.lstrip("+-").partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    number = f"{whole}.{fraction}" if fraction else whole
    return f"-{number}" if text[0] == "-" and number != "0" else number


def twins(labels: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the groups of different labels that look alike, in order of their first label.

    Examples
    --------
    >>> twins(["flu", "HIV", "hiv", "1", "HIV ", "01"])
    [('HIV', 'HIV ', 'hiv'), ('01', '1')]
    """
    groups: dict[str, dict[str, None]] = {}
    for label in labels:
        groups.setdefault(likeness(label), {})[label] = None
    return [tuple(sorted(group)) for group in groups.values() if len(group) > 1]


def shown_alike(unknown: Iterable[str], known: Iterable[str]) -> list[tuple[str, str]]:
    """Return each unknown label with the first known one that looks like it, in label order.

    Examples
    --------
    >>> shown_alike(["flu ", "mumps"], ["cold", "flu"])
    [('flu ', 'flu')]
    """
    wanted = {label: likeness(label) for label in in_label_order(unknown)}
    if not wanted:
        return []
    found: dict[str, str] = {}
    looked_for = set(wanted.values())
    for label in known:
        form = likeness(label)
        if form in looked_for:
            found[form] = min(found.get(form, label), label)
    return [(label, found[form]) for label, form in wanted.items() if form in found]
