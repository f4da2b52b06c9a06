"""Bind hierarchies to the columns of a table: every value has its leaf, or is reported with its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.data.problems import SHOWN_ROWS, Problem
from sequester.errors import HierarchyError
from sequester.hierarchies.alike import shown_alike
from sequester.hierarchies.coverage import ALIKE
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import MISSING, ROOT, listed, quoted
from sequester.hierarchies.lint import lint

if TYPE_CHECKING:
    import polars as pl

    from sequester._typing import Counts
    from sequester.data.problems import Severity
    from sequester.data.schema import Alike, Quasi, Schema
    from sequester.hierarchies.builder import HierarchyBuilder
    from sequester.hierarchies.finding import Finding

_SEVERITY: dict[str, Severity] = {"error": "error", "warning": "warning", "info": "note"}


def bind(
    frame: pl.DataFrame, schema: Schema, labels: dict[str, list[str]], rows: Counts, problems: list[Problem]
) -> dict[str, Hierarchy]:
    """Build the hierarchy of every column in `labels` that has one; what does not fit becomes a problem."""
    bound = {}
    for column, known in labels.items():
        source = _source(schema, column)
        if source is None:
            continue
        tree = (
            _bind_released(source, column, known, problems)
            if schema.released
            else _bind_values(source, frame[column], known, rows, schema.alike, problems)
        )
        if tree is None:
            continue
        bound[column] = tree
        if column in schema.quasi:
            problems += [Problem(line, column) for line in check_limits(schema.quasi[column], column, tree)]
    return bound


def _source(schema: Schema, column: str) -> Hierarchy | HierarchyBuilder | None:
    if schema.symbol is not None and schema.symbol.column == column:
        return schema.symbol.hierarchy
    return schema.quasi[column].hierarchy if column in schema.quasi else None


def _bind_values(
    source: Hierarchy | HierarchyBuilder,
    text: pl.Series,
    labels: list[str],
    rows: Counts,
    alike: Alike | None,
    problems: list[Problem],
) -> Hierarchy | None:
    column = text.name
    counts = text.alias("value").value_counts(name="rows")
    # Quantiles learn from how often a value occurs; label order keeps what they learn repeatable.
    often = dict(counts.iter_rows())
    values = {label: often[label] for label in labels if label in often and label != ROOT}
    findings = lint(source, values, column)
    problems += [_problem(finding, text, rows, alike) for finding in findings]
    if any(finding.severity == "error" for finding in findings):
        return None
    try:
        return source.build(values, column=column, missing=text.null_count() > 0 or MISSING in values)
    except HierarchyError as error:
        problems += [Problem(line, column) for line in error.lines]
        return None


def _problem(finding: Finding, text: pl.Series, rows: Counts, alike: Alike | None) -> Problem:
    """Take over what the linter says; where it is about values of the data, say in which rows they are."""
    severity = _SEVERITY[finding.severity]
    if finding.kind == ALIKE:
        severity = severity if alike is None else "error" if alike == "refuse" else "note"
        return Problem(str(finding), text.name, severity=severity, alike=True)
    if finding.severity != "error" or finding.rows or not finding.labels:
        return Problem(str(finding), text.name, severity=severity)
    where = text.is_in(list(finding.labels)).fill_null(value=False).to_numpy()
    places = np.sort(rows[where])
    return Problem(
        str(finding), text.name, len(places), tuple(places[:SHOWN_ROWS].tolist()), severity=severity
    )


def _bind_released(
    source: Hierarchy | HierarchyBuilder, column: str, labels: list[str], problems: list[Problem]
) -> Hierarchy | None:
    """Take a tree as it is: released values are nodes anywhere in it, and nothing is learned from them."""
    if not isinstance(source, Hierarchy):
        return None
    unknown = [label for label in labels if label not in source]
    if unknown:
        what = (
            f"column {quoted(column)}: released values that are no nodes of the hierarchy: {listed(unknown)}"
        )
        problems.append(Problem(what, column))
    return source


def check_limits(quasi: Quasi, column: str, tree: Hierarchy) -> list[str]:
    """Say what a quasi-identifier asks for that its hierarchy does not have.

    Examples
    --------
    >>> from sequester.data.schema import Quasi
    >>> tree = Hierarchy.from_paths([["56001", "56***"], ["56002", "56***"]])
    >>> for line in check_limits(Quasi(tree, max_level=9, never_suppress=("1",)), "ZIP", tree):
    ...     print(line)
    quasi.ZIP.max_level must be at most 2, got 9
    quasi.ZIP.never_suppress names values without a leaf: '1'
    """
    lines = []
    if quasi.max_level is not None and quasi.max_level > tree.height:
        lines.append(f"quasi.{column}.max_level must be at most {tree.height}, got {quasi.max_level}")
    unknown = [
        value for value in quasi.never_suppress if value not in tree or not tree.is_leaf[tree.node(value)]
    ]
    if unknown:
        line = f"quasi.{column}.never_suppress names values without a leaf: {listed(unknown)}"
        like = shown_alike(unknown, (tree.labels[node] for node in tree.leaf_nodes))
        lines.append(line + (f"; did you mean {listed([leaf for _, leaf in like])}?" if like else ""))
    return lines
