"""Infer the role of every column of a table, and what a steward should look at first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.alike import Vocabulary, settle
from sequester.data.roles import RESERVED, refuse_patterns, without_markers
from sequester.data.schema import ALL, ROW
from sequester.errors import InputError
from sequester.hierarchies.labels import counted, quoted
from sequester.workflow.draft.attributes import (
    Proposal,
    QuasiDraft,
    attribute_of,
    find_trip,
    propose_hierarchy,
    propose_regions,
    sort_out,
)
from sequester.workflow.draft.columns import (
    WORDS,
    Column,
    is_named,
    names_code,
    names_key,
    names_order,
    names_person,
    rate_knowledge,
)
from sequester.workflow.draft.roles import (
    NOBODY,
    NOTHING_SAYS_SO,
    STAFF_ASKED,
    Guess,
    SensitiveCandidate,
    always_rises,
    describe_rows,
    families,
    find_candidates,
    find_coordinates,
    infer_order,
    infer_person,
    infer_tie,
    infer_time,
    named_person,
)
from sequester.workflow.settings import Dates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sequester.data.problems import Problem
    from sequester.workflow.draft.attributes import PersonsDraft, RegionProposal
    from sequester.workflow.draft.roles import EventOrder
    from sequester.workflow.settings import HierarchySettings


MOST_QUASI = 12
"""Quasi-identifiers of a draft, at most: every further one costs all the others."""
_NOT_CHOSEN = f"not among the {MOST_QUASI} that an outsider is likeliest to know"
_ACTIVITY_OF_LOGS, _CASE_OF_LOGS = "concept:name", ("case:concept:name", "concept:name")
"""What happened and to whom, as XES calls it."""
ONE_LOG = 'taken for the log of one person; person = "row" if every row is somebody else'
_SYMBOLS = 50
"""Numbers of so few values are symbols."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Every column with one role, and a reason for each."""

    n_rows: int
    """Rows of the data."""
    person: Guess
    """Who; the column is ``row`` where every row is a person."""
    when: EventOrder | None
    """When; None where every row is a person and nothing says when."""
    tie: Guess | None
    """What decides where the time is the same."""
    invalid: tuple[str, ...]
    """Rows without a person or a readable time, in words."""
    trip: Guess | None = None
    """What separates the trips of a person, where events are symbols or regions."""
    drop: tuple[Guess, ...]
    """What never leaves."""
    symbol: QuasiDraft | None
    """What happened, where that is all there is."""
    quasi: tuple[QuasiDraft, ...]
    """What an adversary may know."""
    candidates: tuple[SensitiveCandidate, ...]
    """What may be sensitive: for the steward to say."""
    sensitive: tuple[SensitiveCandidate, ...] = ()
    """What the steward says is sensitive."""
    doubts: tuple[str, ...] = ()
    """What the steward should look at first."""
    released_time: HierarchySettings | None = None
    """How the time could be released, coarsened."""
    place: RegionProposal | None = None
    """Coordinates that become regions."""
    beside: tuple[QuasiDraft, ...] = ()
    """What is dropped only because events are symbols or regions."""
    missing: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    """Cells that stand for a missing value: everywhere, or by column."""
    alike: tuple[str, ...] = ()
    """Labels that look alike, in words."""
    has_codes_alike: bool = False
    """Only codes look alike, that differ by zeros: they mean different things."""
    persons: PersonsDraft | None = None
    """What is known of persons apart from their events."""

    def with_sensitive(self, names: Iterable[str]) -> Draft:
        """Take the steward's word for what is sensitive: such a column is no quasi-identifier then."""
        chosen = {candidate.name: candidate for candidate in self.candidates}
        symbol = (*(() if self.symbol is None else (self.symbol,)), *self.beside)
        released = [each.column for each in (*self.quasi, *symbol) if each.column not in self.when_columns]
        dropped = [each.column for each in self.drop if each.column not in RESERVED]
        wanted: list[SensitiveCandidate] = []
        taken: set[str] = set()
        for name in dict.fromkeys(names):
            if name not in chosen and name not in (*released, *dropped):
                known = ", ".join(map(quoted, dict.fromkeys([*chosen, *released, *dropped])))
                msg = f"sensitive must be one of {known}, got {quoted(name)}"
                raise InputError(msg)
            candidate = chosen.get(name) or SensitiveCandidate(name, (name,), "as you say", ())
            if taken & {*candidate.columns}:
                msg = f"sensitive {quoted(name)} has a column that is already part of another"
                raise InputError(msg)
            taken.update(candidate.columns)
            wanted.append(candidate)
        if not wanted:
            return self
        # Where something is sensitive, the symbol is what an adversary may know of it.
        quasi = tuple(each for each in (*self.quasi, *symbol) if each.column not in taken)[:MOST_QUASI]
        taken.update(each.column for each in quasi)
        drop = [each for each in self.drop if each.column not in taken]
        if self.trip is not None:
            drop.append(
                Guess(self.trip.column, f"{self.trip.why}; methods for sensitive values take no trips")
            )
        return replace(
            self, symbol=None, trip=None, beside=(), quasi=quasi, drop=tuple(drop), sensitive=tuple(wanted)
        )

    @property
    def keys(self) -> frozenset[str]:
        """Columns that say who and when."""
        return frozenset((self.person.column, *self.when_columns))

    @property
    def when_columns(self) -> tuple[str, ...]:
        """What says when."""
        return () if self.when is None else self.when.columns


