"""From nodes of the prefix tree to the outcome of a method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.methods.limits import tie_limits
from sequester.methods.p2ka.changes import list_changes
from sequester.ragged import gather_rows
from sequester.release.outcome import Outcome
from sequester.release.release import ORDER, PERSON

if TYPE_CHECKING:
    from sequester.data.sequences import Distinct
    from sequester.data.table import EventTable
    from sequester.methods.p2ka.attachment import Attachment


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
        limits=(*limits, *tie_limits(table)),
        warnings=warnings,
    )


def attached(source: Sequences, distinct: Distinct, attachment: Attachment) -> Sequences:
    """Give each person the path of the node that their sequence is attached to."""
    nodes = attachment.targets[distinct.row_of_person].astype(np.int64)
    codes, offsets = gather_rows(*attachment.tree.paths(), nodes)
    return Sequences(offsets, {source.symbol: codes}, source.codebooks, source.owners)
