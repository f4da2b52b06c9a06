"""From nodes of the prefix tree to the outcome of a method: what is released, changed, measured, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.engine import LocalEngine
from sequester.hierarchies.labels import counted
from sequester.methods.limits import tie_limits
from sequester.methods.p2ka import _kernels
from sequester.methods.p2ka.algorithm import ROOT, PrefixTree, Reconstructor
from sequester.mining.support import supports_of_codes
from sequester.ragged import gather_rows, offsets_of, owners_of
from sequester.release.outcome import Outcome, Reason, split_changes
from sequester.release.release import ORDER, PERSON
from sequester.utility import Score, edit_distance, invented_items
from sequester.utility.patterns import as_long_as_few, pattern_similarity
from sequester.utility.places import MOST_SYMBOLS, displacement, mobility

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.places import Regions
    from sequester.data.sequences import Distinct
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.p2ka.algorithm import Reconstruction

KINDS = ("shortened", "re-attached", "dropped")
"""Events were removed and none added; moved to a path the person did not take; nothing is released."""
SHORTENED, REATTACHED, DROPPED = range(3)
NONE = -1
RARE = "sequence begun by fewer than k persons"
LEFT_ALONE = "fewer than k persons left on a path"
RARE_PART = "sequence contained by fewer than k persons"
LEFT_PART = "fewer than k persons left who contain a sequence"
_DONE = {
    "shortened": "cut back to a path that enough persons take",
    "re-attached": "moved to the closest path that enough persons take",
    "dropped": "left out, because they have no place on a path that enough persons take",
}
_DONE_IN_PARTS = {
    "shortened": "cut back to the longest part that enough persons share",
    "dropped": "left out, because enough persons share no part of them",
}
MIN_SUPPORT = 0.005
"""Patterns of fewer persons than this share are not compared, nor are those of fewer than k."""
MAX_LENGTH = 5
"""Longer patterns are not compared."""
MAX_PATTERNS = 100_000
"""Where more patterns than this are frequent, only shorter ones are compared."""


def publish(
    table: EventTable,
    distinct: Distinct,
    reconstruction: Reconstruction,
    *,
    limits: tuple[str, ...],
    warnings: tuple[str, ...],
) -> Outcome:
    """Return for each person the path that is released, and what that changes."""
    source = table.sequences
    return Outcome(
        sequences=reconstructed(source, distinct, reconstruction),
        schema=Schema(person=PERSON, order=ORDER, symbol=source.symbol),
        changes=list_changes(table, distinct, reconstruction),
        limits=(*limits, *tie_limits(table)),
        warnings=warnings,
    )


def reconstructed(source: Sequences, distinct: Distinct, reconstruction: Reconstruction) -> Sequences:
    """Return for each person the path of the node that their sequence is reconstructed as."""
    nodes = reconstruction.targets[distinct.row_of_person].astype(np.int64)
    codes, offsets = gather_rows(*reconstruction.tree.paths(), nodes)
    return Sequences(offsets, {source.symbol: codes}, source.codebooks, source.owners)


def list_changes(table: EventTable, distinct: Distinct, reconstruction: Reconstruction) -> pl.DataFrame:
    """List every event that was removed and every item that was added, by input row.

    A person's sequence and what is released of it are laid side by side along a longest common subsequence.
    What is in it is unchanged, and not listed. Take the removed events away, put the added items in their
    places, and the input becomes the release. The columns:

    - ``row``: the input row of the removed event; for an added item the row of the unchanged event that it
      comes after, or of the person's first event where it comes before all of those;
    - ``person``, as in the input, and where persons have several the number of the ``trip``, from 1;
    - ``what`` happened to the person's sequence: ``shortened``, ``re-attached`` or ``dropped``;
    - ``order``: the place of an added item in the released sequence, from 1; null for a removed event;
    - ``from``: the symbol of a removed event; null for an added item;
    - ``to``: the symbol of an added item; null for a removed event.
    """
    sequences = table.sequences
    labels = sequences.codebooks[sequences.symbol].labels
    cut = np.flatnonzero(reconstruction.is_cut)
    targets = reconstruction.targets[cut].astype(np.int64)
    items, offsets = gather_rows(distinct.items, distinct.offsets, cut)
    path_items, path_offsets = gather_rows(*reconstruction.tree.paths(), targets)
    is_shown, partners = np.zeros(len(items), np.bool_), np.full(len(path_items), NONE, np.int32)
    longest, deepest = (int(np.diff(each).max(initial=0)) for each in (offsets, path_offsets))
    room = _kernels.room_for(longest, len(labels), deepest)
    _kernels.align_rows((items, offsets), (path_items, path_offsets), room, is_shown, partners)
    is_added = partners < 0
    n_added = np.diff(offsets_of(is_added)[path_offsets])
    kinds = np.where(targets == ROOT, DROPPED, np.where(n_added > 0, REATTACHED, SHORTENED))
    # The last partner so far, as a position in `items`. Those of a later row are larger, so one running
    # maximum over all paths serves; a path that begins with an added item starts at its row's first event.
    starts = np.repeat(offsets[:-1], np.diff(path_offsets))
    anchors = np.maximum.accumulate(starts + np.maximum(partners, 0)) - starts

    number_of_cut = np.zeros(distinct.n_rows, np.int64)
    number_of_cut[cut] = np.arange(len(cut))
    persons = np.flatnonzero(reconstruction.is_cut[distinct.row_of_person])
    rows = number_of_cut[distinct.row_of_person[persons]]
    first_event = sequences.person_offsets[persons]

    book = pl.Series(labels, dtype=pl.String)
    owner, item = _cells(offsets, rows, where=~is_shown)
    events = first_event[owner] + item - offsets[rows[owner]]
    removed = pl.DataFrame(
        {"row": table.rows[events].astype(np.int64), "owner": owner, "from": book.gather(items[item])}
    )
    owner, item = _cells(path_offsets, rows, where=is_added)
    events, order = first_event[owner] + anchors[item], 1 + item - path_offsets[rows[owner]]
    added = pl.DataFrame(
        {
            "row": table.rows[events].astype(np.int64),
            "owner": owner,
            "order": order,
            "to": book.gather(path_items[item]),
        }
    )
    changes = pl.concat([removed, added], how="diagonal").sort("row", "order", maintain_order=True)
    owner = changes["owner"].to_numpy()
    what = pl.Series(KINDS, dtype=pl.Enum(KINDS))
    trip = {} if table.owners is None else {"trip": number_trips(table.owners)[persons[owner]]}
    return pl.DataFrame(
        {
            "row": changes["row"],
            "person": table.persons.gather(persons[owner]),
            **trip,
            "what": what.gather(kinds[rows[owner]]),
            **{name: changes[name] for name in ("order", "from", "to")},
        }
    )


def number_trips(owners: Codes) -> Counts:
    """Number the sequences of each owner from 1, in their order.

    Examples
    --------
    >>> number_trips(np.array([0, 0, 1, 0], np.int32)).tolist()
    [1, 2, 1, 3]
    """
    frame = pl.DataFrame({"owner": owners})
    return frame.select(pl.int_range(1, pl.len() + 1).over("owner")).to_series().to_numpy()


def _cells(offsets: Offsets, rows: Counts, *, where: Mask) -> tuple[Counts, Counts]:
    """List the marked cells of `rows`, row after row: the place of the row in `rows`, and the cell."""
    cell, gathered = gather_rows(np.arange(offsets[-1]), offsets, rows)
    marked = where[cell]
    return owners_of(gathered)[marked], cell[marked]


def reasons_of(
    changes: pl.DataFrame, table: EventTable, *, k: int, truthful: bool = False
) -> tuple[Reason, ...]:
    """Count changed sequences by what happened to them, and by which count was too small."""
    trip = {} if table.owners is None else {"trip": number_trips(table.owners)}
    begin = "contain" if truthful else "begin with"
    constraints = (RARE_PART, LEFT_PART) if truthful else (RARE, LEFT_ALONE)
    enough = ~too_rare(table, k, truthful=truthful)
    of_sequences = pl.DataFrame({"person": table.persons, **trip, "enough": enough})
    marked = changes.join(of_sequences, on=["person", *trip], how="left", maintain_order="left")
    done = _DONE | _DONE_IN_PARTS if truthful else _DONE
    reasons = []
    for part in split_changes(marked, KINDS, mark="enough"):
        why = (
            f"enough {begin} it, but fewer than k = {k:,} are left who do"
            if part.is_marked
            else f"fewer than k = {k:,} persons {begin} all of it"
        )
        what = f"{counted(part.persons, 'sequence was', 'sequences were')} {done[part.what]}"
        reasons.append(part.reason(constraints[part.is_marked], f"{what}: {why}."))
    return tuple(reasons)


def too_rare(table: EventTable, k: int, *, truthful: bool = False) -> Mask:
    """Mark the sequences that fewer than `k` persons begin with, or contain.

    Examples
    --------
    >>> from sequester.testing.checks import symbol_table
    >>> too_rare(symbol_table(["ab", "abc", "b"]), 2).tolist()
    [False, True, True]
    >>> too_rare(symbol_table(["ab", "abc", "b"]), 2, truthful=True).tolist()
    [False, True, False]
    """
    distinct = table.sequences.distinct()
    if truthful:
        book = table.sequences.codebooks[table.sequences.symbol]
        counts = supports_of_codes(distinct.items, distinct.offsets, book, distinct, book)
        return np.asarray(counts < k)[distinct.row_of_person]
    tree, ends = PrefixTree.grow(distinct, 1)
    return np.asarray(tree.passing(ends, distinct)[ends] < k)[distinct.row_of_person]


def measure(outcome: Outcome, table: EventTable, *, k: int, progress: Progress) -> dict[str, Score]:
    """Compare the release with the original, person by person and pattern by pattern."""
    progress(0.0, "measuring the changes")
    scores = _shares(outcome, table)
    progress(0.2, "measuring edit distances")
    scores["edit_distance"] = edit_distance(outcome.sequences, original=table)
    scores["invented_items"] = invented_items(outcome.sequences, original=table)
    if table.regions is not None:
        progress(0.4, "comparing traffic between places")
        scores |= mobility(outcome.sequences, original=table)
        if len(table.labels[table.sequences.symbol]) <= MOST_SYMBOLS:
            scores |= _displacements(table.regions, outcome.sequences, table)
    progress(0.5, "comparing frequent patterns")
    min_support = max(k, int(MIN_SUPPORT * table.n_owners))
    scores |= as_long_as_few(
        lambda length: pattern_similarity(
            outcome.sequences,
            original=table,
            min_support=min_support,
            max_length=length,
            max_patterns=MAX_PATTERNS,
        ),
        range(MAX_LENGTH, 0, -1),
    )
    progress(1.0, "measured")
    return scores


def displacement_without(table: EventTable, *, k: int, strict: bool) -> dict[str, Score]:
    """Measure how far visits would be moved if near regions had nothing in common."""
    source = table.sequences
    reconstructor = Reconstructor(
        distinct=source.distinct(), strict=strict, reattach=True, engine=LocalEngine()
    )
    reconstruction = reconstructor.run(k)
    if table.regions is None or reconstruction.releases_nothing:
        return {}
    sequences = reconstructed(source, reconstructor.distinct, reconstruction)
    scores = _displacements(table.regions, sequences, table)
    return {
        f"{name}_without_nearness": replace(score, means=f"Without nearness: {score.means}")
        for name, score in scores.items()
    }


def _displacements(regions: Regions, released: Sequences, table: EventTable) -> dict[str, Score]:
    """Measure visits both ways: those that were moved, and those that were made up."""
    return {
        "displacement": displacement(released, original=table, regions=regions),
        "displacement_of_released": displacement(released, original=table, regions=regions, side="released"),
    }


def _shares(outcome: Outcome, table: EventTable) -> dict[str, Score]:
    """Count events that are not shown in their place, and persons by what happened to their sequence."""
    changes = outcome.changes.lazy().collect()
    n_removed = changes["from"].len() - changes["from"].null_count()
    whose = ["person", *({"trip"} & {*changes.columns})]
    counts = dict(changes.unique(["what", *whose])["what"].value_counts().iter_rows())
    persons, who, whom = ("persons", "who", "whom") if table.owners is None else ("trips", "that", "which")
    return {
        "information_loss": _share(
            n_removed / max(table.n_events, 1),
            "events that the release does not show in their place, each sequence and what is released of it "
            "laid side by side along a longest common subsequence",
            formula="Σ over persons of (events - longest common subsequence with the release) / events",
        ),
        "cut_sequences": _share(
            sum(counts.values()) / max(table.n_persons, 1),
            f"{persons} whose sequence is not released as it was",
        ),
        **{
            name: _share(counts.get(KINDS[kind], 0) / max(table.n_persons, 1), f"{persons} {of}")
            for name, kind, of in (
                ("shortened_sequences", SHORTENED, "of whose sequence only a part is released"),
                ("reattached_sequences", REATTACHED, f"{who} were moved to a path that they did not take"),
                ("dropped_sequences", DROPPED, f"of {whom} nothing is released"),
            )
        },
    }


def _share(value: float, of: str, formula: str = "such sequences / all sequences") -> Score:
    return Score(
        value=value,
        means=f"Share of the {of}; 0 is none.",
        formula=formula,
        reference="Pensa, Monreale, Pinelli, Pedreschi (2008), section 4",
    )
