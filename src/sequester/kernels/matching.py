"""Find whom knowledge fits, by an index of who shows what, and count what they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.buffers import ensure_capacity
from sequester.kernels.compiler import njit
from sequester.kernels.fitting import keep_fitting

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets
    from sequester.kernels.fitting import Histories, Lists, Queries, Trees


class Targets(NamedTuple):
    """Who asks each query, and in which values of theirs one could become sure."""

    starts: Offsets
    """Query ``q`` is asked by the targets ``targets[starts[q]:starts[q + 1]]``."""
    targets: Codes
    """Their numbers."""
    window_starts: Offsets
    """Target ``t`` has the windows ``window_starts[t]`` to ``window_starts[t + 1]``."""
    lows: Codes
    """The first value of each window."""
    highs: Codes
    """The last."""


class Answers(NamedTuple):
    """What follows; counting writes into it."""

    sizes: Counts
    """Query to the persons whom it fits."""
    most: Counts
    """Query to the persons of them who share one protected value, at most."""
    at_risk: Counts
    """Query to the persons of them with any protected value."""
    own: Counts
    """Target to the persons of the crowd with a value in one of the target's windows, at most."""


@njit
def _merge(lists: Lists, item: int, column: int, buffer: Codes) -> tuple[Codes, int]:
    """Write who may fit an item into the buffer, ascending, each once, and give their number."""
    i, i_stop = lists.starts[item], lists.starts[item + 1]
    j, j_stop = lists.star_starts[column], lists.star_starts[column + 1]
    buffer = ensure_capacity(buffer, 0, i_stop - i + j_stop - j)
    size = 0
    while i < i_stop or j < j_stop:
        if j == j_stop or (i < i_stop and lists.owners[i] <= lists.starred[j]):
            if j < j_stop and lists.starred[j] == lists.owners[i]:
                j += 1
            buffer[size] = lists.owners[i]
            i += 1
        else:
            buffer[size] = lists.starred[j]
            j += 1
        size += 1
    return buffer, size


@njit
def _intersect(buffer: Codes, size: int, lists: Lists, item: int, column: int) -> int:
    """Keep those of the buffer who may fit the item, too, and give their number."""
    i, i_stop = lists.starts[item], lists.starts[item + 1]
    j, j_stop = lists.star_starts[column], lists.star_starts[column + 1]
    kept = 0
    for place in range(size):
        owner = buffer[place]
        while i < i_stop and lists.owners[i] < owner:
            i += 1
        while j < j_stop and lists.starred[j] < owner:
            j += 1
        if (i < i_stop and lists.owners[i] == owner) or (j < j_stop and lists.starred[j] == owner):
            buffer[kept] = owner
            kept += 1
    return kept


@njit
def _two_rarest(queries: Queries, query: int, n: int, lists: Lists, trees: Trees) -> tuple[int, int]:
    """Give the places of the two items that the fewest may fit; -1 where there is none."""
    first, second = -1, -1
    fewest, fewer = 0, 0
    for j in range(n):
        item, column = queries.items[query, j], trees.column[queries.nodes[query, j]]
        size = (
            lists.starts[item + 1]
            - lists.starts[item]
            + lists.star_starts[column + 1]
            - lists.star_starts[column]
        )
        if first < 0 or size < fewest:
            second, fewer = first, fewest
            first, fewest = j, size
        elif second < 0 or size < fewer:
            second, fewer = j, size
    return first, second


@njit
def _keep_one_each(crowd: Codes, size: int, bearers: Codes) -> int:
    """Keep the first of the crowd of each bearer, and give their number; the crowd is ascending."""
    kept = 0
    for place in range(size):
        if place == 0 or bearers[crowd[place]] != bearers[crowd[kept - 1]]:
            crowd[kept] = crowd[place]
            kept += 1
    return kept


