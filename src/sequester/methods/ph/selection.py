"""Phase II: who passes untouched, and who has to be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.kernels.pattern_trie import Trie
    from sequester.methods.ph.followed import Problem


def rank(problem: Problem, trie: Trie, rows: Counts) -> Counts:
    """Give an upper bound of the side effects of changing each of `rows`."""
    ranks: Counts = kernels.hiding_rank.rank_rows(
        trie,
        problem.rows.items,
        problem.rows.offsets,
        rows,
        problem.marks.ravel(),
        problem.secrets,
        problem.secret_offsets,
        problem.excess,
        problem.max_length,
        problem.min_support,
    )
    return ranks


def select(problem: Problem, order: Counts) -> Counts:
    """Let rows pass in the given order, person by person, while every secret stays below its threshold.

    Gives, for each row of `order`, the number of persons who have it and must be changed.
    """
    n_changed: Counts = kernels.hiding_rank.pass_rows(
        order, problem.rows.weights, problem.marks.ravel(), problem.thresholds
    )
    return n_changed


def persons_of(problem: Problem, rows: Counts, counts: Counts, rng: np.random.Generator) -> Counts:
    """Draw `counts` persons of each of `rows`, row after row."""
    shuffled = rng.permutation(len(problem.rows.row_of_person))
    by_row = shuffled[np.argsort(problem.rows.row_of_person[shuffled], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(problem.rows.weights)])[rows]
    owner = np.repeat(np.arange(len(rows)), counts)
    before = np.cumsum(counts) - counts
    return by_row[starts[owner] + np.arange(len(owner)) - before[owner]]


def choose(problem: Problem, trie: Trie, rng: np.random.Generator) -> tuple[Counts, Counts]:
    """Let those pass whose change would do most harm; give the sequences of the others, and who they are."""
    supporting = np.flatnonzero(problem.marks.any(axis=1))
    order = supporting[np.argsort(-rank(problem, trie, supporting), kind="stable")]
    n_changed = select(problem, order)
    rows, counts = order[n_changed > 0], n_changed[n_changed > 0]
    return np.repeat(rows, counts), persons_of(problem, rows, counts, rng)
