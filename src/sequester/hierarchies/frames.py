"""A tree as a table of nodes, as it stands in a release: ``node``, ``parent``, ``leaves``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import polars as pl

from sequester.hierarchies.labels import ROOT, quoted
from sequester.hierarchies.outline import Outline, Source, Statement, examine

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sequester.hierarchies.hierarchy import Hierarchy

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
    source = Source("nodes")
    if dict(frame.schema) != COLUMNS:
        wanted = ", ".join(f"{name} ({kind})" for name, kind in COLUMNS.items())
        found = ", ".join(f"{name} ({kind})" for name, kind in frame.schema.items()) or "none"
        return Outline({}, (source.say("error", "columns", f"columns must be {wanted}, got {found}"),))
    if any(frame.null_count().row(0)):
        return Outline({}, (source.say("error", "columns", "a cell is empty"),))
    rows = [(row, *cells) for row, cells in enumerate(frame.rows(), start=1)]
    statements = [
        Statement(node, parent, row) for row, node, parent, _ in rows if (node, parent) != (ROOT, "")
    ]
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
