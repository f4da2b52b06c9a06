"""Take XES apart in one walk over its bytes, where it is written as programs write it.

Plain is a file whose traces hold nothing but events and attributes that end where they begin, key first, with
no entity but the five of XML. Every byte of the traces is looked at, so a plain file is well-formed. Any
other is left to the parser of the standard library, which also says what is wrong with it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.parsers import expat

import numpy as np
import polars as pl

from sequester import kernels
from sequester.io.xes_parts import Attributes, Parts

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Mask

    Bytes = npt.NDArray[np.uint8]

_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}
"""In the order in which they are resolved: the ampersand last, so that nothing is resolved twice."""
_OTHER_ENTITY = re.compile("&(?!(?:lt|gt|quot|apos|amp);)")
_END = re.compile(rb"</log>[ \t\r\n]*\Z")
_LARGEST_HEAD = 2**24


def parse(contents: bytes) -> Parts | None:
    """Take the contents of a file apart; None where it is not plain."""
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
    """Tell whether a text has none of the two code points that are no characters for XML."""
    return "\ufffe" not in text and "\uffff" not in text


def _is_plain_head(head: bytes) -> bool:
    """Tell whether what comes before the first trace opens a log, in UTF-8, and nothing else."""
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
