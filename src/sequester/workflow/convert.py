"""Convert a file of events to another format, or into a folder of Parquet files by person."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester.data.schema import ALL, ROW
from sequester.data.text import as_text
from sequester.engine import silent
from sequester.errors import InputError, system_reason
from sequester.hierarchies.labels import quoted
from sequester.io import format_of, read_frame
from sequester.io.clinical import CLINICAL, open_clinical, recognize
from sequester.io.contents import check_cells, check_path, compress, read_error
from sequester.io.csv import split_records
from sequester.io.database import Database, local_files
from sequester.io.parquet import check_parquet, parquet_files, write_arrow, write_parquet
from sequester.release.files import MOST_PARTS
from sequester.workflow.build import with_implied_roles
from sequester.workflow.config import Config
from sequester.workflow.log_formats import EventLog, Roles, refuse_nested, to_csv, to_seq, to_spmf, to_xes
from sequester.workflow.output_file import refuse_existing, refuse_inputs, write_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester.engine import Progress
    from sequester.workflow.settings import DataSettings


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
class Converted:
    """A file in its new format."""

    path: Path
    """Where it is."""
    format: str
    """What it is now."""
    rows: int
    """Rows that were read: one per event."""
    persons: Path | None = None
    """The table of persons beside it, where the input is clinical data."""
    lost: tuple[str, ...]
    """What the new format cannot hold, or the old one had beside its events."""

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``convert --json`` prints."""
        document = asdict(self) | {"path": str(self.path), "lost": list(self.lost)}
        persons = document.pop("persons")
        return document if persons is None else document | {"persons": str(persons)}


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
    time = (data.time,) if isinstance(data.time, str) else tuple(data.time or ())
    is_timed = bool(roles.order or roles.time)
    return replace(
        roles,
        person=roles.person or data.person,
        order=roles.order if is_timed else data.order,
        time=roles.time if is_timed else time,
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

    A keyed hash of the person, under a key that nobody keeps, says which file. Types stay as they are; CSV is
    text. Rows of a person stay in their order. CSV in UTF-8, Parquet, PostgreSQL and DuckDB are streamed.

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
            n_rows = _scatter(source, Path(aside), n_parts, progress)
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
    return Converted(path=out, format="parquet", rows=n_rows, lost=())


def _scatter(source: Source, folder: Path, n_parts: int, progress: Progress) -> int:
    """Write the rows of each piece of the input into a file per part; return their number."""
    key, n_rows = secrets.token_bytes(32), 0
    for number, (done, frame) in enumerate(_pieces(source)):
        part_of = _parts(as_text(_persons(frame, source.roles.person)), n_parts, key)
        for (part,), rows in (
            frame.with_columns(part_of)
            .partition_by(part_of.name, maintain_order=True, include_key=False, as_dict=True)
            .items()
        ):
            rows.write_ipc(folder / f"{part:05d}-{number:06d}.arrow", compression="lz4")
        n_rows += frame.height
        progress(0.7 * done, "reading")
    if not n_rows:
        msg = f"{source.path}: has no rows"
        raise InputError(msg)
    return n_rows


def _persons(frame: pl.DataFrame, named: str | None) -> pl.Series:
    """Return the column of persons; where it is not known, it has to be named."""
    if named in (ROW, ALL):
        msg = f"--partition needs persons with several rows, and person is {named}"
        raise InputError(msg)
    person = named or next((name for name in ("person", "case:concept:name") if name in frame.columns), None)
    if person is None:
        msg = "--person is needed: the column of persons"
        raise InputError(msg)
    if person not in frame.columns:
        msg = f"--person is {quoted(person)}, and the table has no such column"
        raise InputError(msg)
    return frame[person]


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
