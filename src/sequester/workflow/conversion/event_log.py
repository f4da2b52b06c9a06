"""A table as an event log: each person's events together and in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.ordering import order_keys, repeats
from sequester.data.schema import ROW, Schema
from sequester.data.sequences import SYMBOL
from sequester.data.table import EventTable
from sequester.data.text import as_text
from sequester.errors import InputError
from sequester.hierarchies.labels import quoted
from sequester.io.xes import ACTIVITY, CASE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester._typing import Mask, Offsets


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which column says who, when and what; None is found by the names that event logs use."""

    person: str | None = None
    """Who, or ``row`` where each row is a person."""
    order: str | None = None
    """When: numbers if all are numbers, otherwise text."""
    time: Sequence[str] = ()
    """When: a column of times, or one of dates and one of clocks."""
    time_format: str | None = None
    """How times are written, where not ISO 8601."""
    tie: str | None = None
    """Second key where order or time repeat within a person; otherwise file order."""
    symbol: str | None = None
    """What."""

    def found_in(self, columns: Sequence[str]) -> Roles:
        """Fill in what is not given from the columns that logs have; what cannot be found is refused.

        Without order and time, events stay in file order, unless there is a column ``order``.

        Examples
        --------
        >>> found = Roles(symbol="page").found_in(["person", "order", "page"])
        >>> found.person, found.order
        ('person', 'order')
        """
        person = self.person or _first((CASE, "person"), columns)
        symbol = self.symbol or _first((ACTIVITY, SYMBOL), columns)
        named = [("person", self.person), ("order", self.order), *(("time", each) for each in self.time)]
        named += [("tie", self.tie), ("symbol", self.symbol)]
        lines = [
            f"--{option} is {quoted(column)}, and the table has no such column"
            for option, column in named
            if column is not None and column not in columns and (option, column) != ("person", ROW)
        ]
        if person is None:
            lines.append("--person is needed: the column of persons, or row where each row is a person")
        if symbol is None:
            lines.append("--symbol is needed: the column that says what happened")
        if lines:
            raise InputError(*lines)
        order = self.order if self.order or self.time else _first(("order",), columns)
        return Roles(
            person=person,
            order=None if order in (person, symbol) else order,
            time=self.time,
            time_format=self.time_format,
            tie=self.tie,
            symbol=symbol,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLog:
    """Events by person, in order."""

    frame: pl.DataFrame
    """All columns of the table, one row per event."""
    persons: pl.Series
    """The name of each person."""
    offsets: Offsets
    """Person ``i`` has the rows ``offsets[i]`` to ``offsets[i + 1]``."""
    symbols: pl.Series
    """What happened in each row; null where that is missing."""
    times: pl.Series | None
    """When, in UTC, where a column says so and the order comes from it."""
    ties: Mask
    """Rows that are at one time with the row before them."""
    is_moved: bool
    """The rows stood in another order."""
    roles: Roles
    """The columns that say so."""

    @classmethod
    def of(cls, frame: pl.DataFrame, roles: Roles) -> EventLog:
        """Sort a table by person and time; whatever cannot be sorted is refused with its rows."""
        roles = roles.found_in(frame.columns)
        symbols = as_text(frame[str(roles.symbol)])
        named = (None if roles.person == ROW else roles.person, roles.order, *roles.time, roles.tie)
        columns = {column: frame[column] for column in named if column is not None}
        # Where nothing says when, events are in file order; what happened has no say in it.
        place, anything = "place", "anything"
        while {place, anything} & {*columns}:
            place, anything = f"{place}'", f"{anything}'"
        order = roles.order or ("" if roles.time else place)
        schema = Schema(
            person=str(roles.person),
            order=order or None,
            time=roles.time[0] if len(roles.time) == 1 else roles.time or None,
            time_format=roles.time_format,
            tie=roles.tie,
            symbol=anything,
        )
        columns[anything] = pl.repeat("x", frame.height, eager=True)
        if order == place:
            columns[place] = pl.int_range(frame.height, eager=True)
        table = EventTable(pl.DataFrame(columns), schema)
        when = table.frame[order] if table.times is None else table.times
        places = table.rows - 1
        return cls(
            frame=frame[places],
            persons=table.persons,
            offsets=table.person_offsets,
            symbols=symbols.gather(places),
            times=table.times,
            ties=repeats(table.person_offsets, order_keys(when)),
            is_moved=bool((places[1:] < places[:-1]).any()),
            roles=roles,
        )


def _first(names: Sequence[str], columns: Sequence[str]) -> str | None:
    return next((name for name in names if name in columns), None)
