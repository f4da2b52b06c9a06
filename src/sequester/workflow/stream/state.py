"""What a stream keeps between two files: one SQLite database with a write-ahead log."""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Any

from sequester.errors import InputError
from sequester.release.staging import lock_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

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
