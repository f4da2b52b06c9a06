"""Hierarchy files as rows of trimmed cells, whatever state they are in."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sequester.errors import HierarchyError
from sequester.hierarchies.finding import shown_rows
from sequester.hierarchies.labels import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sequester.hierarchies.finding import Finding
    from sequester.hierarchies.outline import Source


@dataclass(frozen=True, slots=True)
class TextRows:
    """The rows of a file that are not blank, with the line each begins on."""

    rows: list[tuple[int, list[str]]]
    """Line number from 1, and the cells without the blanks around them."""
    findings: tuple[Finding, ...]
    """Why there are none, and how many cells had blanks around them."""


def read_rows(path: Path, source: Source, *, delimiter: str) -> TextRows:
    """Read a UTF-8 file, with or without a byte-order mark and quotes, with any line ends."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return TextRows([], (source.say("error", "unreadable", "not UTF-8", row=line),))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return TextRows([], (source.say("error", "unreadable", f"cannot be read: {reason}"),))
    except ValueError as error:  # a path with a NUL in it
        return TextRows([], (source.say("error", "unreadable", f"cannot be read: {error}"),))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    trimmed: list[int] = []
    line = 1
    try:
        for cells in reader:
            clean = [cell.strip() for cell in cells]
            if any(clean):
                rows.append((line, clean))
                trimmed += [line for before, after in zip(cells, clean, strict=True) if before != after]
            line = reader.line_num + 1
    except csv.Error as error:
        return TextRows([], (source.say("error", "unreadable", f"{error}", row=line),))
    if not rows:
        return TextRows([], (source.say("error", "empty", "has no rows"),))
    if not trimmed:
        return TextRows(rows, ())
    places = list(dict.fromkeys(trimmed))
    text = f"trimmed blanks around {counted(len(trimmed), 'label', 'labels')} ({shown_rows(places)})"
    return TextRows(rows, (source.say("warning", "trimmed", text, rows=places, count=len(trimmed)),))


def write_rows(path: str | Path, rows: Iterable[Sequence[str]]) -> None:
    """Write rows with ``;`` between the cells, as ARX does, quotes only where they are needed."""
    try:
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            file.write(rows_as_text(rows))
    except OSError as error:
        msg = f"{Path(path).name}: cannot be written: {error.strerror or type(error).__name__}"
        raise HierarchyError(msg) from None


def rows_as_text(rows: Iterable[Sequence[str]]) -> str:
    r"""Give the content of an ARX file.

    Examples
    --------
    >>> rows_as_text([("flu", "acute", "*"), ("a;b", "acute", "*")])
    'flu;acute;*\n"a;b";acute;*\n'
    """
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
    return text.getvalue()
