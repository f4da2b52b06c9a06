"""The roles of the columns of a release, the same for who writes it and for who reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.data.protect import Protect
from sequester.data.schema import Schema, Sensitive
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.release.release import ORDER, PERSON

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl


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
