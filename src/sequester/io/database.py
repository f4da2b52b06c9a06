"""Read a table or a query of PostgreSQL, SQLite or DuckDB through Arrow, and change nothing there."""

from __future__ import annotations

import os
import re
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import polars as pl

from sequester.data.problems import first_line
from sequester.errors import InputError
from sequester.hierarchies.labels import listed, quoted
from sequester.io.contents import check_cells, check_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import ModuleType

    import pyarrow as pa

_SCHEMES = {"postgresql": "postgresql://", "sqlite": "sqlite:///", "duckdb": "duckdb:///"}
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_KEY = r"\w*(?:passw(?:or)?d|pwd|secret)\w*"
_SECRET_PARAMETER = re.compile(rf"[?&]\s*{_KEY}\s*=", re.IGNORECASE)
_SECRETS = (
    (re.compile(r"(\w:/+)[^/@\s]*:[^@\s]*@"), r"\1***@"),
    (re.compile(rf"({_KEY}\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s&]+)", re.IGNORECASE), r"\1***"),
)
_SELECT = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*(?:select|with|values|table|from)\b", re.I | re.S)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_SEVERITY = re.compile(r"\b(?:ERROR|FATAL|PANIC):\s+(.*)")
_STATUS = re.compile(r"^[A-Z_]+: (\[\w+\] )?(Failed to [a-z]+( query)?: )?")
_OF_FILES = ("format", "delimiter", "encoding")
_PARTS = ("query", "table")
OMOP = "omop"
"""The one format that a database may have: its tables are those of the OMOP common data model."""
_LISTS = {
    "postgresql": "SELECT table_name::text AS name FROM information_schema.tables "
    "WHERE table_schema = ANY (current_schemas(false))",
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')",
    "duckdb": "SELECT table_name AS name FROM information_schema.tables "
    "WHERE table_schema = current_schema()",
}
"""How the tables of a database are listed."""
_ALL_ROWS = 2**30
"""The driver of SQLite takes the type of a column from the first batch, so one batch holds all rows."""
_SECONDS_TO_CONNECT = 10


def is_url(path: object) -> bool:
    """Return whether a path is the address of a database, or of something else that is no file.

    Examples
    --------
    >>> is_url("postgresql://host/db"), is_url("sqlite:///visits.db"), is_url("visits.csv")
    (True, True, False)
    """
    return isinstance(path, str) and _URL.match(path) is not None


def source_errors(given: Mapping[str, object]) -> list[str]:
    """Return what is wrong with the keys of a table of the configuration that say where its data is.

    Examples
    --------
    >>> source_errors({"path": "sqlite:///visits.db", "table": "visits"})
    []
    >>> source_errors({"path": "postgresql://ann:pa55@host/db", "table": "visits"})[0][:29]
    'path has a password in it: le'
    """
    path, query, table = (given.get(name) for name in ("path", "query", "table"))
    found = _URL.match(path) if isinstance(path, str) else None
    if found is None:
        return [f"{name} is for databases, and path is none" for name in ("query", "table") if name in given]
    scheme, rest = found.groups()
    lines = []
    if ("@" in rest and ":" in rest.partition("@")[0]) or _SECRET_PARAMETER.search(unquote(rest)):
        lines.append(
            "path has a password in it: leave it out, and set PGPASSWORD or use a file of passwords "
            "(PGPASSFILE, PGSERVICEFILE)"
        )
    start = _SCHEMES.get(scheme)
    if start is None or len(str(path)) == len(start) or not str(path).startswith(start):
        lines.append(f"path must begin with one of {', '.join(_SCHEMES.values())}, and a name after it")
    is_omop = given.get("format") == OMOP
    of_files = [name for name in _OF_FILES if name in given and not (is_omop and name == "format")]
    lines += [f"{name} is for files, and path is a database" for name in of_files]
    if is_omop:
        lines += [
            f'{each} is not for format = "{OMOP}", which names its tables' for each in _PARTS if each in given
        ]
    elif query is None and table is None:
        lines.append(f'query or table is missing: a database takes one of them, or format = "{OMOP}"')
    elif query is not None and table is not None:
        lines.append("query and table are both given: a database takes one of them")
    if isinstance(query, str) and not _SELECT.match(query):
        lines.append("query must begin with select or with: the database is only read")
    elif isinstance(query, str) and ";" in _QUOTED.sub("", query).rstrip("; \n\r\t"):
        lines.append("query must be one statement, and has a semicolon in it")
    if isinstance(table, str) and not all(table.split(".")):
        lines.append(f"table must be a name, or a schema and a name such as public.visits, got {table!r}")
    return lines


