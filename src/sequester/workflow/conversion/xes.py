"""A log as XES: who, what and when under the names that event logs use, everything else under its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.schema import ROW
from sequester.data.text import as_text
from sequester.data.times import read_times
from sequester.hierarchies.labels import counted, quoted
from sequester.io.xes import ACTIVITY, CASE, TIME, write_times
from sequester.io.xes_write import FORBIDDEN, write_xes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sequester.workflow.conversion.event_log import EventLog


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
    """Say what is the same under another name, or in another order."""
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
        yield "rows stand in another order: by person, and each person's in time"


def _read_times(log: EventLog, lost: list[str]) -> pl.Series:
    """Give the times in UTC, or the text as it is where some of it is no time."""
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
