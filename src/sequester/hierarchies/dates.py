"""The kind `dates`: days in months, quarters and years."""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from sequester.errors import HierarchyError
from sequester.hierarchies.builder import Kind, outline_of_chains, several, with_room
from sequester.hierarchies.labels import counted, in_label_order, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.hierarchies.outline import Outline, Source

_DAY = r"([0-9]{4})(-?)([0-9]{2})\2([0-9]{2})"
_TIME = r"([T ]([01][0-9]|2[0-3]):?[0-5][0-9](:?[0-5][0-9]([.,][0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
_ISO = re.compile(_DAY + _TIME)
_LEVELS = ("day", "month", "quarter", "year")


@dataclass(frozen=True, slots=True)
class Dates(Kind):
    """ISO dates and date-times, shortened level by level: ``2009-03-14``, ``2009-03``, ``2009-Q1``, ``2009``.

    A time of day counts as it is written, whatever its time zone. Where all values are plain dates, a month
    has as many leaves as it has days, whether or not they occur; a date is its own day, so the level ``day``
    then changes nothing and is no level. Where there are times of day, the leaves are the values that occur.

    Examples
    --------
    >>> print(Dates(["month", "year"]).build(["2009-03-14", "2009-02-01", "2008-02-01"], column="admitted"))
    * (731 leaves)
      2008 (366 leaves)
        2008-02 (29 leaves)
          2008-02-01
      2009 (365 leaves)
        2009-02 (28 leaves)
          2009-02-01
        2009-03 (31 leaves)
          2009-03-14
    """

    levels: str | Sequence[str]
    """Among day, month, quarter and year, finest first."""

    name: ClassVar[str] = "dates"

    def __post_init__(self) -> None:
        levels = several(self.levels)
        problems = [
            f"dates: levels must be among {', '.join(_LEVELS)}, got {level!r}"
            for level in levels
            if level not in _LEVELS
        ]
        if not levels:
            problems.append(f"dates: levels must be among {', '.join(_LEVELS)}, got none")
        if not problems:
            problems = [
                f"dates: levels must become coarser, got {fine!r} and then {coarse!r}"
                for fine, coarse in pairwise(levels)
                if _LEVELS.index(fine) >= _LEVELS.index(coarse)
            ]
        if problems:
            raise HierarchyError(*problems)
        object.__setattr__(self, "levels", levels)

    def outline(self, values: Mapping[str, int], source: Source) -> Outline:
        """Shorten every date at every level."""
        days: dict[str, date] = {}
        other: list[str] = []
        plain = True
        for value in values:
            match = _ISO.fullmatch(value)
            day = _day(match) if match else None
            if match is None or day is None:
                other.append(value)
            else:
                days[value] = day
                plain = plain and match[5] is None
        findings = []
        if other:
            what = counted(len(other), "value is not an ISO date", "values are not ISO dates")
            labels = tuple(in_label_order(other))
            text = f"{what} (such as 2009-03-14): {listed(other)}"
            findings.append(source.say("error", "not-a-date", text, labels=labels, count=len(other)))
        levels = several(self.levels)
        chains = {value: tuple(_shortened(day, level) for level in levels) for value, day in days.items()}
        sizes: dict[str, int] = {}
        if plain:
            for value, day in days.items():
                sizes.update(zip(chains[value], (_n_days(day, level) for level in levels), strict=True))
            sizes = with_room(sizes, chains)
        return outline_of_chains(chains, source, sizes=sizes, findings=findings)


def _day(match: re.Match[str]) -> date | None:
    try:
        return date(int(match[1]), int(match[3]), int(match[4]))
    except ValueError:
        return None


def _shortened(day: date, level: str) -> str:
    if level == "day":
        return day.isoformat()
    if level == "month":
        return day.isoformat()[:7]
    if level == "quarter":
        return f"{day.year:04d}-Q{_quarter(day)}"
    return f"{day.year:04d}"


def _quarter(day: date) -> int:
    return (day.month + 2) // 3


def _n_days(day: date, level: str) -> int:
    """Days of the day, month, quarter or year that the day lies in."""
    if level == "day":
        return 1
    if level == "month":
        return monthrange(day.year, day.month)[1]
    if level == "quarter":
        first = 3 * _quarter(day) - 2
        return sum(monthrange(day.year, month)[1] for month in range(first, first + 3))
    return 366 if isleap(day.year) else 365
