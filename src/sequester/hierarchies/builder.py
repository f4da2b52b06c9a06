"""Build the hierarchy of a column once its values are known: flat, tree, several parents, and files."""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import polars as pl

from sequester.errors import HierarchyError
from sequester.hierarchies.labels import MISSING, ROOT, counted, quoted
from sequester.hierarchies.lint import coverage, reserved_values, shown_rows
from sequester.hierarchies.outline import Edge, Origin, Outline, examine, examine_nested, examine_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.hierarchies.lint import Finding


Rows = list[tuple[int, list[str]]]
"""The rows of a file that are not blank: the line each begins on, from 1, and its trimmed cells."""


def read_rows(path: Path, source: Origin, *, delimiter: str) -> tuple[Rows, list[Finding]]:
    """Read a UTF-8 file, with or without a byte-order mark and quotes, with any line ends.

    Also returns why there are no rows, and how many cells had blanks around them.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return [], [source.say("error", "unreadable", "not UTF-8", row=line)]
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return [], [source.say("error", "unreadable", f"cannot be read: {reason}")]
    except ValueError as error:  # a path with a NUL in it
        return [], [source.say("error", "unreadable", f"cannot be read: {error}")]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: Rows = []
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
        return [], [source.say("error", "unreadable", f"{error}", row=line)]
    if not rows:
        return [], [source.say("error", "empty", "has no rows")]
    if not trimmed:
        return rows, []
    places = list(dict.fromkeys(trimmed))
    text = f"trimmed blanks around {counted(len(trimmed), 'label', 'labels')} ({shown_rows(places)})"
    return rows, [source.say("warning", "trimmed", text, rows=places, count=len(trimmed))]


def write_hierarchy_rows(path: str | Path, rows: Iterable[Sequence[str]]) -> None:
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
        return Outline({}, [source.say("error", "columns", f"columns must be {wanted}, got {found}")])
    if any(frame.null_count().row(0)):
        text = "every row must have a node, its parent and its number of leaves"
        return Outline({}, [source.say("error", "columns", text)])
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
    return Outline(outline.parents, findings, sizes)


class HierarchyBuilder(Protocol):
    """Anything that can make the hierarchy of a column; a `Hierarchy` can."""

    def build(self, values: Iterable[str], *, column: str, missing: bool = False) -> Hierarchy:
        """Make the tree for the values of a column.

        Parameters
        ----------
        values : iterable of str
            The distinct values, or a mapping from each to how often it occurs, which `quantiles` learns from.
        column : str
            Its name, for the messages.
        missing : bool
            Whether it has missing values; they get the leaf ``(missing)`` under the root.

        Raises
        ------
        HierarchyError
            With one line per problem, if there is no such tree.
        """
        ...

    def findings(self, values: Iterable[str], *, column: str) -> list[Finding]:
        """List everything that is wrong or doubtful, without making the tree."""
        ...


class Kind(ABC):
    """A kind of hierarchy: from the values of a column to an outline of its tree."""

    name: ClassVar[str]
    """As the configuration calls it."""

    @abstractmethod
    def outline(self, values: Mapping[str, int], source: Origin) -> Outline:
        """Return which label lies under which, and what is wrong.

        `values` leads from each value, none of them a reserved label, to how often it occurs.
        """

    def source(self, column: str) -> Origin:
        """Return the place that messages name."""
        return Origin(self.name, column)

    def examine(self, values: Iterable[str], column: str) -> Outline:
        """Return the outline for the values of a column, and what is wrong with either."""
        occurring = values if isinstance(values, Mapping) else Counter(values)
        reserved = list(reserved_values(occurring, column))
        refused = {label for finding in reserved for label in finding.labels}
        known = {value: n for value, n in occurring.items() if value != MISSING and value not in refused}
        outline = self.outline(known, self.source(column))
        return replace(outline, findings=(*reserved, *outline.findings))


def outline_of_chains(
    chains: Mapping[str, tuple[str, ...]],
    source: Origin,
    *,
    sizes: Mapping[str, int] | None = None,
    findings: Iterable[Finding] = (),
) -> Outline:
    """Put each value under its groups, finest first; a group that is named like the value is the value.

    Groups that nest by their definition need no further check, but a value may look like a group of others.

    Examples
    --------
    >>> outline_of_chains({"56001": ("560**", "5****")}, Origin("mask")).parents
    {'560**': '5****', '5****': '*', '56001': '560**'}
    """
    parents: dict[str, str] = {}
    for chain in dict.fromkeys(chains.values()):
        parents.update(pairwise((*chain, ROOT)))
    groups: set[str] = set()
    for value, chain in chains.items():
        is_own_group = chain[:1] == (value,)
        groups.update(chain[is_own_group:])
        if not is_own_group:
            parents[value] = chain[0] if chain else ROOT
    what = "also the name of a group of values"
    clash = source.refuse("leaf-and-group", groups & chains.keys(), f"value is {what}", f"values are {what}")
    return Outline(parents, (*findings, *clash), sizes or {})


def raise_leaf_counts(sizes: Mapping[str, int], chains: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Raise the leaf counts of groups to what lies in them; chains have one length and are not empty.

    A group that stands for seven numbers has seven leaves, also where one of them is spelled in two ways
    (``07`` beside ``7``); only more labels than numbers need more.

    Examples
    --------
    >>> raise_leaf_counts({"[3:4]": 2, "[3:6]": 4}, dict.fromkeys(["3", "03", "+3"], ("[3:4]", "[3:6]")))
    {'[3:4]': 3, '[3:6]': 4}
    """
    enough = dict(sizes)
    held = Counter(chain[0] for chain in chains.values())
    for level in range(len(next(iter(chains.values()), ()))):
        for label, n_leaves in held.items():
            enough[label] = max(enough[label], n_leaves)
        held = Counter()
        for label, above in {chain[level : level + 2] for chain in chains.values() if chain[level + 1 :]}:
            held[above] += enough[label]
    return enough


