"""From nodes to the outcome of a method: the released symbols, every change, and what is not promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.codebook import Codebook
from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.methods.p2ka.publish import TIES, has_ties
from sequester.release.outcome import Outcome
from sequester.release.release import ORDER, PERSON

if TYPE_CHECKING:
    from sequester._typing import Codes
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.mutual_information.mutual_information_method import MutualInformationMethod
    from sequester.methods.mutual_information.plan import Plan

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
ONE_RELEASE = (
    "A second release of the same sequence is not covered: two releases side by side can tell more than each."
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
    limits = [ONLY_PATTERNS, RENAMED, HOLES, ONE_RELEASE]
    if not method.worst_case:
        limits.insert(0, AVERAGE)
    if has_ties(table):
        limits.append(TIES)
    progress(0.5, "listing the changes")
    return Outcome(
        sequences=sequences,
        schema=Schema(person=PERSON, order=ORDER, symbol=column, released=True),
        hierarchies={column: tree.above(book.labels)},
        changes=_changes(table, plan, nodes),
        n_lost_events=int(np.count_nonzero(nodes == 0)),
        limits=tuple(limits),
        warnings=plan.warnings,
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
