"""Hierarchy files as rows of trimmed cells, and the table of nodes that a release has."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from sequester.errors import HierarchyError
from sequester.hierarchies.labels import ROOT, counted, quoted
from sequester.hierarchies.lint import shown_rows
from sequester.hierarchies.outline import Edge, Origin, Outline, examine

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.hierarchies.lint import Finding


@dataclass(frozen=True, slots=True)
class TextRows:
    """The rows of a file that are not blank, with the line each begins on."""

    rows: list[tuple[int, list[str]]]
    """Line number from 1, and the cells without the blanks around them."""
    findings: tuple[Finding, ...]
    """Why there are none, and how many cells had blanks around them."""


def read_rows(path: Path, source: Origin, *, delimiter: str) -> TextRows:
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
    r"""Return the content of an ARX file.

    Examples
    --------
    >>> rows_as_text([("flu", "acute", "*"), ("a;b", "acute", "*")])
    'flu;acute;*\n"a;b";acute;*\n'
    """
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
    return text.getvalue()


COLUMNS = {"node": pl.String, "parent": pl.String, "leaves": pl.Int64}
"""Columns of the table and their types; the parent of the root is empty."""


def nodes_as_frame(tree: Hierarchy, nodes: Iterable[int]) -> pl.DataFrame:
    """List nodes with their parents and leaf counts."""
    rows = [
        (tree.labels[node], tree.labels[tree.parent[node]] if node else "", int(tree.leaves[node]))
        for node in nodes
    ]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def nodes_from_frame(frame: pl.DataFrame) -> Outline:
    """Read the table back; every doubt about it is an error, because a stranger may have written it."""
    source = Origin("nodes")
    if dict(frame.schema) != COLUMNS:
        wanted = ", ".join(f"{name} ({kind})" for name, kind in COLUMNS.items())
        found = ", ".join(f"{name} ({kind})" for name, kind in frame.schema.items()) or "none"
        return Outline({}, (source.say("error", "columns", f"columns must be {wanted}, got {found}"),))
    if any(frame.null_count().row(0)):
        return Outline({}, (source.say("error", "columns", "a cell is empty"),))
    rows = [(row, *cells) for row, cells in enumerate(frame.rows(), start=1)]
    statements = [Edge(node, parent, row) for row, node, parent, _ in rows if (node, parent) != (ROOT, "")]
    outline = examine(statements, source, each_once=True)
    findings = list(outline.findings)
    sizes: dict[str, int] = {node: leaves for _, node, _, leaves in rows}
    below: Counter[str] = Counter()
    for row, node, parent, leaves in rows:
        below[parent] += leaves
        if leaves < 1:
            text = f"leaves of {quoted(node)} must be at least 1, got {leaves}"
            findings.append(source.say("error", "leaves", text, row=row, labels=(node,)))
        if not node or (not parent and node != ROOT):
            text = f"{quoted(node)} under {quoted(parent)}: only the root {quoted(ROOT)} has no parent"
            findings.append(source.say("error", "empty-label", text, row=row, labels=(node,)))
    findings += [
        source.say("error", "no-row", f"{quoted(node)} has no row", labels=(node,))
        for node in sorted({ROOT, *below} - {"", *sizes})
    ]
    for node in sorted(below.keys() & sizes.keys()):
        if below[node] > sizes[node]:
            text = f"{quoted(node)} has {sizes[node]:,} leaves, but {below[node]:,} lie below it"
            findings.append(source.say("error", "leaves", text, labels=(node,)))
    return Outline(outline.parents, tuple(findings), sizes)
