"""Convert a file of events to another format, or into a folder of Parquet files by person."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester._repr import Document
from sequester.data.ordering import first_events, order_keys, repeats
from sequester.data.schema import ALL, ROW, Schema
from sequester.data.sequences import SYMBOL
from sequester.data.table import EventTable
from sequester.data.text import as_text, is_plain
from sequester.data.times import read_times
from sequester.engine import silent
from sequester.errors import InputError, system_reason
from sequester.hierarchies.labels import counted, quoted
from sequester.io import format_of, read_frame
from sequester.io.clinical import CLINICAL, open_clinical, recognize
from sequester.io.contents import check_cells, check_path, compress, read_error
from sequester.io.csv import split_records, write_csv
from sequester.io.database import Database, local_files
from sequester.io.parquet import check_parquet, parquet_files, write_arrow, write_parquet
from sequester.io.spmf import write_seq, write_spmf
from sequester.io.xes import ACTIVITY, CASE, FORBIDDEN, TIME, write_times, write_xes
from sequester.release.files import MOST_PARTS
from sequester.release.staging import refuse_existing, refuse_inputs, write_file
from sequester.workflow.build import with_implied_roles
from sequester.workflow.config import Config
from sequester.workflow.draft.columns import names_person

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sequester._typing import Counts, Mask, Offsets
    from sequester.engine import Progress
    from sequester.workflow.settings import DataSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which column says who, when and what; None is found by the names that event logs use."""

    person: str | None = None
    """Who, or ``row`` where each row is a person."""
    order: str | None = None
    """When: numbers if all are numbers, otherwise text."""
    time: Sequence[str] = ()
    """When: a column of times, or one of dates and one of clocks."""
    time_format: str | None = None
    """How times are written, where not ISO 8601."""
    tie: str | None = None
    """Second key where order or time repeat within a person; otherwise file order."""
    symbol: str | None = None
    """What."""

    def found_in(self, columns: Sequence[str]) -> Roles:
        """Fill in what is not given from the columns that logs have; what cannot be found is refused.

        Without order and time, events stay in file order, unless there is a column ``order``.

        Examples
        --------
        >>> found = Roles(symbol="page").found_in(["person", "order", "page"])
        >>> found.person, found.order
        ('person', 'order')
        """
        person = self.person or _first((CASE, "person"), columns)
        symbol = self.symbol or _first((ACTIVITY, SYMBOL), columns)
        named = [("person", self.person), ("order", self.order), *(("time", each) for each in self.time)]
        named += [("tie", self.tie), ("symbol", self.symbol)]
        lines = [
            f"--{option} is {quoted(column)}, and the table has no such column"
            for option, column in named
            if column is not None and column not in columns and (option, column) != ("person", ROW)
        ]
        if person is None:
            lines.append("--person is needed: the column of persons, or row where each row is a person")
        if symbol is None:
            lines.append("--symbol is needed: the column that says what happened")
        if lines:
            raise InputError(*lines)
        order = self.order if self.order or self.time else _first(("order",), columns)
        return replace(self, person=person, order=None if order in (person, symbol) else order, symbol=symbol)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLog:
    """Events by person, in order."""

    frame: pl.DataFrame
    """All columns of the table, one row per event."""
    persons: pl.Series
    """The name of each person."""
    offsets: Offsets
    """Person ``i`` has the rows ``offsets[i]`` to ``offsets[i + 1]``."""
    symbols: pl.Series
    """What happened in each row; null where that is missing."""
    times: pl.Series | None
    """When, in UTC, where a column says so and the order comes from it."""
    ties: Mask
    """Rows that are at one time with the row before them."""
    is_moved: bool
    """The rows stood in another order."""
    roles: Roles
    """The columns that say so."""

    @classmethod
    def of(cls, frame: pl.DataFrame, roles: Roles) -> EventLog:
        """Sort a table by person and time; whatever cannot be sorted is refused with its rows."""
        roles = roles.found_in(frame.columns)
        symbols = as_text(frame[str(roles.symbol)])
        named = (None if roles.person == ROW else roles.person, roles.order, *roles.time, roles.tie)
        columns = {column: frame[column] for column in named if column is not None}
        # Where nothing says when, events are in file order; what happened has no say in it.
        place, anything = "place", "anything"
        while {place, anything} & {*columns}:
            place, anything = f"{place}'", f"{anything}'"
        order = roles.order or ("" if roles.time else place)
        schema = Schema(
            person=str(roles.person),
            order=order or None,
            time=roles.time[0] if len(roles.time) == 1 else roles.time or None,
            time_format=roles.time_format,
            tie=roles.tie,
            symbol=anything,
        )
        columns[anything] = pl.repeat("x", frame.height, eager=True)
        if order == place:
            columns[place] = pl.int_range(frame.height, eager=True)
        table = EventTable(pl.DataFrame(columns), schema)
        when = table.frame[order] if table.times is None else table.times
        places = table.rows - 1
        return cls(
            frame=frame[places],
            persons=table.persons,
            offsets=table.person_offsets,
            symbols=symbols.gather(places),
            times=table.times,
            ties=repeats(table.person_offsets, order_keys(when)),
            is_moved=bool((places[1:] < places[:-1]).any()),
            roles=roles,
        )


