"""Why records were changed: patterns that too many persons had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.hierarchies.labels import counted
from sequester.methods.ph.publish import KINDS
from sequester.mining.support import supporters
from sequester.release.outcome import Reason, count_affected

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.methods.ph.pattern_method import PatternMethod

CONSTRAINT = "support of a pattern at or above min_support"


def reasons_of(method: PatternMethod, changes: pl.DataFrame, table: EventTable) -> tuple[Reason, ...]:
    """Count, pattern by pattern, the changed records of those who had it; one record may have several."""
    model = method.model().about(table)
    reasons = []
    for pattern in method.sensitive:
        has_it = supporters(pattern, table)
        support, threshold = int(has_it.sum()), int(model.threshold(pattern))
        if support < threshold:
            continue
        who = table.persons.filter(pl.Series(has_it))
        theirs = changes.filter(pl.col("person").is_in(who.implode()))
        for what in KINDS:
            part = theirs.filter(pl.col("what").cast(pl.String) == what)
            if part.is_empty():
                continue
            persons, events = count_affected(part)
            name = " → ".join(pattern)
            reasons.append(
                Reason(
                    constraint=CONSTRAINT,
                    change=what,
                    persons=persons,
                    events=events,
                    text=(
                        f"{name}: {support:,} had it, fewer than {threshold:,} may: "
                        f"{counted(events, 'item was', 'items were')} {what} in the records of "
                        f"{counted(persons, 'person', 'persons')} who had it."
                    ),
                    examples=(name,),
                )
            )
    return tuple(reasons)
