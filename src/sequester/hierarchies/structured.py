"""Kinds of values with a structure of their own: masked codes, dates and H3 cells."""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from sequester.errors import HierarchyError
from sequester.hierarchies.builder import Kind, outline_of_chains, several, with_room
from sequester.hierarchies.labels import counted, in_label_order, listed
from sequester.hierarchies.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.hierarchies.outline import Origin


_LONGEST_CODE = 256


@dataclass(frozen=True, slots=True)
class Masked(Kind):
    """Each level keeps the first characters and shows ``*`` for the rest.

    All masks of a column are as long as its longest value, so that codes of different length share groups:
    with ``levels=[3]`` the values ``428``, ``4280`` and ``42821`` all become ``428**``. A value that is
    shorter than what a level keeps stays itself at that level, and a level that keeps all of the longest
    value changes nothing and is no level. The leaves are the values that occur.

    Examples
    --------
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> print(Hierarchy.mask([3, 1]).build(["56001", "56002", "56100"], column="ZIP"))
    * (3 leaves)
      5**** (3 leaves)
        560** (2 leaves)
          56001
          56002
        561** (1 leaf)
          56100
    >>> print(Hierarchy.mask([3, 1]).build(["5", "56", "5612"], column="code"))
    * (3 leaves)
      5*** (3 leaves)
        5
        56
        561* (1 leaf)
          5612
    """

    levels: int | Sequence[int]
    """Characters kept, most first, each at least 1."""

    name: ClassVar[str] = "mask"

    def __post_init__(self) -> None:
        levels = several(self.levels)
        if not levels or not all(isinstance(keep, int) and not isinstance(keep, bool) for keep in levels):
            msg = f"mask: levels must be whole numbers of characters to keep, got {list(levels)!r}"
            raise HierarchyError(msg)
        problems = [
            f"mask: a level must keep at least 1 character, got {keep}" for keep in levels if keep < 1
        ]
        problems += [
            f"mask: levels must keep fewer and fewer characters, got {fine} and then {coarse}"
            for fine, coarse in pairwise(levels)
            if coarse >= fine
        ]
        if problems:
            raise HierarchyError(*problems)
        object.__setattr__(self, "levels", levels)

    def outline(self, values: Mapping[str, int], source: Origin) -> Outline:
        """Mask every value at every level."""
        long = tuple(in_label_order(value for value in values if len(value) > _LONGEST_CODE))
        if long:
            what = counted(len(long), "value is", "values are")
            text = f"{what} longer than {_LONGEST_CODE} characters: {listed(long)}"
            return Outline({}, (source.say("error", "long-label", text, labels=long, count=len(long)),))
        width = max(map(len, values), default=0)
        keeps = [keep for keep in several(self.levels) if keep < width]
        chains = {
            value: tuple(value[:keep] + "*" * (width - keep) for keep in keeps if keep <= len(value))
            for value in values
        }
        return outline_of_chains(chains, source)


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
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> admitted = Hierarchy.dates(["month", "year"])
    >>> print(admitted.build(["2009-03-14", "2009-02-01", "2008-02-01"], column="admitted"))
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

    def outline(self, values: Mapping[str, int], source: Origin) -> Outline:
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
    """Return the number of days of the day, month, quarter or year that the day lies in."""
    if level == "day":
        return 1
    if level == "month":
        return monthrange(day.year, day.month)[1]
    if level == "quarter":
        first = 3 * _quarter(day) - 2
        return sum(monthrange(day.year, month)[1] for month in range(first, first + 3))
    return 366 if isleap(day.year) else 365


_FINEST = 15


def load_h3() -> Any:
    """Return the h3 library, or raise with the extra that installs it."""
    try:
        # Only H3 cells need it, and it is an extra.
        import h3  # noqa: PLC0415
    except ImportError:
        msg = "h3 needs the extra geo, which is not installed: pip install 'sequester[geo]'"
        raise HierarchyError(msg) from None
    return h3


@dataclass(frozen=True, slots=True)
class H3Cells(Kind):
    """Each level is the parent of a cell at a resolution: ``[7, 5]`` leads to 7, then 5, then ``*``.

    A cell that is as coarse as a level, or coarser, stays itself there. The leaves are the cells that occur.
    """

    resolutions: int | Sequence[int]
    """Resolutions from fine to coarse, each 0 to 15."""

    name: ClassVar[str] = "h3"

    def __post_init__(self) -> None:
        resolutions = several(self.resolutions)
        if not resolutions or not all(
            isinstance(each, int) and not isinstance(each, bool) and 0 <= each <= _FINEST
            for each in resolutions
        ):
            msg = f"h3: resolutions must be whole numbers from 0 to {_FINEST}, got {list(resolutions)!r}"
            raise HierarchyError(msg)
        if any(coarse >= fine for fine, coarse in pairwise(resolutions)):
            msg = f"h3: resolutions must get coarser and coarser, got {list(resolutions)!r}"
            raise HierarchyError(msg)
        object.__setattr__(self, "resolutions", resolutions)

    def outline(self, values: Mapping[str, int], source: Origin) -> Outline:
        """Put every cell under its parents."""
        h3 = load_h3()
        wrong = tuple(in_label_order(value for value in values if not h3.is_valid_cell(value)))
        if wrong:
            what = counted(len(wrong), "value is", "values are")
            text = f"{what} no H3 cell: {listed(wrong)}"
            return Outline({}, (source.say("error", "no-cell", text, labels=wrong, count=len(wrong)),))
        chains = {
            value: tuple(
                h3.cell_to_parent(value, coarse)
                for coarse in several(self.resolutions)
                if coarse < h3.get_resolution(value)
            )
            for value in values
        }
        return outline_of_chains(chains, source)
