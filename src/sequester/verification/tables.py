"""Read the released tables, and check that CSV and Parquet agree and events are in order."""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.errors import InputError
from sequester.hierarchies.labels import counted
from sequester.io.parquet import try_decode
from sequester.release.certificate import HASH, NUMBERS, TECHNICAL
from sequester.release.fields import safe_repr, safe_text
from sequester.release.release import EVENTS, ORDER, PERSON, PERSONS
from sequester.verification.parquet import check_parquet

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sequester.release.certificate import Certificate

ROWS_PER_PIECE = 2**20
"""Rows of a table that are written at once to compare them with its CSV file."""
_FIXED_MEMORY = 8 * 2**30
_MEMORY_PER_BYTE = 40
"""Memory that a trial may reserve: generous for honest files, far from what a doctored one can ask for."""
_UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, OverflowError)


def read_table(
    folder: Path,
    name: str,
    roles: Mapping[str, str],
    files: Mapping[str, str],
    *,
    n_rows: int | None,
    ours: bool,
) -> tuple[pl.DataFrame | None, list[str]]:
    """Return a table from its Parquet and CSV files, or what is wrong with it.

    `roles` are those of its columns, `files` the hashes of all files, which have been compared. `n_rows` is
    the number of rows that the certificate tells, where it tells one.
    """
    parquet, csv = folder / f"{name}.parquet", folder / f"{name}.csv"
    if not ours:
        most_memory = _FIXED_MEMORY + _MEMORY_PER_BYTE * csv.stat().st_size
        with try_decode([parquet], "Parquet", most_memory=most_memory) as answers:
            if any(answers()):
                msg = f"{parquet.name} is not readable as Parquet"
                raise InputError(msg)
    try:
        findings = _check_columns(parquet, roles) or _check_size(parquet, csv, n_rows)
        if findings:
            return None, findings
        frame = pl.read_parquet(parquet, use_statistics=False, memory_map=False, glob=False)
    except _UNREADABLE as error:
        raise _unreadable(parquet, error) from None
    findings = _check_cells(frame, name)
    if not findings and files[csv.name] != csv_hash(frame):
        # As written, a release has no other bytes; say what differs, if it is a cell.
        findings = _compare(frame, read_text_csv(csv), name) or [
            f"{csv.name}: has the cells of {parquet.name}, and is not written as a release is"
        ]
    findings = findings or check_parquet(parquet, frame)
    return (None, findings) if findings else (frame, [])


def csv_hash(frame: pl.DataFrame) -> str:
    """Return the hash of the CSV file that a release has of a table, written anew piece by piece."""
    digest = hashlib.sha256()
    for start in range(0, max(frame.height, 1), ROWS_PER_PIECE):
        piece = io.BytesIO()
        frame.slice(start, ROWS_PER_PIECE).write_csv(
            piece, include_header=start == 0, line_terminator="\n", quote_style="necessary"
        )
        digest.update(piece.getbuffer())
    return HASH + digest.hexdigest()


def read_text_csv(path: Path, separator: str = ",") -> pl.DataFrame:
    """Return a CSV file as a table of text."""
    try:
        # As a header, polars leaves doubled quotes doubled; as a row, it does not.
        rows = pl.read_csv(path, separator=separator, has_header=False, infer_schema=False, glob=False)
    except pl.exceptions.NoDataError:
        msg = f"{path.name} is empty"
        raise InputError(msg) from None
    except _UNREADABLE as error:
        raise _unreadable(path, error) from None
    names = ["" if name is None else name for name in rows.row(0)]
    if len(set(names)) < len(names):
        msg = f"{path.name} has two columns of one name"
        raise InputError(msg)
    return rows.slice(1).rename(dict(zip(rows.columns, names, strict=True)))


