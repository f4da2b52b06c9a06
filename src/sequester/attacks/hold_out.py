"""Hold persons out: they are not protected, and not released, so that they can be a control."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.datasets import SEED
from sequester.datasets.draws import generator
from sequester.errors import ParameterError

if TYPE_CHECKING:
    from sequester.data.table import EventTable


def hold_out(table: EventTable, *, share: float = 0.5, seed: str = SEED) -> tuple[EventTable, EventTable]:
    """Split the persons of a table by chance: those to protect, and a share who are held out.

    Both parts have the hierarchies of the whole, so that what is known of one can be looked for in the other.
    All trips of a person are in the same part.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"user": list("abcd"), "n": [1] * 4, "page": list("xxyy")})
    >>> inside, outside = hold_out(EventTable(frame, Schema(person="user", order="n", symbol="page")))
    >>> sorted(inside.persons.to_list() + outside.persons.to_list()), outside.n_persons
    (['a', 'b', 'c', 'd'], 2)
    """
    n_out = round(table.n_owners * share) if 0 < share < 1 else 0
    if not 0 < n_out < table.n_owners:
        msg = (
            f"share must be between 0 and 1 and leave somebody on both sides, got {share} of "
            f"{table.n_owners:,} persons"
        )
        raise ParameterError(msg)
    is_out = np.zeros(table.n_owners, np.bool_)
    is_out[generator("attack hold out", seed).choice(table.n_owners, n_out, replace=False)] = True
    if table.owners is not None:
        is_out = is_out[table.owners]
    return table.only(~is_out), table.only(is_out)
