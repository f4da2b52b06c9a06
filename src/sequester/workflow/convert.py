"""Convert a file of events to another format, and list what that format cannot hold."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sequester.engine import silent
from sequester.io import read_frame
from sequester.io.clinical import CLINICAL, open_clinical, recognize
from sequester.io.contents import compress
from sequester.io.database import Database, local_files
from sequester.io.parquet import write_arrow, write_parquet
from sequester.io.read import format_of
from sequester.workflow.config import Config
from sequester.workflow.log_formats import EventLog, Roles, refuse_nested, to_csv, to_seq, to_spmf, to_xes
from sequester.workflow.output_file import refuse_existing, refuse_inputs, write_file
from sequester.workflow.schema import with_implied_roles

if TYPE_CHECKING:
    import polars as pl

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
