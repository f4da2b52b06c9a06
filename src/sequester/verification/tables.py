"""Read the released tables, whole or in parts, and check that files agree and events are in order."""

from __future__ import annotations

import hashlib
import io
from functools import partial
from typing import TYPE_CHECKING, get_args

import numpy as np
import polars as pl

from sequester.engine.local import cut_evenly
from sequester.errors import InputError
from sequester.hierarchies.labels import counted
from sequester.io.parquet import find_shared_persons, map_files, try_decode
from sequester.release.certificate import HASH, NUMBERS, TECHNICAL
from sequester.release.fields import safe_repr, safe_text
from sequester.release.files import (
    MEDS_FILES,
    LogFormat,
    expected_log,
    first_of_each,
    mark_starts,
    meds_files,
    read_log,
    unsupported_reason,
    without_writer,
    write_log,
)
from sequester.release.release import EVENTS, ORDER, PERSON, PERSONS
from sequester.verification.parquet import check_structure

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from sequester.engine import Engine
    from sequester.release.certificate import Certificate

ROWS_PER_PIECE = 2**20
"""Rows of a table that are written at once to compare them with its CSV file."""
FIXED_MEMORY = 8 * 2**30
_MEMORY_PER_BYTE, _MEMORY_PER_PACKED_BYTE = 40, 1_000
"""Memory that a trial may reserve: generous for honest files, far from what a doctored one can ask for."""
_ROWS_PER_PACKED_BYTE = 1_000
"""Rows of a part for each byte of its file, at most; order and names of persons leave no more."""
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
        refuse_undecodable(folder, [parquet.name], FIXED_MEMORY + _MEMORY_PER_BYTE * csv.stat().st_size)
    frame, findings = _read_rows(parquet, roles, partial(_check_size, csv=csv, n_rows=n_rows))
    if frame is None:
        return None, findings
    if files[csv.name] != csv_hash(frame):
        # As written, a release has no other bytes; say what differs, if it is a cell.
        findings = _compare(read_text_csv(csv), frame.cast(pl.String), f"{csv.name} and {parquet.name}") or [
            f"{csv.name}: has the cells of {parquet.name}, and is not written as a release is"
        ]
    findings = findings or check_structure(parquet, frame)
    return (None, findings) if findings else (frame, [])


def refuse_undecodable(folder: Path, names: Sequence[str], most_memory: int) -> None:
    """Refuse Parquet files of a folder that another process cannot decode with so much memory."""
    with try_decode([folder / name for name in names], "Parquet", most_memory=most_memory) as answers:
        wrong = [name for name, answer in zip(names, answers(), strict=True) if answer]
    if wrong:
        raise InputError(*(f"{safe_text(name)} is not readable as Parquet" for name in wrong))


def _read_rows(
    parquet: Path, roles: Mapping[str, str], check_size: Callable[[Path, int], list[str]]
) -> tuple[pl.DataFrame | None, list[str]]:
    """Return the rows of a Parquet file without a gap, or what is wrong with its columns, size or cells."""
    try:
        findings = _check_columns(parquet, roles)
        if not findings:
            # Before anything is unpacked: a small file can unpack to any size.
            n_rows = pl.scan_parquet(parquet, glob=False).select(pl.len()).collect().item()
            findings = check_size(parquet, n_rows)
        if findings:
            return None, findings
        frame = pl.read_parquet(parquet, use_statistics=False, memory_map=False, glob=False)
    except _UNREADABLE as error:
        raise _unreadable(parquet, error) from None
    findings = _check_cells(frame, parquet.name)
    return (None, findings) if findings else (frame, [])


def read_parts(
    folder: Path,
    names: Sequence[str],
    roles: Mapping[str, str],
    *,
    n_rows: int | None,
    ours: bool,
    engine: Engine | None,
) -> tuple[pl.DataFrame | None, list[str]]:
    """Return a table from its part files, or what is wrong with it, each file by its name.

    Each file is checked by itself, and its text becomes codes as it is read, so that the text of all rows is
    never held. Then every person must be in one file, and the files must have equally many persons: other
    cuts could tell who belongs together.
    """
    paths = [folder / name for name in names]
    read = [each for some in map_files(_read_checked, paths, (dict(roles), ours), engine) for each in some]
    findings = [line for _, lines in read for line in lines]
    frames = [frame for frame, _ in read if frame is not None]
    if not findings:
        findings = _check_cut(names, [frame[PERSON] for frame in frames])
    found = sum(frame.height for frame in frames)
    if not findings and n_rows is not None and found != n_rows:
        findings = [f"{paths[0].parent.name}/: has {found:,} events, the certificate says {n_rows:,}"]
    return (None, findings) if findings else (pl.concat(frames), [])


