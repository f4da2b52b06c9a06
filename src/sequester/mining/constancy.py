"""Attributes that should not change within a person and do, and ages that run backwards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.problems import Problem
from sequester.hierarchies.labels import MISSING, counted, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester._typing import Codes, Counts, Mask
    from sequester.data.table import EventTable

NEARLY_ALL = 0.99
"""Share of persons for whom a column is the same in several events that makes it one of persons."""
FEWEST = 20
"""Persons with several events below which a share says nothing."""
_MOST_BY_NAME, _MOST_BACKWARDS = 0.8, 0.5
"""Where more change, it is no attribute of persons, or the events are not in the order of time."""
_FIXED = re.compile(
    r"(?:^|[^a-z])(?:sex|gender|birth\w*|born|dob|race|ethnic\w*|nationality|blood.?(?:type|group))(?![a-z])"
)
_AGE = re.compile(r"(?:^|[^a-z])age(?![a-z])")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def find_changes(table: EventTable) -> tuple[Problem, ...]:
    """Return a warning for each column that is an attribute of persons, by its name or for nearly all.

    Missing values do not count as a change.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> flat = Hierarchy.flat()
    >>> columns = {"who": list("aabbcc"), "n": [1, 2] * 3, "sex": list("ffmmff"), "age": [1, 2, 3, 3, 9, 8]}
    >>> frame = pl.DataFrame(columns)
    >>> schema = Schema("who", "n", quasi={"sex": flat, "age": flat})
    >>> for problem in find_changes(EventTable(frame, schema)):
    ...     print(problem)
    column 'age' runs backwards for 1 of 3 persons (1 row: 6)
    """
    return tuple(_changes(table))


def _changes(table: EventTable) -> Iterator[Problem]:
    owners = np.repeat(np.arange(table.n_persons), np.diff(table.person_offsets))
    columns = dict.fromkeys((*table.schema.quasi, *table.schema.sensitive_columns))
    for column in columns:
        labels, codes = table.labels[column], table.sequences.columns[column]
        gap = labels.index(MISSING) if MISSING in labels else -1
        known = np.flatnonzero((codes >= 0) & (codes != gap))
        who, values = owners[known], codes[known]
        n_several = int((np.bincount(who, minlength=1) > 1).sum())
        if not n_several or len(labels) < 2:
            continue
        name = column.casefold()
        if _AGE.search(name):
            yield from _backwards(table, column, known, who, values, n_several)
            continue
        firsts = np.flatnonzero(np.diff(who, prepend=-1))
        differs = values != values[firsts][np.cumsum(np.diff(who, prepend=-1) > 0) - 1]
        n_changed = len(np.unique(who[differs]))
        same = 1 - n_changed / n_several
        by_name = bool(_FIXED.search(name)) and same >= _MOST_BY_NAME
        if n_changed and (by_name or (same >= NEARLY_ALL and n_several >= FEWEST)):
            what = f"column {quoted(column)} should not change within a person, and does"
            yield _problem(what, column, table, known[differs], n_changed, n_several)


def _backwards(
    table: EventTable, column: str, known: Counts, who: Counts, values: Codes, n_several: int
) -> Iterator[Problem]:
    """Find ages, or bands of ages by their first number, that are lower than the one before."""
    found = [_NUMBER.search(label) for label in table.labels[column]]
    numbers = np.array([np.nan if each is None else float(each[0]) for each in found])[values]
    falls = np.zeros(len(known), np.bool_)
    falls[1:] = (numbers[1:] < numbers[:-1]) & (who[1:] == who[:-1])
    n_changed = len(np.unique(who[falls]))
    if 0 < n_changed <= _MOST_BACKWARDS * n_several:
        what = f"column {quoted(column)} runs backwards"
        yield _problem(what, column, table, known[falls], n_changed, n_several)


def _problem(
    what: str, column: str, table: EventTable, events: Counts, n_changed: int, n_several: int
) -> Problem:
    where: Mask = np.zeros(table.n_events, np.bool_)
    where[events] = True
    text = f"{what} for {n_changed:,} of {counted(n_several, 'person', 'persons')}"
    return Problem.at(text, column, where, table.rows, severity="warning")
