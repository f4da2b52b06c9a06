"""Infer the attributes of events and persons: what never leaves, and how coarse the others may become."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.places import Place
from sequester.data.roles import refuse_patterns
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.hierarchies.kinds import two_digits
from sequester.hierarchies.labels import listed, quoted
from sequester.hierarchies.lint import lint
from sequester.workflow.draft.columns import (
    SAMPLE,
    Column,
    has_stem,
    is_named,
    names_code,
    names_coded,
    names_person,
)
from sequester.workflow.draft.roles import Guess, families, find_candidates, reason_to_drop
from sequester.workflow.settings import Dates, DensitySettings, Flat, GridSettings, Intervals, Mask, Quantiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sequester.workflow.draft.columns import Numbers
    from sequester.workflow.draft.draft import Draft
    from sequester.workflow.draft.roles import EventOrder, SensitiveCandidate
    from sequester.workflow.settings import HierarchySettings


@dataclass(frozen=True, slots=True)
class QuasiDraft:
    """A quasi-identifier, its hierarchy, and the reasons."""

    column: str
    hierarchy: HierarchySettings
    why: str


def sort_out(columns: Sequence[Column], owner: Column | None) -> tuple[list[Guess], list[QuasiDraft]]:
    """Part what never leaves from what may, coarsened; columns of one family get one hierarchy."""
    drop: list[Guess] = []
    attributes: list[QuasiDraft] = []
    proposals = {
        column.name: _of_family(members) for members in families(columns).values() for column in members
    }
    for column in columns:
        reason = _names_somebody(column, owner) or reason_to_drop(column)
        if reason is None:
            proposed = proposals[column.name] or propose_hierarchy(column)
            if isinstance(proposed, Proposal):
                attributes.append(attribute_of(column, proposed))
                continue
            reason = _without_hierarchy(column, proposed)
        drop.append(Guess(column.name, reason))
    return drop, attributes


def _of_family(members: Sequence[Column]) -> Proposal | None:
    """Propose one hierarchy for the values of several columns; None where none fits all of them."""
    if len(members) < 2 or not all(each.is_plain and each.n_distinct for each in members):
        return None
    together = Column(members[0].name, pl.concat([each.text.alias("") for each in members]))
    proposed = propose_hierarchy(together)
    if isinstance(proposed, str):
        return None
    return replace(proposed, why=f"{proposed.why}; as {len(members)} columns of this name")


def attribute_of(column: Column, proposal: Proposal) -> QuasiDraft:
    """Return a column as a quasi-identifier with the hierarchy that is proposed."""
    return QuasiDraft(column.name, proposal.hierarchy, f"{column.evidence()}; {proposal.why}")


def _names_somebody(column: Column, owner: Column | None) -> str | None:
    sure = names_person(column.name)
    if sure == 3 or (sure == 2 and owner is None and column.is_unique):
        return f"named like persons; {column.evidence()}"
    return None


def _without_hierarchy(column: Column, problem: str) -> str:
    if column.time_form is not None and column.time_form.format is not None:
        return f"times as in {column.time_form}: write them as ISO 8601 to release them, coarsened"
    return f"no hierarchy fits: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonsDraft:
    """The columns of a table of persons, or those of the events that never change within a person."""

    person: str | None
    """The column of keys; None where the columns are those of the events."""
    drop: tuple[Guess, ...] = ()
    """What never leaves."""
    quasi: tuple[QuasiDraft, ...]
    """What an adversary may know."""
    candidates: tuple[SensitiveCandidate, ...] = ()
    """What may be sensitive."""


def draft_persons(frame: pl.DataFrame, events: pl.DataFrame, person: str) -> PersonsDraft:
    """Return the role of every column of a table of persons; `person` is the key of the events.

    Raises
    ------
    InputError
        If no column has the keys of the events, or nothing is left to release.
    """
    refuse_patterns(frame.columns)
    keys = events[person].cast(pl.String).unique()
    found = {
        name: int(keys.is_in(frame[name].cast(pl.String).unique().implode()).sum()) for name in frame.columns
    }
    key = person if found.get(person) else max(found, key=lambda name: found[name], default=person)
    if not found.get(key):
        msg = f"no column has the keys of persons that column {quoted(person)} of the events has"
        raise InputError(msg)
    columns = [Column(name, frame[name]) for name in frame.columns if name != key]
    drop, attributes = sort_out(columns, None)
    if not attributes:
        msg = "nothing is left to release of persons: every column is an identifier, or always the same"
        raise InputError(msg)
    known = [column for column in columns if column.name not in {each.column for each in drop}]
    return PersonsDraft(
        person=key,
        drop=tuple(drop),
        quasi=tuple(attributes),
        candidates=tuple(find_candidates(known, [column.name for column in columns])),
    )


def find_constant(frame: pl.DataFrame, draft: Draft) -> PersonsDraft | None:
    """Return the quasi-identifiers that never change within a person; None where there are none.

    At least one must be left to the events, and somebody must have several.
    """
    person, names = draft.person.column, [each.column for each in draft.quasi]
    if person not in frame.columns or not names:
        return None
    some = frame.head(SAMPLE)
    values = some.group_by(person).agg(pl.col(names).n_unique())
    constant = [name for name in names if (values[name] == 1).all()]
    if not constant or len(constant) == len(names) or values.height == some.height:
        return None
    return PersonsDraft(person=None, quasi=tuple(each for each in draft.quasi if each.column in constant))


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
    if is_named(column.name, "area"):
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
    elif column.n_distinct > _FLAT and column.lengths[1] <= _LONGEST_CODE and not column.has_blanks:
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
    if has_stem(column.name, "life") and len(years) > 10:
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


REGIONS_PER_TRIP = 3
"""Regions that half of the trips cross at least, where regions are proposed."""
MOST_POINTS = 500_000
"""Points on which regions are measured, of some persons where there are more."""
_MOST_OUTSIDE = 0.3
"""Share of points in no region up to which density regions are proposed."""
_REGIONS: tuple[DensitySettings | GridSettings, ...] = (
    *(
        DensitySettings(kind="density", cell=cell, threshold=threshold)
        for threshold in (0.02, 0.01)
        for cell in (250, 500, 1000, 2000)
    ),
    *(GridSettings(kind="grid", cell=cell) for cell in (5000, 2000, 1000, 500, 250, 100)),
)
"""What is tried, the best first."""


@dataclass(frozen=True, slots=True)
class RegionProposal:
    """Coordinates, the regions that they could become, and what that costs."""

    lat: str
    lon: str
    regions: DensitySettings | GridSettings
    why: str
    """Regions per trip and points that are lost, in one line."""


def find_trip(columns: Sequence[Column], person: str) -> Column | None:
    """Return the column that numbers the trips of persons; None where there is none."""
    named = [column for column in columns if is_named(column.name, "trip") and column.name != person]
    return next((column for column in named if column.rows_each >= 2 and not column.n_missing), None)


def propose_regions(
    frame: pl.DataFrame, person: str, when: EventOrder, trip: str | None, coordinates: tuple[str, str]
) -> RegionProposal:
    """Return density regions if trips cross enough of them and few points are lost; otherwise a grid.

    What points lose when they become regions is measured on the table.
    """
    lat, lon = coordinates
    used = dict.fromkeys((person, *when.columns, *((trip,) if trip else ()), lat, lon))
    points = frame.select(column for column in used if column in frame.columns)
    if points.height > MOST_POINTS and person in points.columns:
        points = points.filter(pl.col(person).hash() % (points.height // MOST_POINTS + 1) == 0)
    best: RegionProposal | None = None
    for regions in _REGIONS:
        schema = Schema(
            person=person,
            order=None if when.is_time else when.columns[0],
            time=None if not when.is_time else when.columns if len(when.columns) > 1 else when.columns[0],
            time_format=when.time_format,
            trip=trip,
            place=Place(lat, lon, regions.value()),
            invalid="drop",
            alike="keep",
        )
        try:
            table = EventTable(points, schema)
        except InputError:
            continue
        crossed = int(np.median(np.diff(table.person_offsets)))
        outside = table.reading.outside / points.height
        why = (
            f"half of the {'trips' if trip else 'persons'} cross {crossed} regions or more (at least "
            f"{REGIONS_PER_TRIP} are wanted); of the points, {outside:.1%} lie in no region and are lost"
        )
        found = RegionProposal(lat, lon, regions, why)
        if crossed >= REGIONS_PER_TRIP and outside <= _MOST_OUTSIDE:
            return found
        best = found
    return best or RegionProposal(lat, lon, _REGIONS[-1], "nothing was measured")
