"""Tables in which kept columns are coded, for adversaries who know values of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.data.text import as_text

if TYPE_CHECKING:
    from sequester.data.table import EventTable

MOST_LABELS = 50_000
"""A kept column with more different values is as good as a key: whole records tell what it gives away."""
MOST_CELLS = 50_000_000
"""Kept cells that are coded at most; where there are more, the columns with the most values are."""


def coded_kept(table: EventTable) -> list[str]:
    """Choose the kept columns that adversaries know values of: all of them, unless the table is very large.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> frame = pl.DataFrame({"user": list("ab"), "n": 1, "zip": [1, 2], "ward": ["x", "y"]})
    >>> schema = Schema(person="user", order="n", quasi={"zip": Hierarchy.flat()}, keep=["ward"])
    >>> coded_kept(EventTable(frame, schema))
    ['ward']
    """
    sizes = {name: as_text(table.frame[name]).n_unique() for name in table.schema.keep}
    some = [name for name, size in sizes.items() if size <= MOST_LABELS]
    widest = sorted(some, key=lambda name: -sizes[name])[: max(MOST_CELLS // max(table.n_events, 1), 3)]
    return [name for name in some if name in widest]
