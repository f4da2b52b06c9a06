"""The page of a stream for its recipients, made of its certificates alone, so that it can be made again."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from sequester._repr import number
from sequester.verification.claim import claimed_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sequester.release.certificate import Certificate

PAGE = "report.html"
"""The page, in the folder of the published snapshots."""
_STYLE = (
    ":root{color-scheme:light dark}body{font:1em/1.5 system-ui,sans-serif;max-width:52em;margin:2em auto;"
    "padding:0 1em}table{border-collapse:collapse}td,th{text-align:left;padding:.2em 1em .2em 0;"
    "border-bottom:1px solid #8886;vertical-align:top;overflow-wrap:anywhere}"
)
_CHECK = (
    "pip install sequester, then sequester verify on this folder. It reads nothing but the files: hashes, "
    "tables, and the promise, snapshot by snapshot. This page is compared with the certificates, too."
)
_READ = (
    "A record is published in its own snapshot or a later one within the window, and some never: read counts "
    "over several snapshots. Where records and values are two tables, the group joins them within a snapshot."
)


def stream_page(certificates: Mapping[str, tuple[Certificate, str]]) -> bytes:
    """Return the page of published snapshots; each has its certificate and the hash of that."""
    ordered = in_time_order(certificates)
    last, _ = ordered[-1][1]
    about = last.about
    roles = {column: role for table in last.columns.values() for column, role in table.items()}
    title = about.title or "Published snapshots"
    parts = [
        _tag("h1", title),
        *([_tag("p", about.description)] if about.description else []),
        _table((), about.rows()),
        _tag("h2", "What is promised"),
        _tag("p", claimed_model(last).in_words()),
        _tag("h2", "Snapshots, in the order of time"),
        _table(
            ("snapshot", "records", "reached", "certificate"),
            (
                (
                    stem,
                    number(each.events),
                    ", ".join(f"{name} = {number(value)}" for name, value in each.achieved.items()),
                    digest,
                )
                for stem, (each, digest) in ordered
            ),
        ),
        _tag("h2", "How to read it"),
        _tag("p", _READ),
        _table(
            ("column", "role", "meaning"),
            ((name, role, about.columns.get(name, "")) for name, role in roles.items()),
        ),
        _tag("h2", "How to check it"),
        _tag("p", _CHECK),
        _tag("h2", "What is not promised"),
        "<ul>" + "".join(_tag("li", limit) for limit in last.limits) + "</ul>",
    ]
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><style>{_STYLE}</style>'
    return "\n".join([head, _tag("title", title), *parts, "</html>", ""]).encode()


def in_time_order(
    certificates: Mapping[str, tuple[Certificate, str]],
) -> list[tuple[str, tuple[Certificate, str]]]:
    """Return snapshots as their files were taken: by name, which is the order of time.

    Examples
    --------
    >>> [stem for stem, _ in in_time_order({"a": ..., "a-1": ...})]  # a-1.csv comes before a.csv
    ['a-1', 'a']
    """
    return sorted(certificates.items(), key=lambda each: f"{each[0]}.")


def _tag(name: str, text: str) -> str:
    # Names of files and columns are data: nothing that is not seen goes into the page.
    seen = "".join(letter if letter.isprintable() else " " for letter in text)
    return f"<{name}>{escape(seen)}</{name}>"


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["".join(_tag("th", each) for each in header)] if header else []
    lines += ["".join(_tag("td", each) for each in row) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>" if lines else ""
