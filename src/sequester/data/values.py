"""The values of attributes: which occur, whether their hierarchies know them, and which are protected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.data.problems import Problem
from sequester.data.text import distinct_labels
from sequester.hierarchies.labels import MISSING, ROOT, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from sequester._typing import Counts
    from sequester.data.schema import Schema
    from sequester.hierarchies.hierarchy import Hierarchy


def read_labels(
    frame: pl.DataFrame,
    columns: Iterable[str],
    schema: Schema,
    rows: Counts,
    problems: list[Problem],
    known: Mapping[str, list[str]] | None = None,
) -> dict[str, list[str]]:
    """Give the distinct labels of each column in label order; reserved values are problems."""
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
    """Give the protected labels of each sensitive attribute; a rule that matches nothing is named."""
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
