"""Who: the column that names persons, by its name and by how its values repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.data.schema import ROW
from sequester.errors import InputError
from sequester.hierarchies.labels import counted, quoted
from sequester.workflow.draft.guess import Guess
from sequester.workflow.draft.words import EVENT, names_person, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester.workflow.draft.column import Column

_FEWEST = 10
"""A column that is not named like a key needs so many values, each in two rows or more, to be persons."""
_LEAST = 1.2
"""Mean rows of a value from which on values repeat."""
_MOST_MISSING = 0.5

NOBODY = (
    "no column repeats like persons, so every row is taken for a person. If all rows are of one person, "
    "add a column with that person's name in every row"
)


def guess_person(columns: Sequence[Column], *, has_when: bool) -> Guess:
    """Guess the column that says who; ``row`` where every row is a person.

    `has_when` tells whether some column says when: a key that never repeats can only be used with one.
    """
    named = [column for column in columns if _is_named(column)]
    if named:
        # A sure name counts for more than values that repeat, and both together for most.
        best = max(named, key=lambda column: 2 * names_person(column.name) + (not column.is_unique))
        others = [quoted(column.name) for column in named if column is not best and not column.is_unique]
        doubt = f"it could also be {' or '.join(others)}" if others and names_person(best.name) < 3 else None
        if best.is_unique and not has_when:
            return Guess(ROW, f"every row is a person: {quoted(best.name)} never repeats", doubt)
        return Guess(best.name, f"named like persons; {_repeats(best)}", doubt)
    together = [column for column in columns if _looks_like_persons(column)]
    if together:
        best = max(together, key=lambda column: column.n_distinct)
        doubt = "nothing in its name says that it is a person"
        return Guess(best.name, f"all rows of a value stand together; {_repeats(best)}", doubt)
    return Guess(ROW, "every row is a person", NOBODY)


def named_person(columns: Sequence[Column], name: str) -> Guess:
    """Take the column that the steward names."""
    if name == ROW:
        return Guess(ROW, "every row is a person, as you say")
    for column in columns:
        if column.name == name and column.n_distinct:
            return Guess(name, f"as you say; {_repeats(column)}")
    known = ", ".join(quoted(column.name) for column in columns if column.n_distinct)
    msg = f"person must be {quoted(ROW)} or a column with values ({known}), got {quoted(name)}"
    raise InputError(msg)


def _is_named(column: Column) -> bool:
    sure = names_person(column.name)
    repeats = column.n_distinct >= _FEWEST and column.rows_each >= _LEAST
    return _may_be_key(column) and (sure >= 2 or (sure == 1 and repeats))


def _may_be_key(column: Column) -> bool:
    return column.is_plain and column.n_distinct > 0 and column.missing_share <= _MOST_MISSING


def _looks_like_persons(column: Column) -> bool:
    """Tell whether a column without a telling name repeats as persons do in a file sorted by person."""
    return (
        _may_be_key(column)
        and not column.n_missing
        and column.n_distinct >= _FEWEST
        and column.rows_each >= 2
        and column.time_form is None
        and not (column.numbers and not column.numbers.is_whole)
        and not {*words(column.name)} & EVENT
        and column.stands_together
    )


def _repeats(column: Column) -> str:
    each = column.rows_each
    rows = "one row each" if each == 1 else f"{each:,.1f} rows each"
    missing = f", missing in {counted(column.n_missing, 'row', 'rows')}" if column.n_missing else ""
    return f"{counted(column.n_distinct, 'distinct value', 'distinct values')}, {rows}{missing}"
