"""Convert a file of events to another format, and list what that format cannot hold."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sequester.engine import silent
from sequester.io import read_frame
from sequester.io.contents import compress
from sequester.io.parquet import write_arrow, write_parquet
from sequester.io.read import format_of
from sequester.workflow.config import Config, with_implied_roles
from sequester.workflow.convert_formats import EventLog, Roles, refuse_nested, to_csv, to_seq, to_spmf, to_xes
from sequester.workflow.output_file import refuse_existing, refuse_inputs, write_file

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

    path: Path
    """The file, or the folder of Parquet files."""
    format: str | None = None
    """Where the name does not tell."""
    delimiter: str | None = None
    """Of a CSV file."""
    encoding: str | None = None
    """Of a text file; UTF-8 without."""
    roles: Roles = field(default_factory=Roles)
    """Who, when and what."""

    def completed(self) -> Source:
        """Take from a configuration, where the path leads to one, what is not given."""
        if not self._is_config:
            return self
        config = Config.load(self.path)
        data = with_implied_roles(config.settings.data)
        return Source(
            path=config.data_path,
            format=self.format or data.format,
            delimiter=self.delimiter or data.delimiter,
            encoding=self.encoding or data.encoding,
            roles=_completed(self.roles, data),
        )

    @property
    def inputs(self) -> dict[str, Path]:
        """Every file that is read, by what it is: of a configuration, all that it leads to."""
        return Config.load(self.path).inputs if self._is_config else {"the data": self.path}

    @property
    def _is_config(self) -> bool:
        return self.path.suffix.lower() == _CONFIG

    @property
    def kind(self) -> str:
        """The format."""
        return "parquet" if self.path.is_dir() else format_of(self.path, self.format)

    def read(self) -> pl.DataFrame:
        """Read the table."""
        return read_frame(
            self.path, format=self.format, delimiter=self.delimiter, encoding=self.encoding or "utf-8"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """A file in its new format."""

    path: Path
    """Where it is."""
    format: str
    """What it is now."""
    rows: int
    """Rows that were read: one per event."""
    lost: tuple[str, ...]
    """What the new format cannot hold, or the old one had beside its events."""

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``convert --json`` prints."""
        return {
            "path": str(self.path),
            "format": self.format,
            "rows": self.rows,
            "lost": list(self.lost),
        }


def convert(
    source: Source, out: str | Path, *, force: bool = False, progress: Progress = silent
) -> Converted:
    """Read `source` and write it to the file `out`, in the format of its name; a run that dies leaves none.

    Raises
    ------
    InputError
        Where the input is at fault, the columns are not known, or the output is there already; nothing has
        been written.
    """
    out = Path(out)
    kind = format_of(out)
    refuse_existing(out, force=force)
    refuse_inputs(out, inputs=source.inputs)
    source = source.completed()
    progress(0.0, "reading")
    frame = source.read()
    lost = [_XES_IS_MORE] if source.kind == "xes" else []
    progress(0.5, "writing")
    name = out.name.lower()
    delimiter = "\t" if name.removesuffix(".gz").endswith(".tsv") else ","
    contents, left_out = _write(frame, kind, delimiter, source.roles)
    write_file(compress(contents) if name.endswith(".gz") else contents, out)
    progress(1.0, "written")
    return Converted(path=out, format=kind, rows=frame.height, lost=(*lost, *left_out))


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
