"""Read tables from files, each format in a file of its own; what is broken is refused with its place."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from sequester.data.text import as_polars
from sequester.errors import InputError, issue_warning
from sequester.hierarchies.labels import listed
from sequester.io.clinical import CLINICAL, open_clinical
from sequester.io.contents import check_cells, check_path, read_contents
from sequester.io.csv import read_csv
from sequester.io.database import Database
from sequester.io.parquet import read_arrow, read_parquet, read_parquet_folder
from sequester.io.spmf import read_seq, read_spmf
from sequester.io.xes import read_xes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from sequester.errors import Warn


FORMATS = ("csv", "spmf", "seq", "xes", "parquet", "arrow")
"""Formats that can be read."""
PACKED = {"parquet": "Parquet", "arrow": "Arrow"}
"""Formats that are compressed inside, and what they are called."""

_ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".seq": "seq",
    ".parquet": "parquet",
    ".spmf": "spmf",
    ".xes": "xes",
    ".arrow": "arrow",
}
_TEXT = re.compile(r"\.txt(\.gz)?$", re.IGNORECASE)
_SPMF = re.compile(rb"\s*(@CONVERTED_FROM|@ITEM=|-?\d[-\d ]* -2\s)")
"""How files of SPMF begin: with names of items, or with a sequence."""


def read_frame(
    source: str | os.PathLike[str] | object,
    *,
    format: str | None = None,  # noqa: A002 - the name it has in the configuration
    delimiter: str | None = None,
    encoding: str = "utf-8",
    tables: Sequence[str] | None = None,
    warn: Warn = issue_warning,
) -> pl.DataFrame:
    """Read a table; every cell of a text format is text as written, and only an empty cell is missing.

    Parameters
    ----------
    source
        A file, a folder of Parquet files or of clinical data, a `Database`, or anything with an Arrow stream
        (a polars or pandas frame).
    format
        ``csv``, ``spmf``, ``seq``, ``xes``, ``parquet`` or ``arrow``, where the name does not tell; ``omop``,
        ``fhir`` or ``meds`` for a folder of clinical data, whose events are read.
    delimiter
        Of a CSV file; otherwise found among comma, semicolon, tab and bar.
    encoding
        Of a text file.
    tables
        The tables of an OMOP folder that become events; by default those that have rows.
    warn
        Called with what was left out; by default, a `SequesterWarning` is issued.

    Raises
    ------
    InputError
        With the file, the place and the reason, one line each.
    """
    if not isinstance(source, Database | str | os.PathLike):
        return as_polars(source)
    if format in CLINICAL:
        opened = open_clinical(source if isinstance(source, Database) else Path(source), format, tables)
        for note in opened.notes:
            warn(note)
        return opened.events()
    if isinstance(source, Database):
        return source.read()
    path = Path(source)
    check_path(path)
    if path.is_dir():
        if format not in (None, "parquet"):
            msg = f"{path}: is a folder, and only Parquet is read from folders"
            raise InputError(msg)
        return check_cells(read_parquet_folder(path), str(path))
    kind = format_of(path, format)
    if kind == "parquet":
        return check_cells(read_parquet(path), str(path))
    if kind == "arrow":
        return check_cells(read_arrow(path), str(path))
    contents = read_contents(path)
    if kind == "seq":
        return read_seq(contents, str(path))
    if kind == "spmf":
        return check_cells(read_spmf(contents, str(path), encoding=encoding), str(path))
    if kind == "xes":
        return check_cells(read_xes(contents, str(path), encoding=encoding, warn=warn), str(path))
    if format is None and _is_spmf_text(path, contents):
        msg = f"{path}: .txt is read as csv, but this looks like SPMF; set format to spmf or csv"
        raise InputError(msg)
    if delimiter is None and path.name.lower().removesuffix(".gz").endswith(".tsv"):
        delimiter = "\t"
    frame = check_cells(read_csv(contents, str(path), delimiter=delimiter, encoding=encoding), str(path))
    return _trim_names(frame, str(path), warn)


def _trim_names(frame: pl.DataFrame, name: str, warn: Warn) -> pl.DataFrame:
    """Return the table without blanks around the names of columns, unless two would then have one name."""
    padded = {column: column.strip() for column in frame.columns if column != column.strip()}
    if not padded or len({padded.get(column, column) for column in frame.columns}) < frame.width:
        return frame
    warn(f"{name}: blanks around names of columns are left out: {listed(list(padded.values()))}")
    return frame.rename(padded)


def looks_like_spmf(path: Path) -> bool:
    """Return whether a .txt file holds sequences of SPMF, which its name does not show."""
    return _TEXT.search(path.name) is not None and path.is_file() and _is_spmf_text(path, read_contents(path))


def _is_spmf_text(path: Path, contents: bytes) -> bool:
    return _TEXT.search(path.name) is not None and _SPMF.match(contents) is not None


def format_of(path: Path, given: str | None = None) -> str:
    """Return the format of a file by its name, or the one given.

    Examples
    --------
    >>> format_of(Path("visits.CSV.gz"))
    'csv'
    >>> format_of(Path("visits.txt")), format_of(Path("visits.txt"), "spmf")
    ('csv', 'spmf')
    """
    kind = given if given is not None else _ENDINGS.get(Path(path.name.lower().removesuffix(".gz")).suffix)
    if kind is None:
        msg = f"{path}: the name does not tell the format; set format to one of {', '.join(FORMATS)}"
        raise InputError(msg)
    if kind not in FORMATS:
        msg = f"format must be one of {', '.join(FORMATS)}, got {kind!r}"
        raise InputError(msg)
    if kind in PACKED and path.name.lower().endswith(".gz"):
        msg = f"{path}: {PACKED[kind]} is compressed inside; unpack the file first"
        raise InputError(msg)
    return kind