@dataclass(frozen=True, slots=True)
class Flat(Kind):
    """Nothing lies between a value and the root; the leaves are the values that occur.

    Examples
    --------
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> print(Hierarchy.flat().build(["m", "f"], column="sex"))
    * (2 leaves)
      f
      m
    """

    name: ClassVar[str] = "flat"

    def outline(self, values: Mapping[str, int], source: Origin) -> Outline:
        """Put every value under the root."""
        return outline_of_chains(dict.fromkeys(values, ()), source)


class Given(Kind):
    """A tree that is given, in which the values of a column are looked for."""

    @abstractmethod
    def read(self, source: Origin) -> Outline:
        """Return which label lies under which, and what is wrong."""

    def outline(self, values: Mapping[str, int], source: Origin) -> Outline:
        """Read the tree, and look for a leaf for each value."""
        outline = self.read(source)
        if not outline.parents:
            return outline
        # What is a leaf and a group at once is an error of the tree, and not of the values.
        both = {
            label for found in outline.findings if found.kind == "leaf-and-group" for label in found.labels
        }
        covered = coverage(values.keys() - both, outline.leaves, outline.groups, source)
        return replace(outline, findings=(*outline.findings, *covered))


@dataclass(frozen=True, slots=True)
class Tree(Given):
    """A group holds a table of groups or a list of leaves; an empty table is a leaf.

    Examples
    --------
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> ill = Hierarchy.tree({"acute": {"infection": ["flu", "cold"]}, "asthma": {}})
    >>> print(ill.build(["flu", "asthma"], column="ill"))
    * (3 leaves)
      acute (2 leaves)
        infection (2 leaves)
          cold
          flu
      asthma
    """

    tree: Mapping[str, object]
    """Group to what lies below it."""

    name: ClassVar[str] = "tree"

    def read(self, source: Origin) -> Outline:
        """Read the tables."""
        return examine_nested(self.tree, source)


@dataclass(frozen=True, slots=True)
class _File(Given):
    path: str | Path
    """Where the file is."""

    def source(self, column: str) -> Origin:
        """Return the file that messages name, control characters escaped."""
        return Origin(repr(Path(self.path).name)[1:-1], column)


@dataclass(frozen=True, slots=True)
class ArxFile(_File):
    r"""The tree of an ARX hierarchy: ``;`` between cells, no header, one row per leaf, the leaf first.

    A row that does not end in ``*`` gets it on top. Rows may differ in length. Blanks around labels are
    trimmed.

    Examples
    --------
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ill.csv"
    >>> _ = path.write_text("flu;acute;*\ncold;acute;*\nasthma;chronic;*\n")
    >>> print(Hierarchy.read(path).build(["flu"], column="ill"))
    * (3 leaves)
      acute (2 leaves)
        cold
        flu
      chronic (1 leaf)
        asthma
    """

    name: ClassVar[str] = "arx"

    def read(self, source: Origin) -> Outline:
        """Read the file."""
        rows, findings = read_rows(Path(self.path), source, delimiter=";")
        if not rows:
            return Outline({}, findings)
        if all(len(cells) == 1 and "," in cells[0] for _, cells in rows):
            comma = source.say(
                "error", "delimiter", "cells must be separated by ';', and no row has one, but ','"
            )
            return Outline({}, (*findings, comma))
        outline = examine_paths(rows, source)
        return replace(outline, findings=(*findings, *outline.findings))


