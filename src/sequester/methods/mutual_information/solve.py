"""From one person's problem to the depth at which each symbol is released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sequester import kernels
from sequester.errors import ParameterError
from sequester.methods.mutual_information.task import describe

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask
    from sequester.kernels.leakage import Problem
    from sequester.methods.mutual_information.task import Person, Task

MOST_TRIALS = 200_000
"""Trials of the local search for one person."""
MOST_MOVES = 2_000
"""Moves among which the local search looks for pairs."""
MOST_WORK = 3_000_000_000
"""Tuples that the exact search looks at for one person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solver:
    """How to look for a generalization."""

    way: Literal["top-down", "bottom-up"]
    """Which of the paper's two ways."""
    search: Literal["greedy", "improve", "optimal"] = "greedy"
    """The way alone, a local search from its answer, or an exact one."""
    scope: Literal["global", "local"] = "global"
    """Whether occurrences of one symbol are released alike."""
    most_work: int = MOST_WORK
    """Where the exact search gives up."""

    def solve(self, task: Task, row: Codes, found: Counts, weights: npt.NDArray[np.float64] | None) -> Codes:
        """Give the node that is released at each place of a sequence in which a pattern occurs."""
        person = None
        if self.search == "greedy" and self.scope == "global":
            # Where the sensitive symbols suffice, the others stay as they are and need not be counted.
            person = describe(task, row, found, weights=weights, only_sensitive=True)
            sensitive = person.problem.is_sensitive
            if kernels.leakage_greedy.is_enough(person.problem, sensitive):
                return _released(task, row, person, self._go(task, person.problem, sensitive))
        takes_part = participants(task, row, found) if self.scope == "local" else None
        person = describe(task, row, found, weights=weights, is_participant=takes_part)
        return _released(task, row, person, self._search(task, person))

    def _go(self, task: Task, problem: Problem, active: Mask) -> Counts:
        depths: Counts
        if self.way == "bottom-up":
            depths = kernels.leakage_greedy.bottom_up(problem, active, task.tree.parent, task.tree.depth)
        else:
            depths = kernels.leakage_greedy.top_down(problem, active)
        return depths

    def _search(self, task: Task, person: Person) -> Counts:
        problem = person.problem
        greedy, search = kernels.leakage_greedy, kernels.leakage_search
        everything = np.ones(len(person.codes), np.bool_)
        # All occurrences of a sensitive symbol, those that take part in no pattern included.
        sensitive = np.isin(person.codes, person.codes[problem.is_sensitive])
        active = sensitive if greedy.is_enough(problem, sensitive) else everything
        answers = [self._go(task, problem, active)]
        if self.scope == "local":
            search.refine_alone(problem, answers[0], ~problem.is_sensitive)
            if greedy.is_enough(problem, problem.is_sensitive):
                answers.append(greedy.top_down(problem, problem.is_sensitive))
        best = _cheapest(problem, answers)
        if self.search == "greedy":
            return best
        starts = [best, greedy.top_down(problem, everything)]
        best = _cheapest(
            problem, [search.improve(problem, start, MOST_TRIALS, MOST_MOVES) for start in starts]
        )
        if self.search == "improve":
            return best
        exact: Counts
        exact, ended = search.optimal(problem, best, self.most_work)
        if not ended:
            msg = (
                f'search must be "greedy" or "improve" here: with {len(everything)} symbols and '
                f'{len(problem.tuples):,} different tuples, "optimal" would look at more than '
                f"{self.most_work:.0e} tuples"
            )
            raise ParameterError(msg)
        return exact


def participants(task: Task, row: Codes, found: Counts) -> Mask:
    """Mark the places of a sequence that take part in a sensitive occurrence."""
    marked = np.zeros(len(row), np.bool_)
    for each in np.flatnonzero(found):
        kernels.window_counts.mark_participants(row, task.patterns[each], task.window, marked)
    return marked


def _cheapest(problem: Problem, answers: list[Counts]) -> Counts:
    """The first of the answers that cost least."""
    return min(answers, key=lambda depths: kernels.leakage.loss_at(problem, depths))


def _released(task: Task, row: Codes, person: Person, depths: Counts) -> Codes:
    nodes = task.leaf_nodes[row]
    moved = person.symbols >= 0
    chosen = person.problem.paths[np.arange(len(depths)), depths]
    nodes[moved] = chosen[person.symbols[moved]]
    return nodes
