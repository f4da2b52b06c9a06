"""Cells and names as a schema reads them: markers of missing values, and columns that are renamed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.problems import Problem
from sequester.data.roles import nearest_name, refuse_patterns
from sequester.data.text import is_number, is_plain
from sequester.errors import SchemaError
from sequester.hierarchies.labels import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sequester._typing import Mask
    from sequester.data.schema import Schema


def settle_cells(
    source: pl.DataFrame, schema: Schema, problems: list[Problem], others: Sequence[str] = ()
) -> tuple[pl.DataFrame, Schema]:
    """Return the table with its new names and without markers, and the schema, which then has neither.

    `others` are the columns of a table of persons, for which markers may be named as well.
    """
    columns = [schema.rename.get(name, name) for name in source.columns]
    lines = [
        f"rename: the table has no column {quoted(old)}{nearest_name(old, source.columns)}"
        for old in schema.rename
        if old not in source.columns
    ]
    twice = [name for name, count in Counter(columns).items() if count > 1 and schema.rename]
    lines += [f"rename: several columns would be called {quoted(name)}" for name in twice]
    named = schema.missing if isinstance(schema.missing, Mapping) else {}
    lines += [
        f"missing: the table has no column {quoted(name)}{nearest_name(name, columns)}"
        for name in named
        if name not in (*columns, *others)
    ]
    if lines:
        raise SchemaError(*lines)
    if schema.rename:
        refuse_patterns(columns)
        source = source.rename(dict(schema.rename))
    if not schema.rename and not schema.missing:
        return source, schema
    frame = without_markers(source, schema.missing, problems, passed_over=schema.drop)
    return frame, replace(schema, rename={}, missing=())


def without_markers(
    frame: pl.DataFrame,
    missing: Sequence[str] | Mapping[str, Sequence[str]],
    problems: list[Problem],
    passed_over: Sequence[str] = (),
) -> pl.DataFrame:
    """Return the table with a gap for every cell that stands for a missing value; each kind is noted."""
    emptied = []
    for column, dtype in frame.schema.items():
        markers = missing.get(column, ()) if isinstance(missing, Mapping) else missing
        if not markers or column in passed_over or not is_plain(dtype):
            continue
        values, is_gap, unseen = frame[column], np.zeros(frame.height, np.bool_), dict.fromkeys(markers)
        for marker, where in find_markers(values, markers):
            unseen.pop(marker)
            is_gap |= where
            what = f"column {quoted(column)}: {quoted(marker)} is taken as missing"
            problems.append(Problem.at(what, column, where, severity="note"))
        if isinstance(missing, Mapping):
            problems += [
                Problem(f"missing.{column}: {quoted(each)} does not occur", column, severity="warning")
                for each in unseen
            ]
        if is_gap.any():
            emptied.append(values.set(pl.Series(is_gap), None))
    return frame.with_columns(emptied)


def find_markers(values: pl.Series, markers: Iterable[str]) -> Iterator[tuple[str, Mask]]:
    """Return the markers that occur, each with its cells; blanks around a cell do not count.

    Examples
    --------
    >>> [(marker, where.tolist()) for marker, where in find_markers(pl.Series(["7", " ?", "NA"]), ["?", "-"])]
    [('?', [False, True, False])]
    >>> [marker for marker, _ in find_markers(pl.Series([1.5, 9999.0]), ["9999", "?"])]
    ['9999']
    """
    is_numeric = values.dtype.is_numeric()
    cells = values if is_numeric else values.cast(pl.String).str.strip_chars()
    for marker in dict.fromkeys(markers):
        if is_numeric and not is_number(pl.Series([marker])).item():
            continue
        where = (cells == (float(marker) if is_numeric else marker)).fill_null(value=False)
        if where.any():
            yield marker, where.to_numpy()
