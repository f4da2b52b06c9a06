"""Read and write XES event logs: one row per event, times in UTC; the same rows give the same bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn
from xml.parsers import expat

import numpy as np
import polars as pl

from sequester.data.text import as_text
from sequester.data.times import read_times
from sequester.errors import InputError, ignore_warning
from sequester.hierarchies.labels import counted, quoted
from sequester.io.contents import as_utf8

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sequester._typing import Codes, Mask
    from sequester.errors import Warn


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


def read_xes(
    contents: bytes, name: str, *, encoding: str = "utf-8", warn: Warn = ignore_warning
) -> pl.DataFrame:
    """Read the contents of a file called `name`.

    The columns ``case:concept:name``, ``concept:name`` and ``time:timestamp`` come first, other attributes
    follow by name, those of traces with ``case:`` before it. Numbers and truth values are as written; a time
    is ISO 8601 in UTC, one that cannot be read stays as it is. The first of two attributes of one name
    counts. Attributes inside attributes, of the log, and such without a value are left out; so are traces
    without events, and `warn` is called with how many.

    Examples
    --------
    >>> event = '<event><string key="concept:name" value="pay"/></event>'
    >>> log = f'<log><trace><string key="concept:name" value="7"/>{event}</trace></log>'
    >>> read_xes(log.encode(), "example.xes").to_dicts()
    [{'case:concept:name': '7', 'concept:name': 'pay'}]
    """
    # What the file says about its encoding counts, unless another one than the usual is asked for.
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        traces, events, trace_of_event = _parse(contents, name)
    else:
        utf8 = as_utf8(contents, name, encoding)
        traces, events, trace_of_event = _parse(utf8, name, encoding="utf-8")
    n_empty = len(traces.starts) - len(np.unique(trace_of_event))
    if n_empty:
        empty = counted(n_empty, "trace has no event and is", "traces have no event and are")
        warn(f"{name}: {empty} left out")
    return _arrange(_columns_of(traces, events, trace_of_event, name), name)


def _columns_of(
    traces: _Attributes, events: _Attributes, trace_of_event: Codes, name: str
) -> dict[str, pl.Series]:
    """Spread attributes over columns, one row per event; of a trace's and an event's, the trace's counts."""
    if not events.starts:
        msg = f"{name}: has no events"
        raise InputError(msg)
    if len(traces.names) + len(events.names) > MOST_NAMES:
        msg = f"{name}: has more than {MOST_NAMES:,} names of attributes, as no honest log has"
        raise InputError(msg)
    columns = events.spread()
    for key, values in traces.spread().items():
        column, of_trace = OF_TRACE + key, values.gather(trace_of_event)
        own = columns.get(column)
        columns[column] = of_trace if own is None else of_trace.zip_with(of_trace.is_not_null(), own)
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


_IN_LOG, _IN_TRACE, _IN_EVENT = 1, 2, 3
"""How deep an element stands."""


@dataclass(slots=True)
class _Attributes:
    """The attributes of all traces, or of all events, as they stand in the file."""

    names: list[tuple[str, str]] = field(default_factory=list)
    """Code to element (``string``, ``date``) and key."""
    book: dict[str, dict[str, int]] = field(default_factory=dict)
    """Element, as it is written, to key to code."""
    codes: list[int] = field(default_factory=list)
    """What each attribute is."""
    values: list[str] = field(default_factory=list)
    """What each attribute says."""
    starts: list[int] = field(default_factory=list)
    """The first attribute of each trace, or event."""

    def add(self, element: str, attributes: list[str]) -> None:
        """Add one attribute; one without a key or a value, as a list is, is passed over."""
        if len(attributes) == 4 and attributes[0] == "key" and attributes[2] == "value":
            _, key, _, value = attributes
        else:
            given = dict(zip(attributes[::2], attributes[1::2], strict=True))
            if "key" not in given or "value" not in given:
                return
            key, value = given["key"], given["value"]
        try:
            self.codes.append(self.book[element][key])
        except KeyError:
            self.book.setdefault(element, {})[key] = len(self.names)
            self.codes.append(len(self.names))
            self.names.append((_local(element), key))
        self.values.append(value)

    def spread(self) -> dict[str, pl.Series]:
        """Return the values of each key, the first of several, one per trace or event; and forget them."""
        codes, values = np.array(self.codes, np.int32), pl.Series(self.values, dtype=pl.String)
        # The lists would take most of the memory from here on.
        self.codes.clear()
        self.values.clear()
        owners = np.repeat(np.arange(len(self.starts), dtype=np.int32), np.diff([*self.starts, len(codes)]))
        is_date = np.array([element == "date" for element, _ in self.names], np.bool_)
        dates = np.flatnonzero(is_date[codes])
        if len(dates):
            values = values.scatter(dates, write_times(values.gather(dates)))
        codes_of_key: dict[str, list[int]] = {}
        for code, (_, key) in enumerate(self.names):
            codes_of_key.setdefault(key, []).append(code)
        columns = {}
        for key, own in codes_of_key.items():
            # Backwards, so that the first of several is written last.
            where = np.flatnonzero(codes == own[0] if len(own) == 1 else np.isin(codes, own))[::-1]
            places = np.full(len(self.starts), -1, np.int64)
            places[owners[where]] = where
            columns[key] = values.gather(pl.Series(places).replace(-1, None))
        return columns


