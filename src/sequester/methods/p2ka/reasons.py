"""Why sequences were cut: too few begin with them, or too few are left who do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.hierarchies.labels import counted
from sequester.methods.p2ka.changes import KINDS, number_trips
from sequester.methods.p2ka.prefix_tree import PrefixTree
from sequester.release.outcome import Reason, count_affected

if TYPE_CHECKING:
    from sequester._typing import Mask
    from sequester.data.table import EventTable

RARE = "sequence begun by fewer than k persons"
LEFT_ALONE = "fewer than k persons left on a path"
_DONE = {
    "shortened": "cut back to a path that enough persons take",
    "re-attached": "moved to the closest path that enough persons take",
    "dropped": "left out, because they have no place on a path that enough persons take",
}


def reasons_of(changes: pl.DataFrame, table: EventTable, *, k: int) -> tuple[Reason, ...]:
    """Count changed sequences by what happened to them, and by which count was too small."""
    trip = {} if table.owners is None else {"trip": number_trips(table.owners)}
    is_rare = pl.DataFrame({"person": table.persons, **trip, "rare": too_rare(table, k)})
    told = changes.join(is_rare, on=["person", *trip], how="left", maintain_order="left")
    reasons = []
    for what in KINDS:
        for rare, constraint in ((True, RARE), (False, LEFT_ALONE)):
            part = told.filter((pl.col("what").cast(pl.String) == what) & (pl.col("rare") == rare))
            if part.is_empty():
                continue
            persons, events = count_affected(part)
            why = (
                f"fewer than k = {k:,} persons begin with all of it"
                if rare
                else f"enough begin with it, but fewer than k = {k:,} are left who do"
            )
            reasons.append(
                Reason(
                    constraint=constraint,
                    change=what,
                    persons=persons,
                    events=events,
                    text=f"{counted(persons, 'sequence was', 'sequences were')} {_DONE[what]}: {why}.",
                )
            )
    return tuple(reasons)


def too_rare(table: EventTable, k: int) -> Mask:
    """Mark the sequences that fewer than `k` persons begin with.

    Examples
    --------
    >>> from sequester.testing.tables import symbol_table
    >>> too_rare(symbol_table(["ab", "abc", "b"]), 2).tolist()
    [False, True, True]
    """
    distinct = table.sequences.distinct()
    tree, ends = PrefixTree.grow(distinct, 1)
    return np.asarray(tree.passing(ends, distinct)[ends] < k)[distinct.row_of_person]
