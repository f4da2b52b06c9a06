"""Relaxations of the rules of one column: coarser levels, suppression, or a coarser beginning."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester.data.schema import Schema
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import in_label_order
from sequester.methods.relax import RelaxationPath

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.data.schema import Quasi
    from sequester.data.table import EventTable
    from sequester.methods.method import Method


def quasi_relaxations(table: EventTable) -> tuple[RelaxationPath, ...]:
    """List what each quasi-identifier could allow: a larger max_level, suppression, a coarser beginning."""
    coarse = [
        coarser_start(table, column)
        for column in table.schema.quasi
        if column not in table.schema.sensitive_columns
    ]
    return (*rule_relaxations(table), *(each for each in coarse if each.steps))


def rule_relaxations(table: EventTable) -> tuple[RelaxationPath, ...]:
    """List what the rules of each quasi-identifier could allow: coarser levels, or suppression."""
    paths: list[RelaxationPath] = []
    for column, quasi in table.schema.quasi.items():
        if quasi.max_level is not None:
            steps = range(quasi.max_level + 1, table.hierarchies[column].height + 1)
            paths.append(_rule_relaxation(column, "max_level", quasi.max_level, steps))
        if quasi.never_suppress:
            paths.append(_rule_relaxation(column, "never_suppress", quasi.never_suppress, ((),)))
    return tuple(each for each in paths if each.steps)


def _rule_relaxation(column: str, rule: str, asked: object, steps: Sequence[object]) -> RelaxationPath:
    def at(method: Method, table: EventTable, step: Any) -> tuple[Method, EventTable]:
        quasi = replace(table.schema.quasi[column], **{rule: step})
        return method, table.replace(schema=with_quasi(table.schema, {column: quasi}))

    def text(value: object) -> str:
        return ", ".join(value) or "nothing" if isinstance(value, tuple) else str(value)

    return RelaxationPath(parameter=f"{rule} of {column}", asked=asked, steps=steps, at=at, text=text)


def coarser_start(table: EventTable, column: str) -> RelaxationPath:
    """Let the values of a column begin at a coarser level of its hierarchy."""
    tree = table.hierarchies[column]

    def text(level: int) -> str:
        some = next((label for label in tree.level_labels(level) if label not in tree.level_labels(0)), "")
        return "its own values" if level == 0 else f"level {level}{f' such as {some}' if some else ''}"

    def at(method: Method, table: EventTable, level: int) -> tuple[Method, EventTable]:
        return method, coarsened(table, column, level)

    return RelaxationPath(
        parameter=f"hierarchy of {column}",
        asked=0,
        steps=range(1, tree.height),
        at=at,
        text=text,
        equals=" beginning at ",
    )


def coarsened(table: EventTable, column: str, level: int) -> EventTable:
    """Return a table whose column shows a coarser level of its hierarchy from the start.

    Examples
    --------
    >>> from sequester.testing.checks import history_table
    >>> coarse = coarsened(history_table(["ac", "b"]), "letter", 1)
    >>> coarse.sequences.to_rows("letter")
    [('early', 'late'), ('early',)]
    """
    tree = table.hierarchies[column]
    labels = tree.level_labels(level)
    coarse = Hierarchy.from_frame(tree.above(labels))
    above = {label: tree.generalize(label, level) for label in table.labels[column]}
    shown = table.frame[column].replace_strict(above, return_dtype=pl.String)
    occurring = {tree.generalize(label, level) for label in table.labels[column]}
    changes: dict[str, object] = {
        "frame": table.frame.with_columns(shown.alias(column)),
        "labels": {**table.labels, column: in_label_order(occurring)},
        "hierarchies": {**table.hierarchies, column: coarse},
    }
    quasi = table.schema.quasi.get(column)
    if quasi is not None:
        mapped = replace(
            quasi,
            hierarchy=coarse,
            max_level=None if quasi.max_level is None else max(quasi.max_level - level, 0),
            never_suppress=tuple(
                dict.fromkeys(tree.generalize(label, level) for label in quasi.never_suppress)
            ),
        )
        changes["schema"] = with_quasi(table.schema, {column: mapped})
    return table.replace(**changes)


def with_quasi(schema: Schema, changes: Mapping[str, Quasi]) -> Schema:
    """Return a schema with other rules for some quasi-identifiers."""
    given = {each.name: getattr(schema, each.name) for each in fields(schema)}
    return Schema(**{**given, "quasi": {**schema.quasi, **changes}})
