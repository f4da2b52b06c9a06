"""What might be sensitive: candidates to ask the steward about, never a decision."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.data.roles import RESERVED
from sequester.hierarchies.labels import quoted
from sequester.workflow.draft.words import names_activity, names_sensitive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester.workflow.draft.column import Column

_MOST = 6
"""Candidates that are written out."""
_FALLBACK = 3
_CATEGORIES = range(3, 1001)
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """An attribute that somebody might not want to be known."""

    name: str
    """The attribute: the column, or what is common to the names of several."""
    columns: tuple[str, ...]
    """Its columns."""
    why: str
    """What speaks for it, in one line."""
    values: tuple[str, ...]
    """Some of its values: the rarest, which are the likeliest to be sensitive."""


def find_candidates(columns: Sequence[Column], taken: Sequence[str]) -> list[Candidate]:
    """List attributes that may be sensitive among `columns`; no name of a new attribute is among `taken`."""
    named = [column for column in columns if names_sensitive(column.name)]
    if not named:
        likely = sorted(columns, key=_is_category, reverse=True)
        likely = [column for column in likely if _is_category(column)[0]][:_FALLBACK] or likely[:1]
        return [_candidate(column.name, [column], "nothing in its name says so") for column in likely]
    groups: dict[str, list[Column]] = {}
    for column in named:
        groups.setdefault(_stem(column.name), []).append(column)
    found = []
    for stem, members in groups.items():
        if len(members) > 1 and stem and stem not in (*taken, *RESERVED):
            found.append(_candidate(stem, members, f"{len(members)} columns; the names suggest it"))
        else:
            found += [_candidate(column.name, [column], "the name suggests it") for column in members]
    return found[:_MOST]


def _is_category(column: Column) -> tuple[int, int]:
    """Rate a column without a telling name: categories that say what happened, the more the better."""
    is_category = column.n_distinct in _CATEGORIES and column.time_form is None
    rating = is_category * ((column.numbers is None) + 2 * names_activity(column.name))
    return rating, column.n_distinct if rating else 0


def _stem(name: str) -> str:
    """Take the number off a name: D1 and D2 are one attribute with two values per event.

    Examples
    --------
    >>> _stem("ICD9_DGNS_CD_10"), _stem("Disease")
    ('ICD9_DGNS_CD', 'Disease')
    """
    return re.sub(r"[\W_]*\d+$", "", name)


def _candidate(name: str, members: Sequence[Column], why: str) -> Candidate:
    first = members[0]
    values = first.counts["value"].tail(_SHOWN).to_list()
    common = first.counts.row(0)
    share = common[1] / first.n_rows
    evidence = f"{first.evidence()}, most often {quoted(common[0])} ({share:.1%} of rows)"
    return Candidate(name, tuple(column.name for column in members), f"{why}; {evidence}", tuple(values))