def make_draft(frame: pl.DataFrame, *, person: str | None = None) -> Draft:
    """Return every column of `frame` the role it seems to have; `person` is the steward's word for who.

    Raises
    ------
    InputError
        Where nothing is left to release, or the table has fewer than two columns or no rows.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"user": ["a", "a", "b"], "n": [1, 2, 1], "page": ["news", "?", "news"]})
    >>> draft = make_draft(frame)
    >>> draft.person.column, draft.when.columns, draft.symbol.column, draft.missing
    ('user', ('n',), 'page', ('?',))
    """
    _check_shape(frame)
    gaps = find_gaps(frame)
    frame, given = without_markers(frame, gaps, []), frame
    columns = [Column(name, frame[name]) for name in frame.columns]
    draft = _with_trips(frame, columns, _who(columns, person))
    asked = tuple(ask_about_sentinels(column for column in columns if column.name not in draft.keys))
    return replace(draft, missing=as_setting(gaps, given), doubts=(*draft.doubts, *asked))


def _who(columns: Sequence[Column], person: str | None) -> tuple[Guess, ...]:
    """Return who may be the persons, the likeliest first: another is taken where nothing else is left."""
    if person is not None:
        return (named_person(columns, person),)
    who = infer_person(columns, has_when=_has_when(columns))
    if who.column != ROW and names_person(who.column) == 3:
        return (who,)
    nobody = who if who.column == ROW else Guess(ROW, "every row is a person", NOBODY)
    others = [
        column
        for column in columns
        if column.time_form is None and column.clock is None and column.n_distinct > 1
    ]
    # What is only called id is as often the key of what happened: where nothing else did, it is.
    if len(others) == 1 and _is_log(others[0], columns):
        nobody = Guess(ALL, f"one thing at a time, {quoted(others[0].name)}, and no column says who", ONE_LOG)
    return (who, nobody) if who.column != ROW else (nobody,)


def _is_log(column: Column, columns: Sequence[Column]) -> bool:
    """Return whether a column beside times is what one person did: a category that repeats."""
    has_time = any(each.time_form is not None and each.n_distinct > 1 for each in columns)
    return has_time and column.rows_each >= 2 and (column.numbers is None or column.n_distinct <= _SYMBOLS)


def _with_trips(frame: pl.DataFrame, columns: Sequence[Column], guesses: Sequence[Guess]) -> Draft:
    """Draft for the first guess that leaves something, with trips where events are symbols or regions."""
    for place, who in enumerate(guesses):
        may_be_time = place == len(guesses) - 1
        try:
            trip = None if who.column in (ROW, ALL) else find_trip(columns, who.column)
            if trip is not None:
                draft = _draft(frame, columns, who, trip=trip, may_be_time=may_be_time)
                if draft.place is not None or draft.symbol is not None:
                    return draft
            return _draft(frame, columns, who, may_be_time=may_be_time)
        except InputError:
            if may_be_time:
                raise
    raise AssertionError


def _check_shape(frame: pl.DataFrame) -> None:
    refuse_patterns(frame.columns)
    if not frame.height:
        msg = "there are no rows"
        raise InputError(msg)
    if "" in frame.columns:
        msg = f"column {frame.columns.index('') + 1} has no name"
        raise InputError(msg)
    if frame.width < 2:
        msg = (
            f"there is one column, {quoted(frame.columns[0])}, and events need two: who, and what happened "
            "(perhaps another delimiter separates the cells?)"
        )
        raise InputError(msg)


def _has_when(columns: Sequence[Column]) -> bool:
    """Return whether something says when: a time, or whole numbers that are called an order."""
    return infer_time(columns, None) is not None or any(
        names_order(column.name) == 2 and column.numbers is not None and column.numbers.is_whole
        for column in columns
    )