def _parse(
    contents: bytes, name: str, *, encoding: str | None = None
) -> tuple[_Attributes, _Attributes, Codes]:
    """Return traces, events and the number of each event's trace; `encoding` wins over what the file says.

    A document type declaration is refused, so there is no entity that could be expanded. Attributes inside
    attributes, and everything outside of traces, are passed over.
    """
    parser = expat.ParserCreate(encoding)
    parser.ordered_attributes = True
    traces, events, trace_of_event, closed = _Attributes(), _Attributes(), list[int](), list[str]()
    n_opened, in_trace, in_event = 0, False, False

    def refuse(reason: str) -> NoReturn:
        msg = f"{name}: line {parser.CurrentLineNumber:,}: {reason}"
        raise InputError(msg)

    def refuse_doctype(*_: object) -> None:
        refuse("has a document type declaration; entities are not expanded, and no event log needs them")

    # This runs once per attribute of the file, and takes most of the time of reading.
    def begin(element: str, attributes: list[str]) -> None:
        nonlocal n_opened, in_trace, in_event
        depth = n_opened - len(closed)
        n_opened += 1
        if depth == _IN_EVENT:
            if in_event:
                if attributes:
                    events.add(element, attributes)
                elif _local(element) in ("event", "trace"):
                    refuse(f"<{_local(element)}> stands inside <event>")
        elif depth == _IN_TRACE:
            in_event = in_trace and _local(element) == "event"
            if in_event:
                events.starts.append(len(events.codes))
                trace_of_event.append(len(traces.starts) - 1)
            elif in_trace:
                traces.add(element, attributes)
                if _local(element) == "trace":
                    refuse("<trace> stands inside <trace>")
        elif depth == _IN_LOG:
            in_trace = _local(element) == "trace"
            if in_trace:
                traces.starts.append(len(traces.codes))
            elif _local(element) == "event":
                refuse("<event> stands outside of <trace>")
        elif not depth and _local(element) != "log":
            refuse(f"the file is not an event log: its outermost element is {quoted(element)} and not 'log'")

    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = begin
    # To know how deep we are it is enough to count what has ended, which a list does fastest.
    parser.EndElementHandler = closed.append
    try:
        parser.Parse(contents, True)
    except expat.ExpatError as error:
        why = expat.ErrorString(error.code)
        msg = f"{name}: line {error.lineno:,}: the XML is damaged or cut off ({why})"
        raise InputError(msg) from None
    except (LookupError, ValueError):
        msg = f"{name}: says that it has an encoding that cannot be read; set encoding"
        raise InputError(msg) from None
    return traces, events, np.array(trace_of_event, np.int32)


def _local(element: str) -> str:
    """Leave out the prefix of a namespace."""
    return element.rpartition(":")[2]


FORBIDDEN = r"[\x00-\x08\x0B\x0C\x0E-\x1F\x{FFFE}\x{FFFF}]"
"""Characters that no XML file can hold."""

# Blanks would be read as spaces, so they are written as numbers.
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_EXTENSIONS = {
    "concept": "Concept",
    "time": "Time",
    "org": "Organizational",
    "lifecycle": "Lifecycle",
    "cost": "Cost",
    "identity": "ID",
    "sequester": "Sequester",
}
_SITE = "http://www.xes-standard.org/"


