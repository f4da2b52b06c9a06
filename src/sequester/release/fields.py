"""Read JSON from an untrusted source field by field, with errors that name the field."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from sequester.errors import InputError, InternalError

_LARGEST = 2**63 - 1
_SHOWN = 80


def read_document(text: str | bytes, name: str) -> TableField:
    """Return the top table of the JSON document `name`.

    Examples
    --------
    >>> read_document('{"counts": {"persons": 3}}', "c.json").take("counts").table().take("persons").count()
    3
    >>> read_document('{"counts": 3}', "c.json").take("counts").table()
    Traceback (most recent call last):
    sequester.errors.InputError: c.json: counts must be a table, got 3
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
    return Field(document=name, path=(), value=value).table()


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


@dataclass(frozen=True, slots=True)
class Field:
    """A value of the document, and its path."""

    document: str
    """Name of the file."""
    path: tuple[str, ...]
    """Keys from the top."""
    value: object
    """What JSON gave."""

    @property
    def key(self) -> str:
        """The last key of the path."""
        return self.path[-1]

    @property
    def name(self) -> str:
        """The path as text, for messages."""
        return f"{self.document}: {safe_text('.'.join(self.path))}" if self.path else self.document

    def refuse(self, must: str) -> NoReturn:
        """Raise with what the field must be and what it is."""
        msg = f"{self.name} {must}, got {safe_repr(self.value)}"
        raise InputError(msg)

    def table(self) -> TableField:
        """Return the field as a table of fields."""
        if not isinstance(self.value, dict):
            self.refuse("must be a table")
        return TableField(document=self.document, path=self.path, value=self.value)

    def items(self) -> list[Field]:
        """Return the field as a list of fields."""
        if not isinstance(self.value, list):
            self.refuse("must be a list")
        return [Field(self.document, (*self.path, str(i)), value) for i, value in enumerate(self.value)]

    def text(self) -> str:
        """Return the field as text."""
        if not isinstance(self.value, str):
            self.refuse("must be text")
        return self.value

    def flag(self) -> bool:
        """Return the field as true or false."""
        if not isinstance(self.value, bool):
            self.refuse("must be true or false")
        return self.value

    def number(self) -> float:
        """Return the field as a number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self.refuse("must be a number")
        return self.value

    def count(self) -> int:
        """Return the field as a whole number, 0 or more."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < 0:
            self.refuse("must be a whole number, 0 or more")
        return self.value


@dataclass(frozen=True, slots=True)
class TableField(Field):
    """A field that has fields."""

    value: dict[str, object]

    def expect(self, *keys: str) -> TableField:
        """Return the table; raise if one of its fields is missing or is not among `keys`."""
        missing = [f"{self._child(key).name} is missing" for key in keys if key not in self.value]
        unknown = [key for key in self.value if key not in keys]
        surplus = [f"{self._child(key).name} is not known to this version" for key in unknown[:5]]
        if missing or surplus:
            raise InputError(*missing, *surplus)
        return self

    def take(self, key: str) -> Field:
        """Return the field `key`; raise where it is missing."""
        if key not in self.value:
            msg = f"{self._child(key).name} is missing"
            raise InputError(msg)
        return self._child(key)

    def fields(self) -> list[Field]:
        """Return all fields, in the order of the document."""
        return [self._child(key) for key in self.value]

    def _child(self, key: str) -> Field:
        return Field(self.document, (*self.path, key), self.value.get(key))


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