def _first(names: Sequence[str], columns: Sequence[str]) -> str | None:
    return next((name for name in names if name in columns), None)


def to_spmf(log: EventLog) -> tuple[bytes, list[str]]:
    """Write a log as SPMF text; events of a person at one time are an itemset."""
    steps = _Steps.of(log)
    contents = write_spmf(steps.symbols, steps.starts, steps.starts | ~steps.ties)
    n_tied = int(steps.ties.sum()) if log.roles.time else 0
    tied = counted(n_tied, "event is", "events are")
    lost = [f"{tied} in the itemset of the event before, which has the same time"] if n_tied else []
    return contents, [*_left_out(log, steps, steps.places(tied=True)), *lost]


def to_seq(log: EventLog) -> tuple[bytes, list[str]]:
    """Write a log in the UCI format; events of a person at one time come one after the other."""
    steps = _Steps.of(log)
    n_tied = int(steps.ties.sum())
    tied = counted(n_tied, "event comes", "events come")
    lost = [f"{tied} after another that is at the same time: the format has no itemsets"] if n_tied else []
    contents = write_seq(steps.symbols, steps.starts)
    return contents, [*_left_out(log, steps, steps.places(tied=False)), *lost]


@dataclass(frozen=True, slots=True)
class _Steps:
    """The events that have a symbol."""

    symbols: pl.Series
    starts: Mask
    """Rows at which a person begins."""
    ties: Mask
    """Rows that are at one time with the row before them."""
    rows: Counts
    """Their rows in the log."""

    @classmethod
    def of(cls, log: EventLog) -> _Steps:
        rows = np.flatnonzero(log.symbols.is_not_null().to_numpy())
        if not len(rows):
            msg = f"column {quoted(str(log.roles.symbol))}: no event has a symbol"
            raise InputError(msg)
        is_first = first_events(log.offsets)
        # Where rows between them are gone, events are still at one time.
        person, time = np.cumsum(is_first)[rows], np.cumsum(~log.ties)[rows]
        starts = np.append(True, person[1:] != person[:-1])
        return cls(log.symbols.gather(rows), starts, np.append(False, time[1:] == time[:-1]), rows)

    def places(self, *, tied: bool) -> Counts:
        """Number the events of each person from 1, or their times where ties are one."""
        steps = np.cumsum(~self.ties if tied else np.ones_like(self.ties), dtype=np.int64)
        firsts = np.flatnonzero(self.starts)
        lengths = np.diff(np.append(firsts, len(steps)))
        before: Counts = np.repeat(steps[firsts] - 1, lengths)
        return steps - before


_MOVED = "rows are in another order: by person, and in time for each person"


