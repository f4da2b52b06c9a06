"""Find whom knowledge fits: some nodes, in events that stand to each other as the knowledge says.

A cell fits a node if it lies at, above or below it in the tree; nodes of all columns are numbered together,
depth first, so that each of these is a comparison of numbers. The root, a suppressed cell, fits everything of
its column, unless only what is shown counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from sequester.kernels.prefixspan import wider

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets

ANYWHERE = 0
"""Each node in some event."""
ORDERED = 1
"""In events that follow each other, others between them or not."""
CONSECUTIVE = 2
"""In events at known distances, counted in events."""
EVENT = 3
"""All in one event."""
GAPS = 4
"""In events that follow each other, at known distances in days."""


class Histories(NamedTuple):
    """The events of owners."""

    cells: Codes
    """Node of every event and column."""
    offsets: Offsets
    """Owner ``o`` has the events ``offsets[o]`` to ``offsets[o + 1]``."""
    earliest: Counts
    """The first day on which each event may have been."""
    latest: Counts
    """The last."""
    weights: Counts
    """Persons that each owner stands for."""
    values: Codes
    """Protected values of all owners, each owner's ascending."""
    value_offsets: Offsets
    """Owner ``o`` has the values ``value_offsets[o]`` to ``value_offsets[o + 1]``."""
    bearers: Codes
    """Where owners are trips: whose each is, ascending; empty where no two owners are of one person."""


class Trees(NamedTuple):
    """The trees of all columns in one numbering."""

    end: Codes
    """Node to the first one after its subtree."""
    column: Codes
    """Node to its column."""
    root: Codes
    """Column to its root."""


class Lists(NamedTuple):
    """Who may fit an item."""

    starts: Offsets
    """Item ``i`` may fit the owners ``owners[starts[i]:starts[i + 1]]``, stars aside."""
    owners: Codes
    """Ascending per item."""
    star_starts: Offsets
    """Column ``c`` has a star for the owners ``starred[star_starts[c]:star_starts[c + 1]]``."""
    starred: Codes
    """Ascending per column; empty where stars do not count."""


class Queries(NamedTuple):
    """What is known: one row each, filled from the left, -1 behind."""

    nodes: Codes
    """The nodes, in the order of the events where order counts."""
    items: Codes
    """The number of each node in the lists."""
    days: Counts
    """Days from the first node's event to each."""
    places: Codes
    """Events from the first node's event to each."""
    n_events: Codes
    """How many events there are; -1 where that is not known."""
    never: Codes
    """A node that nothing shown may lie at or below; -1 where there is none."""
    told: Codes
    """A protected value that is known, so that it is none to find out; -1 where there is none."""


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


@njit(cache=True, nogil=True, inline="always")
def _fits(cell: int, node: int, end: Codes, hidden: int) -> bool:
    """Tell whether a cell of the node's column may stand for the node; `hidden` stands for nothing."""
    return cell != hidden and (cell <= node < end[cell] or node <= cell < end[node])


@njit(cache=True, nogil=True)
def _keep_ordered(
    crowd: Codes, size: int, cells: Codes, offsets: Offsets, nodes: Codes, n: int, trees: Trees, hidden: Codes
) -> int:
    """Keep those whose events hold the nodes in order: each at the first event that it fits."""
    end = trees.end
    columns = trees.column[nodes[:n]]
    kept = 0
    for place in range(size):
        owner = crowd[place]
        j = 0
        for event in range(offsets[owner], offsets[owner + 1]):
            if _fits(cells[event, columns[j]], nodes[j], end, hidden[columns[j]]):
                j += 1
                if j == n:
                    crowd[kept] = owner
                    kept += 1
                    break
    return kept


@njit(cache=True, nogil=True)
def _keep_anywhere(
    crowd: Codes, size: int, cells: Codes, offsets: Offsets, nodes: Codes, n: int, trees: Trees, hidden: Codes
) -> int:
    """Keep those of whom some event fits each node."""
    end = trees.end
    columns = trees.column[nodes[:n]]
    kept = 0
    for place in range(size):
        owner = crowd[place]
        n_found = 0
        for j in range(n):
            for event in range(offsets[owner], offsets[owner + 1]):
                if _fits(cells[event, columns[j]], nodes[j], end, hidden[columns[j]]):
                    n_found += 1
                    break
            if n_found <= j:
                break
        if n_found == n:
            crowd[kept] = owner
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _keep_together(
    crowd: Codes,
    size: int,
    cells: Codes,
    offsets: Offsets,
    nodes: Codes,
    n: int,
    places: Codes,
    trees: Trees,
    hidden: Codes,
) -> int:
    """Keep those of whom events at known distances, which may all be 0, fit the nodes."""
    end = trees.end
    columns = trees.column[nodes[:n]]
    kept = 0
    for place in range(size):
        owner = crowd[place]
        stop = offsets[owner + 1]
        for event in range(offsets[owner], stop):
            found = True
            for j in range(n):
                at = event + places[j] - places[0]
                if at >= stop or not _fits(cells[at, columns[j]], nodes[j], end, hidden[columns[j]]):
                    found = False
                    break
            if found:
                crowd[kept] = owner
                kept += 1
                break
    return kept


