"""Which snapshot each record is in, and which sensitive value it has, however the records came."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.data.table import EventTable
from sequester.data.text import as_text
from sequester.errors import InputError
from sequester.hierarchies.labels import MISSING

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences

TIME = "time"
"""The column of snapshots in a release."""
GROUP = "group"
"""The column of groups in a release."""


def records_of(released: EventTable | Sequences, *, model: str, sensitive: str) -> tuple[pl.DataFrame, str]:
    """Give the records of a table with the column ``time``, and the sensitive attribute's name.

    In a table that is no release, a snapshot is what has the same order, or the same day.
    """
    if not isinstance(released, EventTable):
        msg = f"{model} is about a sensitive attribute in snapshots: it needs a table with a schema"
        raise InputError(msg)
    schema = released.schema
    attribute = sensitive or sole_attribute(released, model)
    frame = released.frame
    if schema.order is not None:
        time = as_text(frame[schema.order])
    elif released.times is not None:
        time = released.times.dt.to_string("%Y-%m-%d")
    else:
        msg = f"{model} is about snapshots, and the table has neither order nor time"
        raise InputError(msg)
    quasi = {name: frame[name].fill_null(MISSING) for name in schema.quasi}
    values = frame[schema.sensitive[attribute].columns[0]].fill_null(MISSING)
    return pl.DataFrame({TIME: time, **quasi, attribute: values}), attribute


def sole_attribute(table: EventTable, model: str) -> str:
    """Give the one sensitive attribute, which has one value per record."""
    sensitive = table.schema.sensitive
    if len(sensitive) != 1 or any(len(each.columns) != 1 for each in sensitive.values()):
        columns = sum(len(each.columns) for each in sensitive.values())
        msg = (
            f"{model} is about exactly one sensitive attribute with one value per record, there are "
            f"{len(sensitive)} with {columns} columns"
        )
        raise InputError(msg)
    return next(iter(sensitive))
