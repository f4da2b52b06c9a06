"""The table ``[method]``: the name of a method and its parameters, some of them read from files."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from sequester.errors import InputError
from sequester.methods import METHODS
from sequester.workflow.parameters import parameters_of
from sequester.workflow.settings import Name
from sequester.workflow.validation_errors import toml_value, validation_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic.config import JsonDict

    from sequester.methods.method import Method


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