@dataclass(frozen=True, slots=True)
class EdgesFile(_File):
    r"""The tree of a file with the rows ``child,parent``; a first row of just these two words is a header.

    A node without a parent, or with an empty one, goes under the root.

    Examples
    --------
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ill.csv"
    >>> _ = path.write_text("child,parent\nflu,acute\ncold,acute\n")
    >>> Hierarchy.read(path, "edges").build(["flu"], column="ill").labels
    ('*', 'acute', 'cold', 'flu')
    """

    name: ClassVar[str] = "edges"

    def read(self, source: Origin) -> Outline:
        """Read the file."""
        rows, findings = read_rows(Path(self.path), source, delimiter=",")
        if not rows:
            return Outline({}, findings)
        statements: list[Edge] = []
        has_header = [cell.lower() for cell in rows[0][1]] == ["child", "parent"]
        for row, cells in rows[has_header:]:
            if len(cells) != 2:
                what = f"must have two cells, child and parent separated by ',', has {len(cells)}"
                findings.append(source.say("error", "cells", what, row=row))
            elif not cells[0]:
                findings.append(source.say("error", "empty-label", "empty label", row=row, labels=("",)))
            elif cells != [ROOT, ""]:
                statements.append(Edge(cells[0], cells[1] or ROOT, row))
        outline = examine(statements, source, each_once=True)
        if not outline.parents and not findings:
            findings.append(source.say("error", "empty", "has no rows"))
        return replace(outline, findings=(*findings, *outline.findings))


def hierarchy_file(path: str | Path, format: str) -> ArxFile | EdgesFile:  # noqa: A002
    """Choose the reader by the name of the format."""
    if format == "arx":
        return ArxFile(path)
    if format == "edges":
        return EdgesFile(path)
    msg = f"format of a hierarchy file must be arx or edges, got {quoted(str(format))}"
    raise HierarchyError(msg)


ANY = "{} (any)"
"""The node above a value that is itself above others, and these."""


@dataclass(frozen=True, slots=True)
class ParentGraph(Kind):
    """The tree of a directed graph without cycles, in which the values of a column are nodes.

    A label with several parents goes under the one that has most values of the column below it, and of those
    under the first by name. Labels above a single branch are left out, and values without parents are below
    the root. A value that lies above others becomes a leaf beside them, under a node of its own.

    Examples
    --------
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> parents = {"flu": ["viral", "lung"], "cold": ["viral"], "asthma": ["lung"], "lung": ["organ"]}
    >>> print(Hierarchy.graph(parents).build(["flu", "cold", "viral", "burn"], column="ill"))
    * (4 leaves)
      burn
      viral (any) (3 leaves)
        cold
        flu
        viral
    """

    parents: Mapping[str, list[str]]
    """Label to the labels directly above it."""
    origin: str = "vocabulary"
    """What messages call it."""

    name: ClassVar[str] = "graph"

    def outline(self, values: Mapping[str, int], source: Origin) -> Outline:
        """Put every value under its chain of parents, or report a cycle."""
        above = self._above(values)
        try:
            order = list(TopologicalSorter(above).static_order())  # parents first
        except CycleError as error:
            *cycle, _ = reversed(error.args[1])
            shown = " under ".join(map(quoted, (*cycle, cycle[0])))
            text = f"{self.origin} has a cycle: {shown}"
            return Outline({}, [source.say("error", "cycle", text, labels=tuple(cycle))])
        below: dict[str, set[str]] = {label: {label} & values.keys() for label in order}
        for label in reversed(order):
            for parent in above[label]:
                below[parent] |= below[label]
        chosen = {
            label: min(above[label], key=lambda parent: (-len(below[parent]), parent))
            for label in order
            if above[label]
        }
        used: set[str] = set()
        for value in values:
            at = value
            while at and at not in used:
                used.add(at)
                at = chosen.get(at, "")
        branches = Counter(chosen[label] for label in used if label in chosen)
        chains: dict[str, tuple[str, ...]] = {}
        for value in values:
            chain = [ANY.format(value)] if branches[value] else []
            at = value
            while (at := chosen.get(at, "")) != "":
                if branches[at] > 1 or at in values:
                    chain.append(ANY.format(at) if at in values else at)
            chains[value] = tuple(chain)
        return outline_of_chains(chains, source)

    def _above(self, values: Mapping[str, int]) -> dict[str, list[str]]:
        """Return the parents of values, of their parents and so on."""
        above: dict[str, list[str]] = {}
        todo = list(values)
        while todo:
            label = todo.pop()
            if label not in above:
                above[label] = sorted({*self.parents.get(label, ())})
                todo += above[label]
        return above
