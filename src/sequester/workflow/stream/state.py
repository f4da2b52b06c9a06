"""What a stream keeps between two files, one SQLite database with a write-ahead log; and its inbox."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sequester.data.alike import canonical_labels
from sequester.data.ordering import order_keys
from sequester.data.roles import check_roles
from sequester.data.schema import ROW
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.hierarchies.labels import MISSING, match_alike, quoted
from sequester.io import format_of, read_frame
from sequester.io.contents import check_cells, read_contents
from sequester.io.csv import read_csv
from sequester.io.parquet import check_parquet
from sequester.methods.reposition.algorithm import timeline
from sequester.release.staging import lock_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from sequester.data.problems import ReadSummary
    from sequester.data.schema import Schema
    from sequester.errors import Warn
    from sequester.methods.reposition.method import SnapshotMethod
    from sequester.workflow.config import Config


DATABASE = "state.sqlite"
"""The database's name in the state folder."""
REJECTED = "rejected"
"""The folder of files that were not taken, below the state folder."""
_FORMAT = 2

_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE taken (
    number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, stem TEXT UNIQUE NOT NULL, digest TEXT NOT NULL,
    size INTEGER NOT NULL, modified INTEGER NOT NULL, label TEXT NOT NULL, key TEXT NOT NULL,
    records INTEGER NOT NULL
) STRICT;
CREATE INDEX taken_digest ON taken (digest);
CREATE TABLE held (number INTEGER PRIMARY KEY, records BLOB NOT NULL) STRICT;
CREATE TABLE window (name TEXT PRIMARY KEY, content BLOB NOT NULL) STRICT;
CREATE TABLE published (number INTEGER PRIMARY KEY, stem TEXT NOT NULL, certificate TEXT NOT NULL) STRICT;
CREATE TABLE outbox (place INTEGER PRIMARY KEY, name TEXT NOT NULL, content BLOB NOT NULL) STRICT;
CREATE TABLE expired (
    number INTEGER NOT NULL, value TEXT NOT NULL, records INTEGER NOT NULL, PRIMARY KEY (number, value)
) STRICT;
CREATE TABLE person_runs (number INTEGER PRIMARY KEY, keys BLOB NOT NULL) STRICT;
CREATE TABLE person_parts (part INTEGER PRIMARY KEY, keys BLOB NOT NULL) STRICT;
CREATE TABLE repeated (snapshots INTEGER NOT NULL, persons INTEGER NOT NULL) STRICT;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenFile:
    """An input file that has become a snapshot."""

    number: int
    """Which snapshot, counted from 0."""
    name: str
    """The file's name."""
    stem: str
    """What its outputs are called."""
    digest: str
    """The hash of its content."""
    size: int
    """Its bytes."""
    modified: int
    """When it was last changed, in nanoseconds."""
    label: str
    """What the snapshot is called in the release."""
    key: str
    """What it is ordered by, as JSON."""
    records: int
    """How many records it had."""


