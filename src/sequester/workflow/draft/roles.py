"""Infer the person, identifiers, sensitive columns and coordinates, and what orders events."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from sequester.data.ordering import group_persons, order_keys
from sequester.data.problems import SHOWN_ROWS
from sequester.data.roles import RESERVED, nearest_name
from sequester.data.schema import ALL, ROW
from sequester.data.times import ENOUGH, read_times
from sequester.errors import InputError
from sequester.hierarchies.labels import counted, quoted
from sequester.workflow.draft.columns import (
    IDENTIFYING,
    WORDS,
    code_form,
    has_stem,
    is_named,
    names_drug,
    names_key,
    names_order,
    names_person,
    names_sensitive,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from sequester._typing import Counts, Mask
    from sequester.data.ordering import Keys
    from sequester.data.times import TimeForm
    from sequester.workflow.draft.columns import Column


@dataclass(frozen=True, slots=True)
class Guess:
    """A column and the reason for its role."""

    column: str
    """Its name."""
    why: str
    """The evidence, in one line."""
    doubt: str | None = None
    """What the steward should look at before trusting it."""


_FEWEST = 10
"""A column that is not named like a key needs so many values, each in two rows or more, to be persons."""
_LEAST = 1.2
"""Mean rows of a value from which on values repeat."""
_MOST_MISSING = 0.5

NOBODY = (
    "no column repeats like persons, so every row is taken for a person. If all rows are of one person, "
    'person = "all" says so'
)


def infer_person(columns: Sequence[Column], *, has_when: bool) -> Guess:
    """Guess the column that says who; ``row`` where every row is a person.

    `has_when` tells whether some column says when: a key that never repeats can only be used with one.
    """
    named = [column for column in columns if _is_named_person(column)]
    if named:
        # A sure name counts for more than values that repeat, and both together for most.
        best = max(named, key=lambda column: 2 * names_person(column.name) + (not column.is_unique))
        others = [quoted(column.name) for column in named if column is not best and not column.is_unique]
        doubt = f"it could also be {' or '.join(others)}" if others and names_person(best.name) < 3 else None
        if best.is_unique and not has_when:
            return Guess(ROW, f"every row is a person: {quoted(best.name)} never repeats", doubt)
        return Guess(best.name, f"named like persons; {_repeats(best)}", doubt)
    together = [column for column in columns if _looks_like_persons(column)]
    if together:
        best = max(together, key=lambda column: column.n_distinct)
        doubt = "nothing in its name says that it is a person"
        return Guess(best.name, f"all rows of a value stand together; {_repeats(best)}", doubt)
    return Guess(ROW, "every row is a person", NOBODY)


def named_person(columns: Sequence[Column], name: str) -> Guess:
    """Take the column that the steward names."""
    if name in (ROW, ALL):
        return Guess(name, f"{'every row is' if name == ROW else 'all rows are of'} one person, as you say")
    for column in columns:
        if column.name == name and column.n_distinct:
            return Guess(name, f"as you say; {_repeats(column)}")
    known = ", ".join(quoted(column.name) for column in columns if column.n_distinct)
    near = nearest_name(name, [column.name for column in columns if column.n_distinct])
    msg = f"person must be 'row', 'all' or a column with values ({known}), got {quoted(name)}{near}"
    raise InputError(msg)


def _is_named_person(column: Column) -> bool:
    sure = names_person(column.name)
    repeats = column.n_distinct >= _FEWEST and column.rows_each >= _LEAST
    return _may_be_key(column) and (sure >= 2 or (sure == 1 and repeats))


def _may_be_key(column: Column) -> bool:
    return column.is_plain and column.n_distinct > 0 and column.missing_share <= _MOST_MISSING


def _looks_like_persons(column: Column) -> bool:
    """Return whether a column without a telling name repeats as persons do in a file sorted by person."""
    return (
        _may_be_key(column)
        and not column.n_missing
        and column.n_distinct >= _FEWEST
        and column.rows_each >= 2
        and column.time_form is None
        and not (column.numbers and not column.numbers.is_whole)
        and not is_named(column.name, "event")
        and column.stands_together
    )


def _repeats(column: Column) -> str:
    each = column.rows_each
    rows = "one row each" if each == 1 else f"{each:,.1f} rows each"
    missing = f", missing in {counted(column.n_missing, 'row', 'rows')}" if column.n_missing else ""
    return f"{counted(column.n_distinct, 'distinct value', 'distinct values')}, {rows}{missing}"


STAFF_ASKED = "as a quasi-identifier they would be released, coarsened"
"""What is asked about columns of staff."""
_MOST = 0.8
"""Share of values that look alike which makes the column one of them."""
_FEW = 20
"""Values below which it says nothing that none of them repeats."""
_MANY_KEYS = 100
_PROSE = 40

_COUNTED = ("driving licences", "licences", "addresses")
_LOOKS = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "social security numbers": r"\d{3}-\d{2}-\d{4}",
    "network addresses": r"(\d{1,3}\.){3}\d{1,3}|([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}",
    "links": r"(https?|ftp)://\S+",
    "card numbers": r"\d{4}([ -]?\d{4}){3}",
    "phone numbers": r"\+\d[\d ()./-]{6,}\d|\(?\d{2,5}\)?([ ./-]\d{2,5}){2,5}",
    "keys": r"[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}|[0-9A-Fa-f]{32,128}",
}
_PATTERNS = {what: re.compile(pattern) for what, pattern in _LOOKS.items()}


def reason_to_drop(column: Column) -> str | None:
    """Explain why a column should not leave; None where nothing speaks against it."""
    if not column.is_plain:
        return f"holds {column.series.dtype}, which is not a single value"
    if not column.n_distinct:
        return "is always empty"
    if column.n_distinct == 1 and not column.n_missing:
        return f"is always {quoted(column.counts['value'][0])}, which says nothing"
    if is_named(column.name, "staff") and column.n_distinct > 2:
        return f"those who do something are people, too; {column.evidence()}; {STAFF_ASKED}"
    what = _identifies(column)
    if what is not None:
        return f"{what}; {column.evidence()}"
    if column.name in RESERVED:
        new = f'rename = {{ {column.name} = "{column.name}_" }}'
        return f"a release has a column {quoted(column.name)} of its own: {new} gives this one another name"
    return None


def _identifies(column: Column) -> str | None:
    named = [what for what, said in IDENTIFYING.items() if not said.isdisjoint(words(column.name))]
    is_count = column.numbers is not None and column.n_distinct <= _MANY_KEYS
    # A number of drivers is no licence.
    if named and not (is_count and named[0] in _COUNTED):
        return f"named like {named[0]}"
    if _names_names(column):
        return "named like names of people"
    looks = _looks_like(column)
    if looks is not None:
        return f"the values look like {looks}"
    is_key = names_key(column.name)
    if is_key and column.n_distinct > _MANY_KEYS:
        return "named like a key"
    if column.n_distinct < _FEW:
        return None
    if column.is_unique and (is_key or _numbers_rows(column)):
        return "no value repeats, as in the key of a row"
    mean, _ = column.lengths
    if column.numbers is not None or column.time_form is not None:
        return None
    if column.n_distinct > 0.9 * column.n_present:
        return "hardly any value repeats, as in keys and names"
    if mean >= _PROSE and column.n_distinct > 0.2 * column.n_present:
        return "prose, in which anything may stand"
    return None


def _names_names(column: Column) -> bool:
    found = {*words(column.name)}
    beside = WORDS["name"] | WORDS["beside_name"] | WORDS["person"]
    return bool(found & WORDS["name"]) and found <= beside and column.numbers is None


def _looks_like(column: Column) -> str | None:
    if column.time_form is not None or (column.numbers is not None and not column.numbers.is_whole):
        return None
    some = column.some.head(200).to_list()
    for what, pattern in _PATTERNS.items():
        if sum(pattern.fullmatch(value) is not None for value in some) >= _MOST * len(some):
            return what
    return None


def _numbers_rows(column: Column) -> bool:
    """Return whether the values are the numbers from one to the number of rows, or nearly."""
    numbers = column.numbers
    return numbers is not None and numbers.is_whole and numbers.high - numbers.low < 1.1 * column.n_present


_MAX_CANDIDATES = 6
"""Candidates that are written out."""
_FALLBACK = 3
NOTHING_SAYS_SO = "nothing in its name says so"
"""Why a column is proposed where no other could be."""
_CATEGORIES = range(3, 1001)
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class SensitiveCandidate:
    """An attribute that somebody might not want to be known."""

    name: str
    """The attribute: the column, or what is common to the names of several."""
    columns: tuple[str, ...]
    """Its columns."""
    why: str
    """What speaks for it, in one line."""
    values: tuple[str, ...]
    """Some of its values: the rarest, which are the likeliest to be sensitive."""


def find_candidates(columns: Sequence[Column], taken: Sequence[str]) -> list[SensitiveCandidate]:
    """List attributes that may be sensitive among `columns`; no name of a new attribute is among `taken`.

    What values are by their form comes before what names suggest. Columns of one family are one attribute.
    """
    found: list[tuple[int, SensitiveCandidate]] = []
    drugs = [column for column in columns if names_drug(column.name) and not column.numbers]
    if len(drugs) > 1:
        name = next(each for each in ("drugs", "drug_columns") if each not in taken)
        found.append((1, _candidate(name, drugs, f"{len(drugs)} columns; named like drugs")))
    rest = [column for column in columns if len(drugs) < 2 or column not in drugs]
    for stem, members in families(rest).items():
        forms = [
            code_form(column.name, column.counts["value"].head(1_000).to_list())
            for column in members
            if not names_key(column.name) and column.time_form is None
        ]
        form = next((each for each in forms if each is not None), None)
        if form is None and not any(names_sensitive(column.name) for column in members):
            continue
        rank, why = (0, f"the values look like {form}") if form else (2, "the name suggests it")
        if len(members) > 1 and stem not in (*taken, *RESERVED):
            found.append((rank, _candidate(stem, members, f"{len(members)} columns; {why}")))
        else:
            found += [(rank, _candidate(column.name, [column], why)) for column in members]
    if found:
        return [candidate for _, candidate in sorted(found, key=lambda each: each[0])][:_MAX_CANDIDATES]
    likely = sorted(columns, key=_is_category, reverse=True)
    likely = [column for column in likely if _is_category(column)[0]][:_FALLBACK] or likely[:1]
    return [_candidate(column.name, [column], NOTHING_SAYS_SO) for column in likely]


def families(columns: Iterable[Column]) -> dict[str, list[Column]]:
    """Return the columns by the name that they have in common: D1 and D2 are of one family."""
    groups: dict[str, list[Column]] = {}
    for column in columns:
        groups.setdefault(_stem(column.name) or column.name, []).append(column)
    return groups


def _is_category(column: Column) -> tuple[int, int]:
    """Rate a column without a telling name: categories that say what happened, the more the better."""
    is_category = (
        column.n_distinct in _CATEGORIES and column.time_form is None and not is_named(column.name, "area")
    )
    rating = is_category * ((column.numbers is None) + 2 * is_named(column.name, "activity"))
    return rating, column.n_distinct if rating else 0


def _stem(name: str) -> str:
    """Take the number off a name: D1 and D2 are one attribute with two values per event.

    Examples
    --------
    >>> _stem("ICD9_DGNS_CD_10"), _stem("Disease")
    ('ICD9_DGNS_CD', 'Disease')
    """
    return re.sub(r"[\W_]*\d+$", "", name)


def _candidate(name: str, members: Sequence[Column], why: str) -> SensitiveCandidate:
    first = members[0]
    values = first.counts["value"].tail(_SHOWN).to_list()
    common = first.counts.row(0)
    share = common[1] / first.n_rows
    evidence = f"{first.evidence()}, most often {quoted(common[0])} ({share:.1%} of rows)"
    return SensitiveCandidate(
        name, tuple(column.name for column in members), f"{why}; {evidence}", tuple(values)
    )


def find_coordinates(columns: Iterable[Column]) -> tuple[str, str] | None:
    """Return the column of latitudes and that of longitudes; None unless there is one of each.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.workflow.draft.columns import Column
    >>> values = {"user": ["a", "b"], "start_lat": [45.1, 45.2], "start_lon": [9.0, 9.1]}
    >>> find_coordinates(Column(name, pl.Series(given)) for name, given in values.items())
    ('start_lat', 'start_lon')
    """
    columns = list(columns)
    found = [
        [column.name for column in columns if is_named(column.name, what) and _is_within(column, most)]
        for what, most in (("latitude", 90.0), ("longitude", 180.0))
    ]
    if [len(each) for each in found] != [1, 1]:
        return None
    return found[0][0], found[1][0]


def _is_within(column: Column, most: float) -> bool:
    numbers = column.numbers
    return numbers is not None and -most <= numbers.low and numbers.high <= most and not numbers.is_whole


_SEVERAL = 1.5
"""Mean events of a person from which on an order can be seen."""


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
        and not has_stem(column.name, "life")
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
    called = 4.0 * is_named(column.name, "time") or 1.0 * has_stem(column.name, "close_to_time")
    start = 3.0 * has_stem(column.name, "start") - 7.0 * has_stem(column.name, "end")
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
        for column in [column for column in others if _is_named_order(column)] or others
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


def _is_named_order(column: Column) -> bool:
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
        is_named=_is_named_order(column),
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
    return not is_named(column.name, "tie"), len(words(column.name))


def _may_break_ties(column: Column) -> bool:
    """Return whether a column numbers rows, rather than says something about them."""
    is_whole = column.numbers is not None and column.numbers.is_whole
    return is_whole and not column.n_missing and (column.is_unique or is_named(column.name, "tie"))
