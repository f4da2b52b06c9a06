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


@njit(cache=True, nogil=True)
def _fits(cell: int, node: int, trees: Trees, shown: bool) -> bool:
    """Tell whether a cell of the node's column may stand for the node."""
    if shown and cell == trees.root[trees.column[node]]:
        return False
    return bool(cell <= node < trees.end[cell] or node <= cell < trees.end[node])


@njit(cache=True, nogil=True)
def _event_fits(cells: Codes, event: int, node: int, trees: Trees, shown: bool) -> bool:
    return _fits(cells[event, trees.column[node]], node, trees, shown)


@njit(cache=True, nogil=True)
def _fits_days(
    rows: Histories, start: int, stop: int, nodes: Codes, days: Counts, n: int, trees: Trees, shown: bool
) -> bool:
    """Tell whether events in order fit the nodes, each pair of neighbours at a possible distance in days."""
    reached = np.zeros(stop - start, np.bool_)
    for event in range(start, stop):
        reached[event - start] = _event_fits(rows.cells, event, nodes[0], trees, shown)
    for j in range(1, n):
        gap = days[j] - days[j - 1]
        following = np.zeros(stop - start, np.bool_)
        found = False
        for event in range(start + 1, stop):
            if _event_fits(rows.cells, event, nodes[j], trees, shown):
                for before in range(start, event):
                    if (
                        reached[before - start]
                        and rows.earliest[event] - rows.latest[before] <= gap
                        and gap <= rows.latest[event] - rows.earliest[before]
                    ):
                        following[event - start] = True
                        found = True
                        break
        if not found:
            return False
        reached = following
    return bool(reached.any())


@njit(cache=True, nogil=True)
def fits_history(
    kind: int,
    rows: Histories,
    owner: int,
    nodes: Codes,
    n: int,
    days: Counts,
    places: Codes,
    trees: Trees,
    shown: bool,
) -> bool:
    """Tell whether the first `n` of `nodes` fit the events of an owner; nothing fits everybody."""
    start, stop = rows.offsets[owner], rows.offsets[owner + 1]
    if n == 0:
        return True
    if kind == GAPS:
        return _fits_days(rows, start, stop, nodes, days, n, trees, shown)
    if kind == ORDERED:
        j = 0
        for event in range(start, stop):
            if _event_fits(rows.cells, event, nodes[j], trees, shown):
                j += 1
                if j == n:
                    return True
        return False
    if kind == ANYWHERE:
        for j in range(n):
            found = False
            for event in range(start, stop):
                if _event_fits(rows.cells, event, nodes[j], trees, shown):
                    found = True
                    break
            if not found:
                return False
        return True
    # In one event, and in events at known distances, the first node decides about the others.
    for event in range(start, stop):
        found = True
        for j in range(n):
            at = event + (places[j] - places[0] if kind == CONSECUTIVE else 0)
            if at >= stop or not _event_fits(rows.cells, at, nodes[j], trees, shown):
                found = False
                break
        if found:
            return True
    return False


@njit(cache=True, nogil=True)
def _allows(rows: Histories, owner: int, n_events: int, never: int, trees: Trees) -> bool:
    """Tell whether an owner has so many events, and none that certainly is what they never had."""
    start, stop = rows.offsets[owner], rows.offsets[owner + 1]
    if n_events >= 0 and stop - start != n_events:
        return False
    if never >= 0:
        column = trees.column[never]
        for event in range(start, stop):
            if never <= rows.cells[event, column] < trees.end[never]:
                return False
    return True


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
    rows: Histories,
    targets: Targets,
    counts: Counts,
    answers: Answers,
) -> None:
    """Count the protected values of a crowd; `counts` is all zero before and after."""
    for place in range(size):
        owner = crowd[place]
        first, last = rows.value_offsets[owner], rows.value_offsets[owner + 1]
        if last > first:
            answers.at_risk[query] += rows.weights[owner]
        for i in range(first, last):
            counts[rows.values[i]] += rows.weights[owner]
            answers.most[query] = max(answers.most[query], counts[rows.values[i]])
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
        size = 0
        for entry in range(n_pair):
            owner = pair[entry]
            if _allows(rows, owner, queries.n_events[query], queries.never[query], trees) and fits_history(
                kind,
                rows,
                owner,
                queries.nodes[query],
                n,
                queries.days[query],
                queries.places[query],
                trees,
                shown,
            ):
                crowd[size] = owner
                size += 1
                answers.sizes[query] += rows.weights[owner]
        if n_values > 0:
            _note_values(crowd, size, query, rows, targets, counts, answers)
