"""What pydantic found wrong with a configuration, as one line per key that a steward can act on."""

from __future__ import annotations

import difflib
import json
import re
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Tag

from sequester.workflow.hierarchy_settings import KINDS, LATER_KINDS
from sequester.workflow.parameters import in_words
from sequester.workflow.settings import LATER_FORMATS, LATER_KEYS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN = 60

Place = tuple[int | str, ...]


def refusals(error: ValidationError, model: type[BaseModel], *, under: Place = ()) -> list[str]:
    """Give one line per key that is unknown, missing or wrong; `under` is the place of `model` there."""
    lines: dict[str, str] = {}
    for each in error.errors(include_url=False, include_context=False):
        place, annotation, metadata = _find(model, each["loc"])
        lines.setdefault(key(under + place), _line(each, model, under, place, in_words(annotation, metadata)))
    return list(lines.values())


def key(place: Sequence[int | str]) -> str:
    """Write a place as TOML writes it.

    Examples
    --------
    >>> key(("data", "quasi", "date of birth", "hierarchy", "levels", 0))
    'data.quasi."date of birth".hierarchy.levels[0]'
    """
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (
                part if _BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False)
            )
    return text


def shown(value: object) -> str:
    """Write a value as TOML would, shortened.

    Examples
    --------
    >>> shown(True), shown("a"), shown([1, 2])
    ('true', '"a"', '[1, 2]')
    """
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _line(error: ErrorDetails, model: type[BaseModel], under: Place, place: Place, expected: str) -> str:
    name = key(under + place)
    value = error.get("input")
    if error["type"] == "extra_forbidden":
        return _unknown(name, value, _fields(model, error["loc"][:-1]), str(error["loc"][-1]))
    if error["type"] == "missing":
        about = _about(model, error["loc"])
        return f"{name} is missing; it must be {expected}" + (f": {about}" if about else "")
    if error["type"] in ("union_tag_not_found", "union_tag_invalid"):
        return _wrong_hierarchy(name, value)
    if name == "data.format" and value in LATER_FORMATS:
        return f"{name} = {shown(value)} is not available in this version; it may be {expected}"
    return f"{name} must be {expected}, got {shown(value)}"


def _unknown(name: str, value: object, known: list[str], wrong: str) -> str:
    if name in LATER_KEYS:
        return f"{name} is not available in this version"
    close = difflib.get_close_matches(wrong, known, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"{name} = {shown(value)} is not a key; here may be {', '.join(known)}{hint}"


def _wrong_hierarchy(name: str, value: object) -> str:
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind in LATER_KINDS:
        return f"{name}.kind = {shown(kind)} is not available in this version; it may be {', '.join(KINDS)}"
    if kind is not None:
        return f"{name}.kind must be one of {', '.join(KINDS)}, got {shown(kind)}"
    kinds = ", ".join(KINDS)
    return f"{name} must be a table with kind = one of {kinds}, or with path = a file, got {shown(value)}"


def _find(model: type[BaseModel], loc: Place) -> tuple[Place, Any, tuple[object, ...]]:
    """Follow an error's location through the models: the key in the file, and what may stand there.

    Tags of unions are no keys. A union without tags is one thing to a reader, so the way ends there.
    """
    annotation: Any = model
    metadata: tuple[object, ...] = ()
    place: Place = ()
    for step in loc:
        annotation, metadata = _plain(annotation, metadata)
        if get_origin(annotation) in (Union, UnionType):
            tagged = {_tag(each): each for each in get_args(annotation)}
            if step not in tagged:
                break
            annotation = tagged[step]
            continue
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            place = (*place, step)
            if step not in annotation.model_fields:
                return place, Any, ()
            field = annotation.model_fields[str(step)]
            annotation, metadata = field.annotation, tuple(field.metadata)
        elif get_origin(annotation) in (dict, list, tuple):
            place = (*place, step)
            annotation, metadata = get_args(annotation)[-1], ()
        else:
            break
    return place, *_plain(annotation, metadata)


def _plain(annotation: Any, metadata: tuple[object, ...]) -> tuple[Any, tuple[object, ...]]:
    """Take ``Annotated`` and ``| None`` off."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *more = get_args(annotation)
            metadata = (*metadata, *more)
        elif get_origin(annotation) in (Union, UnionType) and type(None) in get_args(annotation):
            annotation = Union[tuple(each for each in get_args(annotation) if each is not type(None))]  # noqa: UP007
        else:
            return annotation, metadata


def _tag(annotation: Any) -> str | None:
    tags = [each.tag for each in get_args(annotation)[1:] if isinstance(each, Tag)]
    return tags[0] if tags else None


def _fields(model: type[BaseModel], loc: Place) -> list[str]:
    """The keys that may stand in the table at `loc`."""
    _, annotation, _ = _find(model, loc)
    return list(annotation.model_fields)


def _about(model: type[BaseModel], loc: Place) -> str:
    _, annotation, _ = _find(model, loc[:-1])
    return (annotation.model_fields[str(loc[-1])].description or "").rstrip(".")
