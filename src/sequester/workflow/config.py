"""``release.toml``: one file describes one release."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import ValidationError

from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.io import read_frame
from sequester.io.read import format_of
from sequester.release.event_log import LogFormat
from sequester.workflow.hierarchy_settings import File
from sequester.workflow.method_settings import build_method, parameter_files
from sequester.workflow.refusals import refusals
from sequester.workflow.roles import missing_person, schema_of
from sequester.workflow.settings import Settings

if TYPE_CHECKING:
    import polars as pl

    from sequester.data.schema import Schema
    from sequester.methods.method import Method

_LARGEST = 10_000_000
"""Bytes; whoever names a larger file has taken the data for the configuration."""


@dataclass(frozen=True)
class Config:
    """A well-formed configuration; paths in it are relative to its file."""

    path: Path
    """The file."""
    settings: Settings
    """What it says."""

    @classmethod
    def load(cls, path: str | Path, *, without_data: bool = False) -> Config:
        """Read a configuration, or refuse it with one line per problem.

        One that is used `without_data` of its own, because files come one by one, needs no ``data.path``.
        """
        path = Path(path)
        table = _read_toml(path)
        if without_data and isinstance(table.get("data"), dict):
            table["data"].setdefault("path", ".")
        lines = missing_person(table.get("data"))
        settings = None
        try:
            settings = Settings.model_validate(table)
        except ValidationError as error:
            lines += refusals(error, table, Settings)
        if isinstance(table.get("method"), dict):
            try:
                build_method(table["method"], path.parent)
            except InputError as error:
                lines += error.lines
        if settings is None or lines:
            raise InputError(*(f"{path.name}: {line}" for line in lines))
        return cls(path, settings)

    @property
    def folder(self) -> Path:
        """What paths in the file are relative to."""
        return self.path.parent

    @property
    def data_path(self) -> Path:
        """The data."""
        return self.folder / self.settings.data.path

    @property
    def inputs(self) -> dict[str, Path]:
        """Every file that the configuration is made of or leads to, by what it is."""
        data = self.settings.data
        trees = {f"data.quasi.{column}": quasi.hierarchy for column, quasi in data.quasi.items()}
        if data.symbol is not None and data.symbol.hierarchy is not None:
            trees["data.symbol"] = data.symbol.hierarchy
        files = {where: self.folder / tree.path for where, tree in trees.items() if isinstance(tree, File)}
        return {
            "the configuration": self.path,
            "the data": self.data_path,
            **{f"the hierarchy of {where}": path for where, path in files.items()},
            **parameter_files(self.settings.method or {}, self.folder),
        }

    @property
    def event_log(self) -> LogFormat | None:
        """The format of the data, where releases are written in it too."""
        kind = None if self.data_path.is_dir() else format_of(self.data_path, self.settings.data.format)
        return next((form for form in get_args(LogFormat) if form == kind), None)

    def method(self) -> Method:
        """Make the method; a configuration that names none is refused."""
        if self.settings.method is None:
            msg = f"{self.path.name}: method is missing; it must be a table with the name of a method"
            raise InputError(msg)
        return build_method(self.settings.method, self.folder)

    @cached_property
    def schema(self) -> Schema:
        """The roles of the columns, with their hierarchies."""
        # Naming a column in a method's weight is its role, and labels in its patterns may have no twin.
        weight = (self.settings.method or {}).get("weight")
        named = () if self.settings.method is None else self.method().named_labels()
        try:
            return schema_of(
                self.settings.data,
                self.folder,
                weight=weight if isinstance(weight, str) else None,
                named=named,
            )
        except InputError as error:
            raise type(error)(*(f"{self.path.name}: {line}" for line in error.lines)) from None

    def frame(self) -> pl.DataFrame:
        """Read the data as it is."""
        data = self.settings.data
        try:
            return read_frame(
                self.data_path, format=data.format, delimiter=data.delimiter, encoding=data.encoding
            )
        except InputError as error:
            wrong = re.compile(r"(format|delimiter|encoding) must be ")
            lines = (f"{self.path.name}: data.{line}" if wrong.match(line) else line for line in error.lines)
            raise type(error)(*lines) from None

    def table(self) -> EventTable:
        """Read the data and give every column its role."""
        schema = self.schema
        return EventTable(self.frame(), schema)


def read(path: str | Path) -> EventTable:
    """Read the data that a configuration describes, every column with its role."""
    return Config.load(path).table()


def _read_toml(path: Path) -> dict[str, Any]:
    if path.is_dir():
        msg = f"{path} is a folder; a configuration is a file such as release.toml"
        raise InputError(msg)
    try:
        if path.stat().st_size > _LARGEST:
            msg = f"{path} is no configuration: it is larger than {_LARGEST // 1_000_000} MB"
            raise InputError(msg)
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror}"
        raise InputError(msg) from None
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 text (byte {error.start + 1})"
        raise InputError(msg) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        msg = f"{path} is not TOML: {error}"
        raise InputError(msg) from None
