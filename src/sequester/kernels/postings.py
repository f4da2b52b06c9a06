"""List who shows what: for every node of a tree, the owners of the cells that show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.buffers import ensure_capacity
from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets


@njit
def list_owners(cells: Codes, offsets: Offsets, n_nodes: int) -> tuple[Offsets, Codes]:
    """Give the owners who show each node, ascending: ``owners[starts[node]:starts[node + 1]]``.

    Owner ``o`` has the events ``cells[offsets[o]:offsets[o + 1]]``, a node per column.
    """
    starts = np.zeros(n_nodes + 1, np.int64)
    last = np.full(n_nodes, -1, np.int64)
    for owner in range(offsets.size - 1):
        for event in range(offsets[owner], offsets[owner + 1]):
            for column in range(cells.shape[1]):
                node = cells[event, column]
                if last[node] != owner:
                    last[node] = owner
                    starts[node + 1] += 1
    for node in range(n_nodes):
        starts[node + 1] += starts[node]
    owners = np.empty(starts[-1], np.int32)
    filled = starts[:-1].copy()
    last[:] = -1
    for owner in range(offsets.size - 1):
        for event in range(offsets[owner], offsets[owner + 1]):
            for column in range(cells.shape[1]):
                node = cells[event, column]
                if last[node] != owner:
                    last[node] = owner
                    owners[filled[node]] = owner
                    filled[node] += 1
    return starts, owners


@njit
def list_candidates(
    nodes: Codes, starts: Offsets, owners: Codes, parent: Codes, end: Codes, n_owners: int
) -> tuple[Offsets, Codes]:
    """Give, for each of `nodes`, the owners who show it, something above it but the root, or below it.

    Owners of one node are ascending. The parent of a root is the root itself.
    """
    list_starts = np.zeros(nodes.size + 1, np.int64)
    lists = np.empty(1024, np.int32)
    seen = np.full(n_owners, -1, np.int64)
    size = 0
    for i in range(nodes.size):
        n_parts = 0
        node = nodes[i]
        for below in range(node, end[node]):
            if starts[below + 1] > starts[below]:
                n_parts += 1
                lists = ensure_capacity(lists, size, size + starts[below + 1] - starts[below])
                for j in range(starts[below], starts[below + 1]):
                    if seen[owners[j]] != i:
                        seen[owners[j]] = i
                        lists[size] = owners[j]
                        size += 1
        above = parent[node]
        while parent[above] != above:
            if starts[above + 1] > starts[above]:
                n_parts += 1
                lists = ensure_capacity(lists, size, size + starts[above + 1] - starts[above])
                for j in range(starts[above], starts[above + 1]):
                    if seen[owners[j]] != i:
                        seen[owners[j]] = i
                        lists[size] = owners[j]
                        size += 1
            above = parent[above]
        if n_parts > 1:
            lists[list_starts[i] : size].sort()
        list_starts[i + 1] = size
    return list_starts, lists[:size].copy()


@njit
def find_stand_ins(nodes: Codes, starts: Offsets, parent: Codes, end: Codes) -> Codes:
    """Give for each node one that the same cells fit, so that what is equal here can be counted once.

    Where nothing at or below a node is shown, only what is shown above it counts: the first of `nodes` with
    the same lowest shown ancestor stands for it. Gives -1 where nothing fits, the root included.
    """
    first_of = np.full(parent.size, -1, np.int32)
    stand_ins = np.empty(nodes.size, np.int32)
    for i in range(nodes.size):
        node = nodes[i]
        if starts[end[node]] > starts[node]:
            stand_ins[i] = node
            continue
        above = parent[node]
        while starts[above + 1] == starts[above] and parent[above] != above:
            above = parent[above]
        if starts[above + 1] == starts[above]:
            stand_ins[i] = -1
        else:
            if first_of[above] < 0:
                first_of[above] = node
            stand_ins[i] = first_of[above]
    return stand_ins


@njit
def mark_below(cells: Codes, offsets: Offsets, persons: Counts, nodes: Codes, end: Codes) -> Mask:
    """Mark each person who has a cell at or below the node beside them."""
    marked = np.zeros(persons.size, np.bool_)
    for i in range(persons.size):
        node = nodes[i]
        for event in range(offsets[persons[i]], offsets[persons[i] + 1]):
            for column in range(cells.shape[1]):
                if node <= cells[event, column] < end[node]:
                    marked[i] = True
    return marked
