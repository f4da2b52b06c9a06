"""Read XES event logs: one row per event, every attribute as text, times in UTC."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.text import as_text
from sequester.data.times import read_times
from sequester.errors import InputError, SequesterWarning
from sequester.hierarchies.labels import counted
from sequester.io import xes_expat, xes_plain
from sequester.io.encoding import as_utf8

if TYPE_CHECKING:
    from sequester.io.xes_parts import Attributes, Parts

CASE = "case:concept:name"
"""The column of cases, which are the persons."""
ACTIVITY = "concept:name"
"""The column that says what happened."""
TIME = "time:timestamp"
"""The column that says when."""
OF_TRACE = "case:"
"""How the names of columns begin that come from attributes of traces."""
MOST_NAMES = 10_000
"""Names of attributes that a log may have; more are values that were taken for names."""


def read_xes(contents: bytes, name: str, *, encoding: str = "utf-8", warn: bool = False) -> pl.DataFrame:
    """Read the contents of a file called `name`.

    The columns ``case:concept:name``, ``concept:name`` and ``time:timestamp`` come first, other attributes
    follow by name, those of traces with ``case:`` before it. Numbers and truth values are as written; a time
    is ISO 8601 in UTC, one that cannot be read stays as it is. The first of two attributes of one name
    counts. Attributes inside attributes, of the log, and such without a value are left out; so are traces
    without events, and `warn` says how many.

    Examples
    --------
    >>> event = '<event><string key="concept:name" value="pay"/></event>'
    >>> log = f'<log><trace><string key="concept:name" value="7"/>{event}</trace></log>'
    >>> read_xes(log.encode(), "example.xes").to_dicts()
    [{'case:concept:name': '7', 'concept:name': 'pay'}]
    """
    # What the file says about its encoding counts, unless another one than the usual is asked for.
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        parts = xes_plain.parse(contents) or xes_expat.parse(contents, name)
    else:
        parts = xes_expat.parse(as_utf8(contents, name, encoding), name, encoding="utf-8")
    n_empty = parts.traces.size - len(np.unique(parts.trace_of_event))
    if warn and n_empty:
        traces = counted(n_empty, "trace has no event and is", "traces have no event and are")
        warnings.warn(f"{name}: {traces} left out", SequesterWarning, stacklevel=3)
    return _arrange(_columns_of(parts, name), name)


def _columns_of(parts: Parts, name: str) -> dict[str, pl.Series]:
    """Spread attributes over columns, one row per event; of a trace's and an event's, the trace's counts."""
    if not parts.events.size:
        msg = f"{name}: has no events"
        raise InputError(msg)
    if len(parts.traces.names) + len(parts.events.names) > MOST_NAMES:
        msg = f"{name}: has more than {MOST_NAMES:,} names of attributes, as no honest log has"
        raise InputError(msg)
    columns = _spread(parts.events)
    for key, values in _spread(parts.traces).items():
        column, of_trace = OF_TRACE + key, values.gather(parts.trace_of_event)
        own = columns.get(column)
        columns[column] = of_trace if own is None else of_trace.zip_with(of_trace.is_not_null(), own)
    return columns


def _spread(attributes: Attributes) -> dict[str, pl.Series]:
    """Give the values of each key, one per trace or event; the first of several counts."""
    codes, values = attributes.codes, attributes.values
    is_date = np.array([element == "date" for element, _ in attributes.names], np.bool_)
    dates = np.flatnonzero(is_date[codes])
    if len(dates):
        values = values.scatter(dates, write_times(values.gather(dates)))
    codes_of_key: dict[str, list[int]] = {}
    for code, (_, key) in enumerate(attributes.names):
        codes_of_key.setdefault(key, []).append(code)
    columns = {}
    for key, own in codes_of_key.items():
        # Backwards, so that the first of several is written last.
        where = np.flatnonzero(codes == own[0] if len(own) == 1 else np.isin(codes, own))[::-1]
        places = np.full(attributes.size, -1, np.int64)
        places[attributes.owners[where]] = where
        columns[key] = values.gather(pl.Series(places).replace(-1, None))
    return columns


def write_times(values: pl.Series) -> pl.Series:
    """Write times as ISO 8601 in UTC; a text that is no time stays as it is.

    Examples
    --------
    >>> write_times(pl.Series(["2010-12-30T14:32:00.5+01:00", "soon"])).to_list()
    ['2010-12-30T13:32:00.500+00:00', 'soon']
    """
    written = read_times([values], None).values.dt.to_string("%Y-%m-%dT%H:%M:%S%.f%:z").rename(values.name)
    return written.zip_with(written.is_not_null(), values) if values.dtype == pl.String else written


def _arrange(columns: dict[str, pl.Series], name: str) -> pl.DataFrame:
    """Put columns in their order, and leave out those without any value."""
    texts = {column: as_text(values) for column, values in columns.items()}
    filled = sorted(column for column, text in texts.items() if text.null_count() < len(text))
    if not filled:
        msg = f"{name}: its events have no attributes"
        raise InputError(msg)
    first = [column for column in (CASE, ACTIVITY, TIME) if column in filled]
    return pl.DataFrame({column: texts[column] for column in dict.fromkeys((*first, *filled))})