def _draft(
    frame: pl.DataFrame,
    columns: Sequence[Column],
    who: Guess,
    *,
    trip: Column | None = None,
    may_be_time: bool = True,
) -> Draft:
    """Return every other column its role; `may_be_time` lets the time be all that is known of an event."""
    by_name = {column.name: column for column in columns}
    owner = None if who.column in (ROW, ALL) else by_name[who.column]
    others = [column for column in columns if column is not trip]
    when = _when(others, _of_trips(owner, trip))
    tie, n_tied = (None, 0) if owner is None or when is None else infer_tie(others, owner, when)
    said_when = {*when.columns} if when is not None else set()
    used = {*said_when, *([owner.name] if owner else []), *([tie] if tie else [])}
    used |= {trip.name} if trip else set()
    # A column that orders events only for want of a better one is something to know of them as well.
    twice = said_when if when is not None and not when.is_time and when.doubts else set()
    left = [column for column in columns if column.name not in used - twice]
    coordinates = None if who.column == ROW or when is None else find_coordinates(left)
    place = None
    if coordinates is not None and when is not None:
        place = propose_regions(frame, who.column, when, None if trip is None else trip.name, coordinates)
        left = [column for column in left if column.name not in (*coordinates, *said_when)]
    drop, attributes = sort_out(left, owner)
    drop = [guess for guess in drop if guess.column not in used]
    released_time = _released_time(by_name, when)
    if not attributes and may_be_time and place is None:
        attributes = _from_when(by_name, when, released_time)
    if not attributes and place is None:
        msg = "nothing is left to release: every column is a key, an identifier, a time, or always the same"
        raise InputError(msg)
    symbol = None if place is not None else _symbol(attributes, by_name, used, who)
    known = [by_name[each.column] for each in attributes if each.column not in used]
    candidates = () if symbol is not None else tuple(find_candidates(known, list(by_name)))
    if place is not None:
        candidates = tuple(each for each in candidates if NOTHING_SAYS_SO not in each.why)
    chosen, cut = _likeliest(attributes, by_name, candidates)
    drop += [Guess(each.column, f"{_NOT_CHOSEN}; {each.why}") for each in cut]
    if symbol is not None or place is not None:
        reason = f"methods for {'regions' if symbol is None else 'the symbol'} release nothing beside"
        chosen = [each for each in chosen if symbol is None or each.column != symbol.column]
        drop += [Guess(each.column, f"{reason}; {each.why}") for each in chosen]
    alike = dict(find_twins([*([owner] if owner else []), *known], owner))
    return Draft(
        n_rows=columns[0].n_rows,
        person=who,
        when=when,
        tie=None if tie is None else Guess(tie, f"{tied_rows(n_tied, when)}, and it tells them apart"),
        trip=None if trip is None else Guess(trip.name, f"named like trips; {trip.evidence()}"),
        invalid=_invalid(owner, when),
        drop=tuple(drop),
        symbol=symbol,
        quasi=() if symbol is not None or place is not None else tuple(chosen),
        beside=tuple(chosen) if symbol is not None or place is not None else (),
        candidates=candidates,
        alike=tuple(alike),
        has_codes_alike=all(alike.values()),
        doubts=(
            *order_doubts(who, when, tie, n_tied),
            *find_spread(known),
            *find_sorted_away(owner, by_name[symbol.column] if symbol is not None else None),
            *(
                f"drop: {quoted(each.column)} names people, too; {STAFF_ASKED}"
                for each in drop
                if STAFF_ASKED in each.why
            ),
            *alike,
        ),
        released_time=None if {each.column for each in attributes} & said_when else released_time,
        place=place,
    )


def _of_trips(owner: Column | None, trip: Column | None) -> Column | None:
    """Return the person of each row, or the trip where there are trips: what orders events is seen within."""
    if owner is None or trip is None:
        return owner
    return Column(owner.name, owner.text + "\0" + trip.text)


def _likeliest(
    attributes: Sequence[QuasiDraft],
    by_name: Mapping[str, Column],
    candidates: Iterable[SensitiveCandidate],
) -> tuple[list[QuasiDraft], list[QuasiDraft]]:
    """Part the quasi-identifiers that an outsider is likeliest to know from the others."""
    secret = {name for each in candidates for name in each.columns if "look like" in each.why}

    def rating(attribute: QuasiDraft) -> float:
        column = by_name[attribute.column]
        is_measure = column.numbers is not None and column.n_distinct > _SYMBOLS
        known = (
            2 * rate_knowledge(column.name)
            + (column.time_form is not None)
            + is_named(column.name, "activity")
        )
        return known - column.missing_share - 0.5 * is_measure - 3 * (column.name in secret)

    best = {each.column for each in sorted(attributes, key=rating, reverse=True)[:MOST_QUASI]}
    return [each for each in attributes if each.column in best], [
        each for each in attributes if each.column not in best
    ]


