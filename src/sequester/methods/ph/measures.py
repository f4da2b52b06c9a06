"""What a release with hidden patterns is still good for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester import kernels
from sequester.errors import ParameterError
from sequester.methods.ph.publish import DELETED, KINDS
from sequester.utility import ItemsetSupports, Score, SideEffects

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.release.outcome import Outcome

MAX_ITEMSETS = 1_000_000
"""Where more itemsets than this are frequent, only smaller ones are compared."""
REFERENCE = "Gwadera, Gkoulalas-Divanis, Loukides (2013), distortion and Cayley distance"


def measure(
    outcome: Outcome,
    table: EventTable,
    *,
    sensitive: tuple[tuple[str, ...], ...],
    min_support: int,
    max_length: int,
    progress: Progress,
) -> dict[str, Score]:
    """Compare the release with the original, place by place, pattern by pattern, itemset by itemset."""
    progress(0.0, "measuring the changes")
    scores = _changed(outcome, table)
    progress(0.2, "comparing frequent patterns")
    effects = SideEffects(sensitive=frozenset(sensitive), min_support=min_support, max_length=max_length)
    scores |= effects.score(outcome.sequences, original=table)
    progress(0.7, "comparing itemsets")
    for size in (None, *range(max_length, 0, -1)):
        itemsets = ItemsetSupports(min_support=min_support, max_length=size, max_itemsets=MAX_ITEMSETS)
        try:
            scores |= itemsets.score(outcome.sequences, original=table)
        except ParameterError:  # more itemsets than anybody would look at; smaller ones are fewer
            continue
        break
    progress(1.0, "measured")
    return scores


def _changed(outcome: Outcome, table: EventTable) -> dict[str, Score]:
    """Count places, swaps, deletions and persons."""
    changes = outcome.changes
    n_deleted = int((changes["what"] == KINDS[DELETED]).sum())
    n_touched = changes["person"].n_unique()
    return {
        "information_loss": Score(
            value=changes.height / max(table.n_events, 1),
            goal="minimize",
            bounds=(0, 1),
            means="Share of the events that the release does not show in their place; 0 is none.",
            formula="events whose place has another item, or none / events",
            reference=REFERENCE,
        ),
        "cayley_distance": Score(
            value=float(count_swaps(changes, table)),
            goal="minimize",
            bounds=(0, None),
            means="How many swaps of two items of a person make the released order, all persons together; "
            "deleted items are swapped as if they were still there.",
            formula="Σ over persons of the fewest swaps of two items that make the released order",
            reference=REFERENCE,
        ),
        "deletions": Score(
            value=float(n_deleted),
            goal="minimize",
            bounds=(0, table.n_events),
            means=f"How many of the {table.n_events} events were deleted.",
            formula="number of deleted events",
            reference=REFERENCE,
        ),
        "touched_sequences": Score(
            value=n_touched / max(table.n_persons, 1),
            goal="minimize",
            bounds=(0, 1),
            means="Share of the persons whose sequence was changed; 0 is none.",
            formula="persons whose sequence is not as it was / persons",
            reference=REFERENCE,
        ),
    }


def count_swaps(changes: pl.DataFrame, table: EventTable) -> int:
    """Count the swaps that the changes take, person by person."""
    sequences = table.sequences
    codes = sequences.columns[sequences.symbol]
    book = sequences.codebooks[sequences.symbol]
    event_of_row = np.zeros(int(table.rows.max(initial=0)) + 1, np.int64)
    event_of_row[table.rows] = np.arange(len(table.rows))
    labels = pl.DataFrame({"to": pl.Series(book.labels, dtype=pl.String)}).with_row_index("code")
    to = changes.select("to").join(labels, on="to", how="left", maintain_order="left")["code"]
    after = codes.copy()
    after[event_of_row[changes["row"].to_numpy()]] = to.cast(pl.Int32).fill_null(-1).to_numpy()
    swaps = kernels.swaps.count_swaps(codes, after, sequences.person_offsets, len(book))
    return int(swaps.sum())
