"""Read dates and date-times, and recognize how unknown texts write them; offsets are converted to UTC."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.problems import first_line
from sequester.data.text import as_text
from sequester.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sequester._typing import Mask

UTC = pl.Datetime("us", "UTC")
"""How times are held: microseconds, in UTC; a time without an offset is taken as UTC."""

_ISO = (
    "%Y-%m-%d",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M%#z",
)
_OFFSET = r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
_EXTENDED = (
    rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ][0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:\.[0-9]+)?)?{_OFFSET})?$"
)
_DAY = "([0-9]{4})([0-9]{2})([0-9]{2})T"
_EXTEND = (
    (_DAY + "([0-9]{2})([0-9]{2})([0-9]{2})", "${1}-${2}-${3}T${4}:${5}:${6}"),
    (_DAY + "([0-9]{2})([0-9]{2})([Z+-]|$)", "${1}-${2}-${3}T${4}:${5}${6}"),
    (_DAY + "([0-9]{2})([Z+-]|$)", "${1}-${2}-${3}T${4}${5}"),
    ("([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2})([Z+-]|$)", "${1}:00${2}"),
    ("(.{19}),([0-9])", "${1}.${2}"),
)
"""How to write the basic form, a time of whole hours and a comma in the extended form."""

_OFFSET_AT_END = r"([T ][0-9:.,]+)(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)$"
_ANY_OFFSET_AT_END = r"^(.*?) ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)$"
_FORM_OF_OFFSET = re.compile(r" ?%(?::|#)?z$")


@dataclass(frozen=True, slots=True)
class Times:
    """The times of all rows; null where a time is missing or unreadable."""

    values: pl.Series
    """Date-times in UTC."""
    missing: Mask
    """Rows without a time."""
    unreadable: Mask
    """Rows with a text that is no time."""
    mixed: bool = False
    """Some times have an offset and others have none."""


def read_times(columns: Sequence[pl.Series], time_format: str | None) -> Times:
    """Read the times of one column, or of a column of dates and one of clocks.

    Examples
    --------
    >>> times = read_times([pl.Series(["2010-01-31", "2010-01-31T09:30+01:00", "soon", ""])], None)
    >>> times.values.dt.to_string("%F %R").to_list()
    ['2010-01-31 00:00', '2010-01-31 08:30', None, None]
    >>> times.unreadable.tolist(), times.missing.tolist()
    ([False, False, True, False], [False, False, False, True])
    """
    first = columns[0]
    if len(columns) == 1 and first.dtype in (pl.Date, pl.Datetime):
        values = _to_utc(first)
        missing = values.is_null().to_numpy()
        return Times(values, missing, np.zeros_like(missing))
    text = _written(columns, time_format)
    missing = text.is_null().to_numpy()
    values, mixed = _parse_iso(text) if time_format is None else (_parse_as(text, time_format), False)
    unreadable = values.is_null().to_numpy() & ~missing
    return Times(values, missing, unreadable, mixed)


def shorten_times(text: pl.Series) -> pl.Series:
    """Return times of one form of ISO 8601 without offsets as date-times of eight bytes; others as they are.

    Examples
    --------
    >>> shorten_times(pl.Series(["2010-01-31T09:30", "2010-02-01T10:00"])).dtype
    Datetime(time_unit='us', time_zone=None)
    >>> shorten_times(pl.Series(["2010-01-31", "soon"])).to_list()
    ['2010-01-31', 'soon']
    """
    if text.str.len_bytes().n_unique() != 1 or text.str.contains(_OFFSET_AT_END).any():
        return text
    times = read_times([text], None)
    return text if times.values.null_count() else times.values.dt.replace_time_zone(None)


def clock_ahead(columns: Sequence[pl.Series], time_format: str | None, times: pl.Series) -> pl.Series | None:
    """Return how far the clock that wrote each of `times` is ahead of UTC; None where none has an offset.

    In microseconds, and 0 where there is no time.

    Examples
    --------
    >>> written = pl.Series(["2010-01-31T09:30+01:00", "2010-01-31T09:30Z"])
    >>> (clock_ahead([written], None, read_times([written], None).values) // 60_000_000).to_list()
    [60, 0]
    """
    first = columns[0]
    if len(columns) == 1 and first.dtype in (pl.Date, pl.Datetime):
        if getattr(first.dtype, "time_zone", None) is None:
            return None
        clock = first.dt.replace_time_zone(None).cast(pl.Datetime("us"))
    else:
        text = _written(columns, time_format)
        form = None if time_format is None else _FORM_OF_OFFSET.sub("", time_format)
        if time_format is not None and form == time_format:
            if re.search("%[:#]?z", time_format):
                msg = f"time_format {time_format!r} must end in its offset for the time of day to be read"
                raise ParameterError(msg)
            return None
        pattern = _OFFSET_AT_END if form is None else _ANY_OFFSET_AT_END
        if not text.str.contains(pattern).any():
            return None
        text = text.str.replace(pattern, "${1}")
        clock = (_parse_iso(text)[0] if form is None else _parse_as(text, form)).dt.replace_time_zone(None)
    ahead = clock - times.dt.replace_time_zone(None)
    return ahead.dt.total_microseconds().fill_null(0)


def _written(columns: Sequence[pl.Series], time_format: str | None) -> pl.Series:
    """Return the times as texts, a date and its clock joined."""
    text = as_text(columns[0])
    for other in columns[1:]:
        clock = as_text(other)
        if time_format is None:  # a clock of its own is often written 9:30
            clock = clock.str.replace("^([0-9]):", "0${1}:")
        text = text + " " + clock
    return text


def _parse_iso(text: pl.Series) -> tuple[pl.Series, bool]:
    """Read ISO 8601, and tell whether only some of the times have an offset."""
    text = _extended(text)
    values = pl.Series([None], dtype=UTC).new_from_index(0, len(text))
    sample = text.drop_nulls().head(1)
    with_offset = set()
    # The form of the first time is tried first: most columns have one form only.
    for form in sorted(_ISO, key=lambda form: _parse(sample, form).null_count()):
        waiting = values.is_null() & text.is_not_null()
        if not waiting.any():
            break
        parsed = _parse(text, form)
        if (waiting & parsed.is_not_null()).any():
            with_offset.add(form.endswith("%#z"))
        values = values.zip_with(~waiting, parsed)
    return values, len(with_offset) == 2


def _extended(text: pl.Series) -> pl.Series:
    """Write times in the extended form with a blank; null where a text has no form of ISO 8601.

    polars itself would also read signs, blanks and single digits. Eight digits alone stay unread: they may as
    well be a number.
    """
    fits = text.str.contains(_EXTENDED)
    if not fits.all():
        others = text.filter(~fits)
        for form, extended in _EXTEND:
            others = others.str.replace("^" + form, extended)
        others = others.set(~others.str.contains(_EXTENDED), None)
        text = text.clone().scatter((~fits).arg_true(), others)
    return text.str.replace("T", " ", literal=True) if text.str.contains("T", literal=True).any() else text


def _parse_as(text: pl.Series, time_format: str) -> pl.Series:
    # Python and polars write fractions of a second differently.
    form = time_format.replace(".%f", "%.f").replace("%f", "%6f")
    try:
        return _parse(text, form)
    except pl.exceptions.PolarsError as error:
        msg = f"time_format {time_format!r} cannot be used: {first_line(error)}"
        raise ParameterError(msg) from None


def _parse(text: pl.Series, form: str) -> pl.Series:
    return _to_utc(text.str.to_datetime(form, time_unit="us", strict=False))


def _to_utc(values: pl.Series) -> pl.Series:
    values = values.cast(pl.Datetime("us", getattr(values.dtype, "time_zone", None)))
    if values.dtype.time_zone is None:  # type: ignore[attr-defined]
        return values.dt.replace_time_zone("UTC")
    return values.dt.convert_time_zone("UTC")


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
