"""The parameters of a method, read from its dataclass: types, defaults and descriptions.

Nothing heavy is loaded here, so that ``sequester methods`` answers at once.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sequester.methods.method import Method

NO_NUL = r"^[^\x00]*$"
"""A pattern of texts that systems take for names."""
_PLAIN = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_PLURAL = {str: "texts", int: "whole numbers", float: "numbers"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One key of ``[method]``."""

    name: str
    """As in ``[method]``."""
    annotation: Any
    """Its type."""
    default: Any = MISSING
    """Its default; `MISSING` where it is required."""
    about: str = ""
    """What it is for."""
    least: int | None = None
    """The smallest number it may be, where its field says so: ``field(metadata={"least": 2})``."""
    path_key: str | None = None
    """A key that names a file with its value instead: ``field(metadata={"path_key": "patterns_path"})``."""

    @property
    def required(self) -> bool:
        """It has no default."""
        return self.default is MISSING


@cache
def parameters_of(method: type[Method]) -> tuple[Parameter, ...]:
    """List the parameters of a method in the order of its fields.

    Examples
    --------
    >>> from sequester.methods import METHODS
    >>> [each.name for each in parameters_of(METHODS["prefix-pruning"])]
    ['k']
    """
    hints = get_type_hints(method, include_extras=True)
    about = _attribute_docstrings(method)
    return tuple(
        Parameter(
            name=each.name,
            annotation=hints[each.name],
            default=each.default if each.default_factory is MISSING else each.default_factory(),
            about=about.get(each.name, ""),
            least=each.metadata.get("least"),
            path_key=each.metadata.get("path_key"),
        )
        for each in fields(method)  # type: ignore[arg-type]  # every method is a dataclass
        if each.init
    )


@cache
def _attribute_docstrings(owner: type) -> dict[str, str]:
    """Find the text below each field, in the class and in those it inherits from."""
    found: dict[str, str] = {}
    for each in reversed(owner.__mro__[:-1]):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(each)))
        except (
            OSError,
            TypeError,
            SyntaxError,
        ):  # no source: a class made at run time, or a stripped package
            continue
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, text in pairwise(body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
                and isinstance(text.value.value, str)
            ):
                found[field.target.id] = " ".join(text.value.value.split())
    return found


def describe_type(annotation: Any, metadata: Iterable[object] = ()) -> str:
    """Describe what a value may be.

    Examples
    --------
    >>> describe_type(int)
    'a whole number'
    >>> describe_type(str | list[str] | None)
    'text or a list of texts'
    >>> describe_type(Literal["greedy", "full"])
    '"greedy" or "full"'
    """
    parts = _choices(annotation, tuple(metadata))
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}"


def _choices(annotation: Any, metadata: tuple[object, ...]) -> list[str]:
    if get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        return _choices(annotation, (*metadata, *more))
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        members = [each for each in get_args(annotation) if each is not NoneType]
        parts = [part for each in members for part in _choices(each, metadata)]
        # Where any number will do, whole ones need no mention.
        return [each for each in dict.fromkeys(parts) if each != "a whole number" or "a number" not in parts]
    if origin is Literal:
        return [f'"{each}"' if isinstance(each, str) else str(each).lower() for each in get_args(annotation)]
    if origin in (list, tuple, set, frozenset):
        return [f"a list of {_plural([each for each in get_args(annotation) if each is not Ellipsis])}"]
    return [_PLAIN.get(annotation, "a table") + _bounds(metadata)]


def _plural(members: list[Any]) -> str:
    kinds = [
        kind
        for each in members
        for kind in (get_args(each) if get_origin(each) in (Union, UnionType) else (each,))
    ]
    words = {_PLURAL.get(kind, "tables" if is_dataclass(kind) else "lists") for kind in kinds}
    return "numbers" if "numbers" in words else " or ".join(sorted(words))


def _bounds(metadata: Iterable[object]) -> str:
    said = []
    for each in _constraints(metadata):
        for name, words in (("ge", "at least"), ("gt", "above"), ("le", "at most"), ("lt", "below")):
            if (bound := getattr(each, name, None)) is not None:
                said.append(f"{words} {bound}")
        length = getattr(each, "max_length", None)
        if length is not None:
            said.append(f"{length} character" + "s" * (length != 1))
        if getattr(each, "min_length", None) is not None:
            said.append("at least 1 character")
        if getattr(each, "pattern", None) == NO_NUL:
            said.append("any characters but NUL")
    # A length that is fixed is a largest and a least one.
    said = [each for each in said if each != "at least 1 character" or len(said) == 1]
    return f" of {' and '.join(said)}" if said else ""


def _constraints(metadata: Iterable[object]) -> list[object]:
    """Unfold pydantic's ``Field(ge=0)`` into the constraints it stands for."""
    return [inner for each in metadata for inner in getattr(each, "metadata", (each,))]