def person_starts(persons: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the rows at which another person begins."""
    if persons.is_empty():
        return np.empty(0, np.int64)
    changes = (persons != persons.shift(1)).fill_null(value=True).to_numpy()
    return np.flatnonzero(changes)


def _unreadable(path: Path, error: BaseException) -> InputError:
    return InputError(f"{path.name} is not readable: {safe_text(str(error))}")


def _check_columns(parquet: Path, roles: Mapping[str, str]) -> list[str]:
    name = parquet.name
    schema = pl.read_parquet_schema(parquet)
    columns = list(schema)
    strange = [column for column in columns if column not in roles]
    if columns != list(roles):
        return [
            f"{name}: the columns must be {safe_text(', '.join(roles))}; they are {safe_repr(columns)}",
            *(
                f"{name}: column {safe_repr(column)} is not named in the certificate"
                for column in strange[:5]
            ),
        ]
    numbers = {column for column, role in roles.items() if role == TECHNICAL and column in NUMBERS}
    kinds = {column: pl.Int64() if column in numbers else pl.String() for column in columns}
    return [
        f"{name}: column {safe_repr(column)} must be {kinds[column]}, it is {kind}"
        for column, kind in schema.items()
        if kind != kinds[column]
    ]


def _check_size(parquet: Path, csv: Path, n_rows: int | None) -> list[str]:
    """Compare numbers of rows before anything is unpacked: a small file can unpack to any size."""
    rows = pl.scan_parquet(parquet, glob=False).select(pl.len()).collect().item()
    # In the CSV a row takes at least a separator or a line end per column, of which there are two or more.
    if rows * 2 > csv.stat().st_size:
        return [f"{csv.name}: is too short for the {rows:,} rows of {parquet.name}"]
    if n_rows is not None and rows != n_rows:
        return [f"{parquet.name}: has {rows:,} events, the certificate says {n_rows:,}"]
    return []


def _check_cells(frame: pl.DataFrame, name: str) -> list[str]:
    return [
        f"{name}.parquet: {frame[column].null_count():,} cells of column {safe_repr(column)} are missing"
        for column in frame.columns
        if frame[column].null_count()
    ]


def _compare(frame: pl.DataFrame, csv: pl.DataFrame, name: str) -> list[str]:
    pair = f"{name}.csv and {name}.parquet differ"
    if csv.columns != frame.columns:
        return [f"{pair}: columns {safe_repr(csv.columns)} and {safe_repr(frame.columns)}"]
    if csv.height != frame.height:
        return [f"{pair}: {csv.height:,} and {frame.height:,} rows"]
    findings = []
    for column in frame.columns:
        packed, plain = frame[column].cast(pl.String), csv[column]
        if packed.equals(plain):
            continue
        rows = packed.ne_missing(plain).arg_true()
        findings.append(
            f"{pair}: {len(rows):,} cells of column {safe_repr(column)}, the first in row {rows[0] + 1:,}, "
            f"{safe_repr(plain[rows[0]])} and {safe_repr(packed[rows[0]])}"
        )
    return findings


def check_persons(tables: Mapping[str, pl.DataFrame], certificate: Certificate) -> list[str]:
    """Find persons whose events are apart, events that are not numbered from 1, and a wrong count.

    Where persons have a table of their own, everybody with events must have one row there.
    """
    frame, name = tables[EVENTS], PERSONS if PERSONS in tables else EVENTS
    starts = person_starts(frame[PERSON])
    heads = frame[PERSON].gather(starts)
    if heads.n_unique() < len(heads):
        twice = heads.filter(heads.is_duplicated())
        return [f"{EVENTS}.parquet: the events of person {safe_repr(twice[0])} do not stand together"]
    lengths = np.diff(np.append(starts, frame.height))
    expected = np.arange(1, frame.height + 1) - np.repeat(starts, lengths)
    wrong = np.flatnonzero(frame[ORDER].to_numpy() != expected)
    if wrong.size:
        row = int(wrong[0])
        event = f"event {expected[row]:,} of person {safe_repr(frame[PERSON][row])}"
        return [f"{EVENTS}.parquet: row {row + 1:,} is {event}, its {ORDER} is {frame[ORDER][row]:,}"]
    everybody = heads
    is_later = certificate.series is not None and certificate.series.part > 1
    if name == PERSONS and is_later:
        # Persons of earlier parts have their attributes there.
        everybody = pl.concat([heads, tables[PERSONS][PERSON]]).unique()
    elif name == PERSONS:
        everybody = tables[PERSONS][PERSON]
        twice = everybody.filter(everybody.is_duplicated())
        if len(twice):
            return [f"{PERSONS}.parquet: person {safe_repr(twice[0])} has several rows"]
        unknown = heads.filter(~heads.is_in(everybody.implode()))
        if len(unknown):
            return [
                (
                    f"{PERSONS}.parquet: {len(unknown):,} persons of {EVENTS}.parquet have no row, for "
                    f"example {safe_repr(unknown[0])}"
                )
            ]
    if len(everybody) != certificate.persons:
        persons = counted(len(everybody), "person", "persons")
        return [f"{name}.parquet: has {persons}, the certificate says {certificate.persons:,}"]
    return []
