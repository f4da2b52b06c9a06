"""Propose a hierarchy for a column: the first that fits all of its values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.hierarchies.kinds import two_digits
from sequester.hierarchies.labels import listed
from sequester.hierarchies.lint import lint
from sequester.workflow.draft.names import LIFE, names_area, names_code, names_coded, names_one_of
from sequester.workflow.settings import Dates, Flat, Intervals, Mask, Quantiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester.workflow.draft.columns import Column, Numbers
    from sequester.workflow.settings import HierarchySettings

_FEW = 12
"""Numbers of so few values are categories."""
_FLAT = 50
"""Categories up to which nothing between a value and * is missed."""
_MOST_CODED, _FEW_CODED = 100, 30
"""Different numbers up to which they are categories, where they are named like that and where not."""
_OFTEN, _WIDEST = 20, 10_000
"""Rows of each number, and their range, that codes without a telling name have."""
_CODE, _LONGEST_CODE = 4, 16
"""Characters of what is a code even where there are few."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A hierarchy for a column, and what speaks for it."""

    hierarchy: HierarchySettings
    why: str
    """The evidence, in a few words."""


def propose_hierarchy(column: Column) -> Proposal | str:
    """Return the first hierarchy that every value of the column fits, or say why there is none."""
    problem = "no hierarchy fits"
    for proposal in _candidates(column):
        findings = lint(proposal.hierarchy.builder(Path()), column.counted_values, column.name)
        errors = [finding for finding in findings if finding.severity == "error"]
        if not errors and not (column.n_missing and "(missing)" in column.counted_values):
            return proposal
        problem = errors[0].text if errors else "'(missing)' stands for a gap, and the column has gaps too"
    return problem


def _candidates(column: Column) -> Iterator[Proposal]:
    if column.time_form is not None:
        if column.time_form.format in (None, "%Y%m%d"):
            yield _dates(column)
        elif column.time_form.is_month:
            yield Proposal(Flat(kind="flat"), "months")
        return
    if column.clock is not None and column.lengths[0] == column.lengths[1]:
        yield Proposal(Mask(kind="mask", levels=[5, 2] if column.lengths[1] > 5 else [2]), "times of day")
    numbers = column.numbers
    odd = column.odd_among_numbers if numbers is None else []
    is_code = names_code(column.name) or (numbers is not None and column.has_leading_zeros)
    if names_area(column.name):
        why = "states and counties have no order of their own: a tree in a file would keep more"
        yield Proposal(Flat(kind="flat"), f"areas; {why}")
        return
    if numbers is not None and _is_coded(column, numbers):
        yield Proposal(Flat(kind="flat"), f"coded categories such as {_some(column)}: numbers that are names")
        return
    if is_code and (column.n_distinct > _FEW or (column.n_distinct > 2 and column.lengths[1] >= _CODE)):
        yield from _mask(column, "codes, of which the first characters say most")
    elif numbers is not None and column.n_distinct > _FEW:
        yield from _ranges(numbers, column)
    elif odd:
        yield Proposal(Flat(kind="flat"), f"numbers but for {listed(odd)}, so that no ranges can be made")
        return
    elif column.n_distinct > _FLAT and column.lengths[1] <= _LONGEST_CODE and _has_no_blanks(column):
        yield from _mask(column, "short texts without blanks, perhaps codes")
    yield Proposal(
        Flat(kind="flat"),
        f"categories such as {_some(column)}"
        if column.n_distinct <= _FLAT
        else "many categories: a tree in a file would keep more than a flat hierarchy",
    )


def _some(column: Column) -> str:
    return listed(column.counts["value"].head(3).to_list())


def _is_coded(column: Column, numbers: Numbers) -> bool:
    """Return whether numbers stand for categories: few, named like a code, or with gaps of all sizes."""
    if not numbers.is_whole or column.n_distinct <= _FEW or column.has_leading_zeros:
        return False
    if names_coded(column.name) and column.n_distinct <= _MOST_CODED:
        return True
    if column.n_distinct > _FEW_CODED or column.rows_each < _OFTEN or numbers.high - numbers.low > _WIDEST:
        return False
    values = np.sort(column.counts["value"].cast(pl.Float64).to_numpy()).astype(np.int64)
    is_sparse = column.n_distinct < 0.5 * (numbers.high - numbers.low)
    return is_sparse and bool(np.gcd.reduce(np.diff(values)) == 1)


