"""Arrow IPC: a file, or a stream that was written to a file; types as they are."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.problems import first_line
from sequester.errors import InputError
from sequester.io.contents import in_words
from sequester.io.trial import refuse_unreadable

if TYPE_CHECKING:
    from pathlib import Path

_FILE = b"ARROW1"
_STREAM = b"\xff\xff\xff\xff"
_END = b"\xff\xff\xff\xff\0\0\0\0"


def read_arrow(path: Path) -> pl.DataFrame:
    """Read one Arrow IPC file or stream; another process decodes it first."""
    try:
        contents = path.read_bytes()
    except OSError as error:
        raise InputError(in_words(path, error)) from None
    if not contents:
        msg = f"{path}: is empty"
        raise InputError(msg)
    if contents.startswith(_FILE):
        kind = "Arrow"
    elif contents.startswith(_STREAM):
        kind = "Arrow stream"
        # A stream that is cut off between two parts looks like a shorter one.
        if not contents.endswith(_END):
            msg = f"{path}: the Arrow stream file is cut off: it has no end mark"
            raise InputError(msg)
    else:
        msg = f"{path}: is no Arrow IPC file or stream"
        raise InputError(msg)
    refuse_unreadable([path], kind)
    try:
        frame = pl.read_ipc(contents) if kind == "Arrow" else pl.read_ipc_stream(contents)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        msg = f"{path}: the {kind} file is damaged ({first_line(error)})"
        raise InputError(msg) from None
    if not frame.height:
        msg = f"{path}: has no rows"
        raise InputError(msg)
    return frame.rechunk()


def write_arrow(frame: pl.DataFrame) -> bytes:
    """Write a frame as an Arrow IPC file that older readers understand too.

    Examples
    --------
    >>> pl.read_ipc(write_arrow(pl.DataFrame({"user": ["a"]}))).rows()
    [('a',)]
    """
    buffer = io.BytesIO()
    frame.write_ipc(buffer, compat_level=pl.CompatLevel.oldest())
    return buffer.getvalue()
