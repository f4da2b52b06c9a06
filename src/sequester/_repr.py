"""Show a value in a terminal or a notebook: a title, facts, remarks and the first rows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from html import escape
from typing import Any

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


def _on_one_line(text: str) -> str:
    return text.translate(_INVISIBLE)


def _shown(text: str) -> str:
    text = _on_one_line(text)
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"


def _safe(text: str) -> str:
    return escape(_shown(text))


def json_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as a JSON document has them: tuples as lists, values by ``to_json``.

    Examples
    --------
    >>> json_fields(Card(title="EventTable", remarks=("2 rows are alike",)))["remarks"]
    ['2 rows are alike']
    """
    return {each.name: _as_json(getattr(value, each.name)) for each in fields(value)}


def _as_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_json(each) for each in value]
    return value.to_json() if hasattr(value, "to_json") else value