def _dates(column: Column) -> Proposal:
    digits = column.counts["value"].str.slice(0, 10).str.replace_all("-", "").str.slice(0, 8)
    days = [f"{day[:4]}-{day[4:6]}-{day[6:]}" for day in digits.unique()]
    years = {day[:4] for day in days}
    if names_one_of(column.name, LIFE) and len(years) > 10:
        return Proposal(
            Dates(kind="dates", levels=["year"]), f"dates of people, {min(years)} to {max(years)}"
        )
    levels = ["month"] if len({day[:7] for day in days}) > 1 else []
    levels += ["quarter", "year"] if len(years) > 1 else []
    form = column.time_form
    if form is not None and form.has_clock:
        levels = ["day", *levels]
    return Proposal(Dates(kind="dates", levels=levels or ["year"]), f"dates, {min(days)} to {max(days)}")


def _mask(column: Column, why: str) -> Iterator[Proposal]:
    longest = column.lengths[1]
    if longest < 2:
        return
    kept = {2: [1], 3: [2, 1], 4: [3, 1], 5: [3, 1], 6: [4, 2], 7: [4, 2]}
    yield Proposal(
        Mask(kind="mask", levels=kept.get(longest) or [2 * longest // 3, longest // 3]),
        f"{why}; {longest} characters",
    )


def _ranges(numbers: Numbers, column: Column) -> Iterator[Proposal]:
    """Choose equal widths for numbers that are evenly spread, and equal shares for others if they exist."""
    span = f"{_plain(numbers.low)} to {_plain(numbers.high)}"
    if not numbers.is_even:
        for bins in ([20, 5], [10, 5], [4, 2]):
            if _can_cut(column, bins[0]):
                yield Proposal(Quantiles(kind="quantiles", bins=bins), f"numbers, {span}, unevenly spread")
                return
    for low, high in (numbers.bulk, (numbers.low, numbers.high)):
        width = _width((high - low) / 10, is_whole=numbers.is_whole)
        if width is not None:
            yield Proposal(Intervals(kind="intervals", width=width), f"numbers, {span}")
            return


def _can_cut(column: Column, n_bins: int) -> bool:
    """Return whether the edges of so many equal shares differ after rounding."""
    values = column.counts.with_columns(pl.col("value").cast(pl.Float64)).sort("value")
    ends = np.cumsum(values["rows"].to_numpy())
    places = np.searchsorted(ends, [i * ends[-1] // n_bins for i in range(1, n_bins)], side="right")
    edges = {two_digits(Fraction(number)) for number in values["value"].to_numpy()[places].tolist()}
    low, high = values["value"][0], values["value"][-1]
    return len([edge for edge in edges if low < edge <= high]) == n_bins - 1


def _width(tenth: float, *, is_whole: bool) -> list[int | float] | None:
    """Choose two widths that are round: about ten ranges for most of the rows, then two or three.

    Examples
    --------
    >>> _width(7.0, is_whole=True), _width(0.031, is_whole=False), _width(0.0, is_whole=True)
    ([5, 20], [0.02, 0.1], None)
    """
    if tenth <= 0 or not math.isfinite(tenth):
        return None
    scale = Decimal(10) ** math.floor(math.log10(tenth))
    digit = max((digit for digit in (1, 2, 5) if digit * scale <= Decimal(tenth)), default=1)
    narrow = digit * scale
    if is_whole and narrow < 2:
        digit, narrow = 2, Decimal(2)
    return [_as_written(narrow), _as_written(narrow * (4 if digit == 5 else 5))]


def _as_written(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number == round(number) and abs(number) < 1e15 else f"{number:g}"


def _has_no_blanks(column: Column) -> bool:
    return not column.counts["value"].str.contains(r"\s").any()
