"""Compiled loops of attacks: who shows which node, who matches background knowledge, and what they have.

A cell fits a node if it lies at, above or below it in the tree; nodes of all columns are numbered together,
depth first, so that each of these is a comparison of numbers. The root, a suppressed cell, fits everything of
its column, unless only what is shown counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets

ANYWHERE, ORDERED, TOGETHER, GAPS = range(4)
"""Each node in some event; in events that follow each other; in events at known distances, counted in events;
in events that follow each other at known distances in days."""
FIRST, SECOND, N_EVENTS, NEVER, KNOWN_VALUE, LAST_KNOWN, NODES = range(7)
"""Columns of queries; from `NODES` on there are nodes, days and places, as many of each."""
SIZES, MOST, AT_RISK = range(3)
"""Rows of answers."""


class Histories(NamedTuple):
    """The events of owners, and an index of who shows which node."""

    cells: Codes
    """Node of every event and column."""
    offsets: Offsets
    """Owner ``o`` has the events ``offsets[o]`` to ``offsets[o + 1]``."""
    days: Counts
    """The first and the last day on which each event may have been; no column where that is not known."""
    weights: Counts
    """Persons that each owner stands for."""
    values: Codes
    """Protected values of all owners, each owner's ascending."""
    value_offsets: Offsets
    """Owner ``o`` has the values ``value_offsets[o]`` to ``value_offsets[o + 1]``."""
    bearers: Codes
    """Where owners are trips: whose each is; empty where no two owners are of one person."""
    starts: Offsets
    """Node ``n`` is shown by the owners ``shown_by[starts[n]:starts[n + 1]]``."""
    shown_by: Codes
    """Ascending per node."""


class Trees(NamedTuple):
    """The trees of all columns in one numbering."""

    end: Codes
    """Node to the first one after its subtree."""
    column: Codes
    """Node to its column."""
    parent: Codes
    """Node to the one above it; a root to itself."""
    hidden: Codes
    """Column to the cell that stands for nothing, its root where only what is shown counts; otherwise -1."""


class Targets(NamedTuple):
    """Who asks each query, and in which values of theirs one could become sure."""

    starts: Offsets
    """Query ``q`` is asked by the targets ``numbers[starts[q]:starts[q + 1]]``."""
    numbers: Counts
    """Their numbers."""
    range_starts: Offsets
    """Target ``t`` has the ranges ``range_starts[t]`` to ``range_starts[t + 1]``."""
    lows: Codes
    """The first value of each range."""
    highs: Codes
    """The last."""


class Buffers(NamedTuple):
    """Room to work in, for one thread."""

    listed: Codes
    """As many as owners."""
    candidates: Codes
    """As many as owners."""
    marks: Counts
    """As many as owners, -1 before."""
    reached: Mask
    """Two rows, as long as the longest history."""
    counts: Counts
    """As many as protected values, 0 before and after."""


@inner
def _fits(cell: int, node: int, end: Codes, hidden: int) -> bool:
    """Return whether a cell of the node's column may stand for the node; `hidden` stands for nothing."""
    return cell != hidden and (cell < end[node] if cell >= node else node < end[cell])


@inner
def _collect(node: int, rows: Histories, trees: Trees, marks: Counts, mark: int, found: Codes) -> int:
    """List who shows a node, one below it or one above it, each once, and mark them; return their number."""
    starts, shown_by, parent = rows.starts, rows.shown_by, trees.parent
    shown = trees.hidden[trees.column[node]] >= 0
    size = 0
    place, stop = node, trees.end[node]
    while True:
        for i in range(starts[place], starts[stop]):
            owner = shown_by[i]
            if marks[owner] != mark:
                marks[owner] = mark
                found[size] = owner
                size += 1
        above = parent[place]
        if above == place or (shown and parent[above] == above):
            break
        place, stop = above, above + 1
    # Events of owners in order are read faster; of few it does not matter.
    if size > marks.size >> 4:
        size = 0
        for owner in range(marks.size):
            if marks[owner] == mark:
                found[size] = owner
                size += 1
    return size


