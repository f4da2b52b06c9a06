"""Phases II and III of PH, and the check that bounded uncertainty was reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.errors import UnattainableError
from sequester.methods.ph.ph import Bounded
from sequester.methods.ph.sanitize import Rules, Sanitized, sanitize
from sequester.methods.ph.selection import choose
from sequester.mining.pairs import list_pairs

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.kernels.pattern_trie import Trie
    from sequester.methods.ph.followed import Problem
    from sequester.methods.ph.ph import PH


def permute(
    method: PH,
    problem: Problem,
    trie: Trie,
    table: EventTable,
    rng: np.random.Generator,
    *,
    progress: Progress,
) -> Sanitized:
    """Let those pass whose change would do most harm, and change the others."""
    progress(0.0, "choosing who passes")
    rows, persons = choose(problem, trie, rng)
    sanitized = sanitize(problem, trie, rows, persons, _rules(method, table), rng, progress=progress)
    if isinstance(method.uncertainty, Bounded):
        _demand_spread(problem, sanitized, method.uncertainty, table)
    return sanitized


def _rules(method: PH, table: EventTable) -> Rules:
    search = kernels.hiding_search
    sequences = table.sequences
    book, distinct = sequences.codebooks[sequences.symbol], sequences.distinct(sequences.symbol)
    seen, forbidden = None, []
    if isinstance(method.forbidden, str):
        seen = list_pairs(distinct.items, distinct.offsets, len(book))
    else:
        # A pattern with a label that does not occur cannot come about.
        forbidden = [each for each in method.forbidden if all(label in book.codes for label in each)]
    codes = tuple(tuple(book.encode(each).tolist()) for each in forbidden)
    if isinstance(method.uncertainty, Bounded):
        return Rules(
            mode=search.BOUNDED,
            wanted=method.uncertainty.permutations,
            least=method.uncertainty.support,
            forbidden=codes,
            seen=seen,
        )
    mode = search.MAXIMUM if method.uncertainty == "maximum" else search.MINIMUM_HARM
    return Rules(mode=mode, forbidden=codes, seen=seen)


def _demand_spread(problem: Problem, sanitized: Sanitized, wanted: Bounded, table: EventTable) -> None:
    """Refuse unless each secret that was hidden has enough permutations with enough supporters now."""
    sequences = table.sequences
    labels = sequences.codebooks[sequences.symbol].labels
    weights = problem.rows.weights.copy()
    np.subtract.at(weights, problem.rows.row_of_person[sanitized.persons], 1)
    lines = []
    for number in np.flatnonzero(problem.excess).tolist():
        used = [pattern for secret, pattern in sanitized.usage if secret == number]
        counts = [
            kernels.hiding.count_live(
                np.array(pattern, np.int32),
                problem.rows.items,
                problem.rows.offsets,
                weights,
                sanitized.items,
                sanitized.offsets,
                len(sanitized.persons),
            )
            for pattern in used
        ]
        n_reached = sum(count >= wanted.support for count in counts)
        if n_reached < wanted.permutations:
            name = " → ".join(labels[code] for code in problem.secret(number))
            lines.append(f"{name} has {n_reached}")
    if lines:
        msg = (
            f"uncertainty asks for {wanted.permutations} permutations of each pattern with {wanted.support} "
            f"supporters each, and {', '.join(lines[:3])}"
        )
        raise UnattainableError(msg)
