"""One attribute of a configuration with its tree, whatever the other hierarchies are worth."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sequester.data.place import REGION
from sequester.data.schema import Quasi, Symbol
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import quoted
from sequester.workflow.config import Config

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.data.schema import Schema


def bind_hierarchy(config: str | Path | Config, attribute: str) -> tuple[EventTable, Hierarchy]:
    """Read the data, and bind the hierarchy of one attribute to its column.

    Raises
    ------
    InputError
        Where the attribute has no hierarchy (with the names of those that have one), where the data is wrong,
        or where the hierarchy does not fit its column.
    """
    config = config if isinstance(config, Config) else Config.load(config)
    schema = config.schema
    known = _with_hierarchy(schema)
    if attribute not in known:
        may = f"one of {', '.join(map(quoted, known))}" if known else "and none has one"
        msg = (
            f"{config.path.name}: ATTRIBUTE must be a column with a hierarchy, {may}, got {quoted(attribute)}"
        )
        raise InputError(msg)
    table = EventTable(config.frame(), _with_one_hierarchy(schema, attribute))
    return table, table.hierarchies[attribute]


def _with_hierarchy(schema: Schema) -> list[str]:
    symbol = schema.symbol
    has_tree = symbol is not None and symbol.hierarchy is not None
    return [
        *([symbol.column] if symbol is not None and has_tree else []),
        *([REGION] if schema.place is not None else []),
        *schema.quasi,
    ]


def _with_one_hierarchy(schema: Schema, attribute: str) -> Schema:
    """Give the other columns the hierarchy that always fits: their files may not be written yet."""
    symbol = schema.symbol
    return replace(
        schema,
        symbol=symbol if symbol is None or symbol.column == attribute else Symbol(symbol.column),
        quasi={
            column: quasi if column == attribute else Quasi(Hierarchy.flat())
            for column, quasi in schema.quasi.items()
        },
    )
