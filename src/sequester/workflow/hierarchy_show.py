"""Counts what lies under each node of a tree: events, persons, and leaves that occur."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sequester.data.text import encode
from sequester.engine import silent
from sequester.hierarchies.labels import MISSING, in_label_order, is_number
from sequester.workflow.bound_hierarchy import bind_hierarchy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sequester._typing import Codes, Counts, Offsets
    from sequester.engine import Progress
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.workflow.config import Config

_WIDEST = 40
"""Characters of a label that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A tree and what the data has under each of its nodes."""

    attribute: str
    """Its column."""
    tree: Hierarchy
    """The tree, bound to the column."""
    events: Counts
    """Node to the events whose value lies at or below it."""
    persons: Counts
    """Node to the persons who have such an event."""
    occurring: Counts
    """Node to the leaves at or below it that occur."""

    def to_json(self, *, depth: int | None = None) -> dict[str, Any]:
        """Give the document that ``hierarchy show --json`` prints: every node down to `depth`."""
        tree = self.tree
        kept = range(len(tree)) if depth is None else np.flatnonzero(tree.depth <= depth).tolist()
        return {
            "attribute": self.attribute,
            "levels": tree.height,
            "nodes": [
                {
                    "node": tree.labels[node],
                    "parent": tree.labels[tree.parent[node]] if node else "",
                    "depth": int(tree.depth[node]),
                    "events": int(self.events[node]),
                    "persons": int(self.persons[node]),
                    "leaves": int(tree.leaves[node]),
                    "occurring": int(self.occurring[node]),
                }
                for node in kept
            ],
        }

    def lines(self, *, depth: int, children: int) -> Iterator[str]:
        """Draw the tree: nodes below `depth` are folded away, and of many `children` the first are shown."""
        rows = [("", "events", "persons", "leaves that occur"), *self._rows(depth, children)]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        for label, events, persons, leaves in rows:
            yield f"{label:<{widths[0]}}  {events:>{widths[1]}}  {persons:>{widths[2]}}  {leaves}".rstrip()
        height = self.tree.height
        if depth < height:
            yield f"folded at depth {depth} of {height}; --depth {height} shows all levels"

    def _rows(self, depth: int, children: int) -> Iterator[tuple[str, str, str, str]]:
        """Go through the tree from the root without recursion: it may be 255 levels deep."""
        tree, place = self.tree, _places(self.tree)
        waiting: list[tuple[int, list[int]]] = [(0, [])]
        while waiting:
            node, rest = waiting.pop()
            if rest:
                events = sum(int(self.events[each]) for each in rest)
                yield f"{'  ' * int(tree.depth[rest[0]])}and {len(rest):,} more", f"{events:,}", "", ""
                continue
            yield self._row(node)
            if tree.depth[node] < depth:
                below = sorted(tree.children(node), key=place.__getitem__)
                # One node too many takes no more room than the line that would stand for it.
                cut = len(below) if len(below) <= children + 1 else children
                if below[cut:]:
                    waiting.append((node, below[cut:]))
                waiting += [(child, []) for child in reversed(below[:cut])]

    def _row(self, node: int) -> tuple[str, str, str, str]:
        tree = self.tree
        leaves = int(tree.leaves[node])
        known = bool(tree.is_leaf[node]) and leaves == 1
        label = tree.labels[node]
        label = label if len(label) <= _WIDEST else f"{label[: _WIDEST - 1]}…"
        return (
            f"{'  ' * int(tree.depth[node])}{label}",
            f"{int(self.events[node]):,}",
            f"{int(self.persons[node]):,}",
            "" if known else f"{int(self.occurring[node]):,} of {leaves:,}",
        )


def show_hierarchy(config: str | Path | Config, attribute: str, *, progress: Progress = silent) -> Shown:
    """Count what lies under each node of the hierarchy of one attribute."""
    progress(0.0, "reading")
    table, tree = bind_hierarchy(config, attribute)
    progress(0.7, "counting")
    codes, book = encode(table.frame[attribute], table.labels[attribute])
    node_of_code = tree.nodes(book.labels)
    nodes = node_of_code[codes]
    occurs = np.zeros(len(tree), np.int64)
    occurs[node_of_code] = 1
    return Shown(
        attribute=attribute,
        tree=tree,
        events=_below(tree, np.bincount(nodes, minlength=len(tree))),
        persons=_persons(tree, nodes, table.joined().person_offsets),
        occurring=_below(tree, occurs),
    )


def _places(tree: Hierarchy) -> Counts:
    """Node to its place among others: of ranges the place of their first number, [7:13] before [14:20]."""
    labels = [tree.labels[leaf] for leaf in tree.leaf_nodes]
    places = np.arange(len(tree), dtype=np.int64)
    if all(is_number(label) or label == MISSING for label in labels):
        place_of = {label: place for place, label in enumerate(in_label_order(labels))}
        places[:] = len(tree)
        places[tree.leaf_nodes] = [place_of[label] for label in labels]
        for node in range(len(tree) - 1, 0, -1):
            parent = tree.parent[node]
            places[parent] = min(places[parent], places[node])
    return places


def _below(tree: Hierarchy, counts: Counts) -> Counts:
    """Sum the counts of each node and all below it, which are numbered one after the other."""
    sums = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return sums[tree.subtree_end] - sums[:-1]


def _persons(tree: Hierarchy, nodes: Codes, offsets: Offsets) -> Counts:
    """Count the persons of each node: pairs of person and node, each once, go up level by level."""
    counts = np.zeros(len(tree), np.int64)
    owner = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    pairs = np.unique(owner * len(tree) + nodes)
    for depth in range(tree.height, -1, -1):
        owner, node = np.divmod(pairs, len(tree))
        here = tree.depth[node] == depth
        counts += np.bincount(node[here], minlength=len(tree))
        pairs = np.unique(owner * len(tree) + np.where(here, tree.parent[node], node))
    return counts
