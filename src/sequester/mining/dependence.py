"""Quasi-identifiers that follow from others: a coarse column is undone by a fine one that says the same."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from sequester.data.times import read_times
from sequester.hierarchies.labels import MISSING, is_number, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sequester._typing import Codes
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
        places = [place for place, label in enumerate(labels) if is_number(label)]
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
    there = [label for label in labels if label != MISSING]
    if not there:
        return {}
    readings: dict[LabelKind, Numbers] = {}
    if all(map(is_number, there)):
        readings["number"] = np.array([float(label) for label in there])
    days = _days(there)
    if days is not None:
        readings["date"] = days
    return {
        kind: np.array([*numbers, np.nan]) if len(there) < len(labels) else numbers
        for kind, numbers in readings.items()
    }


def _days(labels: Sequence[str]) -> Numbers | None:
    """Count the days of ISO dates, date-times and dates like 20100131; None where there is anything else."""
    is_compact = all(map(_COMPACT_DATE.fullmatch, labels))
    times = read_times([pl.Series(labels)], "%Y%m%d" if is_compact else None).values
    if times.null_count():
        return None
    return times.dt.date().to_physical().to_numpy().astype(np.float64)
