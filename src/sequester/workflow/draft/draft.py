"""Infer the role of every column of a table."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.alike import Vocabulary, settle
from sequester.data.roles import RESERVED, refuse_patterns
from sequester.data.schema import ROW
from sequester.errors import InputError
from sequester.hierarchies.labels import counted, quoted
from sequester.workflow.draft.columns import Column
from sequester.workflow.draft.hierarchies import Proposal, propose_hierarchy
from sequester.workflow.draft.infer_time import (
    always_rises,
    describe_rows,
    infer_order,
    infer_tie,
    infer_time,
)
from sequester.workflow.draft.names import names_activity, names_order, names_person
from sequester.workflow.draft.roles import (
    NOBODY,
    Guess,
    SensitiveCandidate,
    find_candidates,
    find_coordinates,
    infer_person,
    named_person,
    reason_to_drop,
)
from sequester.workflow.settings import Dates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl

    from sequester.data.problems import Problem
    from sequester.workflow.draft.infer_time import EventOrder
    from sequester.workflow.settings import HierarchySettings

_ALIKE = 6
"""Columns with the same values that look like one attribute at several times."""
_CATEGORIES = 20
_SYMBOLS = 50
"""Numbers of so few values are symbols."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A quasi-identifier, its hierarchy, and the reasons."""

    column: str
    hierarchy: HierarchySettings
    why: str


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
    drop: tuple[Guess, ...]
    """What never leaves."""
    symbol: Attribute | None
    """What happened, where that is all there is."""
    quasi: tuple[Attribute, ...]
    """What an adversary may know."""
    candidates: tuple[SensitiveCandidate, ...]
    """What may be sensitive: for the steward to say."""
    sensitive: tuple[SensitiveCandidate, ...] = ()
    """What the steward says is sensitive."""
    doubts: tuple[str, ...] = ()
    """What the steward should look at first."""
    released_time: HierarchySettings | None = None
    """How the time could be released, coarsened."""
    coordinates: tuple[str, str] | None = None
    """Columns of latitudes and longitudes, which could become regions."""
    alike: tuple[str, ...] = ()
    """Labels that look alike, in words."""

    def with_sensitive(self, names: Iterable[str]) -> Draft:
        """Take the steward's word for what is sensitive: such a column is no quasi-identifier then."""
        chosen = {candidate.name: candidate for candidate in self.candidates}
        symbol = () if self.symbol is None else (self.symbol,)
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
        quasi = tuple(each for each in (*self.quasi, *symbol) if each.column not in taken)
        drop = tuple(each for each in self.drop if each.column not in taken)
        return replace(self, symbol=None, quasi=quasi, drop=drop, sensitive=tuple(wanted))

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
    >>> frame = pl.DataFrame({"user": ["a", "a", "b"], "n": [1, 2, 1], "page": ["news", "tech", "news"]})
    >>> draft = make_draft(frame)
    >>> draft.person.column, draft.when.columns, draft.symbol.column
    ('user', ('n',), 'page')
    """
    _check_shape(frame)
    columns = [Column(name, frame[name]) for name in frame.columns]
    if person is not None:
        return _draft(columns, named_person(columns, person))
    who = infer_person(columns, has_when=_has_when(columns))
    if who.column != ROW and names_person(who.column) < 3:
        # What is only called id is as often the key of what happened: where nothing else did, it is.
        for guess in (who, Guess(ROW, "every row is a person", NOBODY)):
            with suppress(InputError):
                return _draft(columns, guess, may_be_time=False)
    return _draft(columns, who)


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


def _draft(columns: Sequence[Column], who: Guess, *, may_be_time: bool = True) -> Draft:
    """Return every other column its role; `may_be_time` lets the time be all that is known of an event."""
    by_name = {column.name: column for column in columns}
    owner = None if who.column == ROW else by_name[who.column]
    when = _when(columns, owner)
    tie, n_tied = (None, 0) if owner is None or when is None else infer_tie(columns, owner, when)
    said_when = {*when.columns} if when is not None else set()
    used = {*said_when, *([owner.name] if owner else []), *([tie] if tie else [])}
    # A column that orders events only for want of a better one is something to know of them as well.
    twice = said_when if when is not None and not when.is_time and when.doubts else set()
    drop, attributes = _sort_out([column for column in columns if column.name not in used - twice], owner)
    drop = [guess for guess in drop if guess.column not in used]
    released_time = _released_time(by_name, when)
    if not attributes and may_be_time:
        attributes = _from_when(by_name, when, released_time)
    if not attributes:
        msg = "nothing is left to release: every column is a key, an identifier, a time, or always the same"
        raise InputError(msg)
    symbol = _symbol(attributes, by_name, used)
    known = [by_name[each.column] for each in attributes if each.column not in used]
    alike = tuple(_alike([*([owner] if owner else []), *known], owner))
    return Draft(
        n_rows=columns[0].n_rows,
        person=who,
        when=when,
        tie=None if tie is None else Guess(tie, f"{_tied(n_tied, when)}, and this column tells them apart"),
        invalid=_invalid(owner, when),
        drop=tuple(drop),
        symbol=symbol,
        quasi=() if symbol is not None else tuple(attributes),
        candidates=() if symbol is not None else tuple(find_candidates(known, list(by_name))),
        alike=alike,
        doubts=(
            *_doubts(who, when, tie, n_tied),
            *_spread(known),
            *_sorted_away(owner, by_name[symbol.column] if symbol is not None else None),
            *alike,
        ),
        released_time=None if {each.column for each in attributes} & said_when else released_time,
        coordinates=None if owner is None else find_coordinates(known),
    )


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


def _sort_out(columns: Sequence[Column], owner: Column | None) -> tuple[list[Guess], list[Attribute]]:
    """Part what never leaves from what may, coarsened."""
    drop: list[Guess] = []
    attributes: list[Attribute] = []
    for column in columns:
        reason = _names_somebody(column, owner) or reason_to_drop(column)
        if reason is None:
            proposed = propose_hierarchy(column)
            if isinstance(proposed, Proposal):
                attributes.append(_attribute(column, proposed))
                continue
            reason = _without_hierarchy(column, proposed)
        drop.append(Guess(column.name, reason))
    return drop, attributes


def _attribute(column: Column, proposal: Proposal) -> Attribute:
    return Attribute(column.name, proposal.hierarchy, f"{column.evidence()}; {proposal.why}")


def _names_somebody(column: Column, owner: Column | None) -> str | None:
    sure = names_person(column.name)
    if sure == 3 or (sure == 2 and owner is None and column.is_unique):
        return f"named like persons; {column.evidence()}"
    return None


def _without_hierarchy(column: Column, problem: str) -> str:
    if column.time_form is not None and column.time_form.format is not None:
        return f"times as in {column.time_form}: write them as ISO 8601 to release them, coarsened"
    return f"no hierarchy fits: {problem}"


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
) -> list[Attribute]:
    """Where nothing else is left, the time or the order is what is known of an event."""
    if when is None or len(when.columns) != 1 or when.columns[0] in RESERVED:
        return []
    column = by_name[when.columns[0]]
    if when.is_time:
        found = None if released_time is None else Proposal(released_time, "there is nothing else")
    else:
        proposed = propose_hierarchy(column)
        found = proposed if isinstance(proposed, Proposal) else None
    return [] if found is None else [_attribute(column, found)]


def _symbol(
    attributes: Sequence[Attribute], by_name: Mapping[str, Column], used: set[str]
) -> Attribute | None:
    """Take the only attribute as what happened, if it is a category and not needed as the order too."""
    if len(attributes) != 1 or attributes[0].column in used:
        return None
    (attribute,) = attributes
    column = by_name[attribute.column]
    is_category = column.numbers is None or names_activity(column.name) or column.n_distinct <= _SYMBOLS
    if not is_category or column.time_form is not None:
        return None
    why = f"the only thing that is known of an event; {column.evidence()}"
    return replace(attribute, why=why)


def _invalid(owner: Column | None, when: EventOrder | None) -> tuple[str, ...]:
    nobody: tuple[str, ...] = ()
    if owner is not None and owner.n_missing:
        nobody = describe_rows(owner.text.is_null().to_numpy(), "row has no person", "rows have no person")
    return (*nobody, *(when.invalid if when is not None else ()))


def _tied(n_tied: int, when: EventOrder | None) -> str:
    what = "time" if when is not None and when.is_time else "place"
    return f"{counted(n_tied, 'row has', 'rows have')} the {what} of another row of the person"


def _doubts(who: Guess, when: EventOrder | None, tie: str | None, n_tied: int) -> list[str]:
    doubts = [f"person: {who.doubt}"] if who.doubt else []
    if when is not None:
        doubts += [f"{'time' if when.is_time else 'order'}: {doubt}" for doubt in when.doubts]
        if n_tied and tie is None and not (when.doubts and not when.is_time):
            doubts.append(
                f"{'time' if when.is_time else 'order'}: {_tied(n_tied, when)}; they stay in file order"
            )
    return doubts


def _alike(columns: Sequence[Column], owner: Column | None) -> Iterator[str]:
    """Name the labels of released columns, and the persons, that look alike."""
    for column in columns:
        if column.time_form is not None or column.series.dtype.is_integer():
            continue
        vocabulary = Vocabulary(
            name=f"column {quoted(column.name)}",
            texts={column.name: column.text},
            occurring=column.counts["value"],
            noun="person" if column is owner else "label",
        )
        problems: list[Problem] = []
        settle(vocabulary, None, np.arange(1, column.n_rows + 1), problems)
        yield from map(str, problems)


def _sorted_away(owner: Column | None, symbol: Column | None) -> Iterator[str]:
    if owner is not None and symbol is not None and always_rises(symbol, owner):
        yield "symbol: everybody's symbols rise and never repeat: the file has probably lost their own order"


def _spread(known: Sequence[Column]) -> Iterator[str]:
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
