"""Why records came out later or not at all: their value was too frequent, or their person was there twice."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.hierarchies.labels import counted
from sequester.methods.reposition.snapshots import timeline
from sequester.methods.reposition.transform import LEFT_OUT, MOVED
from sequester.release.outcome import Reason, count_affected

if TYPE_CHECKING:
    from fractions import Fraction

    from sequester.data.table import EventTable
    from sequester.methods.reposition.snapshot_method import SnapshotMethod

FREQUENT = "value above 1/l of its snapshot"
TWICE = "second record of a person in a snapshot"
TENTHS = 10
EXAMPLES = 3


def reasons_of(method: SnapshotMethod, changes: pl.DataFrame, table: EventTable) -> tuple[Reason, ...]:
    """Count moved and lost records by whether their person had another one in the same snapshot."""
    numbers = timeline(table, method.snapshot).numbers // method.merged
    owners = np.repeat(np.arange(table.n_persons), np.diff(table.person_offsets))
    pairs = pl.DataFrame({"row": table.rows, "person": owners, "snapshot": numbers})
    twice = pairs.select("row", twice=pl.len().over("person", "snapshot") > 1)
    told = changes.join(twice, on="row", how="left", maintain_order="left")
    reasons = []
    for what, done in ((LEFT_OUT, "are not published"), (MOVED, "are published later than they came")):
        for is_twice, constraint in ((False, FREQUENT), (True, TWICE)):
            part = told.filter((pl.col("what").cast(pl.String) == what) & (pl.col("twice") == is_twice))
            if part.is_empty():
                continue
            persons, events = count_affected(part)
            why = (
                "their persons had several records in the same snapshot, which has room for one"
                if is_twice
                else f"values would have had more than 1/{method.l} of a snapshot"
            )
            moves = method.waits and method.merged == 1
            place = ", and there was no room within the window" if what == LEFT_OUT and moves else ""
            reasons.append(
                Reason(
                    constraint=constraint,
                    change=what,
                    persons=persons,
                    events=events,
                    text=f"{counted(events, 'record', 'records')} {done}: {why}{place}.",
                    examples=_values(part),
                )
            )
    return tuple(reasons)


def smaller_levels(level: Fraction, *, whole: bool) -> list[float]:
    """Give the levels below one, down to 2 where they must be whole, otherwise by tenths to above 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> smaller_levels(Fraction(4), whole=True), smaller_levels(Fraction(3, 2), whole=False)
    ([3, 2], [1.4, 1.3, 1.2, 1.1])
    """
    if whole:
        return list(range(math.ceil(level) - 1, 1, -1))
    return [tenth / TENTHS for tenth in range(math.ceil(level * TENTHS) - 1, TENTHS, -1)]


def _values(part: pl.DataFrame) -> tuple[str, ...]:
    counts = part.group_by("value").len().sort("len", "value", descending=[True, False])
    return tuple(
        f"{value}: {counted(count, 'record', 'records')}" for value, count in counts.head(EXAMPLES).rows()
    )
