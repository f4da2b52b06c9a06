"""A column of unknown data: counts, numbers, and the formats of times."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.text import all_numbers, as_text, is_plain
from sequester.data.times import read_times
from sequester.hierarchies.labels import counted, is_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt


SAMPLE = 100_000
"""Rows whose values are looked at closely; counts are of all rows."""

_LOOKED_AT = 1_000


@dataclass(frozen=True, slots=True)
class Numbers:
    """Where the numbers of a column lie."""

    low: float
    high: float
    bulk: tuple[float, float]
    """Nine of ten rows lie between these."""
    middle: float
    """Half of the rows lie below."""
    is_whole: bool

    @property
    def is_even(self) -> bool:
        """Neither far values nor a crowded end would make equal widths useless."""
        low, high = self.bulk
        width = high - low
        return width >= 0.3 * (self.high - self.low) and 0.2 * width <= self.middle - low <= 0.8 * width


@dataclass(frozen=True)
class Column:
    """One column of the data."""

    name: str
    series: pl.Series

    @property
    def is_plain(self) -> bool:
        """A cell is one text, number, date or truth value."""
        return is_plain(self.series.dtype)

    @cached_property
    def text(self) -> pl.Series:
        """Every value as text, a gap is null."""
        return (
            as_text(self.series) if self.is_plain else pl.Series([None] * len(self.series), dtype=pl.String)
        )

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        return len(self.series)

    @cached_property
    def n_missing(self) -> int:
        """Rows without a value."""
        return self.text.null_count()

    @property
    def n_present(self) -> int:
        """Rows with a value."""
        return self.n_rows - self.n_missing

    @property
    def missing_share(self) -> float:
        """Share of rows without a value."""
        return self.n_missing / self.n_rows

    @cached_property
    def counts(self) -> pl.DataFrame:
        """Each value with the rows it has, most frequent first."""
        frame = self.text.drop_nulls().alias("value").value_counts(name="rows")
        return frame.sort("rows", "value", descending=[True, False])

    @cached_property
    def counted_values(self) -> Mapping[str, int]:
        """Each value to the rows it has."""
        return dict(self.counts.sort("value").iter_rows())

    @property
    def n_distinct(self) -> int:
        """Different values."""
        return self.counts.height

    @property
    def rows_each(self) -> float:
        """Mean rows of a value."""
        return self.n_present / max(self.n_distinct, 1)

    @property
    def is_unique(self) -> bool:
        """No value occurs twice."""
        return self.n_distinct == self.n_present > 1

    @cached_property
    def stands_together(self) -> bool:
        """All rows of a value stand one after the other."""
        text = self.text.drop_nulls()
        runs = int((text != text.shift(1)).sum()) + 1
        return self.n_distinct > 1 and runs == self.n_distinct

    @cached_property
    def sample(self) -> pl.DataFrame:
        """Different values of the sample in the order of the file, each with the rows it has there."""
        text = self.text.head(SAMPLE).drop_nulls().alias("value").to_frame()
        return text.group_by("value", maintain_order=True).len("rows").head(_LOOKED_AT)

    @property
    def some(self) -> pl.Series:
        """Different values of the sample, in the order of the file."""
        return self.sample["value"]

    @cached_property
    def lengths(self) -> tuple[float, int]:
        """Mean and largest number of characters of a value."""
        lengths = self.counts["value"].str.len_chars()
        return float(lengths.mean() or 0), int(lengths.max() or 0)  # type: ignore[arg-type]

    @cached_property
    def time_form(self) -> TimeForm | None:
        """How the column writes times; None where it holds something else."""
        if self.series.dtype in (pl.Date, pl.Datetime):
            return TimeForm(None, 1.0, self.some.str.contains(":").any())
        is_text = self.series.dtype == pl.String
        return find_time_form(self.some, self.sample["rows"]) if is_text else None

    @cached_property
    def clock(self) -> str | None:
        """The format of a column of times of day; None where it holds something else."""
        return clock_format(self.some) if is_clock(self.some) else None

    @cached_property
    def numbers(self) -> Numbers | None:
        """Where the numbers lie; None where a value is no number."""
        if not self.n_distinct or not all_numbers(self.counts["value"]):
            return None
        values = self.counts.with_columns(pl.col("value").cast(pl.Float64, strict=False)).sort("value")
        numbers: npt.NDArray[np.float64] = values["value"].to_numpy()
        if not np.isfinite(numbers).all():
            return None
        ends = np.cumsum(values["rows"].to_numpy())
        low, middle, high = (
            float(numbers[np.searchsorted(ends, share * ends[-1])]) for share in (0.05, 0.5, 0.95)
        )
        is_whole = bool((numbers == np.round(numbers)).all())
        return Numbers(float(numbers[0]), float(numbers[-1]), (low, high), middle, is_whole)

    @cached_property
    def odd_among_numbers(self) -> list[str]:
        """The values that are no numbers, where nearly all are; otherwise none."""
        if sum(map(is_number, self.some)) < 0.5 * len(self.some):
            return []
        odd = [value for value in self.counts["value"] if not is_number(value)]
        return odd if len(odd) <= 0.1 * self.n_distinct else []

    @cached_property
    def has_leading_zeros(self) -> bool:
        """Some numbers begin with a zero that no number needs: they are codes."""
        return bool(self.counts["value"].str.contains(r"^0\d").any())

    def evidence(self) -> str:
        """Describe in a few words what was counted."""
        parts = [counted(self.n_distinct, "distinct value", "distinct values")]
        if self.n_missing:
            parts.append(f"{self.n_missing:,} missing")
        return ", ".join(parts)


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
