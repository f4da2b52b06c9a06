"""Count queries over windows of snapshots, and their errors: queries of the form Q and [a, b]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from sequester._typing import Codes, Counts
    from sequester.hierarchies.hierarchy import Hierarchy

    Shares = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowQuery:
    """Asks how many records between two snapshots have one of some values of each attribute."""

    start: int
    """The first snapshot."""
    stop: int
    """The last snapshot."""
    below: Mapping[str, int]
    """Quasi-identifier to the node that its value must lie at or below; others may have any value."""
    value: int | None
    """The code of the sensitive value; None for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordView:
    """Records as somebody has them who asks: each in one or several snapshots, with what is told of it."""

    first: Counts
    """The first snapshot in which a record may have come."""
    last: Counts
    """The last one."""
    nodes: Mapping[str, Codes]
    """The node of each quasi-identifier."""
    groups: Counts
    """The row of `shares` that tells the sensitive value of a record."""
    shares: Shares
    """Per group the share of each sensitive value; 1 and 0 where the value itself is told."""

    def expect(self, query: WindowQuery, trees: Mapping[str, Hierarchy]) -> float:
        """Return the expected number of records; what is not told is taken as uniform and independent."""
        inside = np.minimum(self.last, query.stop) - np.maximum(self.first, query.start) + 1
        rows = np.flatnonzero(inside > 0)
        weight = inside[rows] / (self.last[rows] - self.first[rows] + 1)
        for name, top in query.below.items():
            weight = weight * _fits(trees[name], top)[self.nodes[name][rows]]
        if query.value is not None:
            weight = weight * self.shares[self.groups[rows], query.value]
        return float(weight.sum())


def _fits(tree: Hierarchy, top: int) -> Shares:
    """Return for each node the share of its leaves that lie at or below `top`."""
    nodes = np.arange(len(tree))
    below = (nodes >= top) & (nodes < tree.subtree_end[top])
    above = (nodes <= top) & (tree.subtree_end > top)
    return np.where(below, 1.0, np.where(above, tree.leaves[top] / tree.leaves, 0.0))


def draw_queries(
    view: RecordView,
    trees: Mapping[str, Hierarchy],
    *,
    weights: Mapping[str, float],
    length: int,
    count: int,
    seed: int,
) -> list[WindowQuery]:
    """Draw queries over `length` snapshots that at least one of the original records answers.

    Around a random record: a random window, of each quasi-identifier a random node above its value or none,
    and its sensitive value or none. The quasi-identifiers with most weight are in every other query, those
    with less in proportion.
    """
    heaviest = max(weights.values(), default=1.0) or 1.0
    chance = np.random.default_rng([seed, length])
    queries = []
    for row in chance.integers(0, len(view.first), count).tolist():
        start = int(view.first[row]) - int(chance.integers(0, length))
        below = {}
        for name, tree in trees.items():
            if chance.random() < 0.5 * weights[name] / heaviest:
                above = tree.ancestors(int(view.nodes[name][row]))
                below[name] = int(above[chance.integers(0, len(above))])
        value = int(view.shares[view.groups[row]].argmax()) if chance.random() < 0.5 else None
        queries.append(WindowQuery(start=start, stop=start + length - 1, below=below, value=value))
    return queries


def query_errors(
    released: RecordView, original: RecordView, queries: list[WindowQuery], trees: Mapping[str, Hierarchy]
) -> Shares:
    """Return the relative error of each query, ``|a - e| / max(a, 1)``.

    Examples
    --------
    >>> one = np.zeros(1, np.int64)
    >>> before = RecordView(first=one, last=one, nodes={}, groups=one, shares=np.ones((1, 1)))
    >>> after = RecordView(first=one, last=one + 1, nodes={}, groups=one, shares=np.ones((1, 1)))
    >>> query = WindowQuery(start=0, stop=0, below={}, value=0)
    >>> query_errors(after, before, [query], {}).tolist()
    [0.5]
    """
    exact = np.array([original.expect(query, trees) for query in queries])
    found = np.array([released.expect(query, trees) for query in queries])
    errors: Shares = np.abs(exact - found) / np.maximum(exact, 1)
    return errors


def exact_values(values: Codes, n_values: int) -> tuple[Counts, Shares]:
    """Return groups and shares of records whose value itself is told."""
    return values.astype(np.int64), np.eye(n_values)
