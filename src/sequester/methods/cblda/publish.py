"""From classes to the outcome of a method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.data.sequences import Sequences
from sequester.data.text import Codebook, as_text
from sequester.methods.cblda.changes import list_changes
from sequester.release.certificate import released_schema
from sequester.release.outcome import Outcome

if TYPE_CHECKING:
    from sequester._typing import Codes
    from sequester.data.table import EventTable
    from sequester.methods.cblda.solution import Solution


def publish(
    table: EventTable, solution: Solution, *, limits: tuple[str, ...], warnings: tuple[str, ...]
) -> Outcome:
    """Write for each person who is released the events of their class, with their own sensitive values."""
    source, trees = table.sequences, solution.trees
    owners = np.repeat(np.arange(table.n_persons), np.diff(table.person_offsets))
    is_out = solution.is_kept & solution.is_released[owners]
    columns: dict[str, Codes] = {}
    books: dict[str, Codebook] = {}
    hierarchies = {}
    for quasi, (name, tree) in enumerate(zip(trees.names, trees.hierarchies, strict=True)):
        nodes = solution.shown[is_out, quasi] - trees.first[quasi]
        present, places = np.unique(nodes, return_inverse=True)
        labels = [tree.labels[node] for node in present]
        books[name] = Codebook.of(labels)
        columns[name] = books[name].encode(labels)[places]
        hierarchies[name] = tree.above(labels)
    rest = {name: source.columns[name] for name in table.schema.sensitive_columns if name not in columns}
    kept = Sequences.encoded(
        table.person_offsets, {name: as_text(table.frame[name]) for name in table.schema.keep}
    )
    columns |= {name: codes[is_out] for name, codes in (rest | dict(kept.columns)).items()}
    books |= {name: source.codebooks[name] for name in rest} | dict(kept.codebooks)
    offsets = np.concatenate([[0], np.cumsum(is_out)])[table.person_offsets]
    return Outcome(
        sequences=Sequences(offsets.astype(np.int64), columns, books),
        schema=released_schema(
            hierarchies,
            protect=table.protected_nodes,
            columns={name: each.columns for name, each in table.schema.sensitive.items()},
            keep=table.schema.keep,
        ),
        hierarchies=hierarchies,
        changes=list_changes(table, solution),
        limits=limits,
        warnings=warnings,
    )
