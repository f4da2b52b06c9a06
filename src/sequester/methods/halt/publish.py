"""From what is released instead of each value to the outcome of a method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.data.sequences import Sequences
from sequester.data.text import Codebook, as_text
from sequester.methods.halt.changes import list_changes
from sequester.release.certificate import released_schema
from sequester.release.outcome import Outcome

if TYPE_CHECKING:
    from sequester._typing import Codes
    from sequester.data.table import EventTable
    from sequester.methods.halt.solution import Solution


def publish(
    table: EventTable, solution: Solution, *, limits: tuple[str, ...], warnings: tuple[str, ...]
) -> Outcome:
    """Write for each person who is released all events, with what is released of each value."""
    source = table.sequences
    columns: dict[str, Codes] = {}
    books: dict[str, Codebook] = {}
    hierarchies = {}
    for name, column in solution.columns.items():
        book = Codebook.of(column.released)
        columns[name] = book.encode(column.released)[source.columns[name]]
        books[name] = book
        hierarchies[name] = table.hierarchies[name].above(book.labels)
    rest = {name: source.columns[name] for name in table.schema.sensitive_columns if name not in columns}
    kept = Sequences.encoded(
        table.person_offsets, {name: as_text(table.frame[name]) for name in table.schema.keep}
    )
    columns |= rest | dict(kept.columns)
    books |= {name: source.codebooks[name] for name in rest} | dict(kept.codebooks)
    owners = np.repeat(np.arange(table.n_persons), np.diff(table.person_offsets))
    lengths = np.where(solution.is_kept, np.diff(table.person_offsets), 0)
    return Outcome(
        sequences=Sequences(
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            {name: codes[solution.is_kept[owners]] for name, codes in columns.items()},
            books,
        ),
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
