"""Check that every column of a table has exactly one role in the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.data.places import REGION, Gap
from sequester.data.problems import Problem
from sequester.data.schema import ROW
from sequester.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sequester.data.schema import Schema

RESERVED = ("person", "order", "time", "group", "count")
"""Columns that a release makes itself; no released attribute may have these names."""

_ALLOWED_PAIRS = ({"quasi", "sensitive"}, {"order", "quasi"}, {"time", "quasi"})
_NEEDS_TIME = frozenset(
    {
        "year",
        "month",
        "quarter",
        "weekday",
        "days_since_first",
        "days_since_first_in_year",
        "days_since_previous",
    }
)


def roles_of(schema: Schema) -> dict[str, list[str]]:
    """Return each column that the schema names the roles it has there.

    Examples
    --------
    >>> from sequester.data.schema import Schema
    >>> roles_of(Schema(person="user", time="at", symbol="page", keep=["page"]))
    {'user': ['person'], 'at': ['time'], 'page': ['symbol', 'keep']}
    """
    roles: dict[str, list[str]] = {}
    for column, role in _named(schema):
        roles.setdefault(column, []).append(role)
    return roles


def _named(schema: Schema) -> Iterator[tuple[str, str]]:
    if schema.person != ROW:
        yield schema.person, "person"
    if schema.order is not None:
        yield schema.order, "order"
    yield from ((column, "time") for column in schema.time_columns)
    if schema.tie is not None:
        yield schema.tie, "tie"
    if schema.weight is not None:
        yield schema.weight, "weight"
    if isinstance(schema.trip, str):
        yield schema.trip, "trip"
    if schema.place is not None:
        yield schema.place.lat, "place"
        yield schema.place.lon, "place"
    if schema.symbol is not None:
        yield schema.symbol.column, "symbol"
    yield from ((column, "quasi") for column in schema.quasi)
    yield from ((column, "sensitive") for column in schema.sensitive_columns)
    yield from ((column, "keep") for column in schema.keep)
    yield from ((column, "drop") for column in schema.drop)


def check_roles(schema: Schema, columns: Sequence[str]) -> list[Problem]:
    """List everything that is wrong between a schema and the columns of a table.

    Examples
    --------
    >>> from sequester.data.schema import Schema
    >>> for problem in check_roles(Schema(person="user", time="at", symbol="page"), ["user", "page", "name"]):
    ...     print(problem)
    column 'at' is named as time, and the table has no such column
    column 'name' has no role: give it one, or name it in drop
    """
    roles = roles_of(schema)
    present = {*columns, *schema.derive}
    return [
        *_check_shape(schema),
        *(
            Problem(f"column {column!r} is named as {named[0]}, and the table has no such column", column)
            for column, named in roles.items()
            if column not in present
        ),
        *(
            Problem(f"column {column!r} has no role: give it one, or name it in drop", column)
            for column in columns
            if column not in roles and column
        ),
        *(
            Problem(f"column {place} of the table has no name", column)
            for place, column in enumerate(columns, start=1)
            if not column
        ),
        *(
            Problem(
                f"column {column!r} has {len(named)} roles ({', '.join(named)}), and may have one", column
            )
            for column, named in roles.items()
            if len(named) > 1 and not (len(named) == 2 and set(named) in _ALLOWED_PAIRS)
        ),
        *_check_names(schema),
        *_check_places(schema, columns),
        *_check_derived(schema, columns, roles),
    ]


def refuse_patterns(columns: Sequence[str]) -> None:
    """Refuse names that polars takes for patterns wherever they stand.

    Examples
    --------
    >>> refuse_patterns(["page", "^page$"])
    Traceback (most recent call last):
    sequester.errors.SchemaError: column '^page$' has a name from ^ to $, which is a pattern: rename it
    """
    lines = [
        f"column {column!r} has a name from ^ to $, which is a pattern: rename it"
        for column in dict.fromkeys(columns)
        if column.startswith("^") and column.endswith("$")
    ]
    if lines:
        raise SchemaError(*lines)


def _check_shape(schema: Schema) -> Iterator[Problem]:
    if schema.order is not None and schema.time is not None:
        yield Problem("order and time are both given, and one of them is needed")
    if schema.order is None and schema.time is None and schema.person != ROW:
        yield Problem("order or time is needed: the column that says which event comes first")
    if schema.time_format is not None and schema.time is None:
        yield Problem("time_format is given without time")
    if schema.symbol is None and not schema.quasi and not schema.sensitive and schema.place is None:
        yield Problem("nothing to release: give symbol, place, quasi or sensitive")
    if schema.symbol is not None and schema.quasi:
        yield Problem("symbol and quasi are both given: a symbol stands instead of quasi-identifiers")
    if schema.symbol is not None and schema.sensitive:
        yield Problem("symbol and sensitive are both given: a symbol is the only attribute of an event")


def _check_names(schema: Schema) -> Iterator[Problem]:
    released = dict.fromkeys((*schema.attributes, *schema.sensitive, *schema.keep))
    for name in released:
        if name in RESERVED:
            yield Problem(
                f"column {name!r} would clash with the column of that name in a release: rename it", name
            )


def _check_places(schema: Schema, columns: Sequence[str]) -> Iterator[Problem]:
    if schema.person == ROW and (schema.trip is not None or schema.place is not None):
        yield Problem('trip and place need a column of persons, and person is "row"')
    if isinstance(schema.trip, Gap) and schema.time is None:
        yield Problem("trip = { gap } needs a time column")
    if schema.place is None:
        return
    if schema.symbol is not None:
        yield Problem("place and symbol are both given: regions are the symbol, or a quasi-identifier")
    if REGION in columns or REGION in schema.derive:
        yield Problem(f"column {REGION!r} has the name that the regions of place get: rename it", REGION)
    if schema.place.time_of_day and schema.time is None:
        yield Problem("place.time_of_day needs a time column")
    if schema.place.max_speed is not None and schema.time is None:
        yield Problem("place.max_speed needs a time column")


def _check_derived(schema: Schema, columns: Sequence[str], roles: dict[str, list[str]]) -> Iterator[Problem]:
    for name, kind in schema.derive.items():
        if name in columns:
            yield Problem(f"derived column {name!r} has the name of a column of the table", name)
        elif "quasi" not in roles.get(name, []):
            yield Problem(f"derived column {name!r} needs a hierarchy: name it in quasi", name)
        if kind in _NEEDS_TIME and schema.time is None:
            yield Problem(f"derived column {name!r} ({kind}) needs a time column", name)
