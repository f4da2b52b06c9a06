"""Evaluations of the mutual information by the algorithms of Bonomi, Fan, Jin (2016), as they are printed.

Each of them reads the sequence again there, so that they are its time. Our methods end with the same
generalization, count tuples once, and try each refinement once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.methods.mutual_information import _kernels
from sequester.methods.mutual_information.problem import describe

if TYPE_CHECKING:
    from sequester._typing import Counts, Mask
    from sequester.methods.mutual_information.algorithm import LeakagePlan as Search
    from sequester.methods.mutual_information.problem import Person


def count_evaluations(search: Search) -> int:
    """Count how often the algorithm as printed evaluates the mutual information of a generalization.

    The test whether the symbols of the patterns suffice counts, too.
    """
    task, row, found = search.task, search.items, search.found[:, 0]
    person = describe(task, row, found, weights=None, only_sensitive=True)
    is_active = person.is_sensitive
    if search.solver.way == "top-down":
        if (n_tried := refine_as_printed(person, is_active)[0]) > 1:
            return n_tried
        person = describe(task, row, found, weights=None)
        return 1 + refine_as_printed(person, np.ones(len(person.codes), np.bool_))[0]
    depths, tree = np.empty(len(person.codes), np.int64), task.tree
    n_merged: int = _kernels.bottom_up(person.problem, is_active, tree.parent, tree.depth, depths)
    if not n_merged:
        person = describe(task, row, found, weights=None)
        depths, everything = np.empty(len(person.codes), np.int64), np.ones(len(person.codes), np.bool_)
        n_merged = _kernels.bottom_up(person.problem, everything, tree.parent, tree.depth, depths)
    # Ours tests before the first step, too, and Algorithm 3 only after each.
    return max(n_merged - 1, 1)


def refine_as_printed(person: Person, is_active: Mask) -> tuple[int, Counts]:
    """Refine as Algorithm 1 does, line by line; return the number of evaluations, and the depths."""
    problem = person.problem
    paths, costs, n_patterns = problem.paths, problem.costs, len(problem.patterns.symbols)
    depths = np.where(is_active, 0, problem.leaf_depths)
    symbols = np.arange(len(depths))
    alike, counted = np.empty(n_patterns, np.int64), np.empty(n_patterns, np.int64)
    nodes = paths[symbols, depths].astype(np.int32)
    _kernels.recount_alike(problem.tuples, problem.patterns, np.full_like(nodes, -1), nodes, alike, counted)
    n_tried, alike = 1, counted.copy()
    if not _kernels.is_private(problem.patterns, nodes, counted, True):
        return n_tried, depths
    is_open = depths < problem.leaf_depths
    while is_open.any():
        best, least = np.empty(0, np.int64), np.inf
        for symbol in np.argsort(person.ranks).tolist():
            if not is_open[symbol]:
                continue
            depth = int(depths[symbol])
            block = np.flatnonzero(
                is_active & (depths == depth) & (paths[:, depth + 1] == paths[symbol, depth + 1])
            )
            loss = float((costs[block, depth + 1] - costs[block, depth]).sum())
            if loss > least + problem.near:
                continue
            new = nodes.copy()
            new[block] = paths[block, depth + 1]
            _kernels.recount_alike(problem.tuples, problem.patterns, nodes, new, alike, counted)
            n_tried += 1
            if _kernels.is_private(problem.patterns, new, counted, True):
                best, least, best_alike = block, loss, counted.copy()
            else:
                is_open[block] = False
        if best.size:
            depths[best] += 1
            nodes, alike = paths[symbols, depths].astype(np.int32), best_alike
            is_open[best] = depths[best] < problem.leaf_depths[best]
    return n_tried, depths
