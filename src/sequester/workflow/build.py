"""Build the method and the schemas that settings describe, with a line for everything that is wrong."""

from __future__ import annotations

import difflib
import json
import re
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BaseModel, ConfigDict, Field, Tag, TypeAdapter, ValidationError, create_model

from sequester.data.schema import ROW, Purpose, Quasi, Schema, Sensitive, Symbol
from sequester.data.sequences import SYMBOL
from sequester.errors import InputError
from sequester.io.database import is_url
from sequester.methods import METHODS
from sequester.workflow.parameters import describe_type, parameters_of
from sequester.workflow.settings import DataSettings, Name, SymbolSettings, TripSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pydantic.config import JsonDict

    from sequester.hierarchies.builder import HierarchyBuilder
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.methods.method import Method
    from sequester.workflow.settings import (
        PersonsSettings,
        QuasiSettings,
        ReleaseSettings,
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
    text = read_text(path, megabytes=100, instead="it is not a file of lists")
    lists: list[tuple[str, ...]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            lists.append(tuple(_LIST.validate_json(line)))
        except ValidationError:
            got = line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."
            msg = f'{path.name}: line {number} must be a JSON list of texts, such as ["a", "b"], got {got}'
            raise InputError(msg) from None
    return tuple(lists)


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
    place = trip = symbol = purpose = None
    if data.place is not None:
        with builder.naming(("data", "place", "regions"), data.place.regions):
            regions = data.place.regions.value()
            with builder.naming(("data", "place"), data.place):
                place = data.place.value(regions)
    with builder.naming(("data", "trip"), data.trip):
        trip = data.trip.value() if isinstance(data.trip, TripSettings) else data.trip
    if data.symbol is not None:
        symbol = Symbol(data.symbol.column, builder.hierarchy(data.symbol, ("data", "symbol")), named)
    if release is not None and release.purpose is not None:
        with builder.naming(("release",), release):
            purpose = Purpose.of(release.purpose.model_dump())
    same = ("order", "time", "time_format", "tie", "derive", "invalid", "alike", "missing", "rename")
    return builder.schema(
        data,
        person=data.person or "",
        symbol=symbol,
        place=place,
        trip=trip,
        weight=weight,
        purpose=purpose,
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

    @contextmanager
    def naming(self, place: tuple[str, ...], settings: object) -> Iterator[None]:
        """Keep the lines of a refusal, with the full names of the keys of `settings` at a place."""
        try:
            yield
        except InputError as error:
            # Hierarchies begin with their kind, which the key says as well.
            kind = f"{getattr(settings, 'kind', '')}: "
            keys = getattr(type(settings), "model_fields", {})
            self.lines += [name_key(line.removeprefix(kind), toml_key(place), keys) for line in error.lines]

    def hierarchy(
        self, settings: QuasiSettings | SymbolSettings, place: tuple[str, ...]
    ) -> Hierarchy | HierarchyBuilder | None:
        """Make the hierarchy of a column; None where it has none, or none can be made."""
        if settings.hierarchy is not None:
            with self.naming((*place, "hierarchy"), settings.hierarchy):
                return settings.hierarchy.builder(self.folder)
        return None

    def schema(self, data: DataSettings | PersonsSettings, **others: Any) -> Schema:
        """Make the roles of a table's columns, or refuse with all lines."""
        quasi, sensitive = dict[str, Quasi](), dict[str, Sensitive]()
        for name, each in data.quasi.items():
            place = (*self.at, "quasi", name)
            if (tree := self.hierarchy(each, place)) is not None:
                with self.naming(place, each):
                    spared = tuple(each.never_suppress)
                    quasi[name] = Quasi(tree, each.max_level, spared, weight=each.weight)
        for name, settings in data.sensitive.items():
            with self.naming((*self.at, "sensitive", name), settings):
                sensitive[name] = Sensitive(tuple(settings.columns or (name,)), settings.values())
        with self.naming(self.at, data):
            schema = Schema(quasi=quasi, sensitive=sensitive, keep=data.keep, drop=data.drop, **others)
            if not self.lines:
                return schema
        raise InputError(*self.lines)


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN = 60
_LIST = TypeAdapter(list[str], config=ConfigDict(strict=True))
FILE = "<path>"
"""The tag of a table that names a file instead of a kind."""

Place = tuple[int | str, ...]
"""Keys and list positions, from the top of the file."""


def validation_errors(
    error: ValidationError, given: Mapping[str, Any], model: type[BaseModel], *, under: Place = ()
) -> list[str]:
    """Return one line per key of `given` that is unknown, missing or wrong.

    `model` is what refused it, and `under` the place in the file where it stands.
    """
    lines: dict[str, str] = {}
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        found = _find(model, each["loc"])
        name = toml_key(under + found.place)
        if name not in lines:
            # Of several types, what is wrong is the whole value, unless there is none.
            is_there = each["type"] != "missing" or found.place[-1:] != each["loc"][-1:]
            lines[name] = _line("wrong" if found.is_choice and is_there else each["type"], name, found, given)
    return list(lines.values())


@contextmanager
def errors_in(name: object) -> Iterator[None]:
    """Begin every line of an input error with what is at fault, such as the name of a file."""
    try:
        yield
    except InputError as error:
        raise type(error)(*(f"{name}: {line}" for line in error.lines)) from None


def toml_key(place: Place) -> str:
    """Write a place as TOML writes it.

    Examples
    --------
    >>> toml_key(("data", "quasi", "date of birth", "hierarchy", "levels", 0))
    'data.quasi."date of birth".hierarchy.levels[0]'
    """
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if _BARE.fullmatch(part) else toml_text(part)
            text += f".{name}" if text else name
    return text


def toml_text(value: str) -> str:
    r"""Write a text as TOML does, letters that cannot be seen as escapes.

    Examples
    --------
    >>> print(toml_text('date "of" birth\n'), toml_text("C:\\data"), toml_text("\x7f"))
    "date \"of\" birth\n" "C:\\data" "\U0000007f"
    """
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in quoted)


def toml_value(value: object) -> str:
    """Write a value as TOML would, shortened.

    Examples
    --------
    >>> toml_value(True), toml_value("a"), toml_value([1, 2])
    ('true', '"a"', '[1, 2]')
    """
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


@dataclass(frozen=True, slots=True)
class _Found:
    """Where an error is, and what may stand there."""

    place: Place
    annotation: Any
    metadata: tuple[object, ...]
    table: type
    """The table that the last key stands in."""

    @property
    def is_choice(self) -> bool:
        """Several types may stand here, so nothing below has a key of its own: the whole value is wrong."""
        members = get_args(self.annotation)
        return get_origin(self.annotation) in (Union, UnionType) and all(
            _tag(each) is None for each in members
        )


def _find(model: type[BaseModel], loc: Place) -> _Found:
    """Follow an error's location through the models; tags of unions are no keys."""
    annotation: Any = model
    metadata: tuple[object, ...] = ()
    place: Place = ()
    table: type = model
    for step in loc:
        annotation, metadata = _plain(annotation, metadata)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            table, place = annotation, (*place, step)
            field = annotation.model_fields.get(str(step))
            annotation, metadata = (field.annotation, tuple(field.metadata)) if field else (Any, ())
        elif isinstance(annotation, type) and is_dataclass(annotation):
            table, place = annotation, (*place, step)
            annotation, metadata = get_type_hints(annotation).get(str(step), Any), ()
        elif get_origin(annotation) in (dict, list, tuple):
            place = (*place, step)
            annotation, metadata = (
                next(each for each in reversed(get_args(annotation)) if each is not ...),
                (),
            )
        else:
            tagged = [each for each in get_args(annotation) if _tag(each) == step]
            if not tagged:
                break
            annotation = tagged[0]
    return _Found(place, *_plain(annotation, metadata), table)


def _plain(annotation: Any, metadata: tuple[object, ...]) -> tuple[Any, tuple[object, ...]]:
    """Take ``Annotated`` and ``| None`` off."""
    while True:
        members = get_args(annotation)
        if get_origin(annotation) is Annotated:
            annotation, metadata = members[0], (*metadata, *members[1:])
        elif get_origin(annotation) in (Union, UnionType) and NoneType in members:
            annotation = Union[tuple(each for each in members if each is not NoneType)]  # noqa: UP007
        else:
            return annotation, metadata


def _tag(annotation: Any) -> str | None:
    return next((each.tag for each in get_args(annotation)[1:] if isinstance(each, Tag)), None)


def _line(kind: str, name: str, found: _Found, given: Mapping[str, Any]) -> str:
    value = _value_at(given, found.place)
    expected = describe_type(found.annotation, found.metadata)
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return _unknown(name, value, list(_keys(found.table)), str(found.place[-1]))
    if kind == "missing":
        about = _keys(found.table)[str(found.place[-1])].rstrip(".")
        return f"{name} is missing; it must be {expected}" + (f": {about}" if about else "")
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return _wrong_kind(name, value, [_tag(each) or "" for each in get_args(found.annotation)])
    if expected == "a table" and "[" not in name:
        expected = f"a table, [{name}]"
    return f"{name} must be {expected}, got {toml_value(value)}"


def _keys(table: Any) -> dict[str, str]:
    """Return the keys of a table, each with what it is for."""
    if is_dataclass(table):
        return {each.name: each.metadata.get("about", "") for each in fields(table)}
    return {name: each.description or "" for name, each in table.model_fields.items()}


def _value_at(given: Any, place: Place) -> Any:
    for step in place:
        try:
            given = given[step]
        except (KeyError, IndexError, TypeError):
            return None
    return given


def _unknown(name: str, value: object, known: list[str], wrong: str) -> str:
    close = difflib.get_close_matches(wrong.lower(), known, n=1)
    keys = f"did you mean {close[0]}? Keys here are" if close else "keys here are"
    given = "" if isinstance(value, dict | list) else f" = {toml_value(value)}"
    return f"{name}{given} is not a known key; {keys} {', '.join(known)}"


def _wrong_kind(name: str, value: object, tags: list[str]) -> str:
    """Describe which kinds a table may have; `tags` are those of the tables that may stand there."""
    kind = value.get("kind") if isinstance(value, dict) else None
    kinds = ", ".join(tag.strip("<>") for tag in tags if tag != FILE)
    if kind is not None:
        return f"{name}.kind must be one of {kinds}, got {toml_value(kind)}"
    or_file = ", or with path = a file" if FILE in tags else ""
    return f"{name} must be a table with kind = one of {kinds}{or_file}, got {toml_value(value)}"
