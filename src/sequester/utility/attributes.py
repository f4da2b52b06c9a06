"""The attributes of a table as original and release have them: every value a node of one tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.codebook import Codebook
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import ROOT
from sequester.mining.support import sequences_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

    Amounts = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One attribute: the events of both sides as nodes of its tree.

    A recipient takes a released node for any leaf below it, all of them equally likely. A symbol without a
    hierarchy has a tree of nothing but a root and its labels.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "m": {}})
    >>> original = symbol_table(["cdm"], hierarchy=food)
    >>> (eaten,) = attributes_of(Sequences.from_rows([["Snack", "d", "*"]]), original)
    >>> leaves = [food.labels[node] for node in food.leaf_nodes]
    >>> dict(zip(leaves, eaten.expect(eaten.after).round(2).tolist(), strict=True))
    {'c': 0.83, 'd': 1.83, 'm': 0.33}
    """

    name: str
    """Its column."""
    weight: float
    """Its importance; 1 for a symbol."""
    tree: Hierarchy
    """What its values may stand for."""
    before: Codes
    """The node of each event of the original: a leaf."""
    after: Codes
    """The node of each event of the release."""

    def expect(self, nodes: Codes) -> Amounts:
        """Count how often each named leaf is expected among events of these nodes."""
        tree = self.tree
        each = np.bincount(nodes, minlength=len(tree)) / tree.leaves
        for level in range(1, tree.height + 1):
            at = np.flatnonzero(tree.depth == level)
            each[at] += each[tree.parent[at]]
        return np.asarray(each[tree.leaf_nodes], np.float64)


def attributes_of(released: EventTable | Sequences, original: EventTable) -> list[Attribute]:
    """List the symbol, or the quasi-identifiers that have a weight."""
    after = sequences_of(released)
    if original.symbol is not None:
        return [_attribute(original.symbol, 1.0, after, original)]
    return [
        _attribute(name, each.weight, after, original)
        for name, each in original.schema.quasi.items()
        if each.weight > 0
    ]


def weighed_mean(attributes: Sequence[Attribute], score: Callable[[Attribute], float]) -> float:
    """Average over attributes by their weights; 0 where there are none."""
    total = sum(each.weight for each in attributes)
    return sum(each.weight * score(each) for each in attributes) / total if total else 0.0


def _attribute(name: str, weight: float, after: Sequences, original: EventTable) -> Attribute:
    source = original.sequences
    # Symbol sequences that stand alone may call their column as they like.
    own = name if name in after.columns else after.symbol
    books = source.codebooks[name], after.codebooks[own]
    tree = original.hierarchies.get(name) or _plain_tree(Codebook.of((*books[0].labels, *books[1].labels)))
    return Attribute(
        name=name,
        weight=weight,
        tree=tree,
        before=tree.nodes(books[0].labels)[source.columns[name]],
        after=tree.nodes(books[1].labels)[after.columns[own]],
    )


def _plain_tree(book: Codebook) -> Hierarchy:
    """Put all labels below a root."""
    labels = (ROOT, *(label for label in book.labels if label != ROOT))
    size = len(labels)
    leaves = np.ones(size, np.int64)
    leaves[0] = max(size - 1, 1)
    return Hierarchy(
        labels=labels,
        parent=np.zeros(size, np.int32),
        depth=np.minimum(np.arange(size), 1).astype(np.int32),
        subtree_end=np.append(np.int32(size), np.arange(2, size + 1)).astype(np.int32)[:size],
        leaves=leaves,
    )
