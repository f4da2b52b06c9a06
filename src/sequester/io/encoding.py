"""Text in whatever encoding, as UTF-8."""

from __future__ import annotations

import codecs

from sequester.errors import InputError

_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def as_utf8(contents: bytes, name: str, encoding: str) -> bytes:
    r"""Give a text file called `name` in UTF-8, without a mark, its lines ending in line feeds.

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
        msg = f"{name}: line {line:,} has a NUL byte; this is no text, or another encoding (UTF-16?)"
        raise InputError(msg)
    return _with_line_feeds(contents)


def _codec(encoding: str) -> str:
    """Give the usual name of an encoding; one of bytes or of texts among themselves is none of text."""
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
