"""Small tables of known shape, to test methods on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.data.schema import Schema, Symbol
from sequester.data.table import EventTable
from sequester.hierarchies.hierarchy import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sequester.hierarchies.builder import HierarchyBuilder

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
"""Edge cases by name: a string per person, a character per event."""


def symbol_table(
    rows: Iterable[Sequence[str]],
    *,
    column: str = "symbol",
    hierarchy: Hierarchy | HierarchyBuilder | None = None,
) -> EventTable:
    """Return a table of one symbol per event; a row has a person's labels, a string a label per character.

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


def record_table(rows: Iterable[str]) -> EventTable:
    """Return a table of records in snapshots; a row has a person's letters, one per snapshot.

    The letter is sensitive. The age, 1 to 3 in turn, is a quasi-identifier.

    Examples
    --------
    >>> table = record_table(["ab", "b"])
    >>> table.sequences.to_rows("letter"), table.sequences.to_rows("age")
    ([('a', 'b'), ('b',)], [('1', '1'), ('2',)])
    """
    events = [
        (f"person {number}", place, str(1 + (number - 1) % 3), letter)
        for number, row in enumerate(rows, start=1)
        for place, letter in enumerate(row, start=1)
    ]
    types = {"user": pl.String, "snapshot": pl.Int64, "age": pl.String, "letter": pl.String}
    frame = pl.DataFrame(events, schema=types, orient="row")
    tree = Hierarchy.from_tree({"young": ["1"], "older": ["2", "3"]})
    return EventTable(
        frame, Schema(person="user", order="snapshot", quasi={"age": tree}, sensitive={"letter": "all"})
    )


def history_table(rows: Iterable[str]) -> EventTable:
    """Return a table of one quasi-identifier and one sensitive value per event; a row has a person's letters.

    The hierarchy generalizes a and b to early, c and d to late. The first and every fourth person after are
    ill in their last event.

    Examples
    --------
    >>> table = history_table(["ab", "b"])
    >>> table.sequences.to_rows("letter"), table.sequences.to_rows("ill")
    ([('a', 'b'), ('b',)], [('no', 'yes'), ('no',)])
    """
    events = [
        (
            f"person {number}",
            place,
            letter,
            "yes" if place == len(row) and number % 4 == 1 else "no",
        )
        for number, row in enumerate(rows, start=1)
        for place, letter in enumerate(row, start=1)
    ]
    types = {"user": pl.String, "step": pl.Int64, "letter": pl.String, "ill": pl.String}
    frame = pl.DataFrame(events, schema=types, orient="row")
    tree = Hierarchy.from_tree({"early": ["a", "b"], "late": ["c", "d"]})
    return EventTable(
        frame,
        Schema(person="user", order="step", quasi={"letter": tree}, sensitive={"ill": ["yes"]}),
    )
