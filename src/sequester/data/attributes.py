"""The labels, hierarchies and protected values of attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.data.problems import SHOWN_ROWS, Problem
from sequester.data.text import distinct_labels
from sequester.errors import HierarchyError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import MISSING, ROOT, listed, match_alike, quoted
from sequester.hierarchies.lint import ALIKE, lint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from sequester._typing import Counts
    from sequester.data.problems import Severity
    from sequester.data.schema import Alike, Quasi, Schema
    from sequester.hierarchies.builder import HierarchyBuilder
    from sequester.hierarchies.lint import Finding


def read_labels(
    frame: pl.DataFrame,
    columns: Iterable[str],
    schema: Schema,
    rows: Counts,
    problems: list[Problem],
    known: Mapping[str, list[str]] | None = None,
) -> dict[str, list[str]]:
    """Return the distinct labels of each column in label order; reserved values are problems."""
    labels = {}
    for column in columns:
        text = frame[column]
        labels[column] = distinct_labels(text) if known is None else known[column]
        if ROOT in labels[column] and not schema.released:
            what = f"column {quoted(column)}: the value '*' stands for a suppressed value and may not occur"
            problems.append(Problem.at(what, column, (text == ROOT).fill_null(False).to_numpy(), rows))
        if text.null_count() and (text == MISSING).any():
            what = f"column {quoted(column)}: '(missing)' stands for a gap, and the column has gaps too"
            problems.append(Problem.at(what, column, (text == MISSING).fill_null(False).to_numpy(), rows))
    return labels


def find_protected(
    schema: Schema, labels: dict[str, list[str]], problems: list[Problem]
) -> dict[str, frozenset[str]]:
    """Return the protected labels of each sensitive attribute; a rule that matches nothing is named."""
    protected = {}
    for name, sensitive in schema.sensitive.items():
        occurring = dict.fromkeys(
            label for column in sensitive.columns for label in labels.get(column, ()) if label != MISSING
        )
        if sensitive.protect == "all":
            protected[name] = frozenset(occurring)
            continue
        found = set(sensitive.protect.values)
        for rule in sensitive.protect.rules():
            matches = rule.matches(occurring)
            found.update(matches)
            if not matches:
                what = f"sensitive attribute {quoted(name)}: the protected {rule} does not occur in the data"
                problems.append(Problem(what, name, severity="warning"))
        protected[name] = frozenset(found)
    return protected


def with_protected_nodes(
    protected: dict[str, frozenset[str]], schema: Schema, hierarchies: dict[str, Hierarchy]
) -> dict[str, frozenset[str]]:
    """Add the nodes that have nothing but protected leaves below them, above values that are protected.

    Somebody who knows such a node of a person knows that a protected value is among their values: it is no
    background knowledge, as a protected value is none. It matters where a quasi-identifier is sensitive, too.
    A leaf counts as protected whether or not it occurs. A release does not show which leaves its hierarchies
    had: there, such nodes are named one by one.

    Examples
    --------
    >>> from sequester.data.schema import Schema
    >>> from sequester.hierarchies import Hierarchy
    >>> ill = Hierarchy.from_tree({"infectious": {"STD": ["HIV", "syphilis"], "flu": {}}, "other": ["gout"]})
    >>> schema = Schema(person="who", order="n", quasi={"ill": ill}, sensitive={"ill": ["HIV", "syphilis"]})
    >>> sorted(with_protected_nodes({"ill": frozenset(["HIV", "syphilis"])}, schema, {"ill": ill})["ill"])
    ['HIV', 'STD', 'syphilis']
    """
    if schema.released:
        return protected
    found = {}
    for name, sensitive in schema.sensitive.items():
        secret, known = set[str](), set[str]()
        for column in sensitive.columns:
            if column not in schema.quasi or column not in hierarchies:
                continue
            tree = hierarchies[column]
            leaves = [tree.labels[node] for node in tree.leaf_nodes.tolist()]
            rule = sensitive.protect
            covered = {*leaves} - {MISSING} if rule == "all" else {*rule.of(leaves)}
            is_open = tree.is_leaf & np.array([label not in covered for label in tree.labels])
            n_open = np.concatenate([[0], np.cumsum(is_open)])
            present = [tree.node(label) for label in protected[name] if label in tree]
            above = {node for each in present for node in tree.ancestors(each)[1:-1]}
            for node in above:
                is_secret = n_open[tree.subtree_end[node]] == n_open[node]
                (secret if is_secret else known).add(tree.labels[node])
        found[name] = protected[name] | (secret - known)
    return found


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
    """Turn a finding into a problem, with the rows where it is about values of the data."""
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
    """Return the tree as it is: released values may be any of its nodes, and nothing is learned from them."""
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
    """List what a quasi-identifier asks for that its hierarchy does not have.

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
        like = match_alike(unknown, (tree.labels[node] for node in tree.leaf_nodes))
        lines.append(line + (f"; did you mean {listed([leaf for _, leaf in like])}?" if like else ""))
    return lines