def _when(columns: Sequence[Column], owner: Column | None) -> EventOrder | None:
    when = infer_time(columns, owner)
    if owner is None:
        return when
    when = when or infer_order(columns, owner)
    if when is None:
        msg = f"only {quoted(owner.name)} has values, and events need more: who, and what happened"
        raise InputError(msg)
    if not (when.known & owner.text.is_not_null().to_numpy()).any():
        named = " and ".join(map(quoted, when.columns))
        msg = f"no row has both a person ({quoted(owner.name)}) and a time or order ({named})"
        raise InputError(msg)
    return when


def _released_time(by_name: Mapping[str, Column], when: EventOrder | None) -> HierarchySettings | None:
    """Describe how the time could be released: where it is in one column."""
    if when is None or not when.is_time or len(when.columns) != 1 or when.columns[0] in RESERVED:
        return None
    if when.time_format is not None:  # what a format reads is written as ISO 8601
        return Dates(kind="dates", levels=list(when.levels))
    proposed = propose_hierarchy(by_name[when.columns[0]])
    return proposed.hierarchy if isinstance(proposed, Proposal) else None


def _from_when(
    by_name: Mapping[str, Column], when: EventOrder | None, released_time: HierarchySettings | None
) -> list[QuasiDraft]:
    """Return the time or the order as what is known of an event, for where nothing else is left."""
    if when is None or len(when.columns) != 1 or when.columns[0] in RESERVED:
        return []
    column = by_name[when.columns[0]]
    if when.is_time:
        found = None if released_time is None else Proposal(released_time, "there is nothing else")
    else:
        proposed = propose_hierarchy(column)
        found = proposed if isinstance(proposed, Proposal) else None
    return [] if found is None else [attribute_of(column, found)]


def _symbol(
    attributes: Sequence[QuasiDraft], by_name: Mapping[str, Column], used: set[str], who: Guess
) -> QuasiDraft | None:
    """Take what happened as the symbol: the activity of an event log, or the only category there is."""
    named = [each for each in attributes if each.column == _ACTIVITY_OF_LOGS and who.column in _CASE_OF_LOGS]
    if not named and who.column == ALL:
        named = [each for each in attributes if by_name[each.column].time_form is None]
    candidates = named or attributes
    if len(candidates) != 1 or candidates[0].column in used:
        return None
    (attribute,) = candidates
    column = by_name[attribute.column]
    is_category = column.numbers is None or is_named(column.name, "activity") or column.n_distinct <= _SYMBOLS
    if not is_category or column.time_form is not None:
        return None
    is_log = who.column in _CASE_OF_LOGS
    why = "the activity of an event log" if is_log else "the only thing that is known of an event"
    return replace(attribute, why=f"{why}; {column.evidence()}")


def _invalid(owner: Column | None, when: EventOrder | None) -> tuple[str, ...]:
    nobody: tuple[str, ...] = ()
    if owner is not None and owner.n_missing:
        nobody = describe_rows(owner.text.is_null().to_numpy(), "row has no person", "rows have no person")
    return (*nobody, *(when.invalid if when is not None else ()))


_ALIKE = 6
"""Columns with the same values that look like one attribute at several times."""
_CATEGORIES = 20


def tied_rows(n_tied: int, when: EventOrder | None) -> str:
    """Count the rows of a person that have the time or place of another one, in words."""
    what = "time" if when is not None and when.is_time else "place"
    return f"{counted(n_tied, 'row has', 'rows have')} the {what} of another row of the person"


def order_doubts(who: Guess, when: EventOrder | None, tie: str | None, n_tied: int) -> list[str]:
    """List what is doubtful about who and when."""
    doubts = [f"person: {who.doubt}"] if who.doubt else []
    if when is not None:
        doubts += [f"{'time' if when.is_time else 'order'}: {doubt}" for doubt in when.doubts]
        if n_tied and tie is None and not (when.doubts and not when.is_time):
            doubts.append(
                f"{'time' if when.is_time else 'order'}: {tied_rows(n_tied, when)}; they stay in file order"
            )
    return doubts


