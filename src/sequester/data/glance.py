"""An event table at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.data.schema import ROW
from sequester.display.card import Card
from sequester.hierarchies.labels import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester.data.table import EventTable

_SHOWN_ROWS = 5


def glance(table: EventTable) -> Card:
    """Show the roles of columns, how many labels each has, what to know, and the first events."""
    first = table.frame.head(_SHOWN_ROWS)
    persons, events = (
        counted(table.n_owners, "person", "persons"),
        counted(table.n_events, "event", "events"),
    )
    trips = "" if table.owners is None else f", {counted(table.n_persons, 'trip', 'trips')}"
    return Card(
        title=f"EventTable: {persons}{trips}, {events}",
        facts=tuple(_facts(table)),
        remarks=(*(f"{problem.severity}: {problem}" for problem in table.problems), *table.reading.lines()),
        header=tuple(first.columns),
        rows=tuple(tuple("" if cell is None else str(cell) for cell in row) for row in first.iter_rows()),
    )


def _facts(table: EventTable) -> Iterator[tuple[str, str]]:
    schema = table.schema
    yield "person", "each row" if schema.person == ROW else schema.person
    if schema.order is not None:
        yield "order", schema.order
    if schema.time is not None:
        yield "time", ", ".join(schema.time_columns)
    if schema.tie is not None:
        yield "tie", schema.tie
    if table.symbol is not None:
        yield "symbol", f"{table.symbol} ({_labels(table, table.symbol)})"
    for column in schema.quasi:
        levels = f", {table.hierarchies[column].height} levels" if column in table.hierarchies else ""
        made = f", {schema.derive[column]}" if column in schema.derive else ""
        yield "quasi", f"{column} ({_labels(table, column)}{levels}{made})"
    for name, sensitive in schema.sensitive.items():
        source = "" if sensitive.columns == (name,) else f" from {', '.join(sensitive.columns)}"
        yield "sensitive", f"{name}{source} ({len(table.protected[name]):,} protected)"
    if schema.keep:
        yield "keep", ", ".join(schema.keep)
    if schema.drop:
        yield "drop", ", ".join(schema.drop)


def _labels(table: EventTable, column: str) -> str:
    return counted(len(table.labels[column]), "label", "labels")
