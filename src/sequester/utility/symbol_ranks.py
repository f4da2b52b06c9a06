"""Whether frequent symbols are still the frequent ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.mining.support import sequences_of
from sequester.utility.score import Score

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

    Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolRanks:
    """The rank correlation (Spearman) of how often each symbol occurs, before and after.

    A recipient counts a released node in equal parts for the leaves that it stands for. Where either side
    has all symbols equally often there is nothing to order: 1 if that is so on both sides, otherwise 0.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "Dairy": ["m", "n"]})
    >>> original = symbol_table(["ccccddm"], hierarchy=food)
    >>> released = Sequences.from_rows([["Snack"] * 6 + ["m"]])
    >>> round(SymbolRanks().score(released, original=original).value, 3)
    0.949
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
        """Count symbols on both sides and compare their order."""
        after, before = sequences_of(released), original.sequences
        tree = original.hierarchies[before.symbol]
        leaves = tree.leaf_nodes
        counts = [np.zeros(len(tree)), np.zeros(len(tree))]
        for side, place in ((before, counts[0]), (after, counts[1])):
            codes = np.bincount(side.columns[side.symbol], minlength=len(side.codebooks[side.symbol]))
            place[tree.nodes(side.codebooks[side.symbol].labels)] = codes
        # From the root down each node hands its share to everything below it.
        each = counts[1] / tree.leaves
        for node in range(1, len(tree)):
            each[node] += each[tree.parent[node]]
        return Score(
            value=rank_correlation(counts[0][leaves], each[leaves]),
            goal="maximize",
            bounds=(-1, 1),
            means="Rank correlation of how often each symbol occurs in the original and, as a recipient "
            "would estimate it, in the release; 1 is the same order.",
            formula="correlation of the ranks of symbols by expected number of events, before and after",
            reference="Spearman (1904)",
        )


def rank_correlation(left: Numbers, right: Numbers) -> float:
    """Give Spearman's correlation, equal numbers sharing their mean rank.

    Examples
    --------
    >>> rank_correlation(np.array([3.0, 1.0, 2.0]), np.array([30.0, 10.0, 20.0]))
    1.0
    """
    ranks = [_mean_ranks(side) for side in (left, right)]
    spread = [side - side.mean() for side in ranks]
    scale = float(np.sqrt((spread[0] ** 2).sum() * (spread[1] ** 2).sum()))
    if scale == 0:
        return 1.0 if not spread[0].any() and not spread[1].any() else 0.0
    return float((spread[0] * spread[1]).sum() / scale)


def _mean_ranks(values: Numbers) -> Numbers:
    _, places, counts = np.unique(values.round(9), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: Numbers = (last - (counts - 1) / 2)[places]
    return means
