"""Read and write delimited text: every cell as written, an empty one missing, every broken row named."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester import kernels
from sequester.data.problems import first_line
from sequester.data.text import as_text
from sequester.errors import InputError, InternalError
from sequester.hierarchies.labels import quoted
from sequester.io.contents import as_utf8, check_cells

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


DELIMITERS = (",", ";", "\t", "|")
"""Delimiters that are recognized without being told."""

_SHOWN_ROWS = 5
_SNIFFED_BYTES = 2**16


def read_csv(
    contents: bytes, name: str, *, delimiter: str | None = None, encoding: str = "utf-8"
) -> pl.DataFrame:
    r"""Read the contents of a CSV file called `name` into text columns.

    Blank lines are no rows. Rows are counted from 1 without the header.

    Examples
    --------
    >>> read_csv(b'who;what\n007;"a;b"\nNA;\n', "example.csv").rows()
    [('007', 'a;b'), ('NA', None)]
    """
    contents = as_utf8(contents, name, encoding)
    end = _end_of_header(contents)
    header, body = _decode(contents, name, end), contents[end:]
    if delimiter is None:
        delimiter = _sniff(header, body[:_SNIFFED_BYTES])
    columns = _read_header(header, name, delimiter)
    records, n_records = _check_records(body, name, delimiter, len(columns))
    if records.startswith(codecs.BOM_UTF8):
        # A first cell may begin with this character; polars takes one for a mark and drops it.
        records = codecs.BOM_UTF8 + records
    try:
        frame = pl.read_csv(
            records,
            has_header=False,
            schema=dict.fromkeys(columns, pl.String),
            separator=delimiter,
            infer_schema=False,
        ).rechunk()  # rows in one piece are sorted ten times as fast
    except pl.exceptions.PolarsError as error:
        _decode(contents, name)
        msg = f"{name}: cannot be read as CSV ({first_line(error)})"
        raise InputError(msg) from None
    if frame.height != n_records:
        msg = f"{name}: {n_records:,} rows were counted and {frame.height:,} were read"
        raise InternalError(msg)
    return frame.with_columns(as_text(column) for column in frame.iter_columns())


def split_records(
    path: Path, size: int, *, delimiter: str | None = None
) -> Iterator[tuple[float, pl.DataFrame]]:
    """Read a CSV file in UTF-8 in pieces of about `size` bytes; yield the share that was read, and the rows.

    A broken row is named by its number in its piece.
    """
    total, n_read = path.stat().st_size, 0
    with path.open("rb") as file:
        start = file.read(size)
        while (end := _end_of_header(start)) == len(start) and (more_of_it := file.read(size)):
            start += more_of_it
        header = start[:end]
        if delimiter is None:
            delimiter = _sniff(_decode(start, str(path), end), start[end:][:_SNIFFED_BYTES])
        rest, more = start[end:], bool(start)
        n_read = len(start)
        while more:
            following = file.read(size)
            n_read += len(following)
            more = bool(following)
            # A line feed ends a record if the quotes before it are closed.
            cut = rest.rfind(b"\n") + 1 if more else len(rest)
            while more and cut and rest.count(b'"', 0, cut) % 2:
                cut = rest.rfind(b"\n", 0, cut - 1) + 1
            if rest[:cut].strip(b"\r\n"):
                name = str(path)
                yield (
                    n_read / max(total, 1),
                    check_cells(read_csv(header + rest[:cut], name, delimiter=delimiter), name),
                )
            rest = rest[cut:] + following


def _decode(contents: bytes, name: str, end: int | None = None) -> str:
    """Decode the file up to `end`; what is not UTF-8 is refused by its place."""
    try:
        return contents[:end].decode()
    except UnicodeDecodeError as error:
        line = contents.count(b"\n", 0, error.start) + 1
        msg = f"{name}: line {line:,} is not UTF-8 (byte {error.start + 1:,} of the file); set encoding"
        raise InputError(msg) from None


def _end_of_header(contents: bytes) -> int:
    """Find where the first record ends; blank lines before it belong to it, quotes may hold line feeds."""
    start = len(contents) - len(contents.lstrip(b"\r\n"))
    end = contents.find(b"\n", start)
    while end >= 0 and contents.count(b'"', start, end) % 2:
        end = contents.find(b"\n", end + 1)
    return len(contents) if end < 0 else end + 1


def _sniff(header: str, body: bytes) -> str:
    """Choose the delimiter that cuts the header and the first rows into the same, largest number of cells."""
    rows = body[: body.rfind(b"\n") + 1].decode(errors="replace")

    def fitness(delimiter: str) -> tuple[bool, bool, int]:
        cells = len(next(_records(header, delimiter), []))
        agrees = all(len(row) == cells for row in _records(rows, delimiter) if row)
        return cells > 1, agrees, cells

    return max(DELIMITERS, key=fitness)


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    try:
        yield from (
            record for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if record
        )
    except csv.Error:
        return


def _read_header(header: str, name: str, delimiter: str) -> list[str]:
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        msg = f"delimiter must be one character and no quote or line end, got {delimiter!r}"
        raise InputError(msg)
    fault = kernels.records.scan_records(np.frombuffer(header.encode(), np.uint8), ord(delimiter), 1, 0)[2]
    if fault:
        msg = f"{name}: header: {_fault_text(fault)}"
        raise InputError(msg)
    columns = next(_records(header, delimiter), [])
    if not columns:
        msg = f"{name}: has no header"
        raise InputError(msg)
    lines = [f"{name}: column {i} has no name" for i, column in enumerate(columns, start=1) if not column]
    lines += [
        f"{name}: {count} columns are called {quoted(column)}"
        for column, count in Counter(columns).items()
        if count > 1 and column
    ]
    if lines:
        raise InputError(*lines)
    return columns


def _check_records(body: bytes, name: str, delimiter: str, n_cells: int) -> tuple[bytes, int]:
    """Check every record; return the body without blank lines, and the number of records."""
    data = np.frombuffer(body, np.uint8)
    n_records, n_blank, fault, n_ragged, ragged = kernels.records.scan_records(
        data, ord(delimiter), n_cells, _SHOWN_ROWS
    )
    if fault:
        msg = f"{name}: row {n_records:,}: {_fault_text(fault)}"
        raise InputError(msg)
    if n_ragged:
        lines = [
            f"{name}: row {row:,} has {cells:,} cells, the header has {n_cells:,}"
            for row, cells in ragged[:n_ragged].tolist()
        ]
        if n_ragged > _SHOWN_ROWS:
            lines.append(f"{name}: {n_ragged - _SHOWN_ROWS:,} more rows do not have {n_cells:,} cells")
        raise InputError(*lines)
    if not n_records:
        msg = f"{name}: has a header and no rows"
        raise InputError(msg)
    return (kernels.records.drop_blank_lines(data).tobytes() if n_blank else body), n_records


def _fault_text(fault: int) -> str:
    return {
        kernels.records.STRAY_QUOTE: "a quote stands inside a cell; quote the cell and double the quote",
        kernels.records.OPEN_QUOTE: "a quoted cell never ends",
        kernels.records.BARE_RETURN: "a carriage return stands inside a cell without quotes",
    }[fault]


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


def _may_mislead(text: pl.DataFrame, delimiter: str) -> bool:
    others = "".join(each for each in DELIMITERS if each != delimiter)
    pattern = f"[{others}]"
    names = pl.Series(text.columns, dtype=pl.String).str.contains(pattern).any()
    return names or any(column.str.contains(pattern).any() for column in text.iter_columns())