class State:
    """The database of a stream; one process at a time."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self._connection = connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Change everything inside, or nothing: also if the process is killed or the disk is full."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def about(self) -> dict[str, str]:
        """Describe what the stream is about; nothing before it has begun."""
        return dict(self._connection.execute("SELECT name, value FROM about"))

    def settle(self, about: Mapping[str, str]) -> dict[str, str]:
        """Write down what the stream is about, the first time; later, refuse what differs from it.

        A value that is not given this time is taken from the state.
        """
        known = self.about()
        if not known:
            with self.transaction():
                self._connection.executemany("INSERT INTO about VALUES (?, ?)", sorted(about.items()))
            return dict(about)
        changed = [name for name, value in about.items() if known.get(name) != value]
        if changed:
            raise InputError(
                *(
                    f"{self.folder}: this stream was started with another {name.replace('_', ' ')} "
                    f"({_short(known.get(name, ''))}), now it is {_short(about[name])}; change it back, or "
                    "start a new stream with another --state folder"
                    for name in changed
                )
            )
        return known

    def taken(self) -> list[TakenFile]:
        """List the files that were taken, in their order."""
        names = [each.name for each in fields(TakenFile)]
        rows = self._connection.execute(f"SELECT {', '.join(names)} FROM taken ORDER BY number")  # noqa: S608
        return [TakenFile(**dict(zip(names, row, strict=True))) for row in rows]

    def take(self, taken: TakenFile, records: bytes) -> None:
        """Note a file as taken, and keep its records."""
        self._connection.execute("INSERT INTO taken VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", astuple(taken))
        self._connection.execute("INSERT INTO held VALUES (?, ?)", (taken.number, records))

    def held(self) -> dict[int, bytes]:
        """Return the records of each snapshot that some of the window may still come from."""
        return dict(self._connection.execute("SELECT number, records FROM held ORDER BY number"))

    def forget_before(self, number: int) -> None:
        """Drop the records of snapshots that nothing in the window comes from any more."""
        self._connection.execute("DELETE FROM held WHERE number < ?", (number,))

    def window(self) -> dict[str, bytes]:
        """Return the content of the window as it was saved."""
        return dict(self._connection.execute("SELECT name, content FROM window"))

    def save_window(self, content: Mapping[str, bytes]) -> None:
        """Replace the content of the window."""
        self._connection.executemany("INSERT OR REPLACE INTO window VALUES (?, ?)", content.items())

    def publish(self, number: int, stem: str, certificate: str, files: Mapping[str, bytes]) -> None:
        """Note a snapshot as published, and keep its files until they are in their place."""
        self._connection.execute("INSERT INTO published VALUES (?, ?, ?)", (number, stem, certificate))
        self._connection.executemany("INSERT INTO outbox (name, content) VALUES (?, ?)", files.items())

    def outbox(self) -> Iterator[tuple[int, str, bytes]]:
        """Return the files that may not be in their place yet, one by one: number, name, content."""
        for (place,) in self._connection.execute("SELECT place FROM outbox ORDER BY place").fetchall():
            query = "SELECT place, name, content FROM outbox WHERE place = ?"
            yield self._connection.execute(query, (place,)).fetchone()

    def delivered(self) -> None:
        """Empty the outbox: everything in it is in its place."""
        self._connection.execute("DELETE FROM outbox")

    def expire(self, number: int, counts: Mapping[str, int]) -> None:
        """Note how many records of a snapshot are never published, per value."""
        rows = [(number, value, count) for value, count in counts.items()]
        self._connection.executemany("INSERT INTO expired VALUES (?, ?, ?)", rows)

    def expired(self) -> dict[str, int]:
        """Count the records that are never published, per value, over the whole stream; most first."""
        query = "SELECT value, sum(records) AS n FROM expired GROUP BY value ORDER BY n DESC, value"
        return dict(self._connection.execute(query))

    def add_run(self, number: int, keys: bytes) -> None:
        """Save who is in a published snapshot."""
        self._connection.execute("INSERT INTO person_runs VALUES (?, ?)", (number, keys))

    def size_of_runs(self) -> tuple[int, int]:
        """Count the runs of persons, and their bytes."""
        query = "SELECT count(*), coalesce(sum(length(keys)), 0) FROM person_runs"
        runs, size = self._connection.execute(query).fetchone()
        return int(runs), int(size)

    def runs(self) -> list[bytes]:
        """Return the runs of persons."""
        return [keys for (keys,) in self._connection.execute("SELECT keys FROM person_runs")]

    def drop_runs(self) -> None:
        """Forget the runs of persons: they are in the parts."""
        self._connection.execute("DELETE FROM person_runs")

    def part(self, part: int) -> bytes:
        """Return a part of the persons; nothing where there are none."""
        found = self._connection.execute("SELECT keys FROM person_parts WHERE part = ?", (part,)).fetchone()
        return found[0] if found else b""

    def save_part(self, part: int, keys: bytes) -> None:
        """Replace a part of the persons."""
        self._connection.execute("INSERT OR REPLACE INTO person_parts VALUES (?, ?)", (part, keys))

    def repeated(self) -> tuple[int, int]:
        """Return how many persons were in several of the first how many published snapshots: both counts."""
        found = self._connection.execute("SELECT snapshots, persons FROM repeated").fetchone()
        return (int(found[0]), int(found[1])) if found else (0, 0)

    def note_repeated(self, snapshots: int, persons: int) -> None:
        """Save the count, and of how many snapshots it is."""
        self._connection.execute("DELETE FROM repeated")
        self._connection.execute("INSERT INTO repeated VALUES (?, ?)", (snapshots, persons))

    def n_published(self) -> int:
        """Count the snapshots that were published."""
        return int(self._connection.execute("SELECT count(*) FROM published").fetchone()[0])


@contextmanager
def open_state(folder: Path) -> Iterator[State]:
    """Open the state of a stream, or begin it; a second process is refused."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        (folder / REJECTED).mkdir(mode=0o700, exist_ok=True)
        with lock_folder(folder, wait=False):
            connection = sqlite3.connect(folder / DATABASE, isolation_level=None, timeout=0)
            try:
                _prepare(connection, folder)
                yield State(folder, connection)
            finally:
                connection.close()
    except BlockingIOError:
        msg = f"{folder} is in use by another process; a stream has one process"
        raise InputError(msg) from None
    except sqlite3.Error as error:
        msg = f"cannot keep the state in {folder}: {error}; what was taken before is safe"
        raise InputError(msg) from error


