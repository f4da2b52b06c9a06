"""The bytes of a file, unpacked where it is a gzip file, with a limit on how far it may swell."""

from __future__ import annotations

import os
import stat
import zlib
from typing import TYPE_CHECKING

from sequester.data.problems import first_line
from sequester.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

LARGEST = 16 * 2**30
"""Bytes that a file may unpack to."""
ALWAYS_FINE = 256 * 2**20
"""Bytes up to which the ratio is not looked at."""
LARGEST_RATIO = 200
"""Times that a file may swell; tables of events swell 5 to 50 times, a bomb about 1,000 times."""

_MAGIC = b"\x1f\x8b"
_GZIP = 31  # the window of zlib, plus 16 for the header and checksum of gzip
_CHUNK = 2**20
_STEP = 16 * 2**20


def check_there(path: Path) -> None:
    """Refuse a path that leads to neither a file nor a folder that can be read; links are followed."""
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            msg = f"{path}: is neither a file nor a folder"
            raise InputError(msg)
        if not os.access(path, os.R_OK):
            msg = f"{path}: permission denied"
            raise InputError(msg)
    except (OSError, ValueError) as error:
        raise InputError(in_words(path, error)) from None


def in_words(path: Path, error: Exception) -> str:
    """Say in one line why a path cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> in_words(Path("a.csv"), FileNotFoundError(2, "No such file or directory"))
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
                return unpack(file, str(path))
            contents = file.read()
    except OSError as error:
        raise InputError(in_words(path, error)) from None
    if not contents:
        msg = f"{path}: is empty"
        raise InputError(msg)
    if path.name.lower().endswith(".gz"):
        msg = f"{path}: is named .gz and is no gzip file"
        raise InputError(msg)
    return contents


def unpack(file: BinaryIO, name: str) -> bytes:
    """Unpack a gzip file of one or several members, and stop where it swells beyond every honest file."""
    parts: list[bytes] = []
    n_in = n_out = 0
    member = zlib.decompressobj(wbits=_GZIP)
    try:
        while chunk := file.read(_CHUNK):
            n_in += len(chunk)
            while chunk:
                if member.eof:
                    # Zeros after a member are padding; anything else is the next member.
                    chunk = chunk.lstrip(b"\0")
                    if not chunk:
                        break
                    member = zlib.decompressobj(wbits=_GZIP)
                parts.append(member.decompress(chunk, _STEP))
                n_out += len(parts[-1])
                if n_out > LARGEST or (n_out > ALWAYS_FINE and n_out > LARGEST_RATIO * n_in):
                    msg = (
                        f"{name}: unpacks to more than {n_out:,} bytes from {n_in:,}, as no honest table does"
                    )
                    raise InputError(msg)
                chunk = member.unused_data if member.eof else member.unconsumed_tail
        parts.append(member.flush())
    except zlib.error as error:
        msg = f"{name}: the gzip file is damaged ({error})"
        raise InputError(msg) from None
    if not member.eof:
        msg = f"{name}: the gzip file is cut off"
        raise InputError(msg)
    contents = b"".join(parts)
    if not contents:
        msg = f"{name}: is empty"
        raise InputError(msg)
    return contents
