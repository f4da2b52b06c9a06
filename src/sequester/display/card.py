"""A value at a glance: a title, facts, remarks and the first rows, as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

_LONGEST_CELL = 60
_INVISIBLE = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
_STYLE = (
    "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:0.4em 0",
    "text-align:left;padding:0.1em 1em 0.1em 0;font-weight:normal;opacity:0.7",
    "text-align:left;padding:0.1em 1em 0.1em 0",
)


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
        table, head, cell = _STYLE
        facts = "".join(
            f'<tr><th style="{head}">{_safe(name)}</th><td style="{cell}">{_safe(value)}</td></tr>'
            for name, value in self.facts
        )
        remarks = "".join(f"<li>{escape(_on_one_line(remark))}</li>" for remark in self.remarks)
        columns = "".join(f'<th style="{head}">{_safe(name)}</th>' for name in self.header)
        rows = "".join(
            "<tr>" + "".join(f'<td style="{cell}">{_safe(value)}</td>' for value in row) + "</tr>"
            for row in self.rows
        )
        return (
            f"<div><strong>{_safe(self.title)}</strong>"
            + (f'<table style="{table}"><tbody>{facts}</tbody></table>' if facts else "")
            + (f"<ul>{remarks}</ul>" if remarks else "")
            + (
                f'<table style="{table}"><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>'
                if columns
                else ""
            )
            + "</div>"
        )


def _on_one_line(text: str) -> str:
    return text.translate(_INVISIBLE)


def _shown(text: str) -> str:
    text = _on_one_line(text)
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"


def _safe(text: str) -> str:
    return escape(_shown(text))
