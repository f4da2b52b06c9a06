"""Cells that stand for a missing value: markers that are proposed, and numbers that are asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.hierarchies.labels import counted, quoted
from sequester.workflow.draft.names import names_key, names_person, word_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sequester.workflow.draft.columns import Column

_SIGNS = word_set("? - -- . <na> #n/a")
_WORDS = word_set("na n/a n.a. nan null unknown missing") | {"not available", "not known"}
_LARGE = word_set("99 999 9999 99999 999999 9998 8888 9999.0 999.0")
_SMALL = word_set("-1 -9 -99 -999 -9999 -1.0 -9.0 -99.0 -999.0 -9999.0")
_FAR = 3.0
"""How many times larger than all others a number is that may stand for a missing value."""


def find_gaps(frame: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    """Return the markers of missing values that occur in each column of texts, as they are written.

    Keys may be called NA; ``-`` beside ``+`` is a result; NA among codes of a few letters is one of them.

    Examples
    --------
    >>> frame = pl.DataFrame({"weight": ["?", "70"], "test": ["+", "-"], "case_id": ["MA", "NA"]})
    >>> find_gaps(frame)
    {'weight': ('?',)}
    """
    found = {}
    for column, dtype in frame.schema.items():
        if dtype != pl.String:
            continue
        values = frame[column].str.strip_chars().unique().drop_nulls()
        folded = values.str.to_lowercase()
        is_key = names_person(column) > 1 or names_key(column)
        known = _SIGNS if is_key else _SIGNS | _WORDS
        known = known - {"-"} if "+" in values else known
        others = values.filter(~folded.is_in(known))
        if len(others) and others.str.contains(r"^[A-Z]{1,3}$").all():
            known = known - {"na"}
        markers = values.filter(folded.is_in(known)).sort().to_list()
        if markers and len(others):
            found[column] = tuple(markers)
    return found


def as_setting(
    gaps: Mapping[str, tuple[str, ...]], frame: pl.DataFrame
) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    """Return one list for all columns, or a list by column where another column has a marker as a value."""
    markers = tuple(dict.fromkeys(marker for each in gaps.values() for marker in each))
    for column, dtype in frame.schema.items():
        others = [marker for marker in markers if marker not in gaps.get(column, ())]
        if others and dtype == pl.String and frame[column].str.strip_chars().is_in(others).any():
            return dict(gaps)
    return markers


def ask_about_sentinels(columns: Iterable[Column]) -> Iterator[str]:
    """Ask about numbers far from all others that are often written for a missing value."""
    for column in columns:
        if column.numbers is None or column.n_distinct < 3:
            continue
        values = sorted(column.counted_values, key=float)
        for value, others, known in ((values[-1], values[:-1], _LARGE), (values[0], values[1:], _SMALL)):
            ends = float(others[0]), float(others[-1])
            is_far = float(value) > _FAR * max(abs(ends[1]), 1) if known is _LARGE else ends[0] >= 0
            if value in known and is_far:
                rows = counted(column.counted_values[value], "row", "rows")
                others_are = f"the others are {others[0]} to {others[-1]}"
                yield (
                    f"missing: does {value} in {quoted(column.name)} ({rows}; {others_are}) stand for a "
                    f'missing value? Then: missing = {{ {column.name} = ["{value}"] }}'
                )
