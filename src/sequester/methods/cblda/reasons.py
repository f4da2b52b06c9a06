"""Why histories were made alike: a class needs k persons, or more of them for c."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.hierarchies.labels import counted
from sequester.methods.cblda.changes import KINDS
from sequester.release.outcome import Reason, count_affected

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.methods.cblda.kc_method import KCMethod

SMALL = "class below k persons"
LARGE = "share of a class above c, or persons left over"
BASE_RATE = "share of all persons above c"
EXAMPLES = 3


def reasons_of(method: KCMethod, changes: pl.DataFrame, table: EventTable) -> tuple[Reason, ...]:
    """Count changed values by what happened, and by whether k alone makes classes of that size.

    Two clusters that are merged for k have at most k - 1 persons each. A class of more persons than both can
    have was merged for c, or took in somebody who was left over.
    """
    most = 2 * method.k - 2
    reasons = []
    large = (pl.col("persons") > most).alias("large")
    told = changes.with_columns(pl.col("what").cast(pl.String), large)
    for what in KINDS:
        for is_large in (False, True):
            part = told.filter((pl.col("what") == what) & (pl.col("large") == is_large))
            if part.is_empty():
                continue
            persons, events = count_affected(part)
            constraint = BASE_RATE if what == "dropped" else LARGE if is_large else SMALL
            reasons.append(
                Reason(
                    constraint=constraint,
                    change=what,
                    persons=persons,
                    events=events,
                    text=_text(method, what, part, persons, events, is_large=is_large),
                    examples=_columns(part, table) if what == "generalized" else (),
                )
            )
    return tuple(reasons)


def _text(
    method: KCMethod, what: str, part: pl.DataFrame, persons: int, events: int, *, is_large: bool
) -> str:
    who = counted(persons, "person", "persons")
    if what == "dropped":
        return f"{who} left out: more than the share c = {method.c} of all persons have a protected value."
    done = (
        f"{counted(events, 'event', 'events')} of {who} left out, having no counterpart in the class"
        if what == "suppressed"
        else f"{counted(part.height, 'value', 'values')} of {who} made as coarse as the class differs"
    )
    why = (
        f"in classes of more than 2 k - 2 = {2 * method.k - 2:,}, made so large by c = {method.c} or by "
        "persons who were left over"
        if is_large
        else f"so that at least k = {method.k:,} look alike"
    )
    return f"{done}, {why}."


def _columns(part: pl.DataFrame, table: EventTable) -> tuple[str, ...]:
    counts = part.group_by("column").len().sort("len", "column", descending=[True, False])
    return tuple(
        f"{column}: {count:,} of {table.n_events:,} values" for column, count in counts.head(EXAMPLES).rows()
    )
