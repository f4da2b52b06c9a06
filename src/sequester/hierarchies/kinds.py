"""Kinds of hierarchies that are built from values: intervals, quantiles, masks, dates and H3 cells."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from calendar import isleap, monthrange
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, Context
from fractions import Fraction
from itertools import accumulate, pairwise
from operator import gt
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from sequester.errors import HierarchyError
from sequester.hierarchies.builder import Kind, outline_of_chains, raise_leaf_counts
from sequester.hierarchies.labels import as_number, numeric_key
from sequester.hierarchies.outline import MOST_LEAVES, Outline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sequester.hierarchies.lint import Finding
    from sequester.hierarchies.outline import Origin


T = TypeVar("T", int, float, str)


def several(parameter: T | Sequence[T]) -> tuple[T, ...]:
    """Return a list of levels as a tuple, and one level as a tuple of one."""
    return tuple(parameter) if isinstance(parameter, list | tuple) else (cast("T", parameter),)


def check_levels(kind: Kind, parameter: str, must: str, is_level: Callable[[Any], bool]) -> None:
    """Make the levels of a kind a tuple; refuse those that are not what they must be, one line each."""
    levels = several(getattr(kind, parameter))
    rule = f"{kind.name}: {parameter} must be {must}"
    problems = [f"{rule}, got {level!r}" for level in levels if not is_level(level)]
    if problems or not levels:
        raise HierarchyError(*problems or [f"{rule}, or a list of such, got none"])
    object.__setattr__(kind, parameter, levels)


def check_nesting(kind: Kind, parameter: str, must: str, nests: Callable[[Any, Any], bool]) -> None:
    """Refuse levels that do not nest in the next ones, one line each."""
    problems = [
        f"{kind.name}: {parameter} must {must}, got {one!r} and then {other!r}"
        for one, other in pairwise(getattr(kind, parameter))
        if not nests(one, other)
    ]
    if problems:
        raise HierarchyError(*problems)


def is_whole(value: object, least: int, most: int | None = None) -> bool:
    """Return whether a parameter is a whole number of at least `least` and at most `most`."""
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return value >= least and (most is None or value <= most)


def _is_multiple(one: float, other: float) -> bool:
    """Return whether a width or number, as written, is a larger multiple of one that is not 0."""
    return other != one and (Fraction(str(other)) / Fraction(str(one))).denominator == 1


def parse_exact(parameter: object) -> Fraction | None:
    """Read a parameter as it was written, 0.1 as one tenth; None where it is no finite number.

    Examples
    --------
    >>> parse_exact(0.1), parse_exact(7), parse_exact(float("nan")), parse_exact("x")
    (Fraction(1, 10), Fraction(7, 1), None, None)
    """
    if isinstance(parameter, bool) or not isinstance(parameter, int | float):
        return None
    number = as_number(str(parameter))
    return None if number is None else Fraction(number)


def as_numbers(values: Iterable[str], source: Origin) -> tuple[dict[str, int | Fraction], list[Finding]]:
    """Read values as exact numbers; those that are none make one finding."""
    read = {value: as_number(value) for value in values}
    numbers = {value: number for value, number in read.items() if number is not None}
    other = [value for value in read if value not in numbers]
    return numbers, source.refuse("not-a-number", other, "value is not a number", "values are not numbers")


_ALL_DIGITS = Context(prec=5_000)
"""More digits than the numbers of labels have; see `as_number`."""
_TWO_DIGITS = Context(prec=2, rounding=ROUND_HALF_EVEN)


def decimal(number: int | Fraction) -> str:
    """Write a number that has finitely many decimals without an exponent.

    Examples
    --------
    >>> decimal(7), decimal(Fraction(-5, 2)), decimal(Fraction(1, 1000))
    ('7', '-2.5', '0.001')
    """
    return f"{_ALL_DIGITS.divide(number.numerator, number.denominator):f}"


def two_digits(number: int | Fraction) -> Fraction:
    """Round to two significant digits, halves to the even neighbour.

    Examples
    --------
    >>> [decimal(two_digits(Fraction(text))) for text in ("1234", "0.01267", "65", "-999", "0")]
    ['1200', '0.013', '65', '-1000', '0']
    """
    return Fraction(_TWO_DIGITS.divide(number.numerator, number.denominator))


@dataclass(frozen=True, slots=True)
class Intervals(Kind):
    """Each level is a row of ranges of one width, laid out from `origin` in both directions.

    Where all values, widths and the origin are whole numbers, ranges print ``[a:b]`` with both ends inside,
    otherwise ``[a:b)``. A range of whole numbers has as many leaves as there are numbers in it, whether or
    not they occur: how much ``[0:6]`` hides does not depend on who happens to be in the data. Ranges in which
    nothing occurs are not part of the tree, so one far value does not make the others look close, and no
    number is too large: the root has the leaves of the widest ranges that occur. Real numbers cannot be
    counted, so their ranges have the values that occur as leaves. ``7`` and ``07`` are two
    labels of one number, which counts once: a range of seven numbers has seven leaves unless more labels
    lie in it.

    Examples
    --------
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> print(Hierarchy.intervals([7, 28]).build(["0", "3", "30", "-1"], column="LOS"))
    * (84 leaves)
      [-28:-1] (28 leaves)
        [-7:-1] (7 leaves)
          -1
      [0:27] (28 leaves)
        [0:6] (7 leaves)
          0
          3
      [28:55] (28 leaves)
        [28:34] (7 leaves)
          30
    >>> Hierarchy.intervals(0.5).build(["0.1", "0.5", "1"], column="dose").level_labels(1)
    ('[0.5:1)', '[0:0.5)', '[1:1.5)')
    """

    width: float | Sequence[float]
    """Widths, narrowest first, each a multiple of the one before."""
    origin: float = 0
    """Where a range begins."""

    name: ClassVar[str] = "intervals"

    def __post_init__(self) -> None:
        if parse_exact(self.origin) is None:
            msg = f"intervals: origin must be a number, got {self.origin!r}"
            raise HierarchyError(msg)
        check_levels(self, "width", "a number above 0", lambda width: (parse_exact(width) or 0) > 0)
        check_nesting(self, "width", "be multiples, each of the one before it", _is_multiple)

    def outline(self, values: Mapping[str, int], source: Origin) -> Outline:
        """Find the range of every value at every level."""
        numbers, findings = as_numbers(values, source)
        widths = [Fraction(str(width)) for width in several(self.width)]
        origin = Fraction(str(self.origin))
        whole = all(number.denominator == 1 for number in (*numbers.values(), *widths, origin))
        if whole:  # Python's own integers are faster than fractions
            numbers = {value: int(number) for value, number in numbers.items()}
        narrowest, first = (int(widths[0]), int(origin)) if whole else (widths[0], origin)
        known: dict[int, tuple[str, ...]] = {}
        chains: dict[str, tuple[str, ...]] = {}
        for value, number in numbers.items():
            place = int((number - first) // narrowest)
            if place not in known:
                known[place] = tuple(
                    _range(origin + place * narrowest, origin, width, whole=whole) for width in widths
                )
            chains[value] = known[place]
        sizes: dict[str, int] = {}
        if whole:
            for labels in known.values():
                sizes.update(zip(labels, map(int, widths), strict=True))
            sizes = raise_leaf_counts(sizes, chains)
        if whole and sum(sizes[label] for label in {chain[-1] for chain in known.values()}) > MOST_LEAVES:
            text = "the ranges hold 2^63 whole numbers or more: choose smaller widths"
            findings.append(source.say("error", "too-many-leaves", text))
        return outline_of_chains(chains, source, sizes=sizes, findings=findings)


def _range(number: Fraction, origin: Fraction, width: Fraction, *, whole: bool) -> str:
    """Name the range of one width that a number lies in."""
    low = (number - origin) // width * width + origin
    return (
        f"[{decimal(low)}:{decimal(low + width - 1)}]"
        if whole
        else f"[{decimal(low)}:{decimal(low + width)})"
    )


@dataclass(frozen=True, slots=True)
class Quantiles(Kind):
    """Each level cuts the numbers into about equal shares, at edges of two significant digits.

    An edge that is learned would be somebody's value, so it is rounded, and the outer bins are open: ``<20``,
    ``>=65``. Inner bins print ``[20:64]`` where all values are whole numbers, otherwise ``[20:65)``. Edges
    that become equal by rounding count once, an edge without values on both sides is left out, so that the
    outer bins always hold somebody, and a bin that would be no coarser than one a level below is joined with
    its neighbour. So there may be fewer bins than asked for; a level without edges is no level. The leaves
    are the values that occur.

    Examples
    --------
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> ages = [str(age) for age in range(100)]
    >>> Hierarchy.quantiles([4, 2]).build(ages, column="age").level_labels(1)
    ('<25', '[25:49]', '>=75', '[50:74]')
    >>> Hierarchy.quantiles([4, 2]).build(ages, column="age").level_labels(2)
    ('<50', '>=50')
    """

    bins: int | Sequence[int]
    """Number of bins, most first, each a multiple of the next, so that levels nest."""

    name: ClassVar[str] = "quantiles"

    def __post_init__(self) -> None:
        check_levels(self, "bins", "a whole number of at least 2", lambda number: is_whole(number, 2))
        check_nesting(
            self, "bins", "be multiples, each of the one after it", lambda many, few: _is_multiple(few, many)
        )

    def outline(self, values: Mapping[str, int], source: Origin) -> Outline:
        """Learn the edges, and find the bin of every value at every level."""
        numbers, findings = as_numbers(values, source)
        if not numbers:
            return Outline({}, findings)
        whole = all(number.denominator == 1 for number in numbers.values())
        ordered = sorted(numbers, key=lambda value: (numeric_key(value), value))
        chains: dict[str, tuple[str, ...]] = dict.fromkeys(ordered, ())
        finer: list[Fraction] | None = None
        for n_bins in several(self.bins):
            edges = _edges(ordered, numbers, values, n_bins)
            edges = edges if finer is None else _coarser(edges, finer)
            if len(edges) + 1 < n_bins:
                text = f"rounding leaves {len(edges) + 1} of {n_bins} bins"
                findings.append(source.say("warning", "fewer-bins", text, count=n_bins - len(edges) - 1))
            if not edges:
                break
            ends = [bisect_left(ordered, edge, key=lambda value: Fraction(numbers[value])) for edge in edges]
            for label, (first, end) in zip(
                _bin_labels(edges, whole=whole), pairwise([0, *ends, len(ordered)]), strict=True
            ):
                for value in ordered[first:end]:
                    chains[value] += (label,)
            finer = edges
        return outline_of_chains(chains, source, findings=findings)


def _edges(
    ordered: Sequence[str], numbers: Mapping[str, int | Fraction], counts: Mapping[str, int], n_bins: int
) -> list[Fraction]:
    """Return the values that a share of i / n_bins lies below, rounded, with values on both sides.

    An edge with nothing below or nothing from it on would leave an open bin empty, and the bin next to it
    would show where the values begin or end.
    """
    ends = list(accumulate(counts[value] for value in ordered))
    places = (bisect_right(ends, i * ends[-1] // n_bins) for i in range(1, n_bins))
    edges = {two_digits(numbers[ordered[place]]) for place in places}
    return sorted(edge for edge in edges if numbers[ordered[0]] < edge <= numbers[ordered[-1]])


def _coarser(edges: Sequence[Fraction], finer: Sequence[Fraction]) -> list[Fraction]:
    """Return the edges that leave two or more of the finer bins between them.

    Levels are counted from the root, so a bin that is the same on two levels would push its values to the
    level of the bins, and they would be published as they are.
    """
    kept = [-1]
    for place, edge in enumerate(finer):
        if edge in edges and place - kept[-1] >= 2:
            kept.append(place)
    if len(kept) > 1 and len(finer) - kept[-1] < 2:
        kept.pop()
    return [finer[place] for place in kept[1:]]


def _bin_labels(edges: Sequence[Fraction], *, whole: bool) -> list[str]:
    inner = [
        f"[{decimal(low)}:{decimal(high - 1)}]" if whole else f"[{decimal(low)}:{decimal(high)})"
        for low, high in pairwise(edges)
    ]
    return [f"<{decimal(edges[0])}", *inner, f">={decimal(edges[-1])}"]


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
        must = "a whole number of characters, at least 1"
        check_levels(self, "levels", must, lambda keep: is_whole(keep, 1))
        check_nesting(self, "levels", "keep fewer and fewer characters", gt)

    def outline(self, values: Mapping[str, int], source: Origin) -> Outline:
        """Mask every value at every level."""
        long = [value for value in values if len(value) > _LONGEST_CODE]
        if long:
            what = f"longer than {_LONGEST_CODE} characters"
            return Outline({}, source.refuse("long-label", long, f"value is {what}", f"values are {what}"))
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
        check_levels(self, "levels", f"among {', '.join(_LEVELS)}", _LEVELS.__contains__)
        check_nesting(
            self, "levels", "become coarser", lambda fine, coarse: _LEVELS.index(fine) < _LEVELS.index(coarse)
        )

    def outline(self, values: Mapping[str, int], source: Origin) -> Outline:
        """Shorten every date at every level."""
        days: dict[str, date] = {}
        other: list[str] = []
        whole_days = True
        for value in values:
            match = _ISO.fullmatch(value)
            day = _day(match) if match else None
            if match is None or day is None:
                other.append(value)
            else:
                days[value] = day
                whole_days = whole_days and match[5] is None
        such = "(such as 2009-03-14)"
        findings = source.refuse(
            "not-a-date", other, f"value is not an ISO date {such}", f"values are not ISO dates {such}"
        )
        levels = several(self.levels)
        chains = {value: tuple(_shortened(day, level) for level in levels) for value, day in days.items()}
        sizes: dict[str, int] = {}
        if whole_days:
            for value, day in days.items():
                sizes.update(zip(chains[value], (_n_days(day, level) for level in levels), strict=True))
            sizes = raise_leaf_counts(sizes, chains)
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


FINEST = 15
"""The largest resolution of H3."""


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
        must = f"a whole number from 0 to {FINEST}"
        check_levels(self, "resolutions", must, lambda each: is_whole(each, 0, FINEST))
        check_nesting(self, "resolutions", "get coarser and coarser", gt)

    def outline(self, values: Mapping[str, int], source: Origin) -> Outline:
        """Put every cell under its parents."""
        h3 = load_h3()
        wrong = [value for value in values if not h3.is_valid_cell(value)]
        if wrong:
            return Outline(
                {}, source.refuse("no-cell", wrong, "value is no H3 cell", "values are no H3 cells")
            )
        chains = {
            value: tuple(
                h3.cell_to_parent(value, coarse)
                for coarse in several(self.resolutions)
                if coarse < h3.get_resolution(value)
            )
            for value in values
        }
        return outline_of_chains(chains, source)
