"""The two ways to hide patterns by deletion that PH is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.methods.ph.sanitize import Rules, Sanitized, sanitize
from sequester.methods.ph.selection import choose
from sequester.ragged import gather_rows

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.kernels.pattern_trie import Trie
    from sequester.methods.ph.followed import Problem


def delete_by_side_effects(
    problem: Problem, trie: Trie, rng: np.random.Generator, *, progress: Progress
) -> Sanitized:
    """SBSH-style: change those with the fewest candidates, and delete what is in most embeddings."""
    progress(0.0, "choosing who passes")
    rows, persons = choose(problem, trie, rng)
    rules = Rules(mode=kernels.hiding_search.DELETE_ONLY)
    return sanitize(problem, trie, rows, persons, rules, rng, progress=progress)


def delete_by_matchings(problem: Problem, table: EventTable, *, progress: Progress) -> Sanitized:
    """Abul: pattern by pattern, change those with the fewest matchings."""
    sequences = table.sequences
    codes = sequences.columns[sequences.symbol]
    offsets = sequences.person_offsets
    items = codes.copy()
    for number, threshold in enumerate(problem.thresholds.tolist()):
        progress(number / len(problem.thresholds), "hiding patterns")
        secret = problem.secret(number)
        counts = kernels.match_deletion.count_matchings(items, offsets, secret)
        holders = np.flatnonzero(counts > 0)
        by_matchings = holders[np.argsort(counts[holders], kind="stable")]
        n_changed = max(len(holders) - threshold + 1, 0)
        kernels.match_deletion.delete_matchings(items, offsets, by_matchings[:n_changed], secret)
    n_deleted = np.diff(np.concatenate([[0], np.cumsum(items < 0)])[offsets])
    persons = np.flatnonzero(n_deleted)
    changed, changed_offsets = gather_rows(items, offsets, persons)
    return Sanitized(
        persons=persons,
        items=changed,
        offsets=changed_offsets,
        distances=np.zeros(len(persons), np.int64),
        usage={},
    )
