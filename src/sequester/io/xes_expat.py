"""Take XES apart with the parser of the standard library: any well-formed file, attribute by attribute."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn
from xml.parsers import expat

import numpy as np
import polars as pl

from sequester.errors import InputError
from sequester.hierarchies.labels import quoted
from sequester.io.xes_parts import Attributes, Parts

if TYPE_CHECKING:
    from collections.abc import Callable

_IN_LOG, _IN_TRACE, _IN_EVENT = 1, 2, 3
"""How deep an element stands."""


@dataclass(slots=True)
class _Found:
    """The attributes of traces, or of events, that have been found so far."""

    names: list[tuple[str, str]] = field(default_factory=list)
    book: dict[str, dict[str, int]] = field(default_factory=dict)
    codes: list[int] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

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
            self.names.append((_local(element), key))
        self.codes.append(code)
        self.values.append(value)

    def attributes(self) -> Attributes:
        """Give them as arrays."""
        lengths = np.diff([*self.starts, len(self.codes)])
        return Attributes(
            names=self.names,
            codes=np.array(self.codes, np.int32),
            owners=np.repeat(np.arange(len(self.starts), dtype=np.int32), lengths),
            values=pl.Series(self.values, dtype=pl.String),
            size=len(self.starts),
        )


def parse(contents: bytes, name: str, *, encoding: str | None = None) -> Parts:
    """Take the contents of a file called `name` apart; `encoding` wins over what the file says.

    A document type declaration is refused, so there is no entity that could be expanded. Attributes inside
    attributes, and everything outside of traces, are passed over.
    """
    parser = expat.ParserCreate(encoding)
    parser.ordered_attributes = True
    traces, events, trace_of_event = _Found(), _Found(), list[int]()

    def refuse(reason: str) -> NoReturn:
        msg = f"{name}: line {parser.CurrentLineNumber:,}: {reason}"
        raise InputError(msg)

    def refuse_doctype(*_: object) -> None:
        refuse("has a document type declaration; entities are not expanded, and no event log needs them")

    parser.StartDoctypeDeclHandler = refuse_doctype
    _listen(parser, traces, events, trace_of_event, refuse)
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


def _listen(
    parser: expat.XMLParserType,
    traces: _Found,
    events: _Found,
    trace_of_event: list[int],
    refuse: Callable[[str], NoReturn],
) -> None:
    """Have the parser tell what begins and what ends."""
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