@inner
def _follow(query: Counts, n: int, rows: Histories, owner: int, trees: Trees, reached: Mask) -> bool:
    """Return whether events fit the nodes in order, neighbours at a possible distance in days."""
    cells, days, end, columns, hidden = rows.cells, rows.days, trees.end, trees.column, trees.hidden
    width = (query.size - NODES) // 3
    start, stop = rows.offsets[owner], rows.offsets[owner + 1]
    found = False
    for j in range(n):
        node = query[NODES + j]
        column = columns[node]
        gap = query[NODES + width + j] - query[NODES + width + max(j - 1, 0)]
        found = False
        for event in range(start, stop):
            is_reached = _fits(cells[event, column], node, end, hidden[column])
            if is_reached and j > 0:
                is_reached = False
                for before in range(start, event):
                    if (
                        reached[(j - 1) % 2, before - start]
                        and days[0, event] - days[1, before] <= gap
                        and gap <= days[1, event] - days[0, before]
                    ):
                        is_reached = True
                        break
            reached[j % 2, event - start] = is_reached
            found = found or is_reached
    return found


@inner
def _keep_fitting(
    kind: int, query: Counts, n: int, size: int, rows: Histories, trees: Trees, buffers: Buffers
) -> int:
    """Keep the candidates who match a query of `n` nodes, at the front, and return their number."""
    cells, offsets, end, columns, hidden = rows.cells, rows.offsets, trees.end, trees.column, trees.hidden
    candidates = buffers.candidates
    places = NODES + 2 * (query.size - NODES) // 3
    n_events = query[N_EVENTS]
    kept = 0
    for i in range(size):
        owner = candidates[i]
        event, stop = offsets[owner], offsets[owner + 1]
        if n_events >= 0 and stop - event != n_events:
            continue
        j = 0
        if kind == ORDERED:
            node = query[NODES]
            column = columns[node]
            while j < n and event < stop:
                if _fits(cells[event, column], node, end, hidden[column]):
                    j += 1
                    if j < n:
                        node = query[NODES + j]
                        column = columns[node]
                event += 1
        elif kind == ANYWHERE:
            start = event
            while j < n and event < stop:
                node = query[NODES + j]
                event += 1
                if _fits(cells[event - 1, columns[node]], node, end, hidden[columns[node]]):
                    j += 1
                    event = start
        elif kind == TOGETHER:
            while j < n and event < stop:
                j = 0
                while j < n:
                    node, at = query[NODES + j], event + query[places + j] - query[places]
                    if at >= stop or not _fits(cells[at, columns[node]], node, end, hidden[columns[node]]):
                        break
                    j += 1
                event += 1
        elif n == 0 or _follow(query, n, rows, owner, trees, buffers.reached):
            j = n
        if j == n:
            candidates[kept] = owner
            kept += 1
    return kept


@inner
def _leave_out(never: int, size: int, rows: Histories, trees: Trees, buffers: Buffers, mark: int) -> int:
    """Keep the candidates without an event that certainly is what they never had; return their number."""
    candidates, marks = buffers.candidates, buffers.marks
    column, stop = trees.column[never], trees.end[never]
    first, last = rows.starts[never], rows.starts[stop]
    # Either everybody who shows it is marked, or the events of the candidates are looked at.
    is_marking = last - first < size
    if is_marking:
        for i in range(first, last):
            marks[rows.shown_by[i]] = mark
    kept = 0
    for i in range(size):
        owner = candidates[i]
        has_it = is_marking and marks[owner] == mark
        if not is_marking:
            for event in range(rows.offsets[owner], rows.offsets[owner + 1]):
                has_it = has_it or never <= rows.cells[event, column] < stop
        if not has_it:
            candidates[kept] = owner
            kept += 1
    return kept


