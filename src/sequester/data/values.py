"""The values of attributes: which occur, whether their hierarchies know them, and which are protected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.data.problems import Problem
from sequester.data.text import distinct_labels
from sequester.hierarchies.labels import MISSING, ROOT, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from sequester._typing import Counts
    from sequester.data.schema import Schema


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
