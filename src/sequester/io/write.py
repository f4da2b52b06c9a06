"""Write tables as the bytes of a file: the same table gives the same bytes."""

from __future__ import annotations

import codecs
import gzip
import io

import polars as pl

from sequester.data.text import as_text
from sequester.io.csv import DELIMITERS


def write_csv(frame: pl.DataFrame, delimiter: str = ",") -> bytes:
    r"""Write a table as delimited text that `read_frame` reads back cell by cell.

    Examples
    --------
    >>> write_csv(pl.DataFrame({"user": ["a", None], "n": [1, 2]}))
    b'user,n\na,1\n,2\n'
    """
    text = pl.DataFrame([as_text(column) for column in frame.iter_columns()])
    buffer = io.BytesIO()
    text.write_csv(
        buffer,
        separator=delimiter,
        line_terminator="\n",
        # Another delimiter in the cells could be taken for the one that separates them, and a lone empty cell
        # without quotes would be an empty line, which is no row.
        quote_style="always" if frame.width == 1 or _may_mislead(text, delimiter) else "necessary",
    )
    contents = buffer.getvalue()
    # The mark at the start of a file is left out when it is read.
    return codecs.BOM_UTF8 + contents if contents.startswith(codecs.BOM_UTF8) else contents


def write_parquet(frame: pl.DataFrame) -> bytes:
    """Write a table as Parquet, types as they are."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def pack(contents: bytes) -> bytes:
    """Compress with gzip, without the time of day, so that the same contents are the same file."""
    return gzip.compress(contents, 6, mtime=0)


def _may_mislead(text: pl.DataFrame, delimiter: str) -> bool:
    others = "".join(each for each in DELIMITERS if each != delimiter)
    pattern = f"[{others}]"
    names = pl.Series(text.columns, dtype=pl.String).str.contains(pattern).any()
    return names or any(column.str.contains(pattern).any() for column in text.iter_columns())
