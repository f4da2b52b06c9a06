"""Why values were suppressed, columns made coarse and persons left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.hierarchies.labels import counted
from sequester.release.outcome import Reason, count_affected

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.methods.halt.kcp_method import KCPMethod

EXAMPLES = 3


def reasons_of(method: KCPMethod, changes: pl.DataFrame, table: EventTable) -> tuple[Reason, ...]:
    """Count changed values by column and by the constraint that the channel behind each broke."""
    reasons = []
    kinds = [pl.col(name).cast(pl.String) for name in ("what", "column", "constraint")]
    for (what, column, constraint), part in changes.with_columns(kinds).group_by(
        "what", "column", "constraint", maintain_order=True
    ):
        persons, events = count_affected(part)
        values = counted(events, "value", "values")
        if what == "generalized":
            level, height = part["level"][0], table.hierarchies[str(column)].height
            demand = f"k = {method.k:,}, c = {method.c}, p = {method.p:,}"
            least = " with what is suppressed beside them" if method.suppresses else ""
            text = (
                f"{column}: {values} coarser, at level {level} of {height}. Of the levels that were found to "
                f"keep {demand}, these lose least{least}."
            )
        elif what == "dropped":
            text = (
                f"{column}: {values} left out with {counted(persons, 'person', 'persons')}: more than the "
                f"share c = {method.c} of all persons had the same protected value."
            )
        else:
            text = f"{column}: {values} of {counted(persons, 'person', 'persons')} became *: {constraint}."
        worst = (
            part.drop_nulls("because")
            .group_by("because")
            .len()
            .sort("len", "because", descending=[True, False])
        )
        reasons.append(
            Reason(
                constraint=str(constraint),
                change=str(what),
                persons=persons,
                events=events,
                text=text,
                examples=tuple(worst["because"].head(EXAMPLES).to_list()),
            )
        )
    order = {what: place for place, what in enumerate(("suppressed", "dropped", "generalized"))}
    return tuple(sorted(reasons, key=lambda each: (order[each.change], -each.events)))
