"""The table ``[method]``: a name, and the parameters that the dataclass of that name declares."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from sequester.errors import InputError
from sequester.methods import METHODS
from sequester.workflow.parameters import parameters_of
from sequester.workflow.refusals import refusals, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic.config import JsonDict

    from sequester.methods.method import Method


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
    config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())
    return create_model(method.__name__, __config__=config, __doc__=method.promise, **declared)


def build_method(table: Mapping[str, Any]) -> Method:
    """Make the method that ``[method]`` describes, or refuse with one line per key."""
    name = table.get("name")
    if not isinstance(name, str) or name not in METHODS:
        got = "but it is missing" if name is None else f"got {shown(name)}"
        msg = f"method.name must be one of {', '.join(METHODS)}, {got}"
        raise InputError(msg)
    method = METHODS[name]
    model = method_model(method)
    try:
        # As JSON, so that a list may become a tuple or a set, and nothing else is converted.
        given = model.model_validate_json(json.dumps(dict(table), default=str))
    except ValidationError as error:
        raise InputError(*refusals(error, table, model, under=("method",))) from None
    values = {each.name: getattr(given, each.name) for each in parameters_of(method)}
    try:
        return method(**values)
    except InputError as error:
        raise InputError(*(name_key(line, "method", values) for line in error.lines)) from None


def name_key(line: str, under: str, names: Iterable[str]) -> str:
    """Give a message about a parameter the full name of its key.

    Examples
    --------
    >>> name_key("k must be at least 2, got 1", "method", ["k"])
    'method.k must be at least 2, got 1'
    >>> name_key("nothing fits", "method", ["k"])
    'method: nothing fits'
    """
    first = re.match(r"\w*", line)
    return f"{under}.{line}" if first and first[0] in names else f"{under}: {line}"
