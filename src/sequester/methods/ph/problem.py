"""What has to be hidden, the patterns whose supports are tracked, and the orders that PDPG tries first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.errors import ParameterError
from sequester.methods.ph._kernels import SHORT, Orders
from sequester.methods.ph._row_kernels import (
    DEPTH,
    EXACT,
    FLAGS,
    FREQUENT,
    OWED,
    PARENT,
    SUPPORT,
    SYMBOL,
    Trie,
    index_nodes,
)
from sequester.mining.frequent import MAX_PATTERNS, frequent
from sequester.mining.support import mark_patterns
from sequester.ragged import offsets_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.sequences import Distinct, Sequences
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.methods.ph._row_kernels import CodeTable, Table

MAX_TRACKED = 200_000
"""Patterns below the threshold that are tracked from the start; others are bounded until they matter."""


@dataclass(frozen=True, kw_only=True)
class HidingProblem:
    """What has to be hidden, in codes, and from whom."""

    rows: Distinct
    """The distinct sequences."""
    n_symbols: int
    """Size of the alphabet."""
    secrets: Codes
    """The sensitive patterns that occur, one after the other, in label order."""
    secret_offsets: Offsets
    """Their ends."""
    thresholds: Counts
    """Supporters that each must stay below."""
    min_support: int
    """Supporters that make a pattern frequent."""
    max_length: int
    """Longest pattern whose side effects count."""
    marks: Mask
    """Which sequence contains which secret: a row per sequence."""
    supports: Counts
    """Supporters of each secret."""

    @classmethod
    def of(
        cls,
        sequences: Sequences,
        patterns: Sequence[tuple[str, ...]],
        thresholds: Sequence[int],
        *,
        min_support: int,
        max_length: int,
    ) -> HidingProblem:
        """Encode the sensitive patterns; one with a label that does not occur is hidden as it is."""
        column = sequences.symbol
        book, rows = sequences.codebooks[column], sequences.distinct(column)
        known = sorted(
            (tuple(book.encode(pattern).tolist()), threshold)
            for pattern, threshold in zip(patterns, thresholds, strict=True)
            if all(label in book.codes for label in pattern)
        )
        secrets = np.array([code for codes, _ in known for code in codes], np.int32)
        offsets = offsets_of([len(codes) for codes, _ in known])
        marks = mark_patterns(rows.items, rows.offsets, secrets, offsets)
        return cls(
            rows=rows,
            n_symbols=len(book),
            secrets=secrets,
            secret_offsets=offsets,
            thresholds=np.array([threshold for _, threshold in known], np.int64),
            min_support=min_support,
            max_length=max_length,
            marks=marks,
            supports=rows.weights @ marks,
        )

    @property
    def excess(self) -> Counts:
        """Supporters of each secret that must lose it."""
        too_many: Counts = np.maximum(self.supports - self.thresholds + 1, 0)
        return too_many

    def secret(self, number: int) -> Codes:
        """Return the codes of a sensitive pattern."""
        return self.secrets[self.secret_offsets[number] : self.secret_offsets[number + 1]]

    @property
    def pattern_table(self) -> CodeTable:
        """The sensitive patterns, one per row, filled up with -1."""
        return as_table([self.secret(number).tolist() for number in range(len(self.thresholds))])


class HidingTask(NamedTuple):
    """What a method that hides patterns works on."""

    problem: HidingProblem
    """What has to be hidden, and who has it."""
    trie: Trie
    """The patterns whose loss or appearance counts."""
    table: EventTable
    """The data."""
    rng: np.random.Generator
    """Everything random comes from it."""
    progress: Progress
    """Called with the share of the work that is done."""


def as_table(patterns: Sequence[Sequence[int]]) -> CodeTable:
    """Put patterns into the rows of a table, each followed by -1."""
    table = np.full((len(patterns), max(map(len, patterns), default=0) + 1), -1, np.int32)
    for number, pattern in enumerate(patterns):
        table[number, : len(pattern)] = pattern
    return table


def track_patterns(
    sequences: Sequences, problem: HidingProblem, *, engine: Engine, progress: Progress
) -> Trie:
    """Mine what is frequent, and what could become so, and enter it into a trie."""
    lowest = max(problem.min_support - int(problem.excess.sum()), 1)
    while True:
        try:
            patterns = frequent(
                sequences,
                min_support=lowest,
                max_length=problem.max_length,
                max_patterns=MAX_TRACKED if lowest < problem.min_support else MAX_PATTERNS,
                engine=engine,
                progress=progress,
            )
            break
        except ParameterError:
            if lowest == problem.min_support:
                raise
            # More than anybody can track: begin closer to the threshold.
            lowest += (problem.min_support - lowest + 1) // 2
    nodes = np.zeros((2 * len(patterns) + 100_000, 6), np.int64)
    entered = nodes[1 : len(patterns) + 1]
    sizes = np.diff(patterns.offsets)
    entered[:, SYMBOL] = patterns.codes[patterns.offsets[1:] - 1]
    entered[:, DEPTH] = sizes
    # In lexicographic order a pattern comes after what it begins with, and before all that is as short.
    numbers = np.arange(1, len(patterns) + 1)
    for size in range(2, int(sizes.max(initial=0)) + 1):
        shorter, longer = numbers[sizes == size - 1], numbers[sizes == size]
        nodes[longer, PARENT] = shorter[np.searchsorted(shorter, longer) - 1]
    entered[:, SUPPORT] = patterns.supports
    is_owed = mark_patterns(patterns.codes, patterns.offsets, problem.secrets, problem.secret_offsets)
    is_frequent = patterns.supports >= problem.min_support
    entered[:, FLAGS] = EXACT + FREQUENT * is_frequent + OWED * is_owed.any(axis=1)
    return make_trie(nodes, np.array([len(patterns) + 1, problem.n_symbols, lowest - 1], np.int64))


def make_trie(nodes: Table, sizes: Counts) -> Trie:
    """Make a trie of nodes, with free slots for as many as there is room for."""
    n_slots = 1 << (2 * len(nodes)).bit_length()
    slots = np.full((n_slots, 2), -1, np.int64)
    trie = Trie(slots, nodes, sizes)
    index_nodes(trie)
    return trie


def widen(trie: Trie) -> Trie:
    """Return the same trie with room for twice as many nodes."""
    return make_trie(np.concatenate([trie.nodes, np.zeros_like(trie.nodes)]), trie.sizes)


BUDGET = 5040
"""Orders of one size that are tried: all of 7 places, the nearest of more."""
LONGEST = 64
"""Places; a longer pattern is hidden by deletion."""


def orders_of(size: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """List orders of `size` places, one per row, by increasing Cayley distance, and their distances.

    An order takes, at place ``j``, the item of place ``order[j]``; the one without change is left out. A
    permutation of m elements extends one of m - 1 by a cycle of its own, or by a place behind one of the
    earlier elements, which makes it one swap farther; so each order is made once. Where a distance has more
    orders than the budget has left, some are drawn.

    Examples
    --------
    >>> places, distances = orders_of(3, np.random.default_rng(0))
    >>> places.tolist(), distances.tolist()
    ([[0, 2, 1], [1, 0, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]], [1, 1, 1, 2, 2])
    """
    found: list[tuple[int, ...]] = []
    distances: list[int] = []
    for distance in range(1, size):
        left = BUDGET - len(found)
        # So many orders are so far away: a place behind an earlier element for each that is inserted.
        is_whole = sum(map(prod, combinations(range(1, size), distance))) <= left
        if is_whole:
            level = _all_orders(size, distance)
        else:
            level = sorted({_draw_order(size, distance, rng) for _ in range(left)})
        found += level
        distances += [distance] * len(level)
        if not is_whole:
            break
    return np.array(found, np.int32).reshape(len(found), size), np.array(distances, np.int32)


def order_tables(sizes: Sequence[int], rng: np.random.Generator) -> Orders:
    """Put the orders of all sizes up to the largest of `sizes` into one table; others are left empty."""
    largest = max((each for each in sizes if each <= LONGEST), default=1)
    wanted = {*range(2, SHORT + 1), *sizes}
    places, distances = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    n_places, n_orders = [0], [0]
    for size in range(max(largest, SHORT) + 1):
        rows, steps = orders_of(size, rng) if size in wanted and size > 1 else (places[0], distances[0])
        places.append(rows.ravel())
        distances.append(steps)
        n_places.append(rows.size)
        n_orders.append(len(steps))
    starts = np.column_stack([np.cumsum(n_places), np.cumsum(n_orders)])
    return Orders(np.concatenate(places), np.concatenate(distances), starts)


@cache
def _all_orders(size: int, distance: int) -> list[tuple[int, ...]]:
    """Return every order that is `distance` swaps away, sorted: choose who is inserted, and behind whom."""
    return sorted(
        _made(size, inserted, behind)
        for inserted in combinations(range(1, size), distance)
        for behind in product(*map(range, inserted))
    )


def _draw_order(size: int, distance: int, rng: np.random.Generator) -> tuple[int, ...]:
    inserted = sorted(rng.choice(np.arange(1, size), distance, replace=False).tolist())
    return _made(size, inserted, [int(rng.integers(each)) for each in inserted])


def _made(size: int, inserted: Sequence[int], behind: Sequence[int]) -> tuple[int, ...]:
    order = list(range(size))
    for element, other in zip(inserted, behind, strict=True):
        order[element], order[other] = order[other], element
    return tuple(order)
