"""Read XES event logs: one row per event, every attribute as text, times in UTC."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn
from xml.parsers import expat

import numpy as np
import polars as pl

from sequester import kernels
from sequester.data.text import as_text
from sequester.data.times import read_times
from sequester.errors import InputError, SequesterWarning
from sequester.hierarchies.labels import counted, quoted
from sequester.io.contents import as_utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Mask

    Bytes = npt.NDArray[np.uint8]


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
        parts = parse_plain(contents) or parse_xml(contents, name)
    else:
        parts = parse_xml(as_utf8(contents, name, encoding), name, encoding="utf-8")
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
    """Return the values of each key, one per trace or event; the first of several counts."""
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


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of all traces, or of all events, as they stand in the file."""

    names: Sequence[tuple[str, str]]
    """Code to element (``string``, ``date``) and key."""
    codes: Codes
    """What each attribute is."""
    owners: Codes
    """Whose each attribute is: the number of the trace or event."""
    values: pl.Series
    """What each attribute says."""
    size: int
    """Number of traces, or of events."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Traces, events, and which are whose."""

    traces: Attributes
    events: Attributes
    trace_of_event: Codes
    """The number of each event's trace."""


_IN_LOG, _IN_TRACE, _IN_EVENT = 1, 2, 3
"""How deep an element stands."""


@dataclass(slots=True)
class _Collector:
    """Collects the attributes of traces, or of events."""

    names: list[tuple[str, str]] = field(default_factory=list)
    book: dict[str, dict[str, int]] = field(default_factory=dict)
    codes: list[int] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def add(self, element: str, attributes: list[str]) -> None:
        """Add one attribute; one without a key or a value, as a list is, is passed over."""
        if len(attributes) == 4 and attributes[0] == "key" and attributes[2] == "value":
            key, value = attributes[1], attributes[3]
        else:
            given = dict(zip(attributes[::2], attributes[1::2], strict=True))
            if "key" not in given or "value" not in given:
                return
            key, value = given["key"], given["value"]
        try:
            code = self.book[element][key]
        except KeyError:
            code = self.book.setdefault(element, {})[key] = len(self.names)
            self.names.append((_local(element), key))
        self.codes.append(code)
        self.values.append(value)

    def attributes(self) -> Attributes:
        """Return them as arrays."""
        lengths = np.diff([*self.starts, len(self.codes)])
        return Attributes(
            names=self.names,
            codes=np.array(self.codes, np.int32),
            owners=np.repeat(np.arange(len(self.starts), dtype=np.int32), lengths),
            values=pl.Series(self.values, dtype=pl.String),
            size=len(self.starts),
        )


def parse_xml(contents: bytes, name: str, *, encoding: str | None = None) -> Parts:
    """Parse any XES file called `name`; `encoding` wins over what the file says.

    A document type declaration is refused, so there is no entity that could be expanded. Attributes inside
    attributes, and everything outside of traces, are passed over.
    """
    parser = expat.ParserCreate(encoding)
    parser.ordered_attributes = True
    traces, events, trace_of_event = _Collector(), _Collector(), list[int]()

    def refuse(reason: str) -> NoReturn:
        msg = f"{name}: line {parser.CurrentLineNumber:,}: {reason}"
        raise InputError(msg)

    def refuse_doctype(*_: object) -> None:
        refuse("has a document type declaration; entities are not expanded, and no event log needs them")

    parser.StartDoctypeDeclHandler = refuse_doctype
    _add_handlers(parser, traces, events, trace_of_event, refuse)
    try:
        parser.Parse(contents, True)
    except expat.ExpatError as error:
        msg = (
            f"{name}: line {error.lineno:,}: the XML is damaged or cut off ({expat.ErrorString(error.code)})"
        )
        raise InputError(msg) from None
    except (LookupError, ValueError):
        msg = f"{name}: says that it has an encoding that cannot be read; set encoding"
        raise InputError(msg) from None
    return Parts(traces.attributes(), events.attributes(), np.array(trace_of_event, np.int32))


def _add_handlers(
    parser: expat.XMLParserType,
    traces: _Collector,
    events: _Collector,
    trace_of_event: list[int],
    refuse: Callable[[str], NoReturn],
) -> None:
    """Collect attributes whenever an element begins or ends."""
    closed: list[str] = []
    n_opened = 0
    in_trace = in_event = False

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
            refuse(f"the file is no event log: its outermost element is {quoted(element)} and not 'log'")

    parser.StartElementHandler = begin
    # To know how deep we are it is enough to count what has ended, which a list does fastest.
    parser.EndElementHandler = closed.append