def _read_checked(
    paths: Sequence[Path], shared: tuple[Mapping[str, str], bool]
) -> list[tuple[pl.DataFrame | None, list[str]]]:
    """Return the rows of each file, labels as codes, or what is wrong with it."""
    roles, ours = shared
    table = paths[0].parent.name
    try:
        if not ours:
            memory = FIXED_MEMORY + _MEMORY_PER_PACKED_BYTE * max(path.stat().st_size for path in paths)
            refuse_undecodable(paths[0].parent, [path.name for path in paths], memory)
        read = [_read_part(path, roles) for path in paths]
        return [(frame, [f"{table}/{line}" for line in findings]) for frame, findings in read]
    except InputError as error:
        raise InputError(*(f"{table}/{line}" for line in error.lines)) from None


def _read_part(path: Path, roles: Mapping[str, str]) -> tuple[pl.DataFrame | None, list[str]]:
    frame, findings = _read_rows(path, roles, _check_packed_size)
    if frame is None:
        return None, findings
    findings = check_structure(path, frame) or (check_histories(frame, path.name) if ORDER in roles else [])
    if findings:
        return None, findings
    return code_labels(frame), []


def code_labels(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with categories of four bytes in the place of text; persons stay text."""
    # Series by series: in an expression, a column of the name * would mean others as well.
    return pl.DataFrame(
        {
            column.name: column.cast(pl.Categorical)
            if column.dtype == pl.String and column.name != PERSON
            else column
            for column in frame.iter_columns()
        }
    )


def _check_packed_size(parquet: Path, n_rows: int) -> list[str]:
    if n_rows <= _ROWS_PER_PACKED_BYTE * parquet.stat().st_size:
        return []
    return [f"{parquet.name}: is too short for its {n_rows:,} rows"]


def _check_cut(names: Sequence[str], persons: Sequence[pl.Series]) -> list[str]:
    """Find a person who is in two parts, and a part with more or fewer persons than it must have."""
    shared = find_shared_persons(persons)
    if shared is not None:
        person, one, other, more = shared
        others = f", and {more:,} more are in several files" if more else ""
        return [f"{names[other]}: person {safe_repr(person)} is in {names[one]}, too{others}"]
    found = [each.n_unique() for each in persons]
    # A table without persons is one empty file.
    expected = [len(shard) for shard in cut_evenly(sum(found), len(names))] or [0]
    expected += [0] * (len(names) - len(expected))
    wrong = [place for place, n in enumerate(found) if n != expected[place] or (not n and place)]
    if not wrong:
        return []
    n_persons = counted(found[wrong[0]], "person", "persons")
    even = f"{sum(found):,} persons in {len(names):,} equal files are {expected[wrong[0]]:,} there"
    return [f"{names[wrong[0]]}: has {n_persons}, and {even}"]


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
        msg = f"{path.name} has two columns with the same name"
        raise InputError(msg)
    return rows.slice(1).rename(dict(zip(rows.columns, names, strict=True)))


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


def _check_size(parquet: Path, rows: int, *, csv: Path, n_rows: int | None) -> list[str]:
    # In the CSV a row takes at least a separator or a line end per column, of which there are two or more.
    if rows * 2 > csv.stat().st_size:
        return [f"{csv.name}: is too short for the {rows:,} rows of {parquet.name}"]
    if n_rows is not None and rows != n_rows:
        return [f"{parquet.name}: has {rows:,} events, the certificate says {n_rows:,}"]
    return []


def _check_cells(frame: pl.DataFrame, name: str) -> list[str]:
    return [
        f"{name}: {frame[column].null_count():,} cells of column {safe_repr(column)} are missing"
        for column in frame.columns
        if frame[column].null_count()
    ]


def _compare(found: pl.DataFrame, expected: pl.DataFrame, pair: str, *, events: bool = False) -> list[str]:
    """Return the first thing in which two tables differ: columns, number of rows, or cells by column.

    The rows of formats other than CSV are `events` with attributes.
    """
    columns, rows, cells, row = (
        ("attributes", "events", "values of", "event")
        if events
        else ("columns", "rows", "cells of column", "row")
    )
    if set(found.columns) != set(expected.columns):
        names = [sorted(each.columns) if events else each.columns for each in (found, expected)]
        return [f"{pair} differ: {columns} {safe_repr(names[0])} and {safe_repr(names[1])}"]
    if found.height != expected.height:
        return [f"{pair} differ: {found.height:,} and {expected.height:,} {rows}"]
    findings = []
    for column in expected.columns:
        places = found[column].ne_missing(expected[column]).arg_true()
        if len(places):
            first = places[0]
            findings.append(
                f"{pair} differ: {len(places):,} {cells} {safe_repr(column)}, the first in {row} "
                f"{first + 1:,}, {safe_repr(found[column][first])} and {safe_repr(expected[column][first])}"
            )
    return findings


def check_histories(frame: pl.DataFrame, name: str) -> list[str]:
    """Find persons whose events are apart in a file, and events that are not numbered from 1."""
    starts = np.flatnonzero(mark_starts(frame[PERSON]))
    heads = frame[PERSON].gather(starts)
    if heads.n_unique() < len(heads):
        twice = heads.filter(heads.is_duplicated())
        return [f"{name}: the events of person {safe_repr(twice[0])} do not stand together"]
    lengths = np.diff(np.append(starts, frame.height))
    expected = np.arange(1, frame.height + 1) - np.repeat(starts, lengths)
    wrong = np.flatnonzero(frame[ORDER].to_numpy() != expected)
    if wrong.size:
        row = int(wrong[0])
        event = f"event {expected[row]:,} of person {safe_repr(frame[PERSON][row])}"
        return [f"{name}: row {row + 1:,} is {event}, its {ORDER} is {frame[ORDER][row]:,}"]
    return []


def check_persons(tables: Mapping[str, pl.DataFrame], certificate: Certificate) -> list[str]:
    """Find a wrong count of persons.

    Where persons have a table of their own, everybody with events must have one row there.
    """
    frame, name = tables[EVENTS], PERSONS if PERSONS in tables else EVENTS
    heads = everybody = first_of_each(frame[PERSON])
    file = certificate.data_file(name)
    is_later = certificate.series is not None and certificate.series.part > 1
    if name == PERSONS:
        everybody = tables[PERSONS][PERSON]
        twice = everybody.filter(everybody.is_duplicated())
        if len(twice):
            return [f"{file}: person {safe_repr(twice[0])} has several rows"]
        unknown = heads.filter(~heads.is_in(everybody.implode()))
        if is_later:
            # Persons of earlier parts have their attributes there.
            everybody = pl.concat([everybody, unknown])
        elif len(unknown):
            events, example = certificate.data_file(EVENTS), safe_repr(unknown[0])
            return [f"{file}: {len(unknown):,} persons of {events} have no row, for example {example}"]
    if len(everybody) != certificate.persons:
        persons = counted(len(everybody), "person", "persons")
        return [f"{file}: has {persons}, the certificate says {certificate.persons:,}"]
    return []


def check_event_logs(folder: Path, files: Collection[str], frame: pl.DataFrame) -> list[str]:
    """Compare each event log that the certificate lists with the released table."""
    findings = []
    for form in get_args(LogFormat):
        path = folder / f"events.{form}"
        if path.name not in files:
            continue
        reason = unsupported_reason(frame, form)
        if reason is not None:
            findings.append(f"{path.name}: does not belong here: {safe_text(reason)}")
            continue
        contents = path.read_bytes()
        if contents == write_log(frame, form):
            continue
        try:
            found = read_log(contents, path.name, form)
        except (InputError, OSError) as error:
            msg = f"{path.name} is not readable: {safe_text(str(error).removeprefix(f'{path.name}: '))}"
            raise InputError(msg) from None
        findings += _compare(
            found, expected_log(frame, form), f"{path.name} and events.parquet", events=True
        ) or [f"{path.name}: has the events of events.parquet, and is not written as a release is"]
    return findings


def check_meds(
    folder: Path,
    certificate: Certificate,
    tables: Mapping[str, pl.DataFrame],
    hierarchies: Mapping[str, pl.DataFrame],
) -> list[str]:
    """Compare the MEDS dataset, where the certificate lists one, with what the tables make it."""
    listed = [name for name in MEDS_FILES if name in certificate.files]
    if not listed:
        return []
    reason = unsupported_reason(tables[EVENTS], "meds")
    if reason is not None:
        return [f"{listed[0]}: does not belong here: {safe_text(reason)}"]
    if len(listed) < len(MEDS_FILES):
        absent = next(name for name in MEDS_FILES if name not in listed)
        msg = f"the release is incomplete: the certificate lists no {absent}"
        raise InputError(msg)
    expected = meds_files(tables, hierarchies, title=certificate.about.title, version=certificate.version)
    findings = []
    for name, contents in expected.items():
        found = (folder / name).read_bytes()
        if without_writer(found) == without_writer(contents):
            continue
        differs = []
        if name.endswith(".parquet"):
            refuse_undecodable(folder, [name], FIXED_MEMORY + _MEMORY_PER_BYTE * len(contents))
            try:
                read = pl.read_parquet(found), pl.read_parquet(contents)
                differs = _compare(*read, f"{name} and the tables", events=True)
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                msg = f"{name} is not readable as Parquet"
                raise InputError(msg) from error
        findings += differs or [f"{name}: is not written as a release is: it carries something else"]
    return findings
