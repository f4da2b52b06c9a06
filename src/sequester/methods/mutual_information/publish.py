"""From nodes to the outcome of a method: the released symbols, every change, and what is not promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.data.text import Codebook
from sequester.methods.limits import ONE_RELEASE, tie_limits
from sequester.methods.mutual_information.evidence import evidence_of, plots_of
from sequester.methods.mutual_information.losses import losses, per_person
from sequester.release.outcome import Outcome
from sequester.release.release import ORDER, PERSON

if TYPE_CHECKING:
    from sequester._typing import Codes
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.mutual_information.mutual_information_method import MutualInformationMethod
    from sequester.methods.mutual_information.plan import Plan
    from sequester.privacy.leakage import Leakage

KINDS = ("generalized", "suppressed")
"""A coarser symbol is released, or the root, which says nothing."""

AVERAGE = (
    "The promise is an average: as long as the sum stays within its bound, a rare secret pattern may be "
    "released as it is."
)
ONLY_PATTERNS = (
    "Only the patterns that the publisher named are hidden, not persons, and only from those who look at the "
    "order of symbols: run lengths, times of day and other data about the same person are not covered."
)
RENAMED = (
    "Where the taxonomy has a node with a single symbol below it, the node tells as much as the symbol; that "
    "is counted as told, and not as hidden."
)
HOLES = (
    "Where a symbol is generalized shows where secret patterns may be: symbols that take part in none are "
    "released as they are."
)
NOT_WHETHER = (
    "That a secret pattern occurs, and how often, is not hidden: the promise is about where, to somebody who "
    "knows how often. Of a pattern that is everywhere there is nothing left to tell, and it is released."
)
PLACE_BY_PLACE = (
    "Bits are counted place by place, from the symbols that are released there: what many places tell "
    "together, what neighbouring symbols tell, and patterns of several lengths together can be more."
)
BY_THE_PAPER = (
    "What leaks is counted by the paper's measure, which leaves out what places without a secret pattern "
    'tell. The mutual information may be larger; measure = "exact" bounds that.'
)
NEEDS_ORIGINAL = (
    "Only those who hold the original and the secret patterns can check the promise; the files alone do not "
    "show it."
)


def publish(
    method: MutualInformationMethod, table: EventTable, plan: Plan, nodes: Codes, *, progress: Progress
) -> Outcome:
    """Write for each person what is released of them, and what that changes."""
    source, tree = table.sequences, plan.task.tree
    column = source.symbol
    used = np.unique(nodes)
    book = Codebook.of(tree.labels[node] for node in used)
    code_of = np.zeros(len(tree), np.int32)
    code_of[used] = book.encode(tree.labels[node] for node in used)
    sequences = Sequences(source.person_offsets, {column: code_of[nodes]}, {column: book})
    limits = [NEEDS_ORIGINAL, ONLY_PATTERNS, NOT_WHETHER, PLACE_BY_PLACE, RENAMED, HOLES, ONE_RELEASE]
    if method.measure == "paper":
        limits.insert(0, BY_THE_PAPER)
    if not method.worst_case:
        limits.insert(0, AVERAGE)
    limits += tie_limits(table)
    progress(0.5, "judging every person")
    model = method.model()
    found = model.leakage(sequences, table)
    spent = losses(sequences, table, method.cost)
    return Outcome(
        sequences=sequences,
        schema=Schema(person=PERSON, order=ORDER, symbol=column, released=True),
        hierarchies={column: tree.above(book.labels)},
        changes=_changes(table, plan, nodes),
        limits=tuple(limits),
        warnings=(*plan.warnings, *_shown_patterns(found, table, worst_case=method.worst_case)),
        plots=plots_of(sequences, table, window=method.window),
        evidence=evidence_of(model, found, table, per_person(spent, table, plan.weights)),
    )


def _shown_patterns(found: Leakage, table: EventTable, *, worst_case: bool) -> tuple[str, ...]:
    """Warn of patterns that a sum within its bound has left as they are."""
    persons = [] if worst_case else found.is_shown.sum(axis=1).tolist()
    who = "persons" if table.n_persons > 1 else "person"
    return tuple(
        f"patterns: {' → '.join(pattern)} is released as it is for {count:,} of {table.n_persons:,} {who}; "
        "worst_case bounds each pattern by itself"
        for pattern, count in zip(found.patterns, persons, strict=False)
        if count
    )


def _changes(table: EventTable, plan: Plan, nodes: Codes) -> pl.DataFrame:
    """List every event whose symbol became another: input row, person, kind, symbol before and after."""
    source = table.sequences
    before = plan.task.leaf_nodes[source.columns[source.symbol]]
    changed = np.flatnonzero(before != nodes)
    changed = changed[np.argsort(table.rows[changed], kind="stable")]
    owner = np.searchsorted(source.person_offsets, changed, side="right") - 1
    labels = pl.Series(plan.task.tree.labels, dtype=pl.String)
    kind = pl.Series(KINDS, dtype=pl.Enum(KINDS))
    return pl.DataFrame(
        {
            "row": table.rows[changed],
            "person": table.persons.gather(owner),
            "what": kind.gather((nodes[changed] == 0).astype(np.int64)),
            "from": labels.gather(before[changed]),
            "to": labels.gather(nodes[changed]),
        }
    )