@njit(cache=True, nogil=True)
def _keep_gaps(
    crowd: Codes,
    size: int,
    rows: Histories,
    nodes: Codes,
    n: int,
    days: Counts,
    trees: Trees,
    hidden: Codes,
) -> int:
    """Keep those whose events fit the nodes in order, neighbours at a possible distance in days."""
    cells, offsets, earliest, latest, end = rows.cells, rows.offsets, rows.earliest, rows.latest, trees.end
    columns = trees.column[nodes[:n]]
    reached = np.zeros(64, np.bool_)
    following = np.zeros(64, np.bool_)
    kept = 0
    for place in range(size):
        owner = crowd[place]
        start, stop = offsets[owner], offsets[owner + 1]
        if stop - start > reached.size:
            reached = np.zeros(2 * (stop - start), np.bool_)
            following = np.zeros(2 * (stop - start), np.bool_)
        found = False
        for event in range(start, stop):
            reached[event - start] = _fits(cells[event, columns[0]], nodes[0], end, hidden[columns[0]])
            found |= reached[event - start]
        for j in range(1, n):
            gap = days[j] - days[j - 1]
            found = False
            for event in range(start, stop):
                following[event - start] = False
                if _fits(cells[event, columns[j]], nodes[j], end, hidden[columns[j]]):
                    for before in range(start, event):
                        if (
                            reached[before - start]
                            and earliest[event] - latest[before] <= gap
                            and gap <= latest[event] - earliest[before]
                        ):
                            following[event - start] = True
                            found = True
                            break
            reached, following = following, reached
        if found:
            crowd[kept] = owner
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _keep_allowed(
    crowd: Codes,
    size: int,
    cells: Codes,
    offsets: Offsets,
    n_events: int,
    never: int,
    trees: Trees,
) -> int:
    """Keep those with so many events, and none that certainly is what they never had; -1 asks nothing."""
    column = trees.column[never] if never >= 0 else 0
    last = trees.end[never] if never >= 0 else 0
    kept = 0
    for place in range(size):
        owner = crowd[place]
        start, stop = offsets[owner], offsets[owner + 1]
        is_allowed = n_events < 0 or stop - start == n_events
        if is_allowed and never >= 0:
            for event in range(start, stop):
                if never <= cells[event, column] < last:
                    is_allowed = False
                    break
        if is_allowed:
            crowd[kept] = owner
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _keep_fitting(
    kind: int,
    crowd: Codes,
    size: int,
    queries: Queries,
    query: int,
    n: int,
    rows: Histories,
    trees: Trees,
    hidden: Codes,
) -> int:
    """Keep those of the crowd whom a query fits, at the front, and give their number."""
    # Loops over owners are inside, because what is handed over costs more than a short history.
    cells, offsets = rows.cells, rows.offsets
    nodes, places = queries.nodes[query], queries.places[query]
    if queries.n_events[query] >= 0 or queries.never[query] >= 0:
        size = _keep_allowed(
            crowd, size, cells, offsets, queries.n_events[query], queries.never[query], trees
        )
    # The lists of the two rarest items say all there is to say about one item, and about two in no order.
    if n <= 1 or (kind == ANYWHERE and n <= 2):
        return size
    if kind == GAPS:
        size = _keep_gaps(crowd, size, rows, nodes, n, queries.days[query], trees, hidden)
    elif kind == ORDERED:
        size = _keep_ordered(crowd, size, cells, offsets, nodes, n, trees, hidden)
    elif kind == ANYWHERE:
        size = _keep_anywhere(crowd, size, cells, offsets, nodes, n, trees, hidden)
    else:
        size = _keep_together(crowd, size, cells, offsets, nodes, n, places, trees, hidden)
    return size


@njit(cache=True, nogil=True)
def _merge(lists: Lists, item: int, column: int, buffer: Codes) -> tuple[Codes, int]:
    """Write who may fit an item into the buffer, ascending, each once, and give their number."""
    i, i_stop = lists.starts[item], lists.starts[item + 1]
    j, j_stop = lists.star_starts[column], lists.star_starts[column + 1]
    buffer = wider(buffer, 0, i_stop - i + j_stop - j)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _keep_one_each(crowd: Codes, size: int, bearers: Codes) -> int:
    """Keep the first of the crowd of each bearer, and give their number; the crowd is ascending."""
    kept = 0
    for place in range(size):
        if place == 0 or bearers[crowd[place]] != bearers[crowd[kept - 1]]:
            crowd[kept] = crowd[place]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
                pair = wider(pair, 0, n_owners)
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
        crowd = wider(crowd, 0, n_pair)
        for entry in range(n_pair):
            crowd[entry] = pair[entry]
        size = _keep_fitting(kind, crowd, n_pair, queries, query, n, rows, trees, hidden)
        if rows.bearers.size > 0:
            size = _keep_one_each(crowd, size, rows.bearers)
        for entry in range(size):
            answers.sizes[query] += weights[crowd[entry]]
        if n_values > 0:
            _note_values(crowd, size, query, queries.told[query], rows, targets, counts, answers)
