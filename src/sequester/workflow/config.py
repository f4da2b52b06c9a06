"""``release.toml``: read it, check it, and read the table that it describes."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema

from sequester._validation import check_address_space
from sequester.data.persons import Persons
from sequester.data.places import REGION
from sequester.data.table import EventTable
from sequester.data.text import as_text
from sequester.errors import InputError, issue_warning
from sequester.hierarchies.labels import counted
from sequester.io import format_of, read_frame
from sequester.io.clinical import CLINICAL, open_clinical
from sequester.io.contents import check_cells, check_path, refuse_address
from sequester.io.database import Database, local_files, locate, scrub, source_errors
from sequester.io.parquet import count_rows, parquet_files, read_parquet_folder
from sequester.methods import METHODS
from sequester.release.files import MOST_PARTS, LogFormat, OtherFormat
from sequester.release.release import NAMES, PERSON, About
from sequester.workflow.build import (
    build_method,
    check_person,
    errors_in,
    make_persons_schema,
    make_schema,
    method_model,
    parameter_files,
    read_text,
    toml_key,
    validation_errors,
)
from sequester.workflow.settings import DataSettings, File, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

    from sequester.data.schema import Schema
    from sequester.engine import Engine
    from sequester.errors import Warn
    from sequester.methods.method import Method
    from sequester.workflow.settings import TableSettings


DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""What the schema is written in."""
_PERSON_OR_LINES = [
    {"required": ["person"]},
    {"properties": {"format": {"enum": ["spmf", "seq"]}}, "required": ["format"]},
    {
        "properties": {"path": {"pattern": "\\.([sS][pP][mM][fF]|[sS][eE][qQ])(\\.[gG][zZ])?$"}},
        "not": {"required": ["format"]},
    },
]
"""A person column is needed, except where the format implies it."""