@njit
def _count_inside(crowd: Codes, size: int, rows: Histories, low: int, high: int) -> int:
    """Count the persons with a value from `low` to `high`."""
    inside = 0
    for place in range(size):
        owner = crowd[place]
        for i in range(rows.value_offsets[owner], rows.value_offsets[owner + 1]):
            if low <= rows.values[i] <= high:
                inside += rows.weights[owner]
                break
    return inside


@njit
def _note_values(
    crowd: Codes,
    size: int,
    query: int,
    told: int,
    rows: Histories,
    targets: Targets,
    counts: Counts,
    answers: Answers,
) -> None:
    """Count the protected values of a crowd, but not the one told; `counts` is all zero before and after."""
    for place in range(size):
        owner = crowd[place]
        has_any = False
        for i in range(rows.value_offsets[owner], rows.value_offsets[owner + 1]):
            if rows.values[i] == told:
                continue
            has_any = True
            counts[rows.values[i]] += rows.weights[owner]
            answers.most[query] = max(answers.most[query], counts[rows.values[i]])
        if has_any:
            answers.at_risk[query] += rows.weights[owner]
    for entry in range(targets.starts[query], targets.starts[query + 1]):
        target = targets.targets[entry]
        for window in range(targets.window_starts[target], targets.window_starts[target + 1]):
            low, high = targets.lows[window], targets.highs[window]
            inside = counts[low]
            if high > low:
                inside = _count_inside(crowd, size, rows, low, high)
            answers.own[target] = max(answers.own[target], inside)
    for place in range(size):
        owner = crowd[place]
        for i in range(rows.value_offsets[owner], rows.value_offsets[owner + 1]):
            counts[rows.values[i]] = 0


@njit
def count_crowds(
    kind: int,
    chosen: Counts,
    queries: Queries,
    rows: Histories,
    trees: Trees,
    lists: Lists,
    targets: Targets,
    n_values: int,
    shown: bool,
    answers: Answers,
) -> None:
    """Count whom the `chosen` queries fit, and what they have; no other answer is touched.

    Whoever may fit the two rarest items is listed by the index; queries that share these two share the list,
    so `chosen` should have them side by side. Only those listed are looked at.
    """
    n_owners = rows.offsets.size - 1
    weights = rows.weights
    # A cell that stands for nothing: the root of its column where only what is shown counts.
    hidden = trees.root.copy() if shown else np.full(trees.root.size, -1, np.int32)
    counts = np.zeros(n_values, np.int64)
    marks = np.full(n_owners, -1, np.int32)
    pair = np.empty(64, np.int32)
    crowd = np.empty(64, np.int32)
    n_pair = 0
    last_first, last_second = -2, -2
    for place in range(chosen.size):
        query = chosen[place]
        n = 0
        while n < queries.nodes.shape[1] and queries.nodes[query, n] >= 0:
            n += 1
        first, second = _two_rarest(queries, query, n, lists, trees)
        item = queries.items[query, first] if first >= 0 else -1
        other = queries.items[query, second] if second >= 0 else -1
        if item != last_first or other != last_second:
            if first < 0:
                pair = ensure_capacity(pair, 0, n_owners)
                for owner in range(n_owners):
                    pair[owner] = owner
                n_pair = n_owners
            else:
                pair, n_pair = _merge(lists, item, trees.column[queries.nodes[query, first]], pair)
                if second >= 0:
                    n_pair = _intersect(
                        pair, n_pair, lists, other, trees.column[queries.nodes[query, second]]
                    )
            last_first, last_second = item, other
        crowd = ensure_capacity(crowd, 0, n_pair)
        for entry in range(n_pair):
            crowd[entry] = pair[entry]
        size = keep_fitting(kind, crowd, n_pair, queries, query, n, rows, trees, lists, hidden, marks)
        if rows.bearers.size > 0:
            size = _keep_one_each(crowd, size, rows.bearers)
        for entry in range(size):
            answers.sizes[query] += weights[crowd[entry]]
        if n_values > 0:
            _note_values(crowd, size, query, queries.told[query], rows, targets, counts, answers)