def _prepare(connection: sqlite3.Connection, folder: Path) -> None:
    # Most of what is kept comes in pieces of megabytes; counts only for a database that is new.
    connection.execute("PRAGMA page_size = 32768")
    # One process only, so that the index of the log needs no file of its own.
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == 0:
        script = f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {_FORMAT}; COMMIT;"
        connection.executescript(script)
    elif version != _FORMAT:
        msg = f"{folder / DATABASE} has format {version}, and this version reads {_FORMAT}"
        raise InputError(msg)


def as_json(value: Any) -> str:
    """Write a value so that equal ones give equal text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


PERSON = "person"
"""The column of person keys in the records that a stream holds."""
_AT_ONCE = 64
"""Parquet files that another process decodes at once."""
_STILL = 1.0
"""Seconds for which a file must not have changed when the stream waits for more."""
_EMPTY = ("has no rows", "has a header and no rows")


@dataclass(frozen=True, slots=True)
class ReadSnapshot:
    """A snapshot that has been read and fits."""

    taken: TakenFile
    """What is noted about it."""
    records: pl.DataFrame
    """``person``, the quasi-identifiers and the sensitive attribute, as text."""
    reading: ReadSummary | None = None
    """What became of its rows; None where it has none."""


class Inbox:
    """The input folder of a stream."""

    def __init__(self, folder: Path, config: Config, method: SnapshotMethod, warn: Warn) -> None:
        self.folder = folder
        self.warn = warn
        self.config = config
        self.method = method
        self._tried: set[Path] = set()

    def waiting(self, taken: list[TakenFile], *, still: bool = False) -> list[Path]:
        """List the files that are not taken as they are now, by name; hidden ones and folders are none.

        `still`: only those that nobody has changed for a moment.
        """
        known = {each.name: each for each in taken}
        try:
            entries = sorted(os.scandir(self.folder), key=lambda entry: entry.name)
        except OSError as error:
            msg = f"cannot read {self.folder}: {error.strerror}"
            raise InputError(msg) from None
        paths = []
        for entry in entries:
            if entry.name.startswith(".") or not entry.is_file():
                continue
            now = entry.stat()
            before = known.get(entry.name)
            if before is not None and (before.size, before.modified) == (now.st_size, now.st_mtime_ns):
                continue
            if before is not None and _digest(self.folder / entry.name) == before.digest:
                continue
            if still and time.time_ns() - now.st_mtime_ns < _STILL * 1e9:
                # What comes later by name must not overtake it.
                break
            paths.append(self.folder / entry.name)
        return paths

    def read(
        self, path: Path, taken: list[TakenFile], waiting: list[Path], known: Sequence[str] = ()
    ) -> ReadSnapshot:
        """Read a file as the next snapshot; what is late, a duplicate or malformed is an `InputError`.

        `known` are the sensitive values that came before: a new one that looks like one of them is merged
        with it, or refused, as the configuration says.
        """
        stem = stem_of(path.name)
        self._refuse_name(path.name, stem, taken)
        digest = _digest(path)
        now = path.stat()
        frame = self._frame(path, waiting)
        key: float | str | None = None
        reading = None
        if not frame.height:
            self._refuse_columns(frame)
            records, label = self._without_records(), stem
        else:
            twin = next((each for each in taken if each.digest == digest), None)
            if twin is not None:
                msg = f"duplicate: it has the same content as {twin.name}, which was already taken"
                raise InputError(msg)
            records, label, key, reading = self._records(frame, stem)
            records = self._with_known(records, known)
            self._refuse_time(label, key, taken)
        noted = TakenFile(
            number=len(taken),
            name=path.name,
            stem=stem,
            digest=digest,
            size=now.st_size,
            modified=now.st_mtime_ns,
            label=label,
            key=as_json(key),
            records=records.height,
        )
        return ReadSnapshot(noted, records, reading)

    def _refuse_name(self, name: str, stem: str, taken: list[TakenFile]) -> None:
        if any(each.name == name for each in taken):
            msg = f"{name} was already taken with another content: a snapshot cannot be replaced"
            raise InputError(msg)
        if any(each.stem == stem for each in taken):
            msg = f"duplicate: another file named {stem} was already taken"
            raise InputError(msg)
        if taken and name < taken[-1].name:
            last = taken[-1].name
            msg = f"too late: files are taken in the order of their names, and {last} was already taken"
            raise InputError(msg)

    def _refuse_time(self, label: str, key: float | str, taken: list[TakenFile]) -> None:
        for each in reversed(taken):
            before = json.loads(each.key)
            if before is None:
                continue
            if isinstance(before, str) != isinstance(key, str):
                before, key = each.label, label
            if key <= before:
                late = "the same snapshot as" if key == before else "before"
                msg = f"too late: its time {label} is {late} {each.label}, and {each.name} was already taken"
                raise InputError(msg)
            return

    def _refuse_columns(self, frame: pl.DataFrame) -> None:
        """Refuse a file without records that lacks columns of the others."""
        schema = self.config.schema
        columns = [schema.rename.get(column, column) for column in frame.columns]
        problems = check_roles(ordered(schema, columns[0]), columns)
        lines = [problem.what for problem in problems if "no such column" in problem.what]
        if lines:
            raise InputError(*lines)

    def _frame(self, path: Path, waiting: list[Path]) -> pl.DataFrame:
        """Read a file; one without records has its columns alone."""
        data = self.config.settings.data
        try:
            if format_of(path, data.format) == "parquet":
                self._try_out(path, waiting)
                frame = pl.scan_parquet(path, glob=False, hive_partitioning=False).collect()
                return check_cells(frame, path.name)
            return read_frame(
                path, format=data.format, delimiter=data.delimiter, encoding=data.encoding, warn=self.warn
            )
        except InputError as error:
            if not all(line.endswith(_EMPTY) for line in error.lines):
                raise
        if format_of(path, data.format) == "arrow":
            return pl.read_ipc(path).head(0)
        # A header alone: the same with a row below it is a table again.
        contents = read_contents(path).rstrip(b"\r\n")
        delimiter = data.delimiter or max(",;\t|", key=lambda each: contents.count(each.encode()))
        row = delimiter.join("x" * (contents.count(delimiter.encode()) + 1)).encode()
        filled = contents + b"\n" + row + b"\n"
        return read_csv(filled, path.name, delimiter=delimiter, encoding=data.encoding).head(0)

    def _try_out(self, path: Path, waiting: list[Path]) -> None:
        """Decode this file and the next ones in another process first: a damaged one can end a process."""
        if path in self._tried:
            return
        place = waiting.index(path)
        batch = [each for each in waiting[place : place + _AT_ONCE] if each.suffix.lower() == ".parquet"]
        try:
            check_parquet(batch)
        except InputError:
            check_parquet([path])
            batch = [path]
        self._tried = set(batch)

    def _records(self, frame: pl.DataFrame, stem: str) -> tuple[pl.DataFrame, str, float | str, ReadSummary]:
        schema = self.config.schema
        if schema.order is None and schema.time is None:
            own = "time of the file"
            frame = frame.with_columns(pl.lit(stem).alias(own))
            schema = ordered(schema, own)
        table = EventTable(frame, schema)
        self.method.refuse_twins(table)
        line = timeline(table, "order" if schema.order is not None else self.method.snapshot)
        if line.n_snapshots != 1:
            labels = [label for label, n in zip(line.labels, np.diff(line.offsets), strict=True) if n]
            found = f"{len(labels):,}, from {labels[0]} to {labels[-1]}"
            msg = f"a file must be one snapshot, and this one has {found}"
            raise InputError(msg)
        label = line.labels[0]
        key: float | str = label
        if schema.order is not None:
            column = table.frame[schema.order]
            is_number = not column.cast(pl.String).cast(pl.Float64, strict=False).null_count()
            key = float(order_keys(column)[0]) if is_number else label
        owners = np.repeat(np.arange(table.n_persons), np.diff(table.person_offsets))
        person = table.persons.gather(owners)
        if schema.person == ROW:
            # Row numbers of two files are different persons.
            person = stem + " " + person
        elif schema.alike == "merge":
            # Of two files, too, persons who look alike are one.
            person = canonical_labels(person)
        attribute = next(iter(schema.sensitive))
        texts = {name: table.frame[name].fill_null(MISSING) for name in schema.quasi}
        values = table.frame[schema.sensitive_columns[0]].fill_null(MISSING)
        return pl.DataFrame({PERSON: person, **texts, attribute: values}), label, key, table.reading

    def _with_known(self, records: pl.DataFrame, known: Sequence[str]) -> pl.DataFrame:
        attribute, alike = next(iter(self.config.schema.sensitive)), self.config.schema.alike
        new = records[attribute].unique().sort().to_list()
        found = dict(match_alike([value for value in new if value not in known], known))
        if not found or alike == "keep":
            return records
        if alike == "merge":
            return records.with_columns(pl.col(attribute).replace(found))
        raise InputError(
            *(
                f"column {quoted(attribute)}: {quoted(value)} looks like {quoted(before)}, seen before; "
                'set alike = "merge" or alike = "keep"'
                for value, before in found.items()
            )
        )

    def _without_records(self) -> pl.DataFrame:
        schema = self.config.schema
        columns = [PERSON, *schema.quasi, *schema.sensitive]
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))


def ordered(schema: Schema, column: str = "time of the file") -> Schema:
    """Return the schema with the file's name, `column`, as its order where it has no order or time."""
    if schema.order is not None or schema.time is not None:
        return schema
    return replace(schema, order=column)


def stem_of(name: str) -> str:
    """Return the name of a file without its endings.

    Examples
    --------
    >>> stem_of("2010-01-31.csv.gz"), stem_of("day.1.parquet")
    ('2010-01-31', 'day.1')
    """
    if name.lower().endswith(".gz"):
        name = name[:-3]
    stem, _, _ = name.rpartition(".")
    return stem or name


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        msg = f"it cannot be read: {error.strerror}"
        raise InputError(msg) from None