@dataclass(frozen=True)
class Config:
    """A well-formed configuration; paths in it are relative to its file."""

    path: Path
    """The file."""
    settings: Settings
    """What it says."""
    _method: Method | None = None
    """The method that it names, if any."""

    @classmethod
    def load(cls, path: str | Path | Config, *, without_data: bool = False) -> Config:
        """Read a configuration, or refuse it with one line per problem; one that was read is returned.

        One that is used `without_data` of its own, because files come one by one, needs no ``data.path``.
        """
        if isinstance(path, Config):
            return path
        path = Path(path)
        table = _read_toml(path)
        if without_data and isinstance(table.get("data"), dict):
            table["data"].setdefault("path", ".")
        data = table.get("data")
        lines = [*check_person(data), *_check_sources(data)]
        settings = None
        try:
            settings = Settings.model_validate(table)
        except ValidationError as error:
            lines += validation_errors(error, table, Settings)
        method = None
        if isinstance(table.get("method"), dict):
            try:
                method = build_method(table["method"], path.parent)
            except InputError as error:
                lines += error.lines
        if settings is None or lines:
            raise InputError(*(f"{path.name}: {scrub(line)}" for line in lines))
        return cls(path, settings, method)

    @property
    def folder(self) -> Path:
        """What paths in the file are relative to."""
        return self.path.parent

    @property
    def data_source(self) -> Path | Database:
        """The data."""
        data = self.settings.data
        return locate(data.path, self.folder, query=data.query, table=data.table)

    @property
    def persons_source(self) -> Path | Database | None:
        """The table of persons, where there is one of its own."""
        persons = self.settings.data.persons
        if persons is None or persons.path is None:
            return None
        return locate(persons.path, self.folder, query=persons.query, table=persons.table)

    @property
    def inputs(self) -> dict[str, Path]:
        """Every file that the configuration is made of or leads to, by what it is."""
        data = self.settings.data
        own = data.persons
        trees = {f"data.quasi.{column}": quasi.hierarchy for column, quasi in data.quasi.items()}
        if own is not None:
            trees |= {f"data.persons.quasi.{column}": each.hierarchy for column, each in own.quasi.items()}
        if data.symbol is not None and data.symbol.hierarchy is not None:
            trees["data.symbol"] = data.symbol.hierarchy
        files = {
            f"the hierarchy of {where}": locate(tree.path, self.folder)
            for where, tree in trees.items()
            if isinstance(tree, File)
        }
        return {
            "the configuration": self.path,
            **local_files({"the data": self.data_source, "the table of persons": self.persons_source}),
            **local_files(files),
            **parameter_files(self.settings.method or {}, self.folder),
        }

    @property
    def event_log(self) -> OtherFormat | None:
        """The format of the data, where releases are written in it too."""
        source = self.data_source
        if self.settings.data.format == "meds":
            return "meds"
        if isinstance(source, Database) or source.is_dir():
            return None
        kind = format_of(source, self.settings.data.format)
        return next((form for form in get_args(LogFormat) if form == kind), None)

    def method(self) -> Method:
        """Return the method; a configuration that names none is refused."""
        if self._method is None:
            msg = f'{self.path.name}: method is missing; add [method] with a name, such as name = "halt"'
            raise InputError(msg)
        return self._method

    @cached_property
    def schema(self) -> Schema:
        """The roles of the columns, with their hierarchies."""
        # Naming a column in a method's weight is its role, and labels in its patterns may have no twin.
        weight = (self.settings.method or {}).get("weight")
        named = () if self._method is None else self._method.named_labels()
        with errors_in(self.path.name):
            return make_schema(
                self.settings.data,
                self.folder,
                weight=weight if isinstance(weight, str) else None,
                named=named,
                release=self.settings.release,
            )

    @cached_property
    def persons_schema(self) -> Schema | None:
        """The roles of the attributes of persons, with their hierarchies; None where there are none."""
        settings = self.settings.data.persons
        if settings is None:
            return None
        with errors_in(self.path.name):
            return make_persons_schema(settings, self.folder)

    @property
    def _parts(self) -> Path | None:
        """The folder of Parquet files that the data is; None where it is something else."""
        source = self.data_source
        if not isinstance(source, Path) or self.settings.data.format not in (None, "parquet"):
            return None
        return source if source.is_dir() else None

    @property
    def n_parts(self) -> int | None:
        """The number of Parquet files that the data is in, and so the release; None where it is not."""
        return None if self._parts is None else min(len(parquet_files(self._parts)), MOST_PARTS)

    @property
    def n_rows(self) -> int | None:
        """The number of rows of data in parts; None where only reading tells."""
        return None if self._parts is None else count_rows(parquet_files(self._parts))

    def frame(self, warn: Warn = issue_warning, *, engine: Engine | None = None) -> pl.DataFrame:
        """Read the data as it is; `warn` is called with what was left out.

        Of a folder of Parquet files, which is read file by file, attributes come coded. Workers of `engine`
        read files side by side.
        """
        if self._parts is not None:
            return self._read_parts(self._parts, engine)
        return self._read(self.data_source, self.settings.data, "data", warn)

    def persons(self, warn: Warn = issue_warning, *, schema: Schema | None = None) -> Persons | None:
        """Read the table of persons, with its roles or with others; None where there is none."""
        settings, roles = self.settings.data.persons, schema or self.persons_schema
        if settings is None or roles is None:
            return None
        source, data = self.persons_source, self.settings.data
        frame = None if source is None else self._read(source, settings, "data.persons", warn)
        if source is None and data.format in CLINICAL:
            frame = open_clinical(self.data_source, data.format, data.tables).persons()
        return Persons(
            frame,
            person=settings.person,
            quasi=roles.quasi,
            sensitive=roles.sensitive,
            keep=roles.keep,
            drop=roles.drop,
        )

    def table(self, warn: Warn = issue_warning, *, engine: Engine | None = None) -> EventTable:
        """Read the data, with the role of every column; `warn` is called with what was left out."""
        # Mistakes in roles are reported before the data is read.
        _ = self.schema, self.persons_schema
        check_address_space(2_000_000_000, "reading")
        table = self.table_of(self.frame(warn, engine=engine), warn)
        # Data in parts is large: nothing is held twice.
        return table if self._parts is None else table.compact()

    def _read_parts(self, folder: Path, engine: Engine | None) -> pl.DataFrame:
        """Read a folder of Parquet files one by one; columns of which only labels are needed are coded."""
        schema = self.schema
        keys = {*schema.time_columns, schema.person, schema.order, schema.tie, schema.trip, schema.weight}
        coded, time = [name for name in schema.attributes if name not in keys], None
        released = {*schema.attributes, *schema.keep}
        if schema.time_format is None and not released.intersection(schema.time_columns):
            time = schema.time_columns[0] if len(schema.time_columns) == 1 else None
        if schema.rename or schema.missing:
            # What is renamed or has markers of missing values is text until that is settled.
            coded, time = [], None
        check_path(folder)
        frame = read_parquet_folder(
            folder, coded=coded, time=time, person=schema.person_column, engine=engine
        )
        return check_cells(frame, str(folder))

    def _read(self, source: Path | Database, settings: TableSettings, table: str, warn: Warn) -> pl.DataFrame:
        try:
            return read_frame(
                source,
                format=settings.format,
                delimiter=settings.delimiter,
                encoding=settings.encoding,
                tables=settings.tables if isinstance(settings, DataSettings) else None,
                warn=warn,
            )
        except InputError as error:
            wrong = re.compile(r"(format|delimiter|encoding) must be ")
            lines = (
                f"{self.path.name}: {table}.{line}" if wrong.match(line) else line for line in error.lines
            )
            raise type(error)(*lines) from None

    def table_of(self, frame: pl.DataFrame, warn: Warn = issue_warning) -> EventTable:
        """Return the table of data that was read, without the persons who stay out."""
        table = EventTable(frame, self.schema, self.persons(warn))
        if not self.left_out:
            return table
        self._check_left_out(table)
        kept = ~table.persons.is_in(self.left_out)
        n_left_out = table.n_owners - table.persons.filter(kept).n_unique()
        warn(f"{counted(n_left_out, 'person stays', 'persons stay')} out, as [release] leave_out asks")
        return table.take(kept.to_numpy())

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """The persons of the input who stay out, by their keys."""
        if self.settings.release.leave_out is None:
            return ()
        path = self.folder / self.settings.release.leave_out
        frame = read_frame(path, format="csv")
        if PERSON not in frame.columns:
            msg = f"{path.name}: release.leave_out needs a column person, got {', '.join(frame.columns)}"
            raise InputError(msg)
        return tuple(as_text(frame[PERSON]).unique(maintain_order=True))

    def _check_left_out(self, table: EventTable) -> None:
        """Refuse to leave out somebody whom the data does not have, or everybody."""
        present = set(table.persons)
        unknown = [key for key in self.left_out if key not in present]
        if unknown:
            msg = f"{self.path.name}: release.leave_out names {unknown[0]!r}, who is not in the data"
            raise InputError(msg)
        if len(self.left_out) == len(present):
            msg = f"{self.path.name}: release.leave_out names all persons of the data; nobody would be left"
            raise InputError(msg)

    @property
    def about(self) -> About:
        """What the publisher says about the data."""
        release, described = self.settings.release, self.settings.data.columns
        schema = self.schema
        own = self.persons_schema
        roles = (schema,) if own is None else (schema, own)
        known = {name for each in roles for name in (*each.attributes, *each.keep, *each.drop)} | {REGION}
        unknown = [name for name in described if name not in known]
        if unknown:
            place = toml_key(("data", "columns", unknown[0]))
            msg = f"{self.path.name}: {place} describes no column that has a role"
            raise InputError(msg)
        columns = {name: each.description for name, each in described.items()}
        return About(**{name: getattr(release, name) for name in NAMES}, columns=columns)


