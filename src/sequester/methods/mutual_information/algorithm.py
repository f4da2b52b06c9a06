"""From a table to the node that is released for each event: the same search for each person.

What has to be hidden, the bounds and the counts of one person are a `Problem`; the greedy searches of the
paper and the closer ones are compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.engine import silent
from sequester.errors import ParameterError, SchemaError
from sequester.methods.method import absent_warnings
from sequester.methods.mutual_information import _kernels, _search_kernels
from sequester.methods.mutual_information.problem import SharedTask, costs_by_depth, describe, paths_of
from sequester.privacy.mutual_information import count_spelled
from sequester.ragged import gather_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.methods.mutual_information._kernels import Problem
    from sequester.methods.mutual_information.method import MutualInformationMethod
    from sequester.methods.mutual_information.problem import Person

    Numbers = npt.NDArray[np.float64]

MOST_TRIALS = 200_000
"""Trials of the local search for one person."""
MOST_RECOUNTED = 20_000_000
"""Tuples that all of these may look at: about a second. Single moves come first, and pay most."""
MOST_MOVES = 2_000
"""Moves among which the local search looks for pairs."""
MOST_WORK = 3_000_000_000
"""Tuples that the exact search looks at for one person."""


@dataclass(frozen=True, kw_only=True)
class LeakagePlan:
    """The sequences to work on, equal ones once, and how often each pattern occurs in each."""

    method: MutualInformationMethod
    """How to search."""
    task: SharedTask
    """What is the same for everybody."""
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
    def of(cls, method: MutualInformationMethod, table: EventTable) -> LeakagePlan:
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
                counts.append(count_spelled(items, items, offsets, codes, codes, method.window, everybody))
            else:
                counts.append(np.zeros(len(everybody), np.int64))
        warnings = absent_warnings("patterns", method.patterns, [int(each.any()) for each in counts])
        order = sorted(
            (place for place, each in enumerate(counts) if each.any()),
            key=lambda place: (len(method.patterns[place]), method.patterns[place]),
        )
        leaves = tree.nodes(book.labels)
        task = SharedTask(
            tree=tree,
            paths=paths_of(tree, leaves),
            leaf_depths=tree.depth[leaves].astype(np.int64),
            costs=costs_by_depth(tree, book.labels, method.cost),
            patterns=tuple(book.encode(method.patterns[place]) for place in order),
            model=method.model(),
        )
        return cls(
            method=method,
            task=task,
            items=items,
            offsets=offsets,
            row_of_person=row_of_person,
            weights=weights,
            found=np.array([counts[place] for place in order]),
            warnings=warnings,
        )

    def run(self, *, engine: Engine, progress: Progress = silent) -> Codes:
        """Return the node that is released for each event of the table, persons one after the other."""
        concerned = np.flatnonzero(self.found.any(axis=0))
        nodes = self.task.leaf_nodes[self.items]
        parts = [concerned[shard.start : shard.stop] for shard in engine.split(len(concerned))]
        solved = engine.map(_sanitize, parts, shared=self, progress=progress, phase="generalizing")
        for rows, answer in zip(parts, solved, strict=True):
            nodes[gather_rows(np.arange(len(nodes)), self.offsets, rows)[0]] = answer
        released: Codes = gather_rows(nodes, self.offsets, self.row_of_person)[0]
        return released

    def solve(self, row: int) -> Codes:
        """Return the node that is released at each place of a row in which a pattern occurs."""
        here, found = slice(self.offsets[row], self.offsets[row + 1]), self.found[:, row]
        items, weights = self.items[here], None if self.weights is None else self.weights[here]
        if self.method.search == "greedy" and self.method.scope == "global":
            # Where the sensitive symbols suffice, the others stay as they are and need not be counted.
            person = describe(self.task, items, found, weights=weights, only_sensitive=True)
            depths = self._go(person, person.is_sensitive)
            if depths is not None:
                return _released(self.task, items, person, depths)
        takes_part = participants(self.task, items, found) if self.method.scope == "local" else None
        person = describe(self.task, items, found, weights=weights, is_participant=takes_part)
        return _released(self.task, items, person, self._search(person))

    def _go(self, person: Person, active: Mask) -> Counts | None:
        """Return the depths that the paper's way finds; None where more than the active symbols must move."""
        if self.method.way == "top-down":
            return _top_down(person, active)
        depths, tree = np.empty(len(person.codes), np.int64), self.task.tree
        n_tested = _kernels.bottom_up(person.problem, active, tree.parent, tree.depth, depths)
        return depths if n_tested else None

    def _search(self, person: Person) -> Counts:
        """Return the depths that the way alone, a local search from its answer, or an exact one finds."""
        problem = person.problem
        everything = np.ones(len(person.codes), np.bool_)
        # All occurrences of a sensitive symbol, those that take part in no pattern included.
        sensitive = np.isin(person.codes, person.codes[person.is_sensitive])
        first = self._go(person, sensitive)
        answers = [self._go(person, everything) if first is None else first]
        if self.method.scope == "local":
            _search_kernels.refine_alone(problem, answers[0], ~person.is_sensitive)
            answers.append(_top_down(person, person.is_sensitive))
        best = _cheapest(problem, answers)
        if self.method.search == "greedy":
            return best
        starts = [best, _top_down(person, everything)]
        trials = min(MOST_TRIALS, 1 + MOST_RECOUNTED // len(problem.tuples.counts))
        best = _cheapest(
            problem, [_search_kernels.improve(problem, start, trials, MOST_MOVES) for start in starts]
        )
        if self.method.search == "improve":
            return best
        exact: Counts
        exact, ended = _search_kernels.optimal(problem, best, person.is_sensitive, MOST_WORK)
        if not ended:
            msg = (
                f'search must be "greedy" or "improve" here: with {len(everything)} symbols and '
                f'{len(problem.tuples.counts):,} different tuples, "optimal" would look at more than '
                f"{MOST_WORK:.0e} tuples"
            )
            raise ParameterError(msg)
        return exact


def _sanitize(rows: Counts, plan: LeakagePlan) -> Codes:
    """Return the nodes that are released for the events of some rows, one row after the other."""
    return np.concatenate([np.empty(0, np.int32), *(plan.solve(row) for row in rows.tolist())])


def read_weights(table: EventTable) -> Numbers | None:
    """Return the importance of each event; what is no number of at least 0 is refused by its row."""
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


def participants(task: SharedTask, row: Codes, found: Counts) -> Mask:
    """Mark the places of a sequence that take part in a sensitive occurrence."""
    marked = np.zeros(len(row), np.bool_)
    for each in np.flatnonzero(found):
        _kernels.mark_participants(row, task.patterns[each], task.model.window, marked)
    return marked


def _top_down(person: Person, active: Mask) -> Counts | None:
    """Return the depths that Top-Down finds; None where more than the active symbols must move."""
    depths = np.empty(len(person.codes), np.int64)
    return depths if _kernels.top_down(person.problem, active, person.ranks, depths) else None


def _cheapest(problem: Problem, answers: list[Counts | None]) -> Counts:
    """Return the first of the answers that cost least."""
    private = [depths for depths in answers if depths is not None]
    if len(private) == 1:
        return private[0]
    return min(private, key=lambda depths: _search_kernels.loss_at(problem, depths))


def _released(task: SharedTask, row: Codes, person: Person, depths: Counts) -> Codes:
    nodes = task.leaf_nodes[row]
    moved = person.symbols >= 0
    chosen = person.problem.paths[np.arange(len(depths)), depths]
    nodes[moved] = chosen[person.symbols[moved]]
    return nodes
