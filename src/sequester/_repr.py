"""Show a value in a terminal or a notebook: a title, facts, remarks and the first rows."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, fields
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_LONGEST_CELL = 60
_INVISIBLE = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
_LINE = "1px solid rgba(128,136,146,0.35)"
# A notebook has its own letters and ground, light or dark: only lines and marks are coloured.
_FRAME = f"border:{_LINE};border-radius:0.6em;padding:0.7em 1em;margin:0.4em 0;max-width:62em;overflow-x:auto"
_TITLE = "font-size:1.1em;margin:0 0 0.4em"
_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:0.4em 0"
_HEAD = f"text-align:left;padding:0.2em 1.2em 0.2em 0;font-weight:normal;opacity:0.75;border-bottom:{_LINE}"
_CELL = f"text-align:left;padding:0.2em 1.2em 0.2em 0;border-bottom:{_LINE}"
_LIST = "margin:0.4em 0;padding-left:1.2em"
_MARKS = {True: ("✓", "#2e8b57"), False: ("✗", "#c0392b")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a terminal or a notebook shows of a value; labels are data, so they are cut and escaped.

    Examples
    --------
    >>> print(Card(title="EventTable: 2 persons", facts=(("person", "user"), ("symbol", "page"))))
    EventTable: 2 persons
      person  user
      symbol  page
    >>> "<b>" in Card(title="EventTable", facts=(("symbol", "<b>page</b>"),)).html()
    False
    """

    title: str
    """The first line."""
    good: bool | None = None
    """A notebook marks the title as good or bad news."""
    facts: tuple[tuple[str, str], ...] = ()
    """Name and value, one line each."""
    remarks: tuple[str, ...] = ()
    """Lines below the facts."""
    header: tuple[str, ...] = ()
    """Column names of the first rows."""
    rows: tuple[tuple[str, ...], ...] = ()
    """The first rows; only a notebook shows them."""

    def __str__(self) -> str:
        width = max((len(name) for name, _ in self.facts), default=0)
        lines = [
            _shown(self.title),
            *(f"  {_shown(name):{width}}  {_shown(value)}" for name, value in self.facts),
            *(f"  {_on_one_line(remark)}" for remark in self.remarks),
        ]
        return "\n".join(lines)

    def html(self) -> str:
        """Write the card as a fragment of HTML without scripts, classes or links."""
        facts = "".join(
            f'<tr><th style="{_HEAD}">{_safe(name)}</th><td style="{_CELL}">{_safe(value)}</td></tr>'
            for name, value in self.facts
        )
        remarks = "".join(f"<li>{escape(_on_one_line(remark))}</li>" for remark in self.remarks)
        columns = "".join(f'<th style="{_HEAD}">{_safe(name)}</th>' for name in self.header)
        rows = "".join(
            "<tr>" + "".join(f'<td style="{_CELL}">{_safe(value)}</td>' for value in row) + "</tr>"
            for row in self.rows
        )
        return (
            f'<div style="{_FRAME}">'
            f'<div style="{_TITLE}">{self._mark()}<strong>{_safe(self.title)}</strong></div>'
            + (f'<table style="{_TABLE}"><tbody>{facts}</tbody></table>' if facts else "")
            + (f'<ul style="{_LIST}">{remarks}</ul>' if remarks else "")
            + (
                f'<table style="{_TABLE}"><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>'
                if columns
                else ""
            )
            + "</div>"
        )

    def _mark(self) -> str:
        if self.good is None:
            return ""
        sign, color = _MARKS[self.good]
        return f'<strong style="color:{color}">{sign}</strong> '


class CardRepr:
    """A value that shows itself as a card, in a terminal and in a notebook."""

    __slots__ = ()

    def _card(self) -> Card:
        """Return what is shown."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return str(self._card())

    def _repr_html_(self) -> str:
        return self._card().html()


def _on_one_line(text: str) -> str:
    return text.translate(_INVISIBLE)


def _shown(text: str) -> str:
    text = _on_one_line(text)
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"


def _safe(text: str) -> str:
    return escape(_shown(text))


def json_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as a JSON document has them: lists, paths as text, or by ``to_json``.

    Examples
    --------
    >>> json_fields(Card(title="EventTable", remarks=("2 rows are alike",)))["remarks"]
    ['2 rows are alike']
    """
    return {each.name: _as_json(getattr(value, each.name)) for each in fields(value)}


class Document:
    """A dataclass whose fields are a part of a JSON document."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON document has them."""
        return json_fields(self)


def _as_json(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_as_json(each) for each in value]
    if isinstance(value, PurePath):
        return str(value)
    return value.to_json() if hasattr(value, "to_json") else value


LABEL_WIDTH = 20
"""Characters of a label that fit beside a bar; wide letters count twice."""
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"


def shown(text: str, width: int | None = None) -> str:
    r"""Return `text` without control characters, and short enough to show.

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
    if width is None or display_width(text) <= width:
        return text
    taken, room = [], width - 1
    for letter in text:
        room -= display_width(letter)
        if room < 0:
            break
        taken.append(letter)
    return "".join(taken) + "…"


def display_width(text: str) -> int:
    """Return the width of `text` in characters; wide letters count twice.

    Examples
    --------
    >>> display_width("news"), display_width("新聞"), display_width("WWW")
    (5, 4, 6)
    """
    return sum(
        2 if letter in "mwMW@%" or unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text
    )


def short_labels(labels: Iterable[str], width: int = LABEL_WIDTH) -> list[str]:
    """Return shortened labels; those that would look alike are numbered.

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
    """Return a number as text, with thousands separators and at most four significant digits.

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


def aligned(rows: Sequence[Sequence[str]], *, indent: str = "") -> Iterator[str]:
    """Write the rows of a table below each other.

    Examples
    --------
    >>> list(aligned([("risk", "value"), ("k", "0.5")]))
    ['risk  value', 'k     0.5']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        yield f"{indent}{'  '.join(cells)}".rstrip()


def percent(value: float) -> str:
    """Return a share of 1 as text in percent, finer where it is close to nothing or to everything.

    Examples
    --------
    >>> percent(0), percent(0.00034), percent(0.0123), percent(0.25), percent(0.985), percent(1.0)
    ('0%', '0.03%', '1.2%', '25%', '98.5%', '100%')
    >>> percent(0.000002), percent(0.9999)
    ('below 0.01%', 'above 99.9%')
    """
    whole = 100 * value
    if 0 < whole < 0.01:
        return "below 0.01%"
    if 99.95 <= whole < 100:
        return "above 99.9%"
    digits = 2 if whole < 1 else 0 if 9.95 <= whole <= 90.05 else 1
    text = f"{whole:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if digits else text) + "%"
