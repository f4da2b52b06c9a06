"""Turn pydantic errors into one line per key of the configuration."""

from __future__ import annotations

import difflib
import json
import re
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Tag

from sequester.errors import InputError
from sequester.workflow.parameters import describe_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import ValidationError


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN = 60
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
            name = part if _BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False)
            text += f".{name}" if text else name
    return text


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
    """The keys of a table, each with what it is for."""
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
    may_be = f"did you mean {close[0]}? Here may be" if close else "here may be"
    return f"{name} = {toml_value(value)} is not a key; {may_be} {', '.join(known)}"


def _wrong_kind(name: str, value: object, tags: list[str]) -> str:
    """Describe which kinds a table may have; `tags` are those of the tables that may stand there."""
    kind = value.get("kind") if isinstance(value, dict) else None
    kinds = ", ".join(tag.strip("<>") for tag in tags if tag != FILE)
    if kind is not None:
        return f"{name}.kind must be one of {kinds}, got {toml_value(kind)}"
    or_file = ", or with path = a file" if FILE in tags else ""
    return f"{name} must be a table with kind = one of {kinds}{or_file}, got {toml_value(value)}"
