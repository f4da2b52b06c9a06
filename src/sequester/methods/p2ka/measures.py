"""What a release of paths is still good for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sequester.engine import LocalEngine
from sequester.errors import ParameterError
from sequester.methods.p2ka.attachment import Attacher
from sequester.methods.p2ka.changes import DROPPED, KINDS, REATTACHED, SHORTENED
from sequester.methods.p2ka.publish import attached
from sequester.utility import EditDistance, InventedItems, PatternSimilarity, Score
from sequester.utility.places import MOST_SYMBOLS, Displacement, mobility

if TYPE_CHECKING:
    from sequester.data.places import Regions
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.release.outcome import Outcome

MIN_SUPPORT = 0.005
"""Patterns of fewer persons than this share are not compared, nor are those of fewer than k."""
MAX_LENGTH = 5
"""Longer patterns are not compared."""
MAX_PATTERNS = 100_000
"""Where more patterns than this are frequent, only shorter ones are compared."""


def measure(outcome: Outcome, table: EventTable, *, k: int, progress: Progress) -> dict[str, Score]:
    """Compare the release with the original, person by person and pattern by pattern."""
    progress(0.0, "measuring the changes")
    scores = _shares(outcome, table)
    progress(0.2, "measuring edit distances")
    scores["edit_distance"] = EditDistance().score(outcome.sequences, original=table)
    scores["invented_items"] = InventedItems().score(outcome.sequences, original=table)
    if table.regions is not None:
        progress(0.4, "measuring what is left of the traffic")
        scores |= mobility(outcome.sequences, original=table)
        if len(table.labels[table.sequences.symbol]) <= MOST_SYMBOLS:
            scores |= _displacements(table.regions, outcome.sequences, table)
    progress(0.5, "comparing frequent patterns")
    min_support = max(k, int(MIN_SUPPORT * table.n_owners))
    for max_length in range(MAX_LENGTH, 0, -1):
        similarity = PatternSimilarity(
            min_support=min_support, max_length=max_length, max_patterns=MAX_PATTERNS
        )
        try:
            scores |= similarity.score(outcome.sequences, original=table)
        except ParameterError:  # more patterns than anybody would look at; shorter ones are fewer
            continue
        break
    progress(1.0, "measured")
    return scores


def displacement_without(table: EventTable, *, k: int, strict: bool) -> dict[str, Score]:
    """Say how far visits would be moved if near regions had nothing in common."""
    source = table.sequences
    attacher = Attacher(distinct=source.distinct(), strict=strict, reattach=True, engine=LocalEngine())
    attachment = attacher.run(k)
    if table.regions is None or attachment.releases_nothing:
        return {}
    sequences = attached(source, attacher.distinct, attachment)
    scores = _displacements(table.regions, sequences, table)
    return {
        f"{name}_without_nearness": replace(score, means=f"Without nearness: {score.means}")
        for name, score in scores.items()
    }


def _displacements(regions: Regions, released: Sequences, table: EventTable) -> dict[str, Score]:
    """Follow visits both ways: those that were moved, and those that were made up."""
    return {
        "displacement": Displacement(regions).score(released, original=table),
        "displacement_of_released": Displacement(regions, "released").score(released, original=table),
    }


def _shares(outcome: Outcome, table: EventTable) -> dict[str, Score]:
    """Count events that are not shown in their place, and persons by what happened to their sequence."""
    n_removed = outcome.changes["from"].len() - outcome.changes["from"].null_count()
    whose = ["person", *({"trip"} & {*outcome.changes.columns})]
    counts = dict(outcome.changes.unique(["what", *whose])["what"].value_counts().iter_rows())
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
                (
                    "shortened_sequences",
                    SHORTENED,
                    "of whose sequence only a part is released",
                ),
                ("reattached_sequences", REATTACHED, f"{who} were moved to a path that they did not take"),
                ("dropped_sequences", DROPPED, f"of {whom} nothing is released"),
            )
        },
    }


def _share(value: float, of: str, formula: str = "such sequences / all sequences") -> Score:
    return Score(
        value=value,
        goal="minimize",
        bounds=(0, 1),
        means=f"Share of the {of}; 0 is none.",
        formula=formula,
        reference="Pensa, Monreale, Pinelli, Pedreschi (2008), section 4",
    )