def read(path: str | Path) -> EventTable:
    r"""Read the data that a configuration describes, every column with its role.

    Parameters
    ----------
    path
        The configuration, such as ``release.toml``. Paths in it are relative to it.

    Returns
    -------
    EventTable
        The events, sorted and checked.

    Raises
    ------
    InputError
        If the configuration or the data cannot be used; one line per problem.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "clicks.csv").write_text("user,n,page\nann,1,news\nann,2,tech\nbob,1,news\n")
    >>> _ = (folder / "release.toml").write_text(
    ...     '[data]\npath = "clicks.csv"\nperson = "user"\norder = "n"\nsymbol.column = "page"\n'
    ... )
    >>> read(folder / "release.toml").sequences.to_rows()
    [('news', 'tech'), ('news',)]
    """
    return Config.load(path).table()


def _read_toml(path: Path) -> dict[str, Any]:
    refuse_address(path)
    if path.is_dir():
        msg = f"{path} is a folder; a configuration is a file such as release.toml"
        raise InputError(msg)
    text = read_text(path, megabytes=10, instead="give the configuration, not the data")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        msg = f"{path} is not valid TOML: {error}"
        raise InputError(msg) from None


def _check_sources(data: object) -> Iterator[str]:
    """Report data that is neither a file nor a query or table of a database, and tables of no OMOP folder."""
    if not isinstance(data, dict):
        return
    if "tables" in data and data.get("format") != "omop":
        yield 'data.tables chooses tables of an OMOP folder, and needs data.format = "omop"'
    for where, given in (("data", data), ("data.persons", data.get("persons"))):
        if isinstance(given, dict):
            yield from (f"{where}.{line}" for line in source_errors(given))


class _TomlSchema(GenerateJsonSchema):
    """What TOML can say: no null, and no titles, which would only repeat the keys."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Describe the value that may be left out."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Leave out defaults that are none."""
        described = super().default_schema(schema)
        return {key: value for key, value in described.items() if (key, value) != ("default", None)}

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Leave out the title of a table."""
        return {key: value for key, value in super().model_schema(schema).items() if key != "title"}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """Leave out the title of a table."""
        return {key: value for key, value in super().dataclass_schema(schema).items() if key != "title"}

    def field_title_should_be_set(self, schema: object) -> bool:
        """Return that keys have no title."""
        del schema
        return False


def config_schema() -> dict[str, Any]:
    """Describe ``release.toml``; the parameters of each method stand under its name."""
    schema = Settings.model_json_schema(mode="validation", schema_generator=_TomlSchema)
    definitions = schema["$defs"]
    for method in METHODS.values():
        described = method_model(method).model_json_schema(mode="validation", schema_generator=_TomlSchema)
        definitions |= described.pop("$defs", {}) | {method.__name__: described}
    schema["properties"]["method"] = {
        "oneOf": [{"$ref": f"#/$defs/{method.__name__}"} for method in METHODS.values()],
        "description": schema["properties"]["method"]["description"],
    }
    definitions["DataSettings"]["anyOf"] = _PERSON_OR_LINES
    return {"$schema": DIALECT, "title": "release.toml", **schema}
