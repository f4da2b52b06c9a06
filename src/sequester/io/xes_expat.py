"""Take XES apart with the parser of the standard library: any well-formed file, attribute by attribute."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn
from xml.parsers import expat

import numpy as np

from sequester.errors import InputError
from sequester.hierarchies.labels import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester._typing import Codes, Offsets

_IN_LOG, _IN_TRACE, _IN_EVENT = 1, 2, 3
"""How deep an element stands."""


@dataclass(slots=True)
class Attributes:
    """The attributes of all traces, or of all events, one after the other as they stand in the file."""

    names: list[tuple[str, str]] = field(default_factory=list)
    """Code to element (``string``, ``date``) and key."""
    book: dict[str, dict[str, int]] = field(default_factory=dict)
    """Element to key to code."""
    codes: list[int] = field(default_factory=list)
    """What each attribute is."""
    values: list[str] = field(default_factory=list)
    """What each attribute says."""
    starts: list[int] = field(default_factory=list)
    """Where the attributes of each trace or event begin."""

    @property
    def offsets(self) -> Offsets:
        """Where the attributes of each trace or event begin, and where the last ones end."""
        return np.array([*self.starts, len(self.codes)], np.int64)

    def add(self, element: str, attributes: list[str]) -> None:
        """Take one attribute; one without a key or a value, as a list is, is passed over."""
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
            self.names.append((element, key))
        self.codes.append(code)
        self.values.append(value)


@dataclass(slots=True)
class Parsed:
    """What a file holds: the attributes of traces and of events, and which trace each event is of."""

    traces: Attributes = field(default_factory=Attributes)
    events: Attributes = field(default_factory=Attributes)
    owners: list[int] = field(default_factory=list)

    @property
    def trace_of_event(self) -> Codes:
        """The number of each event's trace, from 0."""
        return np.array(self.owners, np.int32)


def parse(contents: bytes, name: str, *, encoding: str | None = None) -> Parsed:
    """Take the contents of a file called `name` apart; `encoding` wins over what the file says.

    A document type declaration is refused, so there is no entity that could be expanded. Attributes inside
    attributes, and everything outside of traces, are passed over.
    """
    parser = expat.ParserCreate(encoding)
    parser.ordered_attributes = True
    parsed = Parsed()

    def refuse(reason: str) -> NoReturn:
        msg = f"{name}: line {parser.CurrentLineNumber:,}: {reason}"
        raise InputError(msg)

    def refuse_doctype(*_: object) -> None:
        refuse("has a document type declaration; entities are not expanded, and no event log needs them")

    parser.StartDoctypeDeclHandler = refuse_doctype
    _listen(parser, parsed, refuse)
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
    return parsed


def _listen(parser: expat.XMLParserType, parsed: Parsed, refuse: Callable[[str], NoReturn]) -> None:
    """Have the parser tell what begins and what ends."""
    traces, events = parsed.traces, parsed.events
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
                elif local_name(element) in ("event", "trace"):
                    refuse(f"<{local_name(element)}> stands inside <event>")
        elif depth == _IN_TRACE:
            in_event = in_trace and local_name(element) == "event"
            if in_event:
                events.starts.append(len(events.codes))
                parsed.owners.append(len(traces.starts) - 1)
            elif in_trace:
                traces.add(element, attributes)
                if local_name(element) == "trace":
                    refuse("<trace> stands inside <trace>")
        elif depth == _IN_LOG:
            in_trace = local_name(element) == "trace"
            if in_trace:
                traces.starts.append(len(traces.codes))
            elif local_name(element) == "event":
                refuse("<event> stands outside of <trace>")
        elif not depth and local_name(element) != "log":
            refuse(f"the file is no event log: its outermost element is {quoted(element)} and not 'log'")

    parser.StartElementHandler = begin
    # To know how deep we are it is enough to count what has ended, which a list does fastest.
    parser.EndElementHandler = closed.append


def local_name(element: str) -> str:
    """Leave out the prefix of a namespace.

    Examples
    --------
    >>> local_name("xes:date")
    'date'
    """
    return element.rpartition(":")[2]
