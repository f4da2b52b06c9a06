"""The prefix tree of weighted sequences: what many persons begin with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.engine import silent

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.sequences import Distinct
    from sequester.engine import Engine, Progress

ROOT = 0
"""The node of the empty path."""


@dataclass(frozen=True, slots=True)
class PrefixTree:
    """Nodes in preorder, children in label order; a node stands for the items on its path from the root.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> tree, deepest = PrefixTree.grow(Sequences.from_rows(["AB", "ABC", "AD", "B"]).distinct(), 2)
    >>> tree.depths.tolist(), tree.symbols.tolist()
    ([0, 1, 2], [-1, 0, 1])
    >>> deepest.tolist()
    [2, 2, 1, 0]
    """

    symbols: Codes
    """The last item of each node's path; -1 for the root."""
    depths: Codes
    """The length of each node's path."""
    parents: Codes
    """The node above; the root's is the root."""
    ends: Codes
    """The subtree of ``v`` is the range from ``v`` to ``ends[v]``."""
    heights: Codes
    """Levels below each node."""

    @classmethod
    def grow(cls, distinct: Distinct, min_support: int) -> tuple[PrefixTree, Codes]:
        """Make the tree of all prefixes that at least `min_support` persons begin with.

        Also gives, for each distinct sequence, the deepest node on its path.
        """
        symbols, depths, parents, deepest = kernels.trie.grow(
            distinct.items,
            distinct.offsets,
            distinct.weights,
            1 if distinct.owners is not None else min_support,
        )
        tree = cls(symbols, depths, parents, *kernels.trie.measure_subtrees(parents))
        if distinct.owners is None:
            return tree, deepest
        # Several sequences of a person are one supporter, so they are counted on the whole tree.
        kept = tree.passing(deepest, distinct) >= min_support
        kept[ROOT] = True
        pruned, nearest = tree.prune(kept)
        return pruned, nearest[deepest]

    @property
    def n_nodes(self) -> int:
        """Number of nodes, the root included."""
        return len(self.symbols)

    def closest(
        self,
        distinct: Distinct,
        rows: Counts,
        guesses: Codes,
        *,
        engine: Engine,
        weigh: Callable[[Codes], Codes] | None = None,
        progress: Progress = silent,
    ) -> Codes:
        """Give for each of `rows` the node that has most in common with it, in order and with gaps.

        Among equals the shallowest, then the first in label order: the end of a minimum prefix (Definition 2)
        that contains a longest common subsequence. The root where nothing is common. `guesses` are nodes
        whose paths are prefixes of the rows. Where pairs of symbols `weigh` something, that is common; it
        gives a table of all symbols by those that it is asked about.
        """
        # Only the symbols of the tree can be common. Numbered among themselves, with one number for all
        # others, they need small tables whatever the alphabet.
        known = np.unique(self.symbols[1:])
        numbers = np.full(int(distinct.items.max(initial=0)) + 1, len(known), np.int32)
        numbers[known] = np.arange(len(known), dtype=np.int32)
        items, symbols = numbers[distinct.items], numbers[self.symbols]

        weights = None if weigh is None else weigh(known.astype(np.int32))

        def search(shard: range) -> Codes:
            part = slice(shard.start, shard.stop)
            found: Codes
            if weights is not None:
                found = kernels.near_paths.closest_paths(
                    distinct.items,
                    distinct.offsets,
                    rows[part],
                    symbols,
                    self.depths,
                    self.ends,
                    self.heights,
                    weights,
                )
                return found
            found = kernels.lcs.closest_paths(
                items,
                distinct.offsets,
                rows[part],
                guesses[part],
                symbols,
                self.depths,
                self.ends,
                self.heights,
                len(known) + 1,
            )
            return found

        shards = engine.split(len(rows))
        found = engine.map(search, shards, progress=progress, phase="finding the closest paths")
        return np.concatenate([np.empty(0, np.int32), *found])

    def passing(self, targets: Codes, distinct: Distinct) -> Counts:
        """Count the persons with a path, from the root to the target of their sequence, through each node.

        `targets` are the nodes of the distinct sequences. Who has several sequences counts once.
        """
        passing: Counts
        if distinct.owners is None:
            passing = kernels.trie.count_passing(self.parents, targets, distinct.weights)
        else:
            owned = distinct.rows_of_owners(distinct.owners)
            passing = kernels.owners.count_passing(self.parents, targets, *owned)
        return passing

    def prune(self, kept: Mask) -> tuple[PrefixTree, Codes]:
        """Keep the marked nodes; every kept node's parent is kept.

        Also gives, for each node of this tree, the deepest node of the pruned one on its path.
        """
        nearest: Codes = kernels.trie.nearest_kept(self.parents, kept)
        parents = nearest[self.parents[kept]]
        subtrees = kernels.trie.measure_subtrees(parents)
        return PrefixTree(self.symbols[kept], self.depths[kept], parents, *subtrees), nearest

    def paths(self) -> tuple[Codes, Offsets]:
        """Write the items of every node's path, one row per node."""
        rows: tuple[Codes, Offsets] = kernels.trie.spell_paths(self.symbols, self.depths, self.parents)
        return rows
