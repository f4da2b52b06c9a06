"""From nodes of the prefix tree to the outcome of a method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.data.ordering import order_keys, repeats
from sequester.data.schema import ROW, Schema
from sequester.data.sequences import Sequences
from sequester.methods.p2ka.changes import list_changes
from sequester.release.outcome import Outcome
from sequester.release.release import ORDER, PERSON

if TYPE_CHECKING:
    from sequester.data.sequences import Distinct
    from sequester.data.table import EventTable
    from sequester.methods.p2ka.attachment import Attachment

TIES = (
    "Events that a person had at the same time stay in one order, which may come from the source file and "
    "does not say which was first."
)


def publish(
    table: EventTable,
    distinct: Distinct,
    attachment: Attachment,
    *,
    limits: tuple[str, ...],
    warnings: tuple[str, ...],
) -> Outcome:
    """Write for each person the path they are attached to, and what that changes."""
    source = table.sequences
    return Outcome(
        sequences=attached(source, distinct, attachment),
        schema=Schema(person=PERSON, order=ORDER, symbol=source.symbol),
        changes=list_changes(table, distinct, attachment),
        limits=(*limits, TIES) if has_ties(table) else limits,
        warnings=warnings,
    )


def attached(source: Sequences, distinct: Distinct, attachment: Attachment) -> Sequences:
    """Give each person the path of the node that their sequence is attached to."""
    nodes = attachment.targets[distinct.row_of_person].astype(np.int64)
    codes, offsets = kernels.distinct.gather_rows(*attachment.tree.paths(), nodes)
    return Sequences(offsets, {source.symbol: codes}, source.codebooks, source.owners)


def has_ties(table: EventTable) -> bool:
    """Tell whether two events of a person have the same time or order."""
    when = table.times
    if when is None and table.schema.order is not None:
        when = table.frame[table.schema.order]
    if when is None or table.schema.person == ROW:
        return False
    return bool(repeats(table.person_offsets, order_keys(when)).any())
