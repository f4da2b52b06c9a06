"""Take XES apart with r4pm, where it is installed and the file is as plain as most are.

r4pm passes over what it does not understand: files that are cut off, empty events, numbers that are none.
So it gets nothing but traces in which every byte is known to be sound, with all attributes as text.
"""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATTRIBUTE = rb'<(?:string|date|int|float|boolean|id) key="(?!case:)[^"<&\xee]++" value="[^"<]*+" ?/>\s*+'
_TRACES = re.compile(
    rb"(?:<trace>\s*+(?:%b)*+(?:<event>\s*+(?:%b)*+</event>\s*+)*+</trace>\s*+)++(?=</log>\s*+\Z)"
    % (_ATTRIBUTE, _ATTRIBUTE)
)
_KEY = re.compile(rb' key="([^"]*+)"')
_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)")
_BLANKS = bytes.maketrans(b"\t\n\r", b"   ")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r"))
_LARGEST_HEAD = 2**24
_DATE = "\ue000"
"""Marks the keys of dates while r4pm has them; for private use, so in no key of anybody."""


def parse(contents: bytes, *, most_names: int) -> tuple[pl.DataFrame, set[str]] | None:
    """Give text columns in any order, and which hold dates; None where the file is not for r4pm.

    The columns of traces have ``case:`` before their names, and an empty text is a missing value.
    """
    if find_spec("r4pm") is None:
        return None
    traces = _plain_traces(contents)
    if traces is None or len(set(_KEY.findall(traces))) > most_names:
        return None
    n_events = traces.count(b"<event>")
    if not n_events:
        return None
    traces = traces.replace(b'<date key="', b'<string key="' + _DATE.encode())
    for element in (b"int", b"float", b"boolean", b"id"):
        traces = traces.replace(b"<%b " % element, b"<string ")
    frame = _read(b"<log>" + traces + b"</log>")
    if frame is None or frame.height != n_events:
        return None
    dates = {column: column.replace(_DATE, "") for column in frame.columns if _DATE in column}
    if any(column in frame.columns for column in dates.values()):
        return None
    return frame.rename(dates), set(dates.values())


def _plain_traces(contents: bytes) -> bytes | None:
    """Give the traces with all blanks as spaces, as XML means them; None where they are not plain."""
    start = contents.find(b"<trace>")
    if not (0 < start <= _LARGEST_HEAD and _is_plain_head(contents[:start])):
        return None
    found = _TRACES.match(contents, start)
    if found is None or _ENTITY.search(contents, start):
        return None
    traces = found[0].replace(b"\r\n", b"\n") if b"\r" in contents else found[0]
    blank = traces.translate(_BLANKS, _CONTROLS)
    if len(blank) < len(traces) or not _is_text(traces):
        return None
    return blank


def _is_plain_head(head: bytes) -> bool:
    """Tell whether what comes before the first trace opens a log, in UTF-8, and nothing else."""
    parser = expat.ParserCreate()
    opened: list[str] = []
    closed: list[str] = []
    doubts: list[object] = []

    def doubt(*which: object) -> None:
        doubts.append(which)

    def declare(_: str, encoding: str | None, __: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii"):
            doubt(encoding)

    parser.XmlDeclHandler = declare
    parser.StartDoctypeDeclHandler = doubt
    parser.StartElementHandler = lambda element, _: opened.append(element)
    parser.EndElementHandler = closed.append
    try:
        parser.Parse(head, False)
        depth = len(opened) - len(closed)
        parser.Parse(b"</log>", True)
    except expat.ExpatError:
        return False
    return not doubts and depth == 1 and opened[0] == "log" and "event" not in opened


def _is_text(traces: bytes) -> bool:
    """Tell whether the traces are UTF-8, with no character that XML forbids."""
    if traces.isascii():
        return True
    try:
        text = traces.decode()
    except UnicodeDecodeError:
        return False
    return "\ufffe" not in text and "\uffff" not in text


def _read(log: bytes) -> pl.DataFrame | None:
    # Slow to load, and not there for everybody.
    import r4pm  # noqa: PLC0415

    with _as_file(log) as path:
        try:
            frame: pl.DataFrame = r4pm.df.import_xes(str(path))[0]
        except BaseException as error:
            # What r4pm cannot do, the standard library can; when it panics, that is no Exception.
            if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
                raise
            return None
    # A column of nothing comes from traces without events.
    return frame.cast(pl.String) if set(frame.dtypes) <= {pl.String, pl.Null} else None


@contextmanager
def _as_file(log: bytes) -> Iterator[Path]:
    """Put bytes where r4pm can open them: in memory where the system can, else in a file of nobody else."""
    in_memory = getattr(os, "memfd_create", None)
    if in_memory is not None:
        with os.fdopen(in_memory("log.xes"), "wb") as file:
            file.write(log)
            file.flush()
            yield Path(f"/proc/self/fd/{file.fileno()}")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.xes"
        path.write_bytes(log)
        yield path
