"""From changed sequences to the outcome of a method: what it is good for, why it changed, what to relax."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.hierarchies.labels import counted
from sequester.methods.limits import tie_limits
from sequester.methods.ph import _row_kernels
from sequester.methods.relax import RelaxationPath, downwards, value_text
from sequester.mining.support import supporters, supports
from sequester.ragged import gather_rows, offsets_of, owners_of, places_of
from sequester.release.outcome import Outcome, Reason, split_changes
from sequester.release.release import ORDER, PERSON
from sequester.utility import Score
from sequester.utility.patterns import as_long_as_few, itemset_supports, side_effects

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.method import Method
    from sequester.methods.ph.algorithm import Sanitized
    from sequester.methods.ph.method import Bounded, PatternMethod

KINDS = ("permuted", "deleted")
"""Another item of the same person stands in the place; the place is gone."""
PERMUTED, DELETED = range(2)
MAX_ITEMSETS = 1_000_000
"""Where more itemsets than this are frequent, only smaller ones are compared."""
REFERENCE = "Gwadera, Gkoulalas-Divanis, Loukides (2013), distortion and Cayley distance"
CONSTRAINT = "support of a pattern at or above min_support"


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
            "row": table.rows[events[changed]].astype(np.int64),
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
    changes = outcome.changes.lazy().collect()
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
    swaps = _row_kernels.count_swaps(codes, after, sequences.person_offsets, len(book))
    return int(swaps.sum())


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
        name = " → ".join(pattern)
        for part in split_changes(theirs, KINDS):
            text = (
                f"{name}: {support:,} had it, fewer than {threshold:,} may: "
                f"{counted(part.events, 'item was', 'items were')} {part.what} in the records of "
                f"{counted(part.persons, 'person', 'persons')} who had it."
            )
            reasons.append(part.reason(CONSTRAINT, text, (name,)))
    return tuple(reasons)


def threshold_relaxations(method: PatternMethod, table: EventTable) -> tuple[RelaxationPath, ...]:
    """Raise the threshold of the method, and that of each pattern that has its own.

    A share of persons is raised as a number of persons; one more than have a pattern hides nothing.
    """
    model = method.model().about(table)
    found = dict(zip(method.sensitive, supports(method.sensitive, table).tolist(), strict=True))
    own = {each.items for each in method.pattern if each.min_support is not None}
    common = max((count for pattern, count in found.items() if pattern not in own), default=0)
    paths = []
    if method.min_support is not None:
        paths.append(RelaxationPath.of(method, "min_support", range(int(model.min_support) + 1, common + 2)))
    for place, each in enumerate(method.pattern):
        if each.min_support is not None:
            steps = range(int(model.threshold(each.items)) + 1, found[each.items] + 2)
            paths.append(_own(place, " → ".join(each.items), each.min_support, steps))
    return tuple(paths)


def _own(place: int, name: str, asked: float, steps: range) -> RelaxationPath:
    def at(method: PatternMethod, table: EventTable, step: int) -> tuple[Method, EventTable]:
        pattern = list(method.pattern)
        pattern[place] = replace(pattern[place], min_support=step)
        return replace(method, pattern=tuple(pattern)), table

    return RelaxationPath(
        parameter=f"min_support of {name}", asked=asked, steps=steps, at=at, text=value_text
    )


def spread_relaxations(bounded: Bounded) -> tuple[RelaxationPath, ...]:
    """Ask for fewer permutations of a pattern, for fewer supporters of each, or for no spread at all."""

    def part(name: str) -> RelaxationPath:
        asked = getattr(bounded, name)

        def at(method: PatternMethod, table: EventTable, step: int) -> tuple[Method, EventTable]:
            return _with_uncertainty(method, table, replace(bounded, **{name: step}))

        return RelaxationPath(parameter=f"uncertainty.{name}", asked=asked, steps=downwards(asked, 1), at=at)

    whole = RelaxationPath(
        parameter="uncertainty",
        asked=bounded,
        steps=("minimum-harm",),
        at=_with_uncertainty,
        text=lambda value: f'"{value}"' if isinstance(value, str) else "bounded",
    )
    return part("permutations"), part("support"), whole


def _with_uncertainty(
    method: PatternMethod, table: EventTable, step: Bounded | str
) -> tuple[Method, EventTable]:
    return replace(method, uncertainty=step), table  # type: ignore[call-arg]  # a PH
