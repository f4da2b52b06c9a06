"""Which cells and events of whom a release does not show as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.methods.cblda.solution import Solution

KINDS = ("generalized", "suppressed", "dropped")
"""A coarser value is released; the event is not; nothing of the person is."""


def list_changes(table: EventTable, solution: Solution) -> pl.DataFrame:
    """List every cell of a quasi-identifier that is not released as it was, by input row.

    The columns:

    - ``row``: the input row of the event;
    - ``person``, as in the input;
    - ``column``: the quasi-identifier;
    - ``what`` happened: ``generalized``, ``suppressed`` (the whole event is), or ``dropped`` (the person is);
    - ``from``: the value;
    - ``to``: what is released instead; null where nothing is;
    - ``class``: who looks alike afterwards has the same number here;
    - ``persons``: how many of them are released.
    """
    sequences, trees = table.sequences, solution.trees
    owners = np.repeat(np.arange(table.n_persons), np.diff(table.person_offsets))
    is_out = solution.is_released[owners] & solution.is_kept
    kind = np.where(solution.is_released[owners], np.where(is_out, 0, 1), 2).astype(np.uint32)
    _, numbers = np.unique(solution.class_of_person, return_inverse=True)
    parts = []
    for quasi, (name, tree) in enumerate(zip(trees.names, trees.hierarchies, strict=True)):
        labels = sequences.codebooks[name].labels
        before = tree.nodes(labels)[sequences.columns[name]]
        after = solution.shown[:, quasi] - trees.first[quasi]
        events = np.flatnonzero((before != after) | ~is_out)
        book = pl.Series(tree.labels, dtype=pl.String)
        shown = book.gather(np.where(is_out[events], after[events], 0))
        parts.append(
            pl.DataFrame(
                {
                    "row": table.rows[events],
                    "person": table.persons.gather(owners[events]),
                    "column": pl.repeat(name, len(events), dtype=pl.String, eager=True),
                    "what": pl.Series(KINDS, dtype=pl.Enum(KINDS)).gather(kind[events]),
                    "from": book.gather(before[events]),
                    "to": shown.set(pl.Series(~is_out[events]), None),
                    "class": numbers[owners[events]].astype(np.int64) + 1,
                    "persons": solution.class_size[owners[events]],
                }
            )
        )
    return pl.concat(parts).sort("row", maintain_order=True)
