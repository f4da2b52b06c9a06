"""Build the method and the schemas that settings describe, with a line for everything that is wrong."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from sequester.data.schema import ROW, Protect, Purpose, Quasi, Schema, Sensitive, Symbol
from sequester.data.sequences import SYMBOL
from sequester.errors import InputError
from sequester.io.database import is_url
from sequester.methods import METHODS
from sequester.workflow.parameters import parameters_of
from sequester.workflow.settings import DataSettings, Name, ProtectSettings, SymbolSettings, TripSettings
from sequester.workflow.validation_errors import toml_key, toml_value, validation_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic.config import JsonDict

    from sequester.hierarchies.builder import HierarchyBuilder
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.methods.method import Method
    from sequester.workflow.settings import (
        ConfigTable,
        HierarchySettings,
        PersonsSettings,
        QuasiSettings,
        ReleaseSettings,
        SensitiveSettings,
    )


@cache
def method_model(method: type[Method]) -> type[BaseModel]:
    """Make the model of ``[method]`` for one method, so that a new method needs no line here."""
    declared: dict[str, Any] = {"name": (Literal[method.name], Field(description="The method."))}
    for each in parameters_of(method):
        default = ... if each.required else each.default
        # The method refuses what is below, in its own words; the schema tells it beforehand.
        least: JsonDict = {} if each.least is None else {"minimum": each.least}
        declared[each.name] = (
            each.annotation,
            Field(default, description=each.about or None, json_schema_extra=least),
        )
        if each.path_key is not None:
            about = f"Instead of {each.name}: a file with one of its lists per line, as JSON."
            declared[each.path_key] = (Name | None, Field(None, description=about))
    config = ConfigDict(extra="forbid", strict=True, protected_namespaces=(), use_attribute_docstrings=True)
    return create_model(method.__name__, __config__=config, __doc__=method.promise, **declared)


def build_method(table: Mapping[str, Any], folder: Path = Path()) -> Method:
    """Make the method that ``[method]`` describes, or refuse with one line per key.

    Paths in it are relative to `folder`.
    """
    name = table.get("name")
    if not isinstance(name, str) or name not in METHODS:
        got = "but it is missing" if name is None else f"got {toml_value(name)}"
        msg = f"method.name must be one of {', '.join(METHODS)}, {got}"
        raise InputError(msg)
    method = METHODS[name]
    model = method_model(method)
    try:
        # As JSON, so that a list may become a tuple or a set, and nothing else is converted.
        given = model.model_validate_json(json.dumps(dict(table), default=str))
    except ValidationError as error:
        raise InputError(*validation_errors(error, table, model, under=("method",))) from None
    values = {each.name: getattr(given, each.name) for each in parameters_of(method)}
    for each in parameters_of(method):
        if each.path_key is not None and (path := getattr(given, each.path_key)) is not None:
            if values[each.name]:
                msg = f"method.{each.path_key} and method.{each.name} are both given; one of them is enough"
                raise InputError(msg)
            values[each.name] = read_lists(folder / path)
    try:
        return method(**values)
    except InputError as error:
        raise InputError(*(name_key(line, "method", values) for line in error.lines)) from None


def parameter_files(table: Mapping[str, Any], folder: Path) -> dict[str, Path]:
    """Return the files that ``[method]`` takes parameters from, by the key that names each."""
    method = METHODS.get(str(table.get("name")))
    keys = [each.path_key for each in parameters_of(method)] if method is not None else []
    return {
        f"the file of method.{key}": folder / table[key]
        for key in keys
        if key is not None and isinstance(table.get(key), str)
    }


def name_key(line: str, under: str, names: Iterable[str]) -> str:
    """Return a message about a parameter the full name of its key.

    Examples
    --------
    >>> name_key("k must be at least 2, got 1", "method", ["k"])
    'method.k must be at least 2, got 1'
    >>> name_key("nothing fits", "method", ["k"])
    'method: nothing fits'
    """
    first = re.match(r"\w*", line)
    return f"{under}.{line}" if first and first[0] in names else f"{under}: {line}"


def read_text(path: Path, *, megabytes: int, instead: str) -> str:
    """Read a text file; one that is larger is data that was named by mistake, and refused."""
    try:
        if path.stat().st_size > megabytes * 1_000_000:
            msg = f"{path} is larger than {megabytes} MB: {instead}"
            raise InputError(msg)
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror}"
        raise InputError(msg) from None
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 text (byte {error.start + 1})"
        raise InputError(msg) from None


def read_lists(path: Path) -> tuple[tuple[str, ...], ...]:
    r"""Read the lists of a file; empty lines are passed over, and any other line is refused by its number.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "patterns.jsonl"
    ...     _ = path.write_text('["sports car", "travel"]\n["truck"]\n')
    ...     read_lists(path)
    (('sports car', 'travel'), ('truck',))
    """
    text = read_text(path, megabytes=100, instead="it is no file of lists")
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    return tuple(_list(path, number, line) for number, line in numbered)


def _list(path: Path, number: int, line: str) -> tuple[str, ...]:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        toml_value = line if len(line) <= 60 else line[:57] + "..."
        msg = f'{path.name}: line {number} must be a JSON list of texts, such as ["a", "b"], got {toml_value}'
        raise InputError(msg)
    return tuple(value)


T = TypeVar("T")


def make_schema(
    data: DataSettings,
    folder: Path,
    *,
    weight: str | None = None,
    named: tuple[str, ...] = (),
    release: ReleaseSettings | None = None,
) -> Schema:
    """Return the role of every column, or refuse with one line per problem.

    `weight` is the column and `named` are the labels of the symbol that a method names; `release` says
    what is to be predicted.
    """
    data = with_implied_roles(data)
    builder = _SchemaBuilder(folder, ("data",))
    symbol, place, trip = data.symbol, data.place, data.trip
    at = ("data", "place")
    regions = None if place is None else builder.attempt(place.regions.value, (*at, "regions"), place.regions)
    same = ("order", "time", "time_format", "tie", "derive", "invalid", "alike", "missing", "rename")
    return builder.schema(
        data,
        person=data.person or "",
        symbol=None if symbol is None else builder.symbol(symbol, named),
        place=None if place is None or regions is None else builder.attempt(place.value, at, place),
        trip=builder.attempt(trip.value, ("data", "trip"), trip) if isinstance(trip, TripSettings) else trip,
        weight=weight,
        purpose=None if release is None else builder.purpose(release),
        **{name: getattr(data, name) for name in same},
    )


def make_persons_schema(persons: PersonsSettings, folder: Path) -> Schema:
    """Return the role of every attribute of persons, or refuse with one line per problem."""
    return _SchemaBuilder(folder, ("data", "persons")).schema(persons, person=ROW)


def with_implied_roles(data: DataSettings) -> DataSettings:
    """Fill in what a format implies: in spmf and seq the line is the person and the place in it the order."""
    if not _has_lines(data.format, data.path):
        return data
    implied: dict[str, object] = {}
    if data.person in (None, ROW):
        implied["person"] = "person"
    if data.order is None and data.time is None:
        implied["order"] = "order"
    if data.symbol is None and not data.quasi and data.place is None:
        implied["symbol"] = SymbolSettings(column=SYMBOL)
    return data.model_copy(update=implied)


def check_person(data: object) -> list[str]:
    """Report that ``person`` is missing, which is an error except where the format implies it."""
    if not isinstance(data, dict) or "person" in data or _has_lines(data.get("format"), data.get("path")):
        return []
    about = (DataSettings.model_fields["person"].description or "").rstrip(".")
    return [f"data.person is missing; it must be text: {about}"]


def _has_lines(form: object, path: object) -> bool:
    """Return whether the format is one of sequences, one per line."""
    if is_url(path):
        return False
    ending = Path(str(path).lower().removesuffix(".gz")).suffix.removeprefix(".")
    return (ending if form is None else form) in ("spmf", "seq")


class _SchemaBuilder:
    """Makes what it can, and keeps a line for what it cannot."""

    def __init__(self, folder: Path, at: tuple[str, ...]) -> None:
        self.folder = folder
        self.at = at
        self.lines: list[str] = []

    def schema(self, data: DataSettings | PersonsSettings, **others: Any) -> Schema:
        """Make the roles of a table's columns, or refuse with all lines."""
        quasi = {name: self.quasi(name, each) for name, each in data.quasi.items()}
        sensitive = {name: self.sensitive(name, each) for name, each in data.sensitive.items()}
        schema = self.attempt(
            lambda: Schema(
                quasi={name: each for name, each in quasi.items() if each is not None},
                sensitive={name: each for name, each in sensitive.items() if each is not None},
                keep=data.keep,
                drop=data.drop,
                **others,
            ),
            self.at,
            data,
        )
        if schema is None or self.lines:
            raise InputError(*self.lines)
        return schema

    def attempt(self, make: Callable[[], T], place: tuple[str, ...], settings: ConfigTable) -> T | None:
        """Return what `make` makes of the `settings` at a place; None, and a line, where it refuses them."""
        try:
            return make()
        except InputError as error:
            # Hierarchies begin with their kind, which the key says as well.
            kind = f"{getattr(settings, 'kind', '')}: "
            keys = type(settings).model_fields
            self.lines += [name_key(line.removeprefix(kind), toml_key(place), keys) for line in error.lines]
            return None

    def hierarchy(
        self, settings: HierarchySettings, place: tuple[str, ...]
    ) -> Hierarchy | HierarchyBuilder | None:
        return self.attempt(lambda: settings.builder(self.folder), (*place, "hierarchy"), settings)

    def quasi(self, name: str, settings: QuasiSettings) -> Quasi | None:
        place = (*self.at, "quasi", name)
        hierarchy = self.hierarchy(settings.hierarchy, place)
        if hierarchy is None:
            return None
        spared = tuple(settings.never_suppress)
        return self.attempt(
            lambda: Quasi(hierarchy, settings.max_level, spared, weight=settings.weight), place, settings
        )

    def sensitive(self, name: str, settings: SensitiveSettings) -> Sensitive | None:
        def make() -> Sensitive:
            protect = settings.protect
            columns = tuple(settings.columns or (name,))
            if protect == "all":
                return Sensitive(columns, "all")
            if isinstance(protect, ProtectSettings):
                return Sensitive(columns, Protect(**protect.model_dump()))
            return Sensitive(columns, Protect(tuple(protect)))

        return self.attempt(make, (*self.at, "sensitive", name), settings)

    def purpose(self, settings: ReleaseSettings) -> Purpose | None:
        given = settings.purpose
        if given is None:
            return None
        return self.attempt(lambda: Purpose.of(given.model_dump()), ("release",), settings)

    def symbol(self, settings: SymbolSettings, named: tuple[str, ...]) -> Symbol:
        given = settings.hierarchy
        hierarchy = None if given is None else self.hierarchy(given, ("data", "symbol"))
        return Symbol(settings.column, hierarchy, named)
