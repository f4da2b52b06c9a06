"""How unknown texts write times: as ISO 8601, in another format, or as a clock without a date."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.times import read_times

if TYPE_CHECKING:
    from collections.abc import Iterator

ENOUGH = 0.95
"""Share of readable values that makes a column one of times."""

_TRIED = 200
_YEARS = (1800, 2300)
_YEARS_OF_DIGITS = (1900, 2100)
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?")
_DATES = (
    (re.compile(r"(\d{1,2})([/.-])\d{1,2}\2\d{4}(?!\d)"), ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y"), 2),
    (re.compile(r"(\d{1,2})([/.-])\d{1,2}\2\d{2}(?!\d)"), ("%d{0}%m{0}%y", "%m{0}%d{0}%y"), 2),
    (re.compile(r"(\d{4})([/.])\d{1,2}\2\d{1,2}(?!\d)"), ("%Y{0}%m{0}%d",), 2),
    (re.compile(r"(\d{1,2})([/ -])[A-Za-z]{3,9}\2\d{4}(?!\d)"), ("%d{0}%b{0}%Y",), 2),
    (re.compile(r"(\d{1,2})([/ -])[A-Za-z]{3,9}\2\d{2}(?!\d)"), ("%d{0}%b{0}%y",), 2),
    (re.compile(r"[A-Za-z]{3,9} \d{1,2}(,?) \d{4}(?!\d)"), ("%b %d{0} %Y",), 1),
    (re.compile(r"(\d{4})([/-])\d{2}(?![\d/-])"), ("%Y{0}%m",), 2),
)
_CLOCKS = (
    (re.compile(r"()"), ""),
    (re.compile(r"([ T])\d{1,2}:\d{2}"), "%H:%M"),
    (re.compile(r"([ T])\d{1,2}:\d{2}:\d{2}"), "%H:%M:%S"),
    (re.compile(r"([ T])\d{1,2}:\d{2}:\d{2}\.\d+"), "%H:%M:%S.%f"),
    (re.compile(r"( )\d{1,2}:\d{2} [AaPp][Mm]"), "%I:%M %p"),
    (re.compile(r"( )\d{1,2}:\d{2}:\d{2} [AaPp][Mm]"), "%I:%M:%S %p"),
    (re.compile(r"(:)\d{2}:\d{2}:\d{2} [+-]\d{4}"), "%H:%M:%S %z"),
)
_DIGITS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}


@dataclass(frozen=True, slots=True)
class TimeForm:
    """One way to write a time."""

    format: str | None
    """As in ``time_format``; None is ISO 8601."""
    share: float
    """Share of the values that are written so."""
    has_clock: bool
    """There is a time of day."""
    also: str | None = None
    """Another format that reads the values as well: days and months cannot be told apart."""

    @property
    def two_digit_years(self) -> bool:
        """The century is not written."""
        return self.format is not None and "%y" in self.format

    @property
    def is_month(self) -> bool:
        """There is no day."""
        return self.format is not None and self.format.endswith("%m")

    def __str__(self) -> str:
        return "ISO 8601" if self.format is None else self.format


def find_time_form(values: pl.Series, rows: pl.Series | None = None) -> TimeForm | None:
    """Find how distinct values, in the order of the file, write a time; None where they are no times.

    `rows` says how many rows each value has; without it, each has one.

    Examples
    --------
    >>> import polars as pl
    >>> find_time_form(pl.Series(["2010-01-31", "2010-02-01"]))
    TimeForm(format=None, share=1.0, has_clock=False, also=None)
    >>> find_time_form(pl.Series(["31/01/2010 9:30", "1/2/2010 17:00"])).format
    '%d/%m/%Y %H:%M'
    >>> find_time_form(pl.Series(["1/2/10", "3/4/10"])).also
    '%m/%d/%y'
    >>> find_time_form(pl.Series(["2010-01", "2010-02"])).format
    '%Y-%m'
    >>> find_time_form(pl.Series(["10004235", "12345678"])) is None
    True
    """
    if not len(values):
        return None
    rows = pl.Series([1] * len(values)) if rows is None else rows
    iso = _share(values, rows, None)
    if iso >= ENOUGH:
        return TimeForm(None, iso, bool(values.str.contains(":").any()))
    known: Counter[str] = Counter(form for value in values.head(_TRIED) for form in _formats_of(value))
    tried = {form: _share(values, rows, form) for form, _ in known.most_common(8)}
    best = sorted(
        (form for form, share in tried.items() if share >= ENOUGH and share == max(tried.values())),
        key=lambda form: (_descents(values, form), not form.startswith("%d")),
    )
    if not best:
        return None
    also = next(iter(best[1:]), None)
    return TimeForm(best[0], tried[best[0]], "%H" in best[0] or "%I" in best[0], also)


def is_clock(values: pl.Series) -> bool:
    """Return whether values are times of day without a date.

    Examples
    --------
    >>> import polars as pl
    >>> is_clock(pl.Series(["9:30", "17:00:05"])), is_clock(pl.Series(["9"])), is_clock(pl.Series([]))
    (True, False, False)
    """
    some = values.head(_TRIED).to_list()
    return bool(some) and sum(_CLOCK.fullmatch(value) is not None for value in some) >= ENOUGH * len(some)


def clock_format(values: pl.Series) -> str:
    """Return the format of values that are times of day.

    Examples
    --------
    >>> import polars as pl
    >>> clock_format(pl.Series(["9:30"])), clock_format(pl.Series(["17:00:05"]))
    ('%H:%M', '%H:%M:%S')
    """
    colons = Counter(value.count(":") for value in values.head(_TRIED)).most_common(1)[0][0]
    if colons < 2:
        return "%H:%M"
    return "%H:%M:%S.%f" if values.str.contains(".", literal=True).any() else "%H:%M:%S"


def _formats_of(value: str) -> Iterator[str]:
    """List the formats that a single value could be written in."""
    if value.isascii() and value.isdigit() and len(value) in _DIGITS:
        yield _DIGITS[len(value)]
    for date, forms, separator in _DATES:
        match = date.match(value)
        if match is None:
            continue
        for clock, form in _CLOCKS:
            rest = clock.fullmatch(value, match.end())
            if rest is not None:
                yield from (each.format(match[separator]) + rest[1] + form for each in forms)


def _share(values: pl.Series, rows: pl.Series, form: str | None) -> float:
    """Return the share of rows that a format reads as a time of our age."""
    years = _YEARS_OF_DIGITS if form in _DIGITS.values() else _YEARS
    read = read_times([values], form).values.dt.year().is_between(*years).fill_null(value=False)
    return float(rows.filter(read).sum()) / float(rows.sum())


def _descents(values: pl.Series, form: str) -> int:
    """Count the values that are earlier than the one before: files are often written day by day."""
    return int((read_times([values], form).values.diff().dt.total_seconds() < 0).sum())
