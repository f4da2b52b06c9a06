"""The roles of the columns of a release, the same for who writes it and for who reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.data.place import REGION
from sequester.data.protect import Protect
from sequester.data.schema import Schema, Sensitive
from sequester.errors import InternalError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.privacy.model import RecordModel
from sequester.privacy.skew import COUNT
from sequester.privacy.snapshots import GROUP, TIME
from sequester.release.release import ORDER, PERSON

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from sequester.release.release import Release

TECHNICAL, QUASI, SENSITIVE, KEEP, SYMBOL, AREA = (
    "technical",
    "quasi",
    "sensitive",
    "keep",
    "symbol",
    "region",
)
QUASI_SENSITIVE, QUASI_AREA = f"{QUASI}+{SENSITIVE}", f"{QUASI}+{AREA}"
QUASI_ROLES = (QUASI, QUASI_SENSITIVE, QUASI_AREA)
"""Roles of what an adversary may know."""
SENSITIVE_ROLES = (SENSITIVE, QUASI_SENSITIVE)
"""Roles of what must not be learned."""
REGION_ROLES = (AREA, QUASI_AREA)
"""Roles of places, whose outlines are released."""
ROLES = (*QUASI_ROLES, SENSITIVE, KEEP, SYMBOL, AREA, TECHNICAL)
"""What a released column can be."""
NUMBERS = (ORDER, GROUP, COUNT)
"""Technical columns that hold whole numbers; every other released column holds text."""


def column_roles(release: Release) -> dict[str, dict[str, str]]:
    """Return the role of every released column, per table, in the order of the columns.

    A region may be the symbol (``region``) or one of several quasi-identifiers (``quasi+region``).
    """
    is_of_records = isinstance(release.model, RecordModel)
    technical = (TIME, GROUP, COUNT) if is_of_records else (PERSON, ORDER)
    schema = release.schema
    # The main table of Anatomy has no sensitive column, and a stream releases leaves without hierarchies.
    sensitive = (getattr(release.model, "sensitive", ""),) if is_of_records else schema.sensitive_columns

    def role_of(column: str) -> str:
        if column in technical:
            return TECHNICAL
        is_place = release.regions is not None and column == REGION
        if schema.symbol is not None and column == schema.symbol.column:
            return AREA if is_place else SYMBOL
        is_quasi = column in schema.quasi or (is_of_records and column not in sensitive)
        if is_quasi:
            return QUASI_SENSITIVE if column in sensitive else QUASI_AREA if is_place else QUASI
        if column in sensitive:
            return SENSITIVE
        if column in schema.keep:
            return KEEP
        msg = f"the release has a column {column!r} without a role"
        raise InternalError(msg)

    return {
        name: {column: role_of(column) for column in frame.columns} for name, frame in release.tables.items()
    }


def released_schema(
    hierarchies: Mapping[str, pl.DataFrame],
    *,
    protect: Mapping[str, Iterable[str]],
    columns: Mapping[str, Sequence[str]] | None = None,
    keep: Sequence[str] = (),
) -> Schema:
    """Give the schema of a release whose quasi-identifiers have the released `hierarchies`.

    `protect` leads from every sensitive attribute to its protected values, `columns` from those that are not
    one column of their name to the columns they have.

    Examples
    --------
    >>> stay = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30"]}).above(["short", "long"])
    >>> schema = released_schema({"stay": stay}, protect={"ill": ["HIV"]}, columns={"ill": ["D1", "D2"]})
    >>> schema.attributes, schema.released
    (('stay', 'D1', 'D2'), True)
    """
    return Schema(
        person=PERSON,
        order=ORDER,
        quasi={name: Hierarchy.from_frame(frame) for name, frame in hierarchies.items()},
        sensitive={
            name: Sensitive(
                columns=tuple((columns or {}).get(name, (name,))),
                # No value of the attribute is protected where none of those asked for occurs; a schema
                # cannot say so, and the model has its own list.
                protect=Protect(values=tuple(sorted(values))) if (values := list(labels)) else "all",
            )
            for name, labels in protect.items()
        },
        keep=keep,
        released=True,
    )
