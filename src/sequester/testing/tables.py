"""Small tables with a known shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.data.schema import Schema, Symbol
from sequester.data.table import EventTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sequester.hierarchies.builder import HierarchyBuilder
    from sequester.hierarchies.hierarchy import Hierarchy

EDGES: Mapping[str, Sequence[str]] = {
    "one person": ["abc"],
    "one person, one event": ["a"],
    "all alike": ["abca"] * 6,
    "all different": ["abc", "bca", "cab", "acb", "bac", "cba"],
    "nothing in common": ["a", "bb", "ccc", "dddd"],
    "one symbol": ["a", "aa", "aaa", "aaaa", "aa", "a"],
    "an item repeated": ["abab", "abab", "aabb", "baba", "ab", "ab"],
    "one very long": ["ab" * 100, "ab", "abb", "ab", "abb"],
}
"""Rows of one character per event at which methods go wrong first, by name."""


def symbol_table(
    rows: Iterable[Sequence[str]],
    *,
    column: str = "symbol",
    hierarchy: Hierarchy | HierarchyBuilder | None = None,
) -> EventTable:
    """Make a table of one symbol per event; a row is a person's labels, a string is a label per character.

    Examples
    --------
    >>> table = symbol_table(["abc", "ac"])
    >>> table.persons.to_list(), table.sequences.to_rows()
    (['person 1', 'person 2'], [('a', 'b', 'c'), ('a', 'c')])
    """
    events = [
        (f"person {number}", place, label)
        for number, row in enumerate(rows, start=1)
        for place, label in enumerate(row, start=1)
    ]
    types = {"user": pl.String, "step": pl.Int64, column: pl.String}
    frame = pl.DataFrame(events, schema=types, orient="row")
    return EventTable(frame, Schema(person="user", order="step", symbol=Symbol(column, hierarchy)))