@inner
def _count_values(
    q: int,
    query: Counts,
    size: int,
    rows: Histories,
    targets: Targets,
    buffers: Buffers,
    answers: Counts,
    own: Counts,
) -> None:
    """Count the protected values of candidates, but not the known ones."""
    values, offsets, weights = rows.values, rows.value_offsets, rows.weights
    candidates, counts = buffers.candidates, buffers.counts
    for i in range(size):
        owner = candidates[i]
        has_any = False
        for place in range(offsets[owner], offsets[owner + 1]):
            value = values[place]
            if value < query[KNOWN_VALUE] or value > query[LAST_KNOWN]:
                has_any = True
                counts[value] += weights[owner]
                answers[MOST, q] = max(answers[MOST, q], counts[value])
        if has_any:
            answers[AT_RISK, q] += weights[owner]
    for entry in range(targets.starts[q], targets.starts[q + 1]):
        target = targets.numbers[entry]
        for window in range(targets.range_starts[target], targets.range_starts[target + 1]):
            low, high = targets.lows[window], targets.highs[window]
            inside = counts[low]
            if high > low:
                inside = 0
                for i in range(size):
                    owner = candidates[i]
                    for place in range(offsets[owner], offsets[owner + 1]):
                        if low <= values[place] <= high:
                            inside += weights[owner]
                            break
            own[entry] = max(own[entry], inside)
    for i in range(size):
        for place in range(offsets[candidates[i]], offsets[candidates[i] + 1]):
            counts[values[place]] = 0


@njit
def count_candidates(
    kind: int,
    queries: Counts,
    rows: Histories,
    trees: Trees,
    targets: Targets,
    buffers: Buffers,
    answers: Counts,
    own: Counts,
) -> None:
    """Count who matches the queries, and what those have.

    A query has the nodes ``FIRST`` and ``SECOND``, or -1: who may match both is listed by the index, and
    neighbours with the same two share the list. Only those listed are looked at.
    """
    listed, candidates, marks = buffers.listed, buffers.candidates, buffers.marks
    n_listed = 0
    mark = 0
    width = (queries.shape[1] - NODES) // 3
    for q in range(queries.shape[0]):
        query = queries[q]
        first, second = query[FIRST], query[SECOND]
        is_new = q == 0 or first != queries[q - 1, FIRST] or second != queries[q - 1, SECOND]
        if is_new and first < 0:
            n_listed = rows.offsets.size - 1
            for owner in range(n_listed):
                listed[owner] = owner
        elif is_new:
            mark += 1
            n_listed = _collect(first, rows, trees, marks, mark, listed)
            if second >= 0:
                mark += 1
                _collect(second, rows, trees, marks, mark, candidates)
                kept = 0
                for i in range(n_listed):
                    if marks[listed[i]] == mark:
                        listed[kept] = listed[i]
                        kept += 1
                n_listed = kept
        for i in range(n_listed):
            candidates[i] = listed[i]
        size = n_listed
        if query[NEVER] >= 0:
            mark += 1
            size = _leave_out(query[NEVER], size, rows, trees, buffers, mark)
        n = 0
        while n < width and query[NODES + n] >= 0:
            n += 1
        # The index says all about one node, and about two in no order.
        if query[N_EVENTS] >= 0 or n > 2 or (n == 2 and (kind != ANYWHERE or second < 0)):
            size = _keep_fitting(kind, query, n, size, rows, trees, buffers)
        if rows.bearers.size > 0:
            mark += 1
            kept = 0
            for i in range(size):
                if marks[rows.bearers[candidates[i]]] != mark:
                    marks[rows.bearers[candidates[i]]] = mark
                    candidates[kept] = candidates[i]
                    kept += 1
            size = kept
        for i in range(size):
            answers[SIZES, q] += rows.weights[candidates[i]]
        if buffers.counts.size > 0:
            _count_values(q, query, size, rows, targets, buffers, answers, own)