def _local(element: str) -> str:
    """Leave out the prefix of a namespace."""
    return element.rpartition(":")[2]


_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}
"""In the order in which they are resolved: the ampersand last, so that nothing is resolved twice."""
_OTHER_ENTITY = re.compile("&(?!(?:lt|gt|quot|apos|amp);)")
_END = re.compile(rb"</log>[ \t\r\n]*\Z")
_LARGEST_HEAD = 2**24


def parse_plain(contents: bytes) -> Parts | None:
    """Parse a file that only has traces and events with flat attributes; return None for any other.

    Most logs are such files, and this reads them many times as fast as an XML parser.
    """
    start = contents.find(b"<trace>")
    if not (0 < start <= _LARGEST_HEAD and _is_plain_head(contents[:start])):
        return None
    data = np.frombuffer(contents, np.uint8, offset=start)
    n_attributes, n_events = contents.count(b'"', start) // 4, contents.count(b"<event>", start)
    end, codes, owners, starts, ends, trace_of_event, names = kernels.traces.scan_traces(
        data, n_attributes, n_events
    )
    if end < 0 or not _END.match(contents, start + end):
        return None
    try:
        values = _read_values(kernels.traces.copy_values(data, starts, ends))
        keys = [data[a:b].tobytes().decode() for a, b in names[:, 2:].tolist()]
    except UnicodeDecodeError:
        return None
    if values is None or not all(map(_has_characters, keys)):
        return None
    elements = [kernels.traces.ELEMENTS[element] for element in names[:, 1].tolist()]
    n_traces = contents.count(b"<trace>", start)
    traces, events = (
        _choose(names[:, 0] == is_event, list(zip(elements, keys, strict=True)), codes, owners, values, size)
        for is_event, size in ((0, n_traces), (1, len(trace_of_event)))
    )
    return Parts(traces, events, trace_of_event)


def _choose(
    is_ours: Mask, names: list[tuple[str, str]], codes: Codes, owners: Codes, values: pl.Series, size: int
) -> Attributes:
    """Choose the attributes of traces, or those of events."""
    chosen = np.flatnonzero(is_ours[codes])
    new_code = np.cumsum(is_ours, dtype=np.int32) - 1
    return Attributes(
        names=[name for name, is_one in zip(names, is_ours.tolist(), strict=True) if is_one],
        codes=new_code[codes[chosen]],
        owners=owners[chosen],
        values=values.gather(chosen),
        size=size,
    )


def _read_values(copied: Bytes) -> pl.Series | None:
    """Split values at the quotes behind them, and resolve entities; None where a character is none of XML."""
    text = copied.tobytes().decode()
    if not _has_characters(text) or ("&" in text and _OTHER_ENTITY.search(text)):
        return None
    values = pl.Series([text]).str.split('"').explode(empty_as_null=False)[:-1]
    if "&" in text:
        for entity, character in _ENTITIES.items():
            values = values.str.replace_all(entity, character, literal=True)
    return values


def _has_characters(text: str) -> bool:
    """Return whether a text has none of the two code points that are no characters for XML."""
    return "\ufffe" not in text and "\uffff" not in text


def _is_plain_head(head: bytes) -> bool:
    """Return whether what comes before the first trace opens a log, in UTF-8, and nothing else."""
    parser = expat.ParserCreate()
    opened: list[str] = []
    closed: list[str] = []
    doubts: list[object] = []

    def doubt(*which: object) -> None:
        doubts.append(which)

    def declare(_: str, encoding: str | None, __: int) -> None:
        if encoding is not None and encoding.lower() != "utf-8":
            doubt(encoding)

    parser.XmlDeclHandler = declare
    parser.StartDoctypeDeclHandler = doubt
    parser.StartElementHandler = lambda element, _: opened.append(element)
    parser.EndElementHandler = closed.append
    try:
        parser.Parse(head, False)
        depth = len(opened) - len(closed)
        parser.Parse(b"</log>", True)
    except (expat.ExpatError, LookupError, ValueError):
        return False
    return not doubts and depth == 1 and opened[0] == "log" and "event" not in opened
