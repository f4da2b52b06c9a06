"""Labels that look alike, pair by pair, by `unicodedata` and `decimal` alone."""

from __future__ import annotations

import unicodedata
from decimal import Decimal, InvalidOperation

PLAIN = set("+-.0123456789")
UNSEEN = {"Cc", "Cf"}


def written(label: str) -> str:
    """Take a label as somebody reads it who sees neither case nor blanks."""
    seen = [
        letter
        for letter in label
        if letter.isspace() or not (unicodedata.category(letter) in UNSEEN or "︀" <= letter <= "️")
    ]
    text = "".join(seen)
    for _ in range(4):
        text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(text.split())


def number(text: str) -> Decimal | None:
    """Read a plain decimal number."""
    if not text or not set(text) <= PLAIN:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def look_alike(one: str, other: str) -> bool:
    """Tell whether two labels look alike."""
    first, second = written(one), written(other)
    if first == second:
        return True
    numbers = number(first), number(second)
    return numbers[0] is not None and numbers[0] == numbers[1]


def groups(labels: list[str]) -> list[set[str]]:
    """Put each label to the first group that it looks like; groups of one are left out."""
    found: list[set[str]] = []
    for label in labels:
        for group in found:
            if look_alike(label, next(iter(group))):
                group.add(label)
                break
        else:
            found.append({label})
    return [group for group in found if len(group) > 1]
