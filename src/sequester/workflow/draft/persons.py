"""Infer the roles of what is known of persons apart from their events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.roles import refuse_patterns
from sequester.errors import InputError
from sequester.hierarchies.labels import quoted
from sequester.workflow.draft.columns import SAMPLE, Column
from sequester.workflow.draft.draft import sort_out
from sequester.workflow.draft.roles import find_candidates

if TYPE_CHECKING:
    from sequester.workflow.draft.draft import Draft, QuasiDraft
    from sequester.workflow.draft.roles import Guess, SensitiveCandidate


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
