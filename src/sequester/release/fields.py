"""Read JSON from an untrusted source by the fields that it declares, with errors that name the field."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence, Set
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError
from pydantic_core import PydanticCustomError

from sequester.errors import InputError, InternalError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic_core import ErrorDetails

_LARGEST = 2**63 - 1
_SHOWN = 80


class Table(BaseModel):
    """A table of an untrusted document: it has the declared fields, each of its kind, and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)


def read_number(value: object) -> float:
    """Return a number of a document as it is written there: 1 stays 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse_field("must be a number")
    return value


Number = Annotated[float, PlainValidator(read_number)]
Count = Annotated[int, Field(ge=0)]
T = TypeVar("T", bound=Table)


def refuse_field(must: str) -> NoReturn:
    """Refuse the field that is being read, because it is not what it must be."""
    kind = "must"
    raise PydanticCustomError(kind, "{must}", {"must": must})


def read_document(text: str | bytes, name: str) -> dict[str, object]:
    """Return the table that the JSON document `name` is, each name in it once, and numbers that are finite.

    Examples
    --------
    >>> read_document('{"counts": {"persons": 3}}', "c.json")
    {'counts': {'persons': 3}}
    >>> read_document("[3]", "c.json")
    Traceback (most recent call last):
    sequester.errors.InputError: c.json must be a table, got [3]
    """
    try:
        value = json.loads(
            text.decode("utf-8") if isinstance(text, bytes) else text,
            object_pairs_hook=_without_repetition,
            parse_constant=_no_constant,
            parse_int=_bounded,
            parse_float=_finite,
        )
        # Half a character can be spelled in JSON, but neither shown nor written.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        msg = f"{name} is nested too deeply"
        raise InputError(msg) from None
    except ValueError as error:
        msg = f"{name} is not readable as JSON: {error}"
        raise InputError(msg) from None
    if not isinstance(value, dict):
        msg = f"{name} must be a table, got {safe_repr(value)}"
        raise InputError(msg)
    return value


def read_fields(model: type[T], document: Mapping[str, object], name: str) -> T:
    """Return the fields of the document `name`; refuse what `model` does not declare, one line per field.

    Examples
    --------
    >>> class Counts(Table):
    ...     persons: Count
    >>> read_fields(Counts, {"persons": 3}, "c.json").persons
    3
    >>> read_fields(Counts, {"persons": -1}, "c.json")
    Traceback (most recent call last):
    sequester.errors.InputError: c.json: persons must be at least 0, got -1
    """
    try:
        # As JSON, so that a list may become a tuple and a table a dataclass, and nothing else is converted.
        return model.model_validate_json(json.dumps(document))
    except ValidationError as error:
        found = error.errors(include_url=False)[:_MOST_LINES]
        raise InputError(*(field_line(name, each["loc"], _reason(each)) for each in found)) from None


def field_line(name: str, path: Iterable[object], reason: str) -> str:
    """Return one line about a field of the document `name`, which anybody may have called anything."""
    field = safe_text(".".join(map(str, path)))
    return f"{name}: {field} {reason}" if field else f"{name} {reason}"


_MOST_LINES = 10
_REASONS = {
    "missing": "is missing",
    "extra_forbidden": "is not known to this version",
    "unexpected_keyword_argument": "is not known to this version",
    "json_invalid": "is nested too deeply",
}
_KINDS = {
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "dict_type": "a table",
    "model_type": "a table",
    "dataclass_type": "a table",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_pattern_mismatch": "sha256: and 64 hexadecimal digits",
    "literal_error": "{expected}",
    "greater_than_equal": "at least {ge}",
}
"""What a field must be, by the kinds of errors of pydantic."""


def _reason(error: ErrorDetails) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind in _REASONS:
        return _REASONS[kind]
    must = f"must be {_KINDS[kind].format(**context)}" if kind in _KINDS else error["msg"]
    return f"{must}, got {safe_repr(error['input'])}"


def safe_repr(value: object) -> str:
    r"""Return an untrusted value as text for a message: short, and in printable ASCII.

    Examples
    --------
    >>> safe_repr("a\x1b[2J")
    "'a\\x1b[2J'"
    """
    text = ascii(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def safe_text(text: str) -> str:
    """Return untrusted text like `safe_repr`, without the quotes."""
    return safe_repr(text)[1:].removesuffix("'").removesuffix('"')


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        # Two readers could take two different values.
        msg = "a name occurs twice in one table"
        raise ValueError(msg)
    return table


def _no_constant(name: str) -> NoReturn:
    msg = f"{name} is no JSON number"
    raise ValueError(msg)


def _bounded(digits: str) -> int:
    if len(digits) > 20 or abs(int(digits)) > _LARGEST:
        msg = "a number is too large"
        raise ValueError(msg)
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        msg = "a number is too large"
        raise ValueError(msg)
    return value


def plain_table(values: Mapping[str, object]) -> dict[str, object]:
    """Return parameters as values that JSON has, so that reading gives the same values back."""
    return {str(name): plain_value(value) for name, value in values.items()}


def plain_value(value: object) -> object:
    """Return a value as what JSON has: numbers, text, lists and tables.

    Examples
    --------
    >>> plain_value({"c": Fraction(1, 3), "patterns": (("a", "b"),)})
    {'c': '1/3', 'patterns': [['a', 'b']]}
    """
    if value is None or isinstance(value, bool | str | int | float):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        return plain_table(value)
    if isinstance(value, Set):
        return sorted((plain_value(each) for each in value), key=repr)
    if isinstance(value, Sequence):
        return [plain_value(each) for each in value]
    if hasattr(value, "item"):
        return plain_value(value.item())
    msg = f"a document cannot hold {value!r}"
    raise InternalError(msg)
