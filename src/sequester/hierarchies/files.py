"""Hierarchies in files: ARX (one row per leaf) and edges (one row per node)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from sequester.errors import HierarchyError
from sequester.hierarchies.builder import Kind
from sequester.hierarchies.coverage import coverage
from sequester.hierarchies.labels import ROOT, quoted
from sequester.hierarchies.outline import Outline, Source, Statement, examine
from sequester.hierarchies.paths import examine_paths
from sequester.hierarchies.text_files import read_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.hierarchies.finding import Finding


@dataclass(frozen=True, slots=True)
class _File(Kind):
    path: str | Path
    """Where the file is."""

    def source(self, column: str) -> Source:
        """Name the file for the messages, control characters escaped."""
        return Source(repr(Path(self.path).name)[1:-1], column)


@dataclass(frozen=True, slots=True)
class ArxFile(_File):
    r"""The tree of an ARX hierarchy: ``;`` between cells, no header, one row per leaf, the leaf first.

    A row that does not end in ``*`` gets it on top. Rows may differ in length. Blanks around labels are
    trimmed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ill.csv"
    >>> _ = path.write_text("flu;acute;*\ncold;acute;*\nasthma;chronic;*\n")
    >>> print(ArxFile(path).build(["flu"], column="ill"))
    * (3 leaves)
      acute (2 leaves)
        cold
        flu
      chronic (1 leaf)
        asthma
    """

    name: ClassVar[str] = "arx"

    def outline(self, values: Mapping[str, int], source: Source) -> Outline:
        """Read the file, and look for a leaf for each value."""
        text = read_rows(Path(self.path), source, delimiter=";")
        if not text.rows:
            return Outline({}, text.findings)
        if all(len(cells) == 1 and "," in cells[0] for _, cells in text.rows):
            comma = source.say(
                "error", "delimiter", "cells must be separated by ';', and no row has one, but ','"
            )
            return Outline({}, (*text.findings, comma))
        outline = examine_paths(text.rows, source)
        both = {
            label for found in outline.findings if found.kind == "leaf-and-group" for label in found.labels
        }
        covered = coverage(values.keys() - both, outline.leaves, outline.groups, source)
        return replace(outline, findings=(*text.findings, *outline.findings, *covered))


@dataclass(frozen=True, slots=True)
class EdgesFile(_File):
    r"""The tree of a file with the rows ``child,parent``; a first row of just these two words is a header.

    A node without a parent, or with an empty one, goes under the root.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ill.csv"
    >>> _ = path.write_text("child,parent\nflu,acute\ncold,acute\n")
    >>> EdgesFile(path).build(["flu"], column="ill").labels
    ('*', 'acute', 'cold', 'flu')
    """

    name: ClassVar[str] = "edges"

    def outline(self, values: Mapping[str, int], source: Source) -> Outline:
        """Read the file, and look for a leaf for each value."""
        text = read_rows(Path(self.path), source, delimiter=",")
        if not text.rows:
            return Outline({}, text.findings)
        statements: list[Statement] = []
        findings: list[Finding] = list(text.findings)
        for row, cells in text.rows[_is_header(text.rows[0][1]) :]:
            if len(cells) != 2:
                what = f"must have two cells, child and parent separated by ',', has {len(cells)}"
                findings.append(source.say("error", "cells", what, row=row))
            elif not cells[0]:
                findings.append(source.say("error", "empty-label", "empty label", row=row, labels=("",)))
            elif cells != [ROOT, ""]:
                statements.append(Statement(cells[0], cells[1] or ROOT, row))
        outline = examine(statements, source, each_once=True)
        if not outline.parents and not findings:
            findings.append(source.say("error", "empty", "has no rows"))
        covered = coverage(values.keys(), outline.leaves, outline.groups, source)
        return replace(outline, findings=(*findings, *outline.findings, *covered))


def _is_header(cells: Sequence[str]) -> bool:
    return [cell.lower() for cell in cells] == ["child", "parent"]


def hierarchy_file(path: str | Path, format: str) -> ArxFile | EdgesFile:  # noqa: A002
    """Choose the reader by the name of the format."""
    if format == "arx":
        return ArxFile(path)
    if format == "edges":
        return EdgesFile(path)
    msg = f"format of a hierarchy file must be arx or edges, got {quoted(str(format))}"
    raise HierarchyError(msg)
