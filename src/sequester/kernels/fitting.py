"""Keep those of a crowd whom knowledge fits: some nodes, in events that stand to each other as it says.

A cell fits a node if it lies at, above or below it in the tree; nodes of all columns are numbered together,
depth first, so that each of these is a comparison of numbers. The root, a suppressed cell, fits everything of
its column, unless only what is shown counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit

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
    node_starts: Offsets
    """Node ``n`` is shown by the owners ``shown_by[node_starts[n]:node_starts[n + 1]]``."""
    shown_by: Codes
    """Ascending per node."""


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


@njit
def _fits(cell: int, node: int, end: Codes, hidden: int) -> bool:
    """Tell whether a cell of the node's column may stand for the node; `hidden` stands for nothing."""
    # Most cells are finer than what is known, and need no look at their own end.
    return cell != hidden and (cell < end[node] if cell >= node else node < end[cell])


@njit
def _keep_ordered(
    crowd: Codes, size: int, cells: Codes, offsets: Offsets, nodes: Codes, n: int, trees: Trees, hidden: Codes
) -> int:
    """Keep those whose events hold the nodes in order: each at the first event that it fits."""
    end = trees.end
    columns = trees.column[nodes[:n]]
    kept = 0
    for place in range(size):
        owner = crowd[place]
        j, column, node = 0, columns[0], nodes[0]
        for event in range(offsets[owner], offsets[owner + 1]):
            if _fits(cells[event, column], node, end, hidden[column]):
                j += 1
                if j == n:
                    crowd[kept] = owner
                    kept += 1
                    break
                column, node = columns[j], nodes[j]
    return kept


@njit
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


@njit
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


@njit
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


@njit
def _keep_as_many(crowd: Codes, size: int, offsets: Offsets, n_events: int) -> int:
    """Keep those with so many events."""
    kept = 0
    for place in range(size):
        owner = crowd[place]
        if offsets[owner + 1] - offsets[owner] == n_events:
            crowd[kept] = owner
            kept += 1
    return kept


@njit
def _keep_without(
    crowd: Codes, size: int, rows: Histories, never: int, trees: Trees, lists: Lists, marks: Codes
) -> int:
    """Keep those of whom no event certainly is what they never had; `marks` is of all owners."""
    cells, offsets, last = rows.cells, rows.offsets, trees.end[never]
    # Nodes below are numbered on from it, and so are their lists.
    first_shown, last_shown = lists.node_starts[never], lists.node_starts[last]
    kept = 0
    if last_shown - first_shown < size:
        for i in range(first_shown, last_shown):
            marks[lists.shown_by[i]] = never
        for place in range(size):
            if marks[crowd[place]] != never:
                crowd[kept] = crowd[place]
                kept += 1
        return kept
    column = trees.column[never]
    for place in range(size):
        owner = crowd[place]
        is_allowed = True
        for event in range(offsets[owner], offsets[owner + 1]):
            if never <= cells[event, column] < last:
                is_allowed = False
                break
        if is_allowed:
            crowd[kept] = owner
            kept += 1
    return kept


@njit
def keep_fitting(
    kind: int,
    crowd: Codes,
    size: int,
    queries: Queries,
    query: int,
    n: int,
    rows: Histories,
    trees: Trees,
    lists: Lists,
    hidden: Codes,
    marks: Codes,
) -> int:
    """Keep those of the crowd whom a query fits, at the front, and give their number."""
    # Loops over owners are inside, because what is handed over costs more than a short history.
    cells, offsets = rows.cells, rows.offsets
    nodes, places = queries.nodes[query], queries.places[query]
    if queries.n_events[query] >= 0:
        size = _keep_as_many(crowd, size, offsets, queries.n_events[query])
    if queries.never[query] >= 0:
        size = _keep_without(crowd, size, rows, queries.never[query], trees, lists, marks)
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