def write_xes(cases: pl.Series, columns: Mapping[str, pl.Series]) -> bytes:
    r"""Write one event per row; the rows of a case stand together, and `cases` names it in each of them.

    A column is written as its type says: text, whole numbers, numbers, truth values or times, which are in
    UTC. A missing value is not written. A column whose name begins with ``case:`` is one of the trace where
    it has the same value in all rows of each case, as all such columns of an event log have.

    Examples
    --------
    >>> log = write_xes(pl.Series(["7", "7"]), {"concept:name": pl.Series(["pay", "leave"])})
    >>> print(log.decode().expandtabs(2).partition("/>\n  <trace>")[2].strip())
    <string key="concept:name" value="7"/>
        <event>
          <string key="concept:name" value="pay"/>
        </event>
        <event>
          <string key="concept:name" value="leave"/>
        </event>
      </trace>
    </log>
    """
    _check_characters({CASE: cases, **columns})
    starts = np.append(True, cases[1:].ne_missing(cases[:-1]).to_numpy())
    ends = np.append(starts[1:], True)
    of_trace = [key for key in columns if key.startswith(OF_TRACE) and _is_constant(columns[key], starts)]
    head = {ACTIVITY: cases} | {key.removeprefix(OF_TRACE): columns[key] for key in of_trace}
    events = {key: values for key, values in columns.items() if key not in of_trace}
    begin = pl.concat_str(pl.lit("\t<trace>\n"), *_attributes("\t\t", head))
    rows = pl.select(
        pl.concat_str(
            pl.when(pl.lit(pl.Series(starts))).then(begin).otherwise(pl.lit("")),
            pl.lit("\t\t<event>\n"),
            *_attributes("\t\t\t", events),
            pl.lit("\t\t</event>\n"),
            pl.when(pl.lit(pl.Series(ends))).then(pl.lit("\t</trace>\n")).otherwise(pl.lit("")),
        )
    )
    traces: str = rows.to_series().str.join("").item()
    return (_opening(columns) + traces + "</log>\n").encode()


def _check_characters(columns: Mapping[str, pl.Series]) -> None:
    for key, values in columns.items():
        for text in (pl.Series([key]), values.unique()):
            if text.dtype != pl.String:
                continue
            found = text.filter(text.str.contains(FORBIDDEN)).sort()
            if len(found):
                msg = f"column {quoted(key)}: XES cannot hold {quoted(found[0])}: it has a control character"
                raise InputError(msg)


def _is_constant(values: pl.Series, starts: Mask) -> bool:
    return bool((values.eq_missing(values.shift(1)) | pl.Series(starts)).all())


def _opening(columns: Iterable[str]) -> str:
    prefixes = {"concept", *(key.removeprefix(OF_TRACE).partition(":")[0] for key in columns if ":" in key)}
    extensions = "".join(
        f'\t<extension name="{name}" prefix="{prefix}" uri="{_SITE}{prefix}.xesext"/>\n'
        for prefix, name in _EXTENSIONS.items()
        if prefix in prefixes
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<log xes.version="1849-2016" xes.features="" xmlns="{_SITE}">\n'
        f'{extensions}\t<classifier name="Activity" keys="{ACTIVITY}"/>\n'
    )


def _attributes(indent: str, columns: Mapping[str, pl.Series]) -> Iterator[pl.Expr]:
    """Write one attribute after the other, a line each."""
    for key, values in columns.items():
        element, text = _typed(values)
        name = _escape(pl.Series([key])).item()
        opening = f'{indent}<{element} key="{name}" value="'
        yield pl.concat_str(pl.lit(opening), pl.lit(text), pl.lit('"/>\n')).fill_null("")


def _typed(values: pl.Series) -> tuple[str, pl.Series]:
    """Choose the element for a column, and write its values."""
    dtype = values.dtype
    if dtype in (pl.Date, pl.Datetime):
        return "date", write_times(values)
    text = as_text(values)
    if dtype.is_integer():
        return "int", text
    if dtype.is_float():
        return "float", text.replace({"inf": "INF", "-inf": "-INF"})
    if dtype == pl.Boolean:
        return "boolean", text
    return "string", _escape(text)


def _escape(text: pl.Series) -> pl.Series:
    for character, name in _ESCAPES.items():
        if text.str.contains(character, literal=True).any():
            text = text.str.replace_all(character, name, literal=True)
    return text
