"""Infer the columns that order the events of a person, and that break ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from sequester.data.ordering import group_persons, order_keys
from sequester.data.problems import SHOWN_ROWS
from sequester.data.times import ENOUGH, read_times
from sequester.hierarchies.labels import counted, quoted
from sequester.workflow.draft.columns import (
    END,
    LIFE,
    START,
    TIE,
    names_one_of,
    names_order,
    word_set,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sequester._typing import Counts, Mask
    from sequester.data.ordering import Keys
    from sequester.data.times import TimeForm
    from sequester.workflow.draft.columns import Column


_MOST_MISSING = 0.5
_SEVERAL = 1.5
"""Mean events of a person from which on an order can be seen."""
_CALLED_TIME = word_set("timestamp datetime time when at date")
_CLOSE_TO_TIME = ("time", "date", "dt", "day")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOrder:
    """What orders the events of a person."""

    columns: tuple[str, ...]
    """One column, or a date and a clock; none where every row is a person and nothing says when."""
    is_time: bool
    """They are times; otherwise an order."""
    time_format: str | None = None
    """How the times are written, where not ISO 8601."""
    levels: tuple[str, ...] = ()
    """Units that the times could be released in, finest first."""
    why: str = ""
    """The evidence, in one line."""
    doubts: tuple[str, ...] = ()
    """What the steward should look at."""
    invalid: tuple[str, ...] = ()
    """Rows that have no readable time, in words."""
    known: Mask
    """Rows of which it is known when they were."""
    keys: Keys
    """One number per row that says when it was; where it is not known, any."""


def infer_time(columns: Sequence[Column], person: Column | None) -> EventOrder | None:
    """Guess the column of times, or the date and the clock; None where there is none."""
    found = [
        column
        for column in columns
        if column is not person
        and column.time_form is not None
        and column.missing_share <= _MOST_MISSING
        and not names_one_of(column.name, LIFE)
    ]
    if not found:
        return None
    best = max(found, key=_looks_like_time)
    clock = next((column for column in columns if column.clock and column is not person), None)
    return _time_of(best, clock, cast("TimeForm", best.time_form))


def _time_of(date: Column, clock: Column | None, form: TimeForm) -> EventOrder:
    """Read a column of times, with the clock beside it where it has dates alone and both fit together."""
    used: tuple[Column, ...] = (date,)
    time_format = form.format
    times = read_times([date.series], time_format)
    if clock is not None and not form.has_clock:
        both = None if time_format is None else f"{time_format} {clock.clock}"
        together = read_times([date.text, clock.text], both)
        if together.values.null_count() <= times.values.null_count() + (1 - ENOUGH) * len(times.values):
            used, time_format, times = (date, clock), both, together
    first, last = times.values.dt.to_string("%Y-%m-%d").drop_nulls().sort().gather([0, -1])
    n_unreadable = int(times.unreadable.sum())
    share = "all values" if not n_unreadable else f"all but {n_unreadable:,} values"
    doubts = []
    if form.also is not None:
        doubts.append(f"{form.also} reads every value as well: days and months cannot be told apart here")
    if form.two_digit_years:
        doubts.append("the century is not written: years from 69 on are read as 19.., the others as 20..")
    keys = times.values.to_physical()
    return EventOrder(
        columns=tuple(column.name for column in used),
        is_time=True,
        time_format=time_format,
        levels=_levels(times.values.drop_nulls(), has_clock=form.has_clock),
        why=f"{share} are {form}; {first} to {last}",
        doubts=tuple(doubts),
        invalid=_invalid(times.missing, times.unreadable),
        known=times.values.is_not_null().to_numpy(),
        keys=keys.fill_null(keys.min()).to_numpy(),
    )


def _levels(times: pl.Series, *, has_clock: bool) -> tuple[str, ...]:
    """Choose units that make something of the times equal."""
    units = ["day"] if has_clock else []
    if times.dt.to_string("%Y-%m").n_unique() > 1:
        units.append("month")
    if times.dt.year().n_unique() > 1:
        units += ["quarter", "year"]
    return tuple(units or ["year"])


def _looks_like_time(column: Column) -> float:
    """Rate a column: what begins, and is always there, before what ends, or is only known of some."""
    form = column.time_form
    called = 4.0 * bool({*words(column.name)} & _CALLED_TIME) or 1.0 * names_one_of(
        column.name, _CLOSE_TO_TIME
    )
    start = 3.0 * names_one_of(column.name, START) - 7.0 * names_one_of(column.name, END)
    return (
        called
        + start
        + bool(form and form.has_clock)
        - 12.0 * column.missing_share
        - 3.0 * (column.n_distinct == 1)
    )


def _invalid(missing: Mask, unreadable: Mask) -> tuple[str, ...]:
    return (
        *describe_rows(missing, "row has no time", "rows have no time"),
        *describe_rows(unreadable, "row has an unreadable time", "rows have an unreadable time"),
    )


def describe_rows(where: Mask, one: str, many: str) -> tuple[str, ...]:
    """Count the rows that are marked, and name the first of them.

    Examples
    --------
    >>> describe_rows(np.array([True, False, True]), "row is odd", "rows are odd")
    ('2 rows are odd (1, 3)',)
    """
    if not where.any():
        return ()
    rows = np.flatnonzero(where)
    more = ", ..." if len(rows) > SHOWN_ROWS else ""
    return (f"{counted(len(rows), one, many)} ({', '.join(map(str, rows[:SHOWN_ROWS] + 1))}{more})",)


def infer_order(columns: Sequence[Column], person: Column) -> EventOrder | None:
    """Guess the column that orders the events of each person; None where no other column has values.

    Where nothing is named like an order, it is the column that changes the order of the file least.
    """
    others = [column for column in columns if column is not person and column.n_distinct]
    order = _by_person(person)
    owner = _numbered(person)[order]
    rated = {
        column.name: _rate(column, owner, order)
        for column in [column for column in others if _is_named(column)] or others
    }
    if not rated:
        return None
    best = max(rated, key=lambda name: rated[name].rating)
    rate = rated[best]
    named = "named like an order; " if rate.is_named else ""
    doubts = []
    if not rate.is_named:
        doubts.append(
            f"no column says which event comes first; {quoted(best)} changes the file's order least"
        )
    return EventOrder(
        columns=(best,),
        is_time=False,
        why=f"{named}the file has {1 - rate.descents:.0%} of a person's rows in this order",
        doubts=tuple(doubts),
        invalid=describe_rows(rate.missing, "row has no order", "rows have no order"),
        known=~rate.missing,
        keys=rate.keys,
    )


@dataclass(frozen=True, slots=True)
class _Rate:
    """How well a column orders the events of persons."""

    descents: float
    """Share of neighbours, of one person, that come in the other order in the file."""
    ties: float
    """Share of neighbours, of one person, that have the same place."""
    is_named: bool
    """The name says that it is an order, and the values are whole numbers."""
    hint: float
    """What else speaks for it."""
    missing: Mask
    keys: Keys

    @property
    def rating(self) -> float:
        """Rate the order of the file above ties, and those above hints."""
        return -5 * self.descents - 0.5 * self.ties + self.hint


def _is_named(column: Column) -> bool:
    """Return whether a column is named as an order and has whole numbers without gaps."""
    return (
        names_order(column.name) == 2
        and not column.n_missing
        and column.numbers is not None
        and column.numbers.is_whole
    )


def _rate(column: Column, owner: npt.NDArray[np.uint32], order: Counts) -> _Rate:
    missing = column.text.is_null().to_numpy()
    values = column.series if column.series.dtype != pl.String else column.text
    keys = order_keys(values.fill_null(values.drop_nulls()[0]) if missing.any() else values)
    place = keys[order]
    within = owner[1:] == owner[:-1]
    n_within = max(int(within.sum()), 1)
    is_whole = column.numbers is not None and column.numbers.is_whole
    return _Rate(
        descents=int((within & (place[1:] < place[:-1])).sum()) / n_within,
        ties=int((within & (place[1:] == place[:-1])).sum()) / n_within,
        is_named=_is_named(column),
        hint=0.3 * (names_order(column.name) > 0) + 0.2 * is_whole - 5 * column.missing_share,
        missing=missing,
        keys=keys,
    )


def _numbered(person: Column) -> npt.NDArray[np.uint32]:
    return person.text.rank("dense").fill_null(0).to_numpy().astype(np.uint32)


def _by_person(person: Column) -> Counts:
    grouping = group_persons(person.text.fill_null(""))
    return np.arange(person.n_rows, dtype=np.int64) if grouping.order is None else grouping.order


def always_rises(column: Column, person: Column) -> bool:
    """Return whether the values of nobody ever fall or repeat, as if a file had sorted them away."""
    if column.numbers is None or column.n_missing or column.rows_each < 2 or person.rows_each < _SEVERAL:
        return False
    order = _by_person(person)
    rate = _rate(column, _numbered(person)[order], order)
    return rate.descents == rate.ties == 0


def infer_tie(columns: Sequence[Column], person: Column, when: EventOrder) -> tuple[str | None, int]:
    """Guess the column that decides where a person has several events at a time, and count those events."""
    frame = pl.DataFrame({"person": person.text, "when": when.keys})
    tied = frame.is_duplicated()
    n_tied = int(tied.sum())
    if not n_tied:
        return None, 0
    for column in sorted(columns, key=_decides):
        if column is person or column.name in when.columns or not _may_break_ties(column):
            continue
        both = frame.filter(tied).with_columns(tie=column.text.filter(tied))
        if both.is_duplicated().sum() <= 0.01 * n_tied:
            return column.name, n_tied
    return None, n_tied


def _decides(column: Column) -> tuple[bool, int]:
    """Rate a column that may decide, best first: one that is called an order, and nothing else."""
    found = words(column.name)
    return not {*found} & TIE, len(found)


def _may_break_ties(column: Column) -> bool:
    """Return whether a column numbers rows, rather than says something about them."""
    is_whole = column.numbers is not None and column.numbers.is_whole
    return is_whole and not column.n_missing and (column.is_unique or bool({*words(column.name)} & TIE))
