"""Phase III: change the selected sequences one after the other, with supports that follow every change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.methods.ph.followed import widen
from sequester.methods.ph.orders import order_tables

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets
    from sequester.engine import Progress
    from sequester.kernels.hiding_search import Orders, Spread
    from sequester.kernels.pattern_trie import Trie
    from sequester.methods.ph.followed import Problem

BLOCK = 2000
"""Sequences between two signs of progress."""


@dataclass(frozen=True, kw_only=True)
class Sanitized:
    """The changed sequences; a deleted item is -1."""

    persons: Counts
    """Whose they are."""
    items: Codes
    """Their codes, as many as before."""
    offsets: Offsets
    """Sequence ``t`` is ``items[offsets[t]:offsets[t + 1]]``."""
    distances: Counts
    """Swaps that each took."""
    usage: dict[tuple[int, tuple[int, ...]], int]
    """Secret and order of its places to the sequences that got it."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How sequences may be changed."""

    mode: int
    """One of the modes of the search."""
    wanted: int = 0
    """Permutations of each secret that are asked for."""
    least: int = 0
    """Supporters that each of them must have."""
    forbidden: tuple[tuple[int, ...], ...] = ()
    """Patterns that may not be where they were not."""
    seen: Counts | None = None
    """Pairs that may occur; None: all."""


def sanitize(
    problem: Problem,
    trie: Trie,
    rows: Counts,
    persons: Counts,
    rules: Rules,
    rng: np.random.Generator,
    *,
    progress: Progress,
) -> Sanitized:
    """Change the sequences of `persons`, which are the `rows`, so that no secret is left in them."""
    distinct = problem.rows
    sizes = np.diff(problem.secret_offsets).tolist()
    orders = order_tables(sizes, rng)
    spread, patterns = _spread(problem, orders, rules)
    offsets = np.concatenate([[0], np.cumsum(distinct.lengths[rows])]).astype(np.int64)
    changed = np.empty(offsets[-1], np.int32)
    distances = np.zeros(len(rows), np.int64)
    draws = rng.random(len(rows))
    weights = distinct.weights.copy()
    different, counts = np.unique(rows, return_counts=True)
    kernels.hiding.add_all_demand(
        trie, distinct.items, distinct.offsets, different, counts.astype(np.int64), problem.max_length
    )
    secrets = kernels.hiding_rows.Secrets(
        problem.secrets,
        problem.secret_offsets,
        problem.excess,
        np.array([code for pattern in rules.forbidden for code in pattern], np.int32),
        np.cumsum([0, *map(len, rules.forbidden)]).astype(np.int64),
        np.empty(0, np.int64) if rules.seen is None else rules.seen,
        problem.n_symbols,
    )
    done = 0
    while done < len(rows):
        progress(done / len(rows), "hiding patterns")
        last = min(done + BLOCK, len(rows))
        reached = kernels.hiding.hide_rows(
            done,
            last,
            rows,
            draws,
            distinct.items,
            distinct.offsets,
            weights,
            changed,
            offsets,
            distances,
            trie,
            secrets,
            orders,
            spread,
            problem.max_length,
            problem.min_support,
        )
        if reached < last:
            trie = widen(trie)
        done = reached
    used = np.flatnonzero(spread.usage)
    return Sanitized(
        persons=persons,
        items=changed,
        offsets=offsets,
        distances=distances,
        usage={patterns[place]: int(spread.usage[place]) for place in used.tolist()},
    )


def _spread(
    problem: Problem, orders: Orders, rules: Rules
) -> tuple[Spread, dict[int, tuple[int, tuple[int, ...]]]]:
    """Number the permutations of every secret; orders that give the same pattern share a number."""
    classes: list[int] = []
    starts = [0]
    patterns: dict[int, tuple[int, tuple[int, ...]]] = {}
    base: list[int] = []
    for number in range(len(problem.thresholds)):
        secret = tuple(problem.secret(number).tolist())
        size = len(secret)
        first: dict[tuple[int, ...], int] = {}
        if 1 < size < len(orders.starts) - 1:
            n_orders = int(orders.starts[size + 1] - orders.starts[size])
            places = orders.places[orders.place_starts[size] :][: n_orders * size].reshape(n_orders, size)
            for place, order in enumerate(places.tolist()):
                pattern = tuple(secret[each] for each in order)
                patterns.setdefault(starts[-1] + first.setdefault(pattern, place), (number, pattern))
                classes.append(first[pattern])
        starts.append(len(classes))
        base += [0] * (starts[-1] - len(base))
        if rules.mode == kernels.hiding_search.BOUNDED:
            for pattern, place in first.items():
                base[starts[-2] + place] = _support(problem, pattern)
    spread = kernels.hiding_search.Spread(
        rules.mode,
        np.array(classes, np.int32),
        np.array(starts, np.int64),
        np.zeros(len(classes), np.int64),
        np.array(base, np.int64),
        rules.wanted,
        rules.least,
        np.zeros(len(problem.thresholds), np.int64),
    )
    return spread, patterns


def _support(problem: Problem, pattern: tuple[int, ...]) -> int:
    rows = problem.rows
    marked = kernels.containment.mark_supporters(rows.items, rows.offsets, np.array(pattern, np.int32))
    return int(rows.weights[marked].sum())
