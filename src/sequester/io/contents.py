"""The bytes of a file: unpacked, in UTF-8, and within the limits of what a table may hold."""

from __future__ import annotations

import codecs
import gzip
import os
import re
import stat
import zlib
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.problems import first_line
from sequester.data.roles import refuse_patterns
from sequester.errors import InputError
from sequester.hierarchies.labels import quoted

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO


LARGEST = 16 * 2**30
"""Bytes that a file may unpack to."""
ALWAYS_FINE = 256 * 2**20
"""Bytes up to which the ratio is not looked at."""
LARGEST_RATIO = 200
"""Times that a file may swell; tables of events swell 5 to 50 times, a bomb about 1,000 times."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_MAGIC = b"\x1f\x8b"
_STEP = 16 * 2**20


def refuse_address(path: Path) -> None:
    """Refuse the address of a database where a file is expected; it is not repeated, for its password."""
    if _ADDRESS.match(str(path)) and not path.exists():
        msg = (
            "a database is read as [data] path of a configuration, with query or table; "
            "sequester init DATABASE --table NAME drafts one"
        )
        raise InputError(msg)


def check_path(path: Path) -> None:
    """Refuse a path that leads to neither a file nor a folder that can be read; links are followed."""
    try:
        refuse_address(path)
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            msg = f"{path}: is neither a file nor a folder"
            raise InputError(msg)
        if not os.access(path, os.R_OK):
            msg = f"{path}: permission denied"
            raise InputError(msg)
    except OSError as error:
        raise InputError(read_error(path, error)) from None
    except ValueError:  # Python versions word it differently
        msg = f"{path}: a path cannot have a NUL in it"
        raise InputError(msg) from None


def read_error(path: Path, error: Exception) -> str:
    """Return one line on why a path cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> read_error(Path("a.csv"), FileNotFoundError(2, "No such file or directory"))
    'a.csv: no such file or directory'
    """
    reason = getattr(error, "strerror", None) or first_line(error)
    return f"{path}: {reason.lower()}"


def read_contents(path: Path) -> bytes:
    """Read a file whole; gzip is known by its first bytes, not by the name alone."""
    try:
        with path.open("rb") as file:
            start = file.read(2)
            file.seek(0)
            if start == _MAGIC:
                return decompress(file, str(path))
            contents = file.read()
    except OSError as error:
        raise InputError(read_error(path, error)) from None
    if not contents:
        msg = f"{path}: is empty"
        raise InputError(msg)
    if path.name.lower().endswith(".gz"):
        msg = f"{path}: is named .gz and is not a gzip file"
        raise InputError(msg)
    return contents


def decompress(file: BinaryIO, name: str) -> bytes:
    """Unpack a gzip file of one or several members, and stop where it swells beyond every honest file."""
    parts: list[bytes] = []
    n_out = 0
    try:
        with gzip.GzipFile(fileobj=file) as unpacked:
            while part := unpacked.read(_STEP):
                parts.append(part)
                n_in, n_out = file.tell(), n_out + len(part)
                if n_out > LARGEST or (n_out > ALWAYS_FINE and n_out > LARGEST_RATIO * n_in):
                    msg = (
                        f"{name}: unpacks to more than {n_out:,} bytes from {n_in:,}, as no honest table does"
                    )
                    raise InputError(msg)
    except EOFError:
        msg = f"{name}: the gzip file is cut off"
        raise InputError(msg) from None
    except (zlib.error, gzip.BadGzipFile) as error:
        msg = f"{name}: the gzip file is damaged ({error})"
        raise InputError(msg) from None
    contents = b"".join(parts)
    if not contents:
        msg = f"{name}: is empty"
        raise InputError(msg)
    return contents


LARGEST_CELL = 2**20
"""Bytes that one cell may have; more is a broken quote or a document, not a value."""


def check_cells(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Refuse a frame with a cell above the limit, by column and row; give it back otherwise.

    A name that polars takes for a pattern is refused first, since its column cannot be looked at.
    """
    refuse_patterns(frame.columns)
    lines = []
    for column in frame.select(pl.selectors.string()).iter_columns():
        sizes = column.str.len_bytes()
        largest = sizes.max()
        if isinstance(largest, int) and largest > LARGEST_CELL:
            row = (sizes.arg_max() or 0) + 1
            lines.append(
                f"{name}: column {quoted(column.name)}, row {row:,}: the cell has {largest:,} bytes, "
                f"at most {LARGEST_CELL:,} are read"
            )
    if lines:
        raise InputError(*lines)
    return frame


_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def as_utf8(contents: bytes, name: str, encoding: str) -> bytes:
    r"""Return a text file called `name` in UTF-8, without a mark, its lines ending in line feeds.

    Examples
    --------
    >>> as_utf8(b"caf\xe9", "menu.csv", "latin-1").decode()
    'café'
    """
    codec = _codec(encoding)
    if codec in ("utf-8", "utf-8-sig"):
        for mark, other in _BOMS.items():
            if contents.startswith(mark):
                msg = f"{name}: is not UTF-8 but {other}; set encoding"
                raise InputError(msg)
        contents = contents.removeprefix(codecs.BOM_UTF8)
    else:
        try:
            contents = contents.decode(codec).removeprefix("\ufeff").encode()
        except UnicodeError as error:
            start = getattr(error, "start", 0)
            msg = f"{name}: byte {start + 1:,} is not {codec}; set another encoding"
            raise InputError(msg) from None
    place = contents.find(b"\0")
    if place >= 0:
        line = contents.count(b"\n", 0, place) + 1
        msg = f"{name}: line {line:,} has a NUL byte; this is not text, or another encoding (UTF-16?)"
        raise InputError(msg)
    return _with_line_feeds(contents)


def _codec(encoding: str) -> str:
    """Return the usual name of an encoding; one of bytes or of texts among themselves is none of text."""
    try:
        # With nothing to encode, this tells the one kind from the other.
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        msg = f"encoding must be one of text that Python knows, such as utf-8 or latin-1, got {encoding!r}"
        raise InputError(msg) from None


def _with_line_feeds(contents: bytes) -> bytes:
    """Turn carriage returns into line feeds where lines end with them alone, as on old Macintoshes."""
    n_returns = contents.count(b"\r")
    if n_returns and n_returns - contents.count(b"\r\n") > contents.count(b"\n"):
        return contents.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return contents


def compress(contents: bytes) -> bytes:
    """Compress with gzip, without the time of day, so that the same contents are the same file."""
    return gzip.compress(contents, 6, mtime=0)