def find_twins(columns: Sequence[Column], owner: Column | None) -> Iterator[tuple[str, bool]]:
    """Name the labels of released columns, and the persons, that look alike; a family in one line.

    With each line comes whether the labels are codes, and differ by zeros.
    """
    compared = [
        column for column in columns if column.time_form is None and not column.series.dtype.is_integer()
    ]
    for members in families(compared).values():
        first, *others = members
        name = f"column {quoted(first.name)}" + (f" and {len(others)} more of its name" if others else "")
        vocabulary = Vocabulary(
            name=name,
            texts={column.name: column.text for column in members},
            occurring=pl.concat([column.counts["value"] for column in members]).unique(maintain_order=True),
            noun="person" if first is owner else "label",
        )
        problems: list[Problem] = []
        found = settle(vocabulary, None, np.arange(1, first.n_rows + 1), problems)
        are_codes = names_code(first.name) and all(each.are_numbers for each in found)
        for problem in problems:
            yield str(problem), are_codes


def find_sorted_away(owner: Column | None, symbol: Column | None) -> Iterator[str]:
    """Find symbols that rise for everybody, as if a file had been sorted by them."""
    if owner is not None and symbol is not None and always_rises(symbol, owner):
        yield "symbol: everybody's symbols rise and never repeat: the file has probably lost their own order"


def find_spread(known: Sequence[Column]) -> Iterator[str]:
    """Find columns that look like one attribute at several times, which is no table of events."""
    alike: list[tuple[set[str], list[str]]] = []
    for column in known:
        if 2 < column.n_distinct <= _CATEGORIES:
            values = set(column.counted_values)
            for others, names in alike:
                if len(values & others) >= 0.75 * len(values | others):
                    others.update(values)
                    names.append(column.name)
                    break
            else:
                alike.append((values, [column.name]))
    for _, names in alike:
        if len(names) >= _ALIKE:
            yield (
                f"columns: {len(names)} of them, {quoted(names[0])} to {quoted(names[-1])}, have the same "
                "values. If they are one thing at several times, write one row per time instead"
            )


_MARKERS = WORDS["missing_sign"] | WORDS["missing_word"] | {"not available", "not known"}
_FAR = 3.0
"""How many times larger than all others a number is that may stand for a missing value."""


def find_gaps(frame: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    """Return the markers of missing values that occur in each column of texts, as they are written.

    Keys may be called NA; ``-`` beside ``+`` is a result; NA among codes of a few letters is one of them.

    Examples
    --------
    >>> frame = pl.DataFrame({"weight": ["?", "70"], "test": ["+", "-"], "case_id": ["MA", "NA"]})
    >>> find_gaps(frame)
    {'weight': ('?',)}
    """
    found = {}
    for column, dtype in frame.schema.items():
        if dtype != pl.String:
            continue
        values = frame[column].str.strip_chars().unique().drop_nulls()
        folded = values.str.to_lowercase()
        is_key = names_person(column) > 1 or names_key(column)
        known = WORDS["missing_sign"] if is_key else _MARKERS
        known = known - {"-"} if "+" in values else known
        others = values.filter(~folded.is_in(known))
        if len(others) and others.str.contains(r"^[A-Z]{1,3}$").all():
            known = known - {"na"}
        markers = values.filter(folded.is_in(known)).sort().to_list()
        if markers and len(others):
            found[column] = tuple(markers)
    return found


def as_setting(
    gaps: Mapping[str, tuple[str, ...]], frame: pl.DataFrame
) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    """Return one list for all columns, or a list by column where another column has a marker as a value."""
    markers = tuple(dict.fromkeys(marker for each in gaps.values() for marker in each))
    for column, dtype in frame.schema.items():
        others = [marker for marker in markers if marker not in gaps.get(column, ())]
        if others and dtype == pl.String and frame[column].str.strip_chars().is_in(others).any():
            return dict(gaps)
    return markers


def ask_about_sentinels(columns: Iterable[Column]) -> Iterator[str]:
    """Ask about numbers far from all others that are often written for a missing value."""
    for column in columns:
        if column.numbers is None or column.n_distinct < 3:
            continue
        values = sorted(column.counted_values, key=float)
        for value, others, known in ((values[-1], values[:-1], "large"), (values[0], values[1:], "small")):
            low, high = float(others[0]), float(others[-1])
            is_far = float(value) > _FAR * max(abs(high), 1) if known == "large" else low >= 0
            if value in WORDS[known] and is_far:
                rows = counted(column.counted_values[value], "row", "rows")
                others_are = f"the others are {others[0]} to {others[-1]}"
                yield (
                    f"missing: does {value} in {quoted(column.name)} ({rows}; {others_are}) stand for a "
                    f'missing value? Then: missing = {{ {column.name} = ["{value}"] }}'
                )