def _left_out(log: EventLog, steps: _Steps, places: Counts) -> Iterator[str]:
    """Describe what a file of sequences has no place for."""
    n_missing = len(log.symbols) - len(steps.rows)
    if n_missing:
        yield f"{counted(n_missing, 'event has', 'events have')} no symbol and cannot be written"
    n_persons = int(steps.starts.sum())
    if n_persons < len(log.persons):
        n_lost = counted(len(log.persons) - n_persons, "person has", "persons have")
        yield f"{n_lost} no event with a symbol and cannot be written"
    if log.persons.to_list() != [str(number) for number in range(1, len(log.persons) + 1)]:
        yield "names of persons are left out: persons are lines, in the order in which they first appear"
    kept = {log.roles.person, log.roles.symbol}
    if log.roles.order is not None:
        order = as_text(log.frame[log.roles.order]).gather(steps.rows)
        if order.equals(pl.Series(order.name, places).cast(pl.String)):
            kept.add(log.roles.order)
    others = [column for column in log.frame.columns if column not in kept]
    if others:
        yield f"columns are left out, only the order of events stays: {', '.join(map(quoted, others))}"
    if log.is_moved:
        yield _MOVED


def to_csv(frame: pl.DataFrame, delimiter: str) -> tuple[bytes, list[str]]:
    """Write a table as delimited text, and say which types and values that levels."""
    refuse_nested(frame)
    lost = []
    typed = [f"{quoted(name)} ({dtype})" for name, dtype in frame.schema.items() if dtype != pl.String]
    if typed:
        lost.append(f"types are left out, everything is text: {', '.join(typed)}")
    texts = frame.select(pl.selectors.string())
    n_empty = sum(int((column.str.len_bytes() == 0).sum()) for column in texts.iter_columns())
    if n_empty:
        lost.append(f"{counted(n_empty, 'empty text is', 'empty texts are')} a missing value there")
    return write_csv(frame, delimiter), lost


def refuse_nested(frame: pl.DataFrame) -> None:
    """Refuse a table with a cell that is not a single value."""
    lines = [
        f"column {quoted(name)} holds {dtype}, which is not one text, number, date or truth value"
        for name, dtype in frame.schema.items()
        if not is_plain(dtype)
    ]
    if lines:
        raise InputError(*lines)


def to_xes(log: EventLog) -> tuple[bytes, list[str]]:
    """Write a log as XES, and say what is not in it or not as it was."""
    source = {CASE: (str(log.roles.person),), ACTIVITY: (str(log.roles.symbol),), TIME: tuple(log.roles.time)}
    if log.times is None and TIME in log.frame.columns:
        source[TIME] = (TIME,)
    taken = {column for columns in source.values() for column in columns}
    lost = list(_changes(log, source))
    owners = np.repeat(np.arange(len(log.persons)), np.diff(log.offsets))
    columns = {CASE: log.persons.gather(owners), ACTIVITY: log.symbols}
    if source[TIME]:
        columns[TIME] = _read_times(log, lost)
    for column in log.frame.columns:
        if column in columns and column not in taken:
            lost.append(f"column {quoted(column)} is left out: {_names(source[column])} has its name there")
        elif column not in taken:
            columns[column] = log.frame[column]
    columns = {name: _clean(name, values, lost) for name, values in columns.items()}
    empty = [name for name, values in columns.items() if as_text(values).null_count() == len(values)]
    if empty:
        lost.append(f"columns without any value are left out: {_names(empty)}")
    cases = columns.pop(CASE)
    return write_xes(cases, {n: v for n, v in columns.items() if n not in empty}), lost


