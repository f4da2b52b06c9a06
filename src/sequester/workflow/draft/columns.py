"""A column of unknown data: counts and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.text import all_numbers, as_text, is_plain
from sequester.data.times import TimeForm, clock_format, find_time_form, is_clock
from sequester.hierarchies.labels import counted, is_number

if TYPE_CHECKING:
    from collections.abc import Mapping

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