def scrub(text: str) -> str:
    """Return a message without what may be a password.

    Examples
    --------
    >>> scrub("cannot open postgresql://ann:pa55@host/db?sslpassword=x")
    'cannot open postgresql://***@host/db?sslpassword=***'
    """
    for pattern, hidden in _SECRETS:
        text = pattern.sub(hidden, text)
    password = os.environ.get("PGPASSWORD")
    return text.replace(password, "***") if password else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A table or a query of a database; the password is no part of it.

    Examples
    --------
    >>> print(locate("sqlite:///visits.db", Path("study"), table="visits"))
    sqlite:///study/visits.db
    """

    scheme: str
    """What kind it is: postgresql, sqlite or duckdb."""
    address: str
    """What comes after the scheme: a server and its database, or a file."""
    query: str | None = None
    """What is read; None where it is a table."""
    table: str | None = None
    """What is read, a name or a schema and a name; None where it is a query."""

    @property
    def file(self) -> Path | None:
        """The file of SQLite and DuckDB."""
        return None if self.scheme == "postgresql" else Path(self.address)

    def __str__(self) -> str:
        return f"{_SCHEMES[self.scheme]}{self.address}"

    def resolve(self) -> Database:
        """Return the same with an absolute path, as `Path.resolve` does."""
        return self if self.file is None else replace(self, address=str(self.file.resolve()))

    def read(self, *, may_be_empty: bool = False) -> pl.DataFrame:
        """Read it within a transaction that cannot write.

        Raises
        ------
        InputError
            With what the server says, in one line.
        """
        (frame,) = self._frames(at_once=True)
        if frame.is_empty() and not may_be_empty:
            msg = f"{self}: there are no rows in {self.table or 'what the query selects'}"
            raise InputError(msg)
        return check_cells(frame, str(self))

    def batches(self) -> Iterator[pl.DataFrame]:
        """Yield the rows as the database sends them; SQLite sends them at once."""
        for frame in self._frames(at_once=False):
            yield check_cells(frame, str(self))

    def _frames(self, *, at_once: bool) -> Iterator[pl.DataFrame]:
        if self.file is not None:
            check_path(self.file)
        reading = {"postgresql": self._from_postgresql, "sqlite": self._from_sqlite}
        try:
            with reading.get(self.scheme, self._from_duckdb)() as reader:
                if at_once:
                    yield _to_polars(reader)
                else:
                    yield from (
                        _to_polars(type(reader).from_batches(reader.schema, [each])) for each in reader
                    )
        except InputError as error:
            raise InputError(*(f"{self}: {line}" for line in error.lines)) from None
        except ImportError as error:
            msg = f"{self}: databases need the extra sql ({error.name}): pip install 'sequester[sql]'"
            raise InputError(msg) from None
        except Exception as error:  # noqa: BLE001 - every driver has errors of its own
            raise InputError(scrub(f"{self}: {_server_message(error)}")) from None

    def tables(self) -> list[str]:
        """Return the names of the tables and views that can be read without a schema."""
        listed = replace(self, query=_LISTS[self.scheme], table=None).read(may_be_empty=True)
        return [str(name) for name in listed["name"]]

    def columns_of(self, table: str) -> list[str]:
        """Return the columns of a table."""
        query = f"SELECT * FROM {_quoted_name(table)} WHERE 1 = 0"  # noqa: S608 - quoted names
        return replace(self, query=query, table=None).read(may_be_empty=True).columns

    def read_columns(self, table: str, columns: Sequence[str]) -> pl.DataFrame:
        """Read some columns of a table, which may have no rows."""
        named = ", ".join(_quoted_name(name) for name in columns)
        query = f"SELECT {named} FROM {_quoted_name(table)}"  # noqa: S608 - quoted names
        return replace(self, query=query, table=None).read(may_be_empty=True)

    def _sql(self) -> str:
        if self.query is not None:
            return self.query
        return "SELECT * FROM " + ".".join(map(_quoted_name, str(self.table).split(".")))  # noqa: S608

    def _from_postgresql(self) -> AbstractContextManager[pa.RecordBatchReader]:
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - an extra

        url = str(self)
        if "connect_timeout" not in url and "PGCONNECT_TIMEOUT" not in os.environ:
            url += f"{'&' if '?' in url else '?'}connect_timeout={_SECONDS_TO_CONNECT}"
        return self._through_adbc(dbapi, url, "SET TRANSACTION READ ONLY")

    def _from_sqlite(self) -> AbstractContextManager[pa.RecordBatchReader]:
        from adbc_driver_sqlite import dbapi  # noqa: PLC0415 - an extra

        url = f"file:{quote(str(Path(self.address).absolute()))}?mode=ro"
        return self._through_adbc(dbapi, url, **{"adbc.sqlite.query.batch_rows": _ALL_ROWS})

    @contextmanager
    def _through_adbc(
        self, dbapi: ModuleType, url: str, *before: str, **options: int
    ) -> Iterator[pa.RecordBatchReader]:
        # Never committed: what is open when the connection is closed is rolled back.
        with closing(dbapi.connect(url)) as connection, closing(connection.cursor()) as cursor:
            for statement in before:
                cursor.execute(statement)
            cursor.adbc_statement.set_options(**options)
            cursor.execute(self._sql())
            yield cursor.fetch_record_batch()

    @contextmanager
    def _from_duckdb(self) -> Iterator[pa.RecordBatchReader]:
        import duckdb  # noqa: PLC0415 - an extra
        import pyarrow as pa  # noqa: PLC0415 - an extra

        # A database that is only read could still write other files, by COPY.
        opened = duckdb.connect(self.address, read_only=True, config={"enable_external_access": False})
        with closing(opened) as connection:
            yield pa.RecordBatchReader.from_stream(connection.sql(self._sql()))


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def locate(path: str, folder: Path, *, query: str | None = None, table: str | None = None) -> Path | Database:
    """Return the file or the database of a path that `source_errors` found well; files are in `folder`."""
    found = _URL.match(path)
    if found is None:
        return folder / path
    scheme = found[1]
    address = path.removeprefix(_SCHEMES[scheme])
    if scheme != "postgresql":
        address = str(folder / address)
    return Database(scheme=scheme, address=address, query=query, table=table)


def local_files(sources: Mapping[str, Path | Database | None]) -> dict[str, Path]:
    """Return the files among data, by what they are; a server has none."""
    files = {what: each.file if isinstance(each, Database) else each for what, each in sources.items()}
    return {what: file for what, file in files.items() if file is not None}


def _to_polars(reader: pa.RecordBatchReader) -> pl.DataFrame:
    """Read all rows, types as in Parquet; a UUID is text, and what only the server can write is refused."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    names = reader.schema.names
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        msg = f"the query has several columns called {listed(repeated)}; give each a name of its own"
        raise InputError(msg)
    stored = [getattr(field.type, "storage_type", field.type) for field in reader.schema]
    lines = [
        f"column {quoted(field.name)} is of the type {getattr(field.type, 'type_name', field.type)}, which "
        "is not read; cast it to text in a query"
        for field, kind in zip(reader.schema, stored, strict=True)
        if pa.types.is_interval(kind) or (isinstance(field.type, pa.OpaqueType) and kind != pa.string())
    ]
    if lines:
        raise InputError(*lines)
    table = reader.read_all()
    columns = [
        pa.chunked_array([chunk.storage for chunk in column.chunks], kind)
        if isinstance(column.type, pa.BaseExtensionType)
        else column
        for column, kind in zip(table.columns, stored, strict=True)
    ]
    frame = pl.DataFrame(pa.table(columns, names=names))
    uuids = [field.name for field in reader.schema if isinstance(field.type, pa.UuidType)]
    return frame.with_columns(
        frame[name].bin.encode("hex").str.replace("^(.{8})(.{4})(.{4})(.{4})", "$1-$2-$3-$4-")
        for name in uuids
    )


def _server_message(error: Exception) -> str:
    r"""Return the one line of a driver's error that the server wrote.

    Examples
    --------
    >>> text = 'NOT_FOUND: Failed to prepare query: ERROR:  relation "x" does not exist\nLINE 1: ...'
    >>> _server_message(ValueError(text))
    'relation "x" does not exist'
    """
    found = _SEVERITY.search(str(error))
    line = found[1] if found else _STATUS.sub("", first_line(error))
    hint = "; PGPASSWORD or a file of passwords (PGPASSFILE) must hold it" if "password" in line else ""
    return line.strip() + hint
