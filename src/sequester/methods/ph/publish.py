"""From changed sequences to the outcome of a method, and what it is still good for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.methods.limits import tie_limits
from sequester.methods.ph import _swap_kernels
from sequester.ragged import gather_rows, offsets_of, owners_of, places_of
from sequester.release.outcome import Outcome
from sequester.release.release import ORDER, PERSON
from sequester.utility import Score
from sequester.utility.patterns import as_long_as_few, itemset_supports, side_effects

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.ph.algorithm import Sanitized

KINDS = ("permuted", "deleted")
"""Another item of the same person stands in the place; the place is gone."""
PERMUTED, DELETED = range(2)
MAX_ITEMSETS = 1_000_000
"""Where more itemsets than this are frequent, only smaller ones are compared."""
REFERENCE = "Gwadera, Gkoulalas-Divanis, Loukides (2013), distortion and Cayley distance"


def publish(
    table: EventTable, sanitized: Sanitized, *, limits: tuple[str, ...], warnings: tuple[str, ...]
) -> Outcome:
    """Put the changed sequences in the place of those they were made of; a deletion leaves no mark."""
    source = table.sequences
    codes = source.columns[source.symbol]
    is_left = sanitized.items >= 0
    lengths = np.diff(offsets_of(is_left)[sanitized.offsets])
    offsets = np.concatenate([source.person_offsets, source.person_offsets[-1] + np.cumsum(lengths)])
    rows = np.arange(source.n_persons)
    rows[sanitized.persons] = source.n_persons + np.arange(len(sanitized.persons))
    released, released_offsets = gather_rows(
        np.concatenate([codes, sanitized.items[is_left]]), offsets.astype(np.int64), rows
    )
    changes = list_changes(table, sanitized)
    return Outcome(
        sequences=Sequences(released_offsets, {source.symbol: released}, source.codebooks),
        schema=Schema(person=PERSON, order=ORDER, symbol=source.symbol),
        changes=changes,
        permuted=True,
        limits=(*limits, *tie_limits(table)),
        warnings=warnings,
    )


def list_changes(table: EventTable, sanitized: Sanitized) -> pl.DataFrame:
    """List every place with another item than before, or none, by input row.

    Put ``to`` in the place of each row's symbol, drop the row where there is none, and the input becomes the
    release.
    """
    source = table.sequences
    book = pl.Series([*source.codebooks[source.symbol].labels, None], dtype=pl.String)
    owner = owners_of(sanitized.offsets)
    events = source.person_offsets[sanitized.persons][owner] + places_of(sanitized.offsets)
    before = source.columns[source.symbol][events]
    changed = np.flatnonzero(before != sanitized.items)
    changed = changed[np.argsort(table.rows[events[changed]])]
    what = np.where(sanitized.items[changed] < 0, DELETED, PERMUTED)
    return pl.DataFrame(
        {
            "row": table.rows[events[changed]],
            "person": table.persons.gather(sanitized.persons[owner[changed]]),
            "what": pl.Series(KINDS, dtype=pl.Enum(KINDS)).gather(what),
            "from": book.gather(before[changed]),
            # A code of -1 takes the last entry, which is no label.
            "to": book.gather(sanitized.items[changed] % len(book)),
        }
    )


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
    scores |= side_effects(
        outcome.sequences,
        original=table,
        sensitive=frozenset(sensitive),
        min_support=min_support,
        max_length=max_length,
    )
    progress(0.7, "comparing itemsets")
    scores |= as_long_as_few(
        lambda size: itemset_supports(
            outcome.sequences,
            original=table,
            min_support=min_support,
            max_length=size,
            max_patterns=MAX_ITEMSETS,
        ),
        (None, *range(max_length, 0, -1)),
    )
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
            means="Share of the events that the release does not show in their place; 0 is none.",
            formula="events whose place has another item, or none / events",
            reference=REFERENCE,
        ),
        "cayley_distance": Score(
            value=float(count_swaps(changes, table)),
            bounds=(0, None),
            means="How many swaps of two items of a person make the released order, all persons together; "
            "deleted items are swapped as if they were still there.",
            formula="Σ over persons of the fewest swaps of two items that make the released order",
            reference=REFERENCE,
        ),
        "deletions": Score(
            value=float(n_deleted),
            bounds=(0, table.n_events),
            means=f"How many of the {table.n_events} events were deleted.",
            formula="number of deleted events",
            reference=REFERENCE,
        ),
        "touched_sequences": Score(
            value=n_touched / max(table.n_persons, 1),
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
    swaps = _swap_kernels.count_swaps(codes, after, sequences.person_offsets, len(book))
    return int(swaps.sum())
