"""Which persons have something to hide, and the same search for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester import kernels
from sequester.engine import silent
from sequester.errors import SchemaError
from sequester.methods.mutual_information.costs import costs_by_depth
from sequester.methods.mutual_information.solve import Solver
from sequester.methods.mutual_information.task import Bound, Task, paths_of
from sequester.methods.patterns import absent_warnings

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.methods.mutual_information.mutual_information_method import MutualInformationMethod

    Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The sequences to work on, equal ones once, and how often each pattern occurs in each."""

    task: Task
    """What is the same for everybody."""
    solver: Solver
    """How to search."""
    items: Codes
    """The codes of all rows."""
    offsets: Offsets
    """Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``."""
    row_of_person: Counts
    """Person to row."""
    weights: Numbers | None
    """The importance of each item, where it is told."""
    found: Counts
    """Cell ``[p, r]``: how often pattern ``p`` of the task occurs in row ``r``."""
    warnings: tuple[str, ...]
    """Patterns that do not occur."""

    @classmethod
    def of(cls, method: MutualInformationMethod, table: EventTable) -> Plan:
        """Encode patterns and costs, and count; refuses where no pattern occurs."""
        sequences = table.sequences
        column = sequences.symbol
        book, tree = sequences.codebooks[column], table.hierarchies[column]
        weights = read_weights(table)
        if weights is None:
            rows = sequences.distinct(column)
            items, offsets, row_of_person = rows.items, rows.offsets, rows.row_of_person.astype(np.int64)
        else:
            # Equal sequences may have different weights.
            items, offsets = sequences.columns[column], sequences.person_offsets
            row_of_person = np.arange(sequences.n_persons)
        everybody = np.ones(len(offsets) - 1, np.bool_)
        counts: list[Counts] = []
        for pattern in method.patterns:
            if all(label in book.codes for label in pattern):
                codes = book.encode(pattern)
                counts.append(
                    kernels.window_counts.count_spelled(
                        items, items, offsets, codes, codes, method.window, everybody
                    )
                )
            else:
                counts.append(np.zeros(len(everybody), np.int64))
        warnings = absent_warnings("patterns", method.patterns, [int(each.any()) for each in counts])
        order = sorted(
            (place for place, each in enumerate(counts) if each.any()),
            key=lambda place: (len(method.patterns[place]), method.patterns[place]),
        )
        leaves = tree.nodes(book.labels)
        task = Task(
            tree=tree,
            paths=paths_of(tree, leaves),
            leaf_depths=tree.depth[leaves].astype(np.int64),
            costs=costs_by_depth(tree, book.labels, method.cost),
            patterns=tuple(book.encode(method.patterns[place]) for place in order),
            window=method.window,
            bound=Bound(
                share=method.max_leakage,
                bits=method.max_leakage_bits,
                worst_case=method.worst_case,
                is_exact=method.measure == "exact",
            ),
        )
        return cls(
            task=task,
            solver=Solver(way=method.way, search=method.search, scope=method.scope),
            items=items,
            offsets=offsets,
            row_of_person=row_of_person,
            weights=weights,
            found=np.array([counts[place] for place in order]),
            warnings=warnings,
        )

    def run(self, *, engine: Engine, progress: Progress = silent) -> Codes:
        """Give the node that is released for each event of the table, persons one after the other."""
        concerned = np.flatnonzero(self.found.any(axis=0))
        nodes = self.task.leaf_nodes[self.items]

        def sanitize(shard: range) -> None:
            for row in concerned[shard.start : shard.stop].tolist():
                here = slice(self.offsets[row], self.offsets[row + 1])
                weights = None if self.weights is None else self.weights[here]
                nodes[here] = self.solver.solve(self.task, self.items[here], self.found[:, row], weights)

        engine.map(sanitize, engine.split(len(concerned)), progress=progress, phase="generalizing")
        released: Codes = kernels.distinct.gather_rows(nodes, self.offsets, self.row_of_person)[0]
        return released


def read_weights(table: EventTable) -> Numbers | None:
    """Take the importance of each event; what is no number of at least 0 is refused by its row."""
    if table.schema.weight is None:
        return None
    given = table.frame[table.schema.weight]
    values = given.cast(pl.Float64, strict=False)
    weights = values.to_numpy().astype(np.float64)
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        first = int(wrong.argmax())
        msg = (
            f"column {table.schema.weight!r}: {given[first]!r} is no weight, which is a number of at least 0 "
            f"(row {table.rows[first]})"
        )
        raise SchemaError(msg)
    return weights
