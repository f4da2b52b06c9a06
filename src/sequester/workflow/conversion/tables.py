"""A table as a table: cells as they are, types where the format has them."""

from __future__ import annotations

import polars as pl

from sequester.data.text import is_plain
from sequester.errors import InputError
from sequester.hierarchies.labels import counted, quoted
from sequester.io.write import write_csv


def to_csv(frame: pl.DataFrame, delimiter: str) -> tuple[bytes, list[str]]:
    """Write a table as delimited text, and say which types and values that levels."""
    refuse_nested(frame)
    lost = []
    typed = [f"{quoted(name)} ({dtype})" for name, dtype in frame.schema.items() if dtype != pl.String]
    if typed:
        lost.append(f"types are left out, everything is text: {', '.join(typed)}")
    texts = frame.select(pl.selectors.string())
    n_empty = sum(int((column.str.len_bytes() == 0).sum()) for column in texts.iter_columns())
    if n_empty:
        lost.append(f"{counted(n_empty, 'empty text is', 'empty texts are')} a missing value there")
    return write_csv(frame, delimiter), lost


def refuse_nested(frame: pl.DataFrame) -> None:
    """Refuse a table with a cell that is no single value."""
    lines = [
        f"column {quoted(name)} holds {dtype}, which is not one text, number, date or truth value"
        for name, dtype in frame.schema.items()
        if not is_plain(dtype)
    ]
    if lines:
        raise InputError(*lines)
