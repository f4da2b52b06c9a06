"""The commands on hierarchies: build, show and lint."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sequester.data.alike import leaves_of
from sequester.data.places import REGION
from sequester.data.roles import check_limits
from sequester.data.schema import Quasi, Symbol
from sequester.data.table import EventTable
from sequester.data.text import encode
from sequester.engine import silent
from sequester.errors import HierarchyError, InputError
from sequester.hierarchies.builder import rows_as_text
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import (
    MISSING,
    ROOT,
    counted,
    in_label_order,
    is_number_label,
    listed,
    match_alike,
    quoted,
)
from sequester.hierarchies.lint import Finding, lint
from sequester.release.staging import refuse_existing, refuse_inputs, write_file
from sequester.workflow.config import Config
from sequester.workflow.run import SILENT, RunContext

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.schema import Schema
    from sequester.engine import Progress
    from sequester.hierarchies.builder import HierarchyBuilder


def bind_hierarchy(config: str | Path | Config, attribute: str) -> tuple[EventTable, Hierarchy]:
    """Read the data, and bind the hierarchy of one attribute to its column.

    Raises
    ------
    InputError
        Where the attribute has no hierarchy (with the names of those that have one), where the data is wrong,
        or where the hierarchy does not fit its column.
    """
    config = Config.load(config)
    schema, own = config.schema, config.persons_schema
    known = [
        *(() if own is None else _sources(own)),
        *_sources(schema),
        *([REGION] if schema.place is not None else []),
    ]
    if attribute not in known:
        may = f"one of {', '.join(map(quoted, known))}" if known else "and no column has one"
        msg = (
            f"{config.path.name}: ATTRIBUTE must be a column with a hierarchy, {may}, got {quoted(attribute)}"
        )
        raise InputError(msg)
    table = _flat_table(config, but=attribute)
    if own is not None and attribute in own.quasi and table.demographics is not None:
        table = table.demographics
    return table, table.hierarchies[attribute]


def _flat_table(config: Config, *, but: str | None = None) -> EventTable:
    """Read the data with hierarchies that always fit: files may be wrong, or not written yet."""
    own = config.persons_schema
    persons = None if own is None else config.persons(schema=_with_flat_hierarchies(own, but=but))
    return EventTable(config.frame(), _with_flat_hierarchies(config.schema, but=but), persons)


def _sources(schema: Schema) -> dict[str, Hierarchy | HierarchyBuilder]:
    """Return the hierarchy of each column that has one; regions come with theirs."""
    sources: dict[str, Hierarchy | HierarchyBuilder] = {}
    if schema.symbol is not None and schema.symbol.hierarchy is not None:
        sources[schema.symbol.column] = schema.symbol.hierarchy
    return sources | {column: quasi.hierarchy for column, quasi in schema.quasi.items()}


def _with_flat_hierarchies(schema: Schema, *, but: str | None = None) -> Schema:
    """Return the schema with the hierarchy that always fits."""
    symbol = schema.symbol
    return replace(
        schema,
        symbol=symbol if symbol is None or symbol.column == but else Symbol(symbol.column),
        quasi={
            column: quasi if column == but else Quasi(Hierarchy.flat())
            for column, quasi in schema.quasi.items()
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltHierarchy:
    """A tree that has been written."""

    attribute: str
    """Its column."""
    path: Path
    """The file."""
    tree: Hierarchy
    """What is in it."""

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``hierarchy build --json`` prints."""
        return {
            "attribute": self.attribute,
            "path": str(self.path),
            "leaves": len(self.tree.leaf_nodes),
            "nodes": len(self.tree),
            "levels": self.tree.height,
        }


def build_hierarchy(
    config: str | Path | Config,
    attribute: str,
    out: str | Path,
    *,
    force: bool = False,
    run: RunContext = SILENT,
) -> BuiltHierarchy:
    """Write the hierarchy of one attribute, bound to its column, as an ARX file."""
    out = Path(out)
    refuse_existing(out, force=force)
    config = Config.load(config)
    refuse_inputs(out, inputs=config.inputs)
    run.progress(0.0, "reading")
    _, tree = bind_hierarchy(config, attribute)
    if any(not label.strip() for label in tree.labels):
        msg = f"column {quoted(attribute)} has a value of blanks alone, which a file of labels cannot hold"
        raise InputError(msg)
    for line in _differences(tree):
        run.warn(line)
    write_file(rows_as_text(tree.arx_rows()).encode(), out)
    return BuiltHierarchy(attribute=attribute, path=out, tree=tree)


