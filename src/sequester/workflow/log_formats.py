"""Events by person and in order, as formats of logs and sequences write them, and what these cannot hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.ordering import first_events, order_keys, repeats
from sequester.data.schema import ROW, Schema
from sequester.data.sequences import SYMBOL
from sequester.data.table import EventTable
from sequester.data.text import as_text, is_plain
from sequester.data.times import read_times
from sequester.errors import InputError
from sequester.hierarchies.labels import counted, quoted
from sequester.io.csv import write_csv
from sequester.io.spmf import write_seq, write_spmf
from sequester.io.xes import ACTIVITY, CASE, FORBIDDEN, TIME, write_times, write_xes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sequester._typing import Counts, Mask, Offsets


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
        return replace(self, person=person, order=None if order in (person, symbol) else order, symbol=symbol)


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


def to_spmf(log: EventLog) -> tuple[bytes, list[str]]:
    """Write a log as SPMF text; events of a person at one time are an itemset."""
    steps = _Steps.of(log)
    contents = write_spmf(steps.symbols, steps.starts, steps.starts | ~steps.ties)
    n_tied = int(steps.ties.sum()) if log.roles.time else 0
    tied = counted(n_tied, "event is", "events are")
    lost = [f"{tied} in the itemset of the event before, which has the same time"] if n_tied else []
    return contents, [*_left_out(log, steps, steps.places(tied=True)), *lost]


def to_seq(log: EventLog) -> tuple[bytes, list[str]]:
    """Write a log in the UCI format; events of a person at one time come one after the other."""
    steps = _Steps.of(log)
    n_tied = int(steps.ties.sum())
    tied = counted(n_tied, "event comes", "events come")
    lost = [f"{tied} after another that is at the same time: the format has no itemsets"] if n_tied else []
    contents = write_seq(steps.symbols, steps.starts)
    return contents, [*_left_out(log, steps, steps.places(tied=False)), *lost]


@dataclass(frozen=True, slots=True)
class _Steps:
    """The events that have a symbol."""

    symbols: pl.Series
    starts: Mask
    """Rows at which a person begins."""
    ties: Mask
    """Rows that are at one time with the row before them."""
    rows: Counts
    """Their rows in the log."""

    @classmethod
    def of(cls, log: EventLog) -> _Steps:
        rows = np.flatnonzero(log.symbols.is_not_null().to_numpy())
        if not len(rows):
            msg = f"column {quoted(str(log.roles.symbol))}: no event has a symbol"
            raise InputError(msg)
        is_first = first_events(log.offsets)
        # Where rows between them are gone, events are still at one time.
        person, time = np.cumsum(is_first)[rows], np.cumsum(~log.ties)[rows]
        starts = np.append(True, person[1:] != person[:-1])
        return cls(log.symbols.gather(rows), starts, np.append(False, time[1:] == time[:-1]), rows)

    def places(self, *, tied: bool) -> Counts:
        """Number the events of each person from 1, or their times where ties are one."""
        steps = np.cumsum(~self.ties if tied else np.ones_like(self.ties), dtype=np.int64)
        firsts = np.flatnonzero(self.starts)
        lengths = np.diff(np.append(firsts, len(steps)))
        before: Counts = np.repeat(steps[firsts] - 1, lengths)
        return steps - before


_MOVED = "rows are in another order: by person, and in time for each person"


def _left_out(log: EventLog, steps: _Steps, places: Counts) -> Iterator[str]:
    """Describe what a file of sequences has no place for."""
    n_missing = len(log.symbols) - len(steps.rows)
    if n_missing:
        yield f"{counted(n_missing, 'event has', 'events have')} no symbol and cannot be written"
    n_persons = int(steps.starts.sum())
    if n_persons < len(log.persons):
        n_lost = counted(len(log.persons) - n_persons, "person has", "persons have")
        yield f"{n_lost} no event with a symbol and cannot be written"
    if log.persons.to_list() != [str(number) for number in range(1, len(log.persons) + 1)]:
        yield "names of persons are left out: persons are lines, in the order in which they first appear"
    kept = {log.roles.person, log.roles.symbol}
    if log.roles.order is not None:
        order = as_text(log.frame[log.roles.order]).gather(steps.rows)
        if order.equals(pl.Series(order.name, places).cast(pl.String)):
            kept.add(log.roles.order)
    others = [column for column in log.frame.columns if column not in kept]
    if others:
        yield f"columns are left out, only the order of events stays: {', '.join(map(quoted, others))}"
    if log.is_moved:
        yield _MOVED


def to_csv(frame: pl.DataFrame, delimiter: str) -> tuple[bytes, list[str]]:
    """Write a table as delimited text, and say which types and values that levels."""
    refuse_nested(frame)
    lost = []
    typed = [f"{quoted(name)} ({dtype})" for name, dtype in frame.schema.items() if dtype != pl.String]
    if typed:
        lost.append(f"types are left out, everything is text: {', '.join(typed)}")
    texts = frame.select(pl.selectors.string())
    n_empty = sum(int((column.str.len_bytes() == 0).sum()) for column in texts.iter_columns())
    if n_empty:
        lost.append(f"{counted(n_empty, 'empty text is', 'empty texts are')} a missing value there")
    return write_csv(frame, delimiter), lost


def refuse_nested(frame: pl.DataFrame) -> None:
    """Refuse a table with a cell that is no single value."""
    lines = [
        f"column {quoted(name)} holds {dtype}, which is not one text, number, date or truth value"
        for name, dtype in frame.schema.items()
        if not is_plain(dtype)
    ]
    if lines:
        raise InputError(*lines)


def to_xes(log: EventLog) -> tuple[bytes, list[str]]:
    """Write a log as XES, and say what is not in it or not as it was."""
    source = {CASE: (str(log.roles.person),), ACTIVITY: (str(log.roles.symbol),), TIME: tuple(log.roles.time)}
    if log.times is None and TIME in log.frame.columns:
        source[TIME] = (TIME,)
    taken = {column for columns in source.values() for column in columns}
    lost = list(_changes(log, source))
    owners = np.repeat(np.arange(len(log.persons)), np.diff(log.offsets))
    columns = {CASE: log.persons.gather(owners), ACTIVITY: log.symbols}
    if source[TIME]:
        columns[TIME] = _read_times(log, lost)
    for column in log.frame.columns:
        if column in columns and column not in taken:
            lost.append(f"column {quoted(column)} is left out: {_names(source[column])} has its name there")
        elif column not in taken:
            columns[column] = log.frame[column]
    columns = {name: _clean(name, values, lost) for name, values in columns.items()}
    empty = [name for name, values in columns.items() if as_text(values).null_count() == len(values)]
    if empty:
        lost.append(f"columns without any value are left out: {_names(empty)}")
    cases = columns.pop(CASE)
    return write_xes(cases, {n: v for n, v in columns.items() if n not in empty}), lost


def _changes(log: EventLog, source: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """Describe what is the same under another name, or in another order."""
    if log.roles.person == ROW:
        yield "persons are called by the numbers of their rows"
    others = [
        f"{_names(columns)} is {name}"
        for name, columns in source.items()
        if columns and columns not in ((name,), (ROW,))
    ]
    if others:
        yield f"columns have other names: {', '.join(others)}"
    if log.is_moved:
        yield _MOVED


def _read_times(log: EventLog, lost: list[str]) -> pl.Series:
    """Return the times in UTC, or the text as it is where some of it is no time."""
    columns = log.roles.time or (TIME,)
    written = log.frame[columns[0]]
    times = log.times
    if times is None:
        read = read_times([written], None)
        n_unreadable = int(read.unreadable.sum())
        if n_unreadable:
            said = counted(n_unreadable, "time cannot", "times cannot")
            lost.append(f"column {quoted(TIME)}: {said} be read, so the column is text and not time")
            return written
        times = read.values
    if len(columns) > 1 or (written.dtype == pl.String and not as_text(written).equals(write_times(times))):
        lost.append(f"times are written in UTC, as ISO 8601: {_names(columns)}")
    return times


def _clean(name: str, values: pl.Series, lost: list[str]) -> pl.Series:
    """Replace characters that XML cannot hold."""
    if values.dtype != pl.String:
        return values
    n_strange = int(values.str.contains(FORBIDDEN).sum())
    if not n_strange:
        return values
    said = counted(n_strange, "value has a control character", "values have control characters")
    lost.append(f"column {quoted(name)}: {said}, replaced by \ufffd")
    return values.str.replace_all(FORBIDDEN, "\ufffd")


def _names(columns: Iterable[str]) -> str:
    return ", ".join(map(quoted, columns))
