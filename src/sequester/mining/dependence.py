"""Columns that follow from others, attributes of persons that change, and ages that run backwards."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from sequester.data.problems import Problem
from sequester.data.times import read_times
from sequester.hierarchies.labels import MISSING, counted, is_number_label, quoted
from sequester.ragged import owners_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sequester._typing import Codes, Counts, Mask
    from sequester.data.table import EventTable

Numbers = npt.NDArray[np.float64]
LabelKind = Literal["number", "date"]
"""How the labels of a column are read to be added up."""

_FIRST = 1_000
"""Most columns that do not depend on each other show it in so many events."""
_SLACK = 1e-9
_SUMS: tuple[tuple[LabelKind, LabelKind, LabelKind], ...] = (
    ("number", "number", "number"),
    ("date", "number", "date"),
    ("number", "date", "date"),
)
"""Columns that can add up: numbers, or a date and a number of days to a date."""
_COMPACT_DATE = re.compile(r"(?:19|20)[0-9]{6}")


@dataclass(frozen=True, slots=True)
class Dependence:
    """Columns of which the last follows from the others, in every event.

    Examples
    --------
    >>> print(Dependence("determines", ("ZIP", "city")))
    'ZIP' determines 'city'
    >>> print(Dependence("adds up", ("admission", "LOS", "discharge")))
    'admission' and 'LOS' add up to 'discharge'
    """

    kind: Literal["determines", "adds up"]
    """Equal values of the first have equal values of the second; or the first two add up to the third."""
    columns: tuple[str, ...]
    """Two names, or three."""
    readings: tuple[LabelKind, ...] = field(default=(), compare=False)
    """How the labels of each of three are read."""

    def __str__(self) -> str:
        *sources, last = map(quoted, self.columns)
        link = "determines" if self.kind == "determines" else "add up to"
        return f"{' and '.join(sources)} {link} {last}"


def find_dependences(table: EventTable) -> tuple[Dependence, ...]:
    """Find all quasi-identifiers that follow from one other, or from the sum or difference of two others.

    Every event is compared, with the attributes of its person. A column with one value, and one whose values
    are all different, say nothing and
    are left out as sources; a missing value is a value like others. Sums are looked for among columns of
    numbers and of dates, days counting as numbers, in the events where all three have a value. A difference
    is a sum read backwards: where ``discharge - admission`` is the length of stay, ``admission`` and ``LOS``
    add up to ``discharge``.

    Examples
    --------
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> frame = pl.DataFrame(
    ...     {
    ...         "who": ["a", "a", "b"],
    ...         "admitted": ["2010-01-30", "2010-03-01", "2010-01-30"],
    ...         "left": ["2010-02-02", "2010-03-01", "2010-01-31"],
    ...         "days": [3, 0, 1],
    ...     }
    ... )
    >>> dates = Hierarchy.dates(["month"])
    >>> quasi = {"admitted": dates, "left": dates, "days": Hierarchy.flat()}
    >>> table = EventTable(frame, Schema("who", time="admitted", quasi=quasi))
    >>> [str(each) for each in find_dependences(table)]
    ["'admitted' and 'days' add up to 'left'"]
    """
    table = table.with_attributes
    columns = list(table.schema.quasi)
    return (*_find_determined(table, columns), *_find_sums(table, columns))


def _find_determined(table: EventTable, columns: Sequence[str]) -> Iterator[Dependence]:
    codes = table.sequences.columns
    sizes = {column: len(table.labels[column]) for column in columns}
    for source, other in permutations(columns, 2):
        if 1 < sizes[source] < table.n_events and 1 < sizes[other] <= sizes[source]:
            parts = (slice(_FIRST), slice(None))
            if all(_determines(codes[source][part], codes[other][part], sizes[source]) for part in parts):
                yield Dependence("determines", (source, other))


def _determines(source: Codes, other: Codes, size: int) -> bool:
    """Return whether each value of the one has a single value of the other."""
    last = np.zeros(size, np.int32)
    last[source] = other
    return bool((last[source] == other).all())


def _find_sums(table: EventTable, columns: Sequence[str]) -> Iterator[Dependence]:
    readings = {column: _read(table.labels[column]) for column in columns}
    for one, other in combinations(columns, 2):
        for total in columns:
            if total in (one, other):
                continue
            for kinds in _SUMS:
                names = (one, other, total)
                if all(kind in readings[name] for name, kind in zip(names, kinds, strict=True)):
                    a, b, c = (readings[name][kind] for name, kind in zip(names, kinds, strict=True))
                    if _add_up(table, names, (a, b, c)):
                        yield Dependence("adds up", names, kinds)
                        break


def _add_up(table: EventTable, columns: tuple[str, str, str], read: tuple[Numbers, Numbers, Numbers]) -> bool:
    codes = [table.sequences.columns[column] for column in columns]
    for part in (slice(_FIRST), slice(None)):
        one, other, total = (numbers[code[part]] for numbers, code in zip(read, codes, strict=True))
        with np.errstate(invalid="ignore"):  # a number beyond all floats is unequal to everything
            gap = np.abs(one + other - total)
        slack = _SLACK * np.maximum(1.0, np.maximum(np.abs(one), np.maximum(np.abs(other), np.abs(total))))
        # Where one of them is missing the comparison says no, and so it does not count.
        if (gap > slack).any():
            return False
    there = ~np.isnan(gap)
    return bool(there.any()) and all(np.ptp(each[there]) > 0 for each in (one, other, total))


def parse_labels(labels: Sequence[str], reading: LabelKind) -> Numbers:
    """Read every label that can be read so; NaN where one cannot.

    Examples
    --------
    >>> parse_labels(["7", "[0:6]"], "number").tolist()
    [7.0, nan]
    """
    numbers = np.full(len(labels), np.nan)
    if reading == "number":
        places = [place for place, label in enumerate(labels) if is_number_label(label)]
        numbers[places] = [float(labels[place]) for place in places]
        return numbers
    is_compact = np.array([_COMPACT_DATE.fullmatch(label) is not None for label in labels], np.bool_)
    for written, time_format in ((is_compact, "%Y%m%d"), (~is_compact, None)):
        places = np.flatnonzero(written).tolist()
        if places:
            times = read_times([pl.Series([labels[place] for place in places])], time_format).values
            numbers[places] = times.dt.date().to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
    return numbers


def _read(labels: Sequence[str]) -> dict[LabelKind, Numbers]:
    """Read the labels of a column as numbers and as dates, whichever all of them can be; a gap is NaN."""
    is_there = np.array([label != MISSING for label in labels], np.bool_)
    kinds: tuple[LabelKind, ...] = ("number", "date")
    readings = {kind: parse_labels(labels, kind) for kind in kinds if is_there.any()}
    return {kind: numbers for kind, numbers in readings.items() if not np.isnan(numbers[is_there]).any()}


NEARLY_ALL = 0.99
"""Where a column is constant for this share of the persons with several events, it is one of persons."""
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
    owners = owners_of(table.person_offsets)
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