def _differences(tree: Hierarchy) -> list[str]:
    """Describe where the tree that is read from the file will not be this one."""
    lines = []
    named, all_leaves = len(tree.leaf_nodes), int(tree.leaves[0])
    if all_leaves > named:
        what = counted(named, "leaf that occurs", "leaves that occur")
        lines.append(f"the file lists the {what} of {all_leaves:,}: read from it, a group counts only those")
    blank = [label for label in tree.labels if label != label.strip() and label != ROOT]
    if blank:
        what = counted(len(blank), "label has", "labels have")
        lines.append(f"{what} blanks around, which are trimmed when the file is read: {listed(blank)}")
    return lines


_WIDEST = 40
"""Characters of a label that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyCounts:
    """A tree and what the data has under each of its nodes."""

    attribute: str
    """Its column."""
    tree: Hierarchy
    """The tree, bound to the column."""
    events: Counts
    """Node to the events whose value lies at or below it."""
    persons: Counts
    """Node to the persons who have such an event."""
    occurring: Counts
    """Node to the leaves at or below it that occur."""

    def to_json(self, *, depth: int | None = None) -> dict[str, Any]:
        """Return the document that ``hierarchy show --json`` prints: every node down to `depth`."""
        tree = self.tree
        kept = range(len(tree)) if depth is None else np.flatnonzero(tree.depth <= depth).tolist()
        return {
            "attribute": self.attribute,
            "levels": tree.height,
            "nodes": [
                {
                    "node": tree.labels[node],
                    "parent": tree.labels[tree.parent[node]] if node else "",
                    "depth": int(tree.depth[node]),
                    "events": int(self.events[node]),
                    "persons": int(self.persons[node]),
                    "leaves": int(tree.leaves[node]),
                    "occurring": int(self.occurring[node]),
                }
                for node in kept
            ],
        }

    def lines(self, *, depth: int, children: int) -> Iterator[str]:
        """Draw the tree: nodes below `depth` are folded away, and of many `children` the first are shown."""
        rows = [("", "events", "persons", "leaves that occur"), *self._rows(depth, children)]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        for label, events, persons, leaves in rows:
            yield f"{label:<{widths[0]}}  {events:>{widths[1]}}  {persons:>{widths[2]}}  {leaves}".rstrip()
        height = self.tree.height
        if depth < height:
            yield f"folded at depth {depth} of {height}; --depth {height} shows all levels"

    def _rows(self, depth: int, children: int) -> Iterator[tuple[str, str, str, str]]:
        """Go through the tree from the root without recursion: it may be 255 levels deep."""
        tree, place = self.tree, _places(self.tree)
        waiting: list[tuple[int, list[int]]] = [(0, [])]
        while waiting:
            node, rest = waiting.pop()
            if rest:
                events = sum(int(self.events[each]) for each in rest)
                yield f"{'  ' * int(tree.depth[rest[0]])}and {len(rest):,} more", f"{events:,}", "", ""
                continue
            yield self._row(node)
            if tree.depth[node] < depth:
                below = sorted(tree.children(node), key=place.__getitem__)
                # One node too many takes no more room than the line that would stand for it.
                cut = len(below) if len(below) <= children + 1 else children
                if below[cut:]:
                    waiting.append((node, below[cut:]))
                waiting += [(child, []) for child in reversed(below[:cut])]

    def _row(self, node: int) -> tuple[str, str, str, str]:
        tree = self.tree
        leaves = int(tree.leaves[node])
        known = bool(tree.is_leaf[node]) and leaves == 1
        label = tree.labels[node]
        label = label if len(label) <= _WIDEST else f"{label[: _WIDEST - 1]}…"
        return (
            f"{'  ' * int(tree.depth[node])}{label}",
            f"{int(self.events[node]):,}",
            f"{int(self.persons[node]):,}",
            "" if known else f"{int(self.occurring[node]):,} of {leaves:,}",
        )


def show_hierarchy(
    config: str | Path | Config, attribute: str, *, progress: Progress = silent
) -> HierarchyCounts:
    """Count what lies under each node of the hierarchy of one attribute."""
    progress(0.0, "reading")
    table, tree = bind_hierarchy(config, attribute)
    progress(0.7, "counting")
    codes, book = encode(table.frame[attribute], table.labels[attribute])
    node_of_code = tree.nodes(book.labels)
    nodes = node_of_code[codes]
    occurs = np.zeros(len(tree), np.int64)
    occurs[node_of_code] = 1
    return HierarchyCounts(
        attribute=attribute,
        tree=tree,
        events=_below(tree, np.bincount(nodes, minlength=len(tree))),
        persons=_persons(tree, nodes, table.joined().person_offsets),
        occurring=_below(tree, occurs),
    )


def _places(tree: Hierarchy) -> Counts:
    """Return the place of each node: of ranges that of their first number, [7:13] before [14:20]."""
    labels = [tree.labels[leaf] for leaf in tree.leaf_nodes]
    places = np.arange(len(tree), dtype=np.int64)
    if all(is_number_label(label) or label == MISSING for label in labels):
        place_of = {label: place for place, label in enumerate(in_label_order(labels))}
        places[:] = len(tree)
        places[tree.leaf_nodes] = [place_of[label] for label in labels]
        for node in range(len(tree) - 1, 0, -1):
            parent = tree.parent[node]
            places[parent] = min(places[parent], places[node])
    return places


def _below(tree: Hierarchy, counts: Counts) -> Counts:
    """Sum the counts of each node and all below it, which are numbered one after the other."""
    sums = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return sums[tree.subtree_end] - sums[:-1]


def _persons(tree: Hierarchy, nodes: Codes, offsets: Offsets) -> Counts:
    """Count the persons of each node: pairs of person and node, each once, go up level by level."""
    counts = np.zeros(len(tree), np.int64)
    owner = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    pairs = np.unique(owner * len(tree) + nodes)
    for depth in range(tree.height, -1, -1):
        owner, node = np.divmod(pairs, len(tree))
        here = tree.depth[node] == depth
        counts += np.bincount(node[here], minlength=len(tree))
        pairs = np.unique(owner * len(tree) + np.where(here, tree.parent[node], node))
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class LintResult:
    """What the linter says about one attribute."""

    attribute: str
    """The column."""
    n_values: int
    """Distinct values in the data."""
    findings: tuple[Finding, ...]
    """Errors first."""

    def count(self, severity: str) -> int:
        """Count the findings of one severity."""
        return sum(finding.severity == severity for finding in self.findings)

    def summary(self) -> str:
        """Describe in a line how it went."""
        errors = counted(self.count("error"), "error", "errors")
        warnings = counted(self.count("warning"), "warning", "warnings")
        return f"{self.attribute}: {self.n_values:,} values, {errors}, {warnings}"

    def to_json(self) -> dict[str, Any]:
        """Return the part of the document that ``hierarchy lint --json`` prints."""
        return {
            "attribute": self.attribute,
            "values": self.n_values,
            "findings": [
                {"severity": each.severity, "kind": each.kind, "what": each.text, "count": each.count}
                for each in self.findings
            ],
        }


def lint_hierarchies(config: str | Path | Config, *, progress: Progress = silent) -> list[LintResult]:
    """Lint the hierarchies of all columns that have one, derived columns included."""
    config = Config.load(config)
    schema, own = config.schema, config.persons_schema
    progress(0.0, "reading")
    table = _flat_table(config)
    sources = {**({} if own is None else _sources(own)), **_sources(schema)}
    frames = dict.fromkeys(sources, table.frame)
    quasi_of = dict(schema.quasi)
    if own is not None and table.demographics is not None:
        frames |= dict.fromkeys(own.quasi, table.demographics.frame)
        quasi_of |= own.quasi
    if schema.place is not None:
        # Regions come with their tree.
        sources[REGION] = table.hierarchies[REGION]
    linted = []
    for place, (attribute, source) in enumerate(sources.items()):
        progress(0.5 + 0.5 * place / len(sources), "checking hierarchies")
        cells = frames.get(attribute, table.frame)[attribute]
        counts = Counter(dict(cells.drop_nulls().value_counts().iter_rows()))
        quasi = quasi_of.get(attribute)
        if schema.alike == "merge":
            counts, quasi = _merged(counts, quasi, source, attribute)
        limits = _limits(quasi, attribute, cells, counts)
        findings = (*limits, *lint(source, counts, attribute))
        linted.append(LintResult(attribute=attribute, n_values=len(counts), findings=findings))
    return linted


def _merged(
    counts: Counter[str], quasi: Quasi | None, source: Hierarchy | HierarchyBuilder, attribute: str
) -> tuple[Counter[str], Quasi | None]:
    """Take values of the data, and those that may not be suppressed, for the leaves that they look like."""
    leaves = set(leaves_of(source, attribute))
    spared = () if quasi is None else quasi.never_suppress
    becomes = dict(match_alike({*counts, *spared} - leaves, leaves or counts))
    merged: Counter[str] = Counter()
    for label, count in counts.items():
        merged[becomes.get(label, label) if leaves else label] += count
    if quasi is None:
        return merged, None
    return merged, replace(quasi, never_suppress=tuple(becomes.get(label, label) for label in spared))


def _limits(quasi: Quasi | None, attribute: str, text: pl.Series, counts: Counter[str]) -> list[Finding]:
    """Hold what is asked of a quasi-identifier against its tree, where there is one."""
    if quasi is None:
        return []
    try:
        tree = quasi.hierarchy.build(counts, column=attribute, missing=text.null_count() > 0)
    except HierarchyError:  # the linter says why
        return []
    return [
        Finding(severity="error", kind="limit", text=line) for line in check_limits(quasi, attribute, tree)
    ]
