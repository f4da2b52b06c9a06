"""Cells and names of columns that no table of events has."""

from __future__ import annotations

import polars as pl

from sequester.data.roles import refuse_patterns
from sequester.errors import InputError
from sequester.hierarchies.labels import quoted

LARGEST_CELL = 2**20
"""Bytes that one cell may have; more is a broken quote or a document, not a value."""


def check_cells(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Refuse a frame with a cell above the limit, by column and row; give it back otherwise.

    A name that polars takes for a pattern is refused first, since its column cannot be looked at.
    """
    refuse_patterns(frame.columns)
    lines = []
    for column in frame.select(pl.selectors.string()).iter_columns():
        sizes = column.str.len_bytes()
        largest = sizes.max()
        if isinstance(largest, int) and largest > LARGEST_CELL:
            row = (sizes.arg_max() or 0) + 1
            lines.append(
                f"{name}: column {quoted(column.name)}, row {row:,}: the cell has {largest:,} bytes, "
                f"at most {LARGEST_CELL:,} are read"
            )
    if lines:
        raise InputError(*lines)
    return frame
