"""How values, labels and settings are spelled on a page."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sequester.utility.score import Score

LABEL_WIDTH = 20
"""Characters of a label that fit beside a bar; wide letters count twice."""
LEVELS = {
    "k": "at least so many persons match",
    "c": "no larger share of them shows a protected value, as the promise counts it",
    "min_support": "fewer persons than this have each hidden pattern",
    "max_leakage": "at most this share of what the unchanged data would tell",
    "max_leakage_bits": "at most so many bits about where the patterns are",
    "l": "no sensitive value belongs to more than one in so many records",
}
"""Parameter of a promise to what it counts."""
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"


def shown(text: str, width: int | None = None) -> str:
    r"""Make `text` harmless and short enough to show.

    Control characters, direction marks and the like become a visible mark: the renderer of the plots ends the
    whole process on some of them, and others would let a label rearrange the line it stands in.

    Examples
    --------
    >>> shown("tab\there")
    'tab�here'
    >>> shown("a label that is far too long", 12)
    'a label tha…'
    """
    if width is not None:
        text = text[: width + 1]
    text = "".join(letter if letter.isprintable() else _UNREADABLE for letter in text)
    if width is None or columns_of(text) <= width:
        return text
    taken, room = [], width - 1
    for letter in text:
        room -= columns_of(letter)
        if room < 0:
            break
        taken.append(letter)
    return "".join(taken) + "…"


def columns_of(text: str) -> int:
    """Count the places that `text` takes; wide letters take two.

    Examples
    --------
    >>> columns_of("news"), columns_of("新聞"), columns_of("WWW")
    (5, 4, 6)
    """
    return sum(
        2 if letter in "mwMW@%" or unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text
    )


def short_labels(labels: Iterable[str], width: int = LABEL_WIDTH) -> list[str]:
    """Shorten labels and keep them apart: those that would look alike are numbered.

    Examples
    --------
    >>> short_labels(["news", "a long label, first", "a long label, second"], 12)
    ['news', 'a long labe…', 'a long … (2)']
    """
    taken: set[str] = set()
    short = []
    for label in labels:
        candidate = shown(label, width)
        if not candidate.strip():
            candidate = "(blank)" if candidate else "(empty)"
        number = 1
        while candidate in taken:
            number += 1
            mark = f" ({number})"
            candidate = shown(label, width - len(mark)).removesuffix("…") + "…" + mark
        taken.add(candidate)
        short.append(candidate)
    return short


def number(value: float) -> str:
    """Write a number with thousands set apart, and no more than four significant digits behind a point.

    Examples
    --------
    >>> number(1234567), number(0.123456), number(2.0), number(float("inf"))
    ('1,234,567', '0.1235', '2', 'unbounded')
    """
    if value in (float("inf"), float("-inf")):
        return "unbounded"
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def share(part: float, whole: float) -> str:
    """Write a share in percent.

    Examples
    --------
    >>> share(1, 3), share(0, 0), share(1, 5000), share(4999, 5000)
    ('33%', '0%', 'below 1%', 'above 99%')
    """
    if not whole or not part:
        return "0%"
    percent = 100 * part / whole
    if percent < 1:
        return "below 1%"
    if 99 < percent < 100:
        return "above 99%"
    return f"{percent:.0f}%"


def percent(value: float) -> str:
    """Write a share of 1 in percent, the smaller the finer.

    Examples
    --------
    >>> percent(0), percent(0.00034), percent(0.0123), percent(0.25), percent(0.9999), percent(1.0)
    ('0%', '0.03%', '1.2%', '25%', 'above 99%', '100%')
    >>> percent(0.000002)
    'below 0.01%'
    """
    if not value:
        return "0%"
    whole = 100 * value
    if whole < 0.01:
        return "below 0.01%"
    if whole < 1:
        return f"{whole:.2f}".rstrip("0").rstrip(".") + "%"
    if whole < 9.95:
        return f"{whole:.1f}".rstrip("0").rstrip(".") + "%"
    return "above 99%" if 99.5 <= whole < 100 else f"{whole:.0f}%"


def seconds(value: float) -> str:
    """Write how long something took.

    Examples
    --------
    >>> seconds(0.004), seconds(0.31), seconds(12.3), seconds(125)
    ('below 0.1 s', '0.3 s', '12 s', '2 min 5 s')
    """
    if value < 0.1:
        return "below 0.1 s"
    if value < 60:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    whole = round(value)
    return f"{whole // 60} min {whole % 60} s"


def capital(text: str) -> str:
    """Begin with a capital letter, and leave the rest as it is.

    Examples
    --------
    >>> capital("share of HIV")
    'Share of HIV'
    """
    return text[:1].upper() + text[1:]


def setting(value: object) -> str:
    """Write a parameter so that it needs no knowledge of Python.

    Examples
    --------
    >>> setting(True), setting(None), setting(["a", "b"]), setting({"Disease": ["HIV"]})
    ('yes', 'none', 'a, b', 'Disease: HIV')
    >>> setting([["a", "b"], ["c"]])
    'a, b; c'
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, Mapping):
        return "; ".join(f"{setting(key)}: {setting(each)}" for key, each in value.items()) or "none"
    if isinstance(value, list | tuple):
        nested = any(isinstance(each, list | tuple | Mapping) for each in value)
        return ("; " if nested else ", ").join(setting(each) for each in value) or "none"
    if isinstance(value, set | frozenset):
        return ", ".join(sorted(setting(each) for each in value)) or "none"
    return shown(str(value), 400)


def direction(score: Score) -> str:
    """Say which way a measure gets better, and how far it can go.

    Examples
    --------
    >>> from sequester.utility.score import Score
    >>> direction(Score(value=0.5, goal="minimize", bounds=(0, None), means=""))
    'less is better, 0 or more'
    """
    low, high = score.bounds
    better = "less is better" if score.goal == "minimize" else "more is better"
    reach = f"{number(low)} or more" if high is None else f"{number(low)} to {number(high)}"
    return f"{better}, {reach}"
