"""The released tables, read from the files alone: CSV and Parquet agree, and events are in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.errors import InputError
from sequester.hierarchies.labels import counted
from sequester.io.trial import trial
from sequester.release.fields import bare, shown
from sequester.release.release import ORDER, PERSON
from sequester.verify.event_logs import check_event_logs

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from sequester.release.certificate import Certificate

EVENTS = "events"
"""The table of histories, by file name without ending."""
_METADATA = {"ARROW:schema"}
_FIXED_MEMORY = 8 * 2**30
_MEMORY_PER_BYTE = 40
"""Memory that a trial may reserve: generous for honest files, far from what a doctored one can ask for."""
_UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, OverflowError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns a released table must have."""

    first: tuple[str, ...]
    """The first ones, in this order."""
    last: tuple[str, ...] = ()
    """The last ones, in this order."""
    inner: tuple[int, int | None]
    """How many stand between, at least and at most."""
    numbers: frozenset[str]
    """Those that hold whole numbers; all others hold text."""
    words: str
    """All of this in words."""

    def fit(self, columns: list[str]) -> bool:
        """Tell whether these columns are as they must be."""
        inner = len(columns) - len(self.first) - len(self.last)
        least, most = self.inner
        return (
            least <= inner
            and (most is None or inner <= most)
            and tuple(columns[: len(self.first)]) == self.first
            and tuple(columns[len(columns) - len(self.last) :]) == self.last
        )


HISTORIES = Columns(
    first=(PERSON, ORDER),
    inner=(1, None),
    numbers=frozenset({ORDER}),
    words=f"{PERSON}, {ORDER} and attributes",
)
"""The table of histories."""


def read_events(
    folder: Path, certificate: Certificate, *, ours: bool = False
) -> tuple[pl.DataFrame | None, list[str]]:
    """Read ``events.parquet``, ``events.csv`` and the event log if any; the table, or what is wrong with it.

    Files that are not `ours`, written by this very process, are read with care.
    """
    frame, findings = read_table(
        folder, EVENTS, HISTORIES, certificate.files, n_rows=certificate.events, ours=ours
    )
    if frame is None:
        return None, findings
    findings = _check_persons(frame, certificate)
    findings = findings or check_event_logs(folder, certificate.files, frame)
    return (None, findings) if findings else (frame, [])


def read_table(
    folder: Path, name: str, columns: Columns, files: Collection[str], *, n_rows: int | None, ours: bool
) -> tuple[pl.DataFrame | None, list[str]]:
    """Read the Parquet and the CSV file of a table; the table, or what is wrong with it.

    `n_rows` is the number of rows that the certificate tells, where it tells one.
    """
    for ending in ("parquet", "csv"):
        if f"{name}.{ending}" not in files:
            msg = f"the release is incomplete: the certificate lists no {name}.{ending}"
            raise InputError(msg)
    parquet, csv = folder / f"{name}.parquet", folder / f"{name}.csv"
    if ours:
        plain = read_text_csv(csv)
    else:
        most_memory = _FIXED_MEMORY + _MEMORY_PER_BYTE * csv.stat().st_size
        with trial([parquet], "Parquet", most_memory=most_memory) as answers:
            plain = read_text_csv(csv)
            if any(answers()):
                msg = f"{parquet.name} is not readable as Parquet"
                raise InputError(msg)
    try:
        findings = _check_columns(parquet, columns) or _check_size(parquet, csv, n_rows)
        if findings:
            return None, findings
        frame = pl.read_parquet(parquet, use_statistics=False, memory_map=False, glob=False)
    except _UNREADABLE as error:
        raise _unreadable(parquet, error) from None
    findings = _check_cells(frame, name) or _compare(frame, plain, name)
    return (None, findings) if findings else (frame, [])


def read_text_csv(path: Path, separator: str = ",") -> pl.DataFrame:
    """Read a CSV file, every cell as the text that stands there."""
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
    """Give the rows at which another person begins."""
    if persons.is_empty():
        return np.empty(0, np.int64)
    changes = (persons != persons.shift(1)).fill_null(value=True).to_numpy()
    return np.flatnonzero(changes)


def _unreadable(path: Path, error: BaseException) -> InputError:
    return InputError(f"{path.name} is not readable: {bare(str(error))}")


def _check_columns(parquet: Path, expected: Columns) -> list[str]:
    name = parquet.name
    schema = pl.read_parquet_schema(parquet)
    metadata = set(pl.read_parquet_metadata(parquet))
    columns = list(schema)
    if not expected.fit(columns):
        return [f"{name}: the columns must be {expected.words}; they are {shown(columns)}"]
    kinds = {column: pl.Int64() if column in expected.numbers else pl.String() for column in columns}
    findings = [
        f"{name}: column {shown(column)} must be {kinds[column]}, it is {kind}"
        for column, kind in schema.items()
        if kind != kinds[column]
    ]
    surplus = sorted(metadata - _METADATA)
    if surplus:
        findings.append(f"{name}: carries metadata beside the rows: {shown(surplus)}")
    return findings


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
        f"{name}.parquet: {frame[column].null_count():,} cells of column {shown(column)} are missing"
        for column in frame.columns
        if frame[column].null_count()
    ]


def _compare(frame: pl.DataFrame, csv: pl.DataFrame, name: str) -> list[str]:
    pair = f"{name}.csv and {name}.parquet differ"
    if csv.columns != frame.columns:
        return [f"{pair}: columns {shown(csv.columns)} and {shown(frame.columns)}"]
    if csv.height != frame.height:
        return [f"{pair}: {csv.height:,} and {frame.height:,} rows"]
    findings = []
    for column in frame.columns:
        packed, plain = frame[column].cast(pl.String), csv[column]
        if packed.equals(plain):
            continue
        rows = packed.ne_missing(plain).arg_true()
        findings.append(
            f"{pair}: {len(rows):,} cells of column {shown(column)}, the first in row {rows[0] + 1:,}, "
            f"{shown(plain[rows[0]])} and {shown(packed[rows[0]])}"
        )
    return findings


def _check_persons(frame: pl.DataFrame, certificate: Certificate) -> list[str]:
    """Find persons whose events are apart, events that are not numbered from 1, and a wrong count."""
    starts = person_starts(frame[PERSON])
    heads = frame[PERSON].gather(starts)
    if heads.n_unique() < len(heads):
        twice = heads.filter(heads.is_duplicated())
        return [f"{EVENTS}.parquet: the events of person {shown(twice[0])} do not stand together"]
    lengths = np.diff(np.append(starts, frame.height))
    expected = np.arange(1, frame.height + 1) - np.repeat(starts, lengths)
    wrong = np.flatnonzero(frame[ORDER].to_numpy() != expected)
    if wrong.size:
        row = int(wrong[0])
        event = f"event {expected[row]:,} of person {shown(frame[PERSON][row])}"
        return [f"{EVENTS}.parquet: row {row + 1:,} is {event}, its {ORDER} is {frame[ORDER][row]:,}"]
    if len(starts) != certificate.persons:
        persons = counted(len(starts), "person", "persons")
        return [f"{EVENTS}.parquet: has {persons}, the certificate says {certificate.persons:,}"]
    return []