def _changes(log: EventLog, source: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """Describe what is the same under another name, or in another order."""
    if log.roles.person == ROW:
        yield "persons are called by the numbers of their rows"
    others = [
        f"{_names(columns)} is {name}"
        for name, columns in source.items()
        if columns and columns not in ((name,), (ROW,))
    ]
    if others:
        yield f"columns have other names: {', '.join(others)}"
    if log.is_moved:
        yield _MOVED


def _read_times(log: EventLog, lost: list[str]) -> pl.Series:
    """Return the times in UTC, or the text as it is where some of it is no time."""
    columns = log.roles.time or (TIME,)
    written = log.frame[columns[0]]
    times = log.times
    if times is None:
        read = read_times([written], None)
        n_unreadable = int(read.unreadable.sum())
        if n_unreadable:
            said = counted(n_unreadable, "time cannot", "times cannot")
            lost.append(f"column {quoted(TIME)}: {said} be read, so the column is text and not time")
            return written
        times = read.values
    if len(columns) > 1 or (written.dtype == pl.String and not as_text(written).equals(write_times(times))):
        lost.append(f"times are written in UTC, as ISO 8601: {_names(columns)}")
    return times


def _clean(name: str, values: pl.Series, lost: list[str]) -> pl.Series:
    """Replace characters that XML cannot hold."""
    if values.dtype != pl.String:
        return values
    n_strange = int(values.str.contains(FORBIDDEN).sum())
    if not n_strange:
        return values
    said = counted(n_strange, "value has a control character", "values have control characters")
    lost.append(f"column {quoted(name)}: {said}, replaced by \ufffd")
    return values.str.replace_all(FORBIDDEN, "\ufffd")


def _names(columns: Iterable[str]) -> str:
    return ", ".join(map(quoted, columns))


_CONFIG = ".toml"
_XES_IS_MORE = (
    "of the XES file, only traces, events and their attributes are taken, all as text and with times in UTC: "
    "not attributes of the log, attributes inside attributes, globals, classifiers and types"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file to be read, and which of its columns mean what."""

    path: Path | Database
    """The file, the folder of Parquet files, or the database of a configuration."""
    format: str | None = None
    """Where the name does not tell."""
    delimiter: str | None = None
    """Of a CSV file."""
    encoding: str | None = None
    """Of a text file; UTF-8 without."""
    tables: tuple[str, ...] | None = None
    """Of an OMOP folder, those that become events."""
    roles: Roles = field(default_factory=Roles)
    """Who, when and what."""

    def completed(self) -> Source:
        """Take from a configuration, where the path leads to one, what is not given."""
        config = self._config
        if config is None:
            return self
        data = with_implied_roles(config.settings.data)
        return Source(
            path=config.data_source,
            format=self.format or data.format,
            delimiter=self.delimiter or data.delimiter,
            encoding=self.encoding or data.encoding,
            tables=None if data.tables is None else tuple(data.tables),
            roles=_completed(self.roles, data),
        )

    @property
    def inputs(self) -> dict[str, Path]:
        """Every file that is read, by what it is: of a configuration, all that it leads to."""
        config = self._config
        return local_files({"the data": self.path}) if config is None else config.inputs

    @property
    def _config(self) -> Config | None:
        is_config = isinstance(self.path, Path) and self.path.suffix.lower() == _CONFIG
        return Config.load(str(self.path)) if is_config else None

    @property
    def kind(self) -> str | None:
        """The format; None of a database."""
        if isinstance(self.path, Database):
            return None
        return "parquet" if self.path.is_dir() else format_of(self.path, self.format)

    def read(self) -> pl.DataFrame:
        """Read the table, or the events of clinical data."""
        return read_frame(
            self.path,
            format=self.clinical or self.format,
            delimiter=self.delimiter,
            encoding=self.encoding or "utf-8",
            tables=self.tables,
        )

    @property
    def clinical(self) -> str | None:
        """The format of a folder of clinical data; None where it is none."""
        form = self.format
        if form is None and isinstance(self.path, Path):
            form = recognize(self.path)
        return form if form in CLINICAL else None

    def read_persons(self) -> pl.DataFrame | None:
        """Read the persons of clinical data; None where the input is one table."""
        form = self.clinical
        return None if form is None else open_clinical(self.path, form, self.tables).persons()


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted(Document):
    """A file in its new format."""

    path: Path
    """Where it is."""
    format: str
    """What it is now."""
    rows: int
    """Rows that were read: one per event."""
    persons: Path | None = None
    """The table of persons beside it, where the input is clinical data."""
    partitioned_by: str | None = None
    """The column of persons that says which file of a folder a row is in."""
    lost: tuple[str, ...]
    """What the new format cannot hold, or the old one had beside its events."""


def convert(
    source: Source, out: str | Path, *, force: bool = False, progress: Progress = silent
) -> Converted:
    """Read `source` and write it to the file `out`, in the format of its name; a run that dies leaves none.

    Persons of clinical data are put beside: ``events.csv`` gets ``events.persons.csv``.

    Raises
    ------
    InputError
        Where the input is at fault, the columns are not known, or the output is there already; nothing has
        been written.
    """
    out = Path(out)
    kind = format_of(out)
    refuse_existing(out, force=force)
    inputs = source.inputs
    refuse_inputs(out, inputs=inputs)
    source = source.completed()
    stem, dot, endings = out.name.partition(".")
    beside = out.with_name(f"{stem}.persons{dot}{endings}")
    has_persons = source.clinical is not None
    has_table = has_persons and kind in ("csv", "parquet", "arrow")
    if has_table:
        refuse_existing(beside, force=force)
        refuse_inputs(beside, inputs=inputs)
    progress(0.0, "reading")
    frame, persons = source.read(), source.read_persons() if has_table else None
    lost = [_XES_IS_MORE] if source.kind == "xes" else []
    if has_persons and not has_table:
        lost.append("the attributes of persons")
    progress(0.5, "writing")
    name = out.name.lower()
    delimiter = "\t" if name.removesuffix(".gz").endswith(".tsv") else ","
    contents, left_out = _write(frame, kind, delimiter, source.roles)
    if persons is not None:
        table, _ = _write(persons, kind, delimiter, source.roles)
        write_file(compress(table) if name.endswith(".gz") else table, beside)
    write_file(compress(contents) if name.endswith(".gz") else contents, out)
    progress(1.0, "written")
    return Converted(
        path=out,
        format=kind,
        rows=frame.height,
        persons=beside if has_table else None,
        lost=(*lost, *left_out),
    )


def _completed(roles: Roles, data: DataSettings) -> Roles:
    if not roles.order and not roles.time:
        time = (data.time,) if isinstance(data.time, str) else tuple(data.time or ())
        roles = replace(roles, order=data.order, time=time)
    return replace(
        roles,
        person=roles.person or data.person,
        time_format=roles.time_format or data.time_format,
        tie=roles.tie or data.tie,
        symbol=roles.symbol or (None if data.symbol is None else data.symbol.column),
    )


def _write(frame: pl.DataFrame, kind: str, delimiter: str, roles: Roles) -> tuple[bytes, list[str]]:
    """Return the bytes of the new file, and what is not in it."""
    match kind:
        case "parquet":
            return write_parquet(frame), []
        case "arrow":
            return write_arrow(frame), []
        case "csv":
            return to_csv(frame, delimiter)
        case "xes":
            refuse_nested(frame)
            return to_xes(EventLog.of(frame, roles))
        case "spmf":
            return to_spmf(EventLog.of(frame, roles))
        case _:
            return to_seq(EventLog.of(frame, roles))


BATCH = 200_000
"""Rows of a Parquet file that are read at once."""
_PIECE = 16 * 2**20
"""Bytes of a CSV file that are read at once."""


def partition(
    source: Source, out: str | Path, n_parts: int, *, force: bool = False, progress: Progress = silent
) -> Converted:
    """Read `source` piece by piece, and write it to the folder `out`, in up to `n_parts` Parquet files.

    A keyed hash of the person, under a key that nobody keeps, says which file; where nobody names the column
    of persons, the one that is named like it. Types stay as they are; CSV is text. Rows of a person stay in
    their order. CSV in UTF-8, Parquet, PostgreSQL and DuckDB are streamed.

    Raises
    ------
    InputError
        Where the input is at fault, the column of persons is not known, or the output is there already;
        nothing has been written.
    """
    out = Path(out)
    if not 1 <= n_parts <= MOST_PARTS:
        msg = f"--partition must be a number of files from 1 to {MOST_PARTS:,}, got {n_parts:,}"
        raise InputError(msg)
    if out.is_file():
        msg = f"--partition writes a folder, and {out} is a file"
        raise InputError(msg)
    refuse_existing(out, force=force)
    if force and out.is_dir() and any(path.suffix != ".parquet" for path in out.iterdir()):
        msg = f"{out} holds more than Parquet files, and is not replaced; name another folder"
        raise InputError(msg)
    refuse_inputs(out, inputs=source.inputs)
    source = source.completed()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.", suffix=".partial") as aside:
            person, n_rows = _scatter(source, Path(aside), n_parts, progress)
            made = Path(aside) / "parts"
            made.mkdir()
            for number in range(n_parts):
                pieces = sorted(Path(aside).glob(f"{number:05d}-*.arrow"))
                if pieces:
                    frame = pl.concat([pl.read_ipc(piece) for piece in pieces])
                    frame.write_parquet(made / f"part-{number:05d}.parquet")
                for piece in pieces:
                    piece.unlink()
                progress(0.7 + 0.3 * (number + 1) / n_parts, "writing files")
            if force and out.is_dir():
                out.rename(Path(aside) / "earlier")
            made.rename(out)
    except (OSError, pl.exceptions.ComputeError) as error:
        # polars says in either way that the disk is full.
        reason = system_reason(error)
        if reason is None:
            raise
        msg = f"cannot write {out}: {reason}"
        raise InputError(msg) from None
    return Converted(path=out, format="parquet", rows=n_rows, partitioned_by=person, lost=())


def _scatter(source: Source, folder: Path, n_parts: int, progress: Progress) -> tuple[str, int]:
    """Write the rows of each piece of the input into a file per part.

    Returns the column of persons, and the number of rows.
    """
    key, n_rows, person = secrets.token_bytes(32), 0, source.roles.person
    for number, (done, frame) in enumerate(_pieces(source)):
        person = _person_column(frame, person)
        part_of = _parts(as_text(frame[person]), n_parts, key)
        for (part,), rows in (
            frame.with_columns(part_of)
            .partition_by(part_of.name, maintain_order=True, include_key=False, as_dict=True)
            .items()
        ):
            rows.write_ipc(folder / f"{part:05d}-{number:06d}.arrow", compression="lz4")
        n_rows += frame.height
        progress(0.7 * done, "reading")
    if not n_rows or person is None:
        msg = f"{source.path}: has no rows"
        raise InputError(msg)
    return person, n_rows


def _person_column(frame: pl.DataFrame, named: str | None) -> str:
    """Return the column of persons; refuse to guess where none, or more than one, is named like it."""
    if named in (ROW, ALL):
        msg = f"--partition needs persons with several rows, and person is {named}"
        raise InputError(msg)
    person = named or _first(("person", CASE), frame.columns)
    if person is None:
        sure = {column: names_person(column) for column in frame.columns}
        likely = [column for column in frame.columns if sure[column] == max(2, *sure.values())]
        if len(likely) != 1:
            could_be = f", which could be {' or '.join(map(quoted, likely))}" if likely else ""
            msg = f"--person is needed: the column of persons{could_be}"
            raise InputError(msg)
        (person,) = likely
    if person not in frame.columns:
        msg = f"--person is {quoted(person)}, and the table has no such column"
        raise InputError(msg)
    return person


def _parts(persons: pl.Series, n_parts: int, key: bytes) -> pl.Series:
    """Return the file of each row; rows without a person are in the first one."""
    name = "part" + secrets.token_hex(8)  # no column has this name
    known = persons.drop_nulls().unique()
    numbers = [
        int.from_bytes(hashlib.blake2b(each.encode(), key=key, digest_size=8).digest()) % n_parts
        for each in known.to_list()
    ]
    return persons.replace_strict(known, pl.Series(numbers, dtype=pl.Int64), default=0).alias(name)


def _pieces(source: Source) -> Iterator[tuple[float, pl.DataFrame]]:
    """Yield the input in pieces, each with the share that has been read then."""
    path = source.path
    if isinstance(path, Database):
        yield from ((0.5, frame) for frame in path.batches())
        return
    check_path(path)
    is_plain_csv = source.kind == "csv" and (source.encoding or "utf-8").lower() in ("utf-8", "utf8")
    if source.clinical is None and source.kind == "parquet":
        yield from _parquet_pieces(parquet_files(path) if path.is_dir() else [path])
    elif source.clinical is None and is_plain_csv and not path.name.lower().endswith(".gz"):
        try:
            yield from split_records(path, _PIECE, delimiter=source.delimiter)
        except OSError as error:
            raise InputError(read_error(path, error)) from None
    else:
        yield 1.0, source.read()


def _parquet_pieces(paths: list[Path]) -> Iterator[tuple[float, pl.DataFrame]]:
    check_parquet(paths)
    for number, path in enumerate(paths):
        scanned = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        n_rows = int(scanned.select(pl.len()).collect().item())
        for start in range(0, n_rows, BATCH):
            frame = check_cells(scanned.slice(start, BATCH).collect(), str(path))
            share = min(start + BATCH, n_rows) / n_rows
            yield (number + share) / len(paths), frame
