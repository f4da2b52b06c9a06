"""Distances between the distributions of values and lengths in release and original."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.text import Codebook
from sequester.errors import ParameterError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import ROOT
from sequester.mining.support import sequences_of
from sequester.utility.generalization import weights_text
from sequester.utility.score import Score, attribute_weights, units_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

    Amounts = npt.NDArray[np.float64]
    Numbers = npt.NDArray[np.float64]


def wasserstein_distance(left: Amounts, right: Amounts) -> float:
    """Return the least mean distance that values have to move to turn one distribution into the other.

    Also known as the first Wasserstein or the earth mover's distance. Without values on either side there is
    nothing to move.

    Examples
    --------
    >>> wasserstein_distance(np.array([1.0, 3.0]), np.array([3.0, 3.0, 1.0, 5.0]))
    1.0

    References
    ----------
    Vallender (1974): the area between the two distribution functions.
    """
    if not len(left) or not len(right):
        return 0.0
    points = np.unique(np.concatenate([left, right]))
    shares = [np.searchsorted(np.sort(side), points[:-1], side="right") / len(side) for side in (left, right)]
    return float((np.abs(shares[0] - shares[1]) * np.diff(points)).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributePair:
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


def attributes_of(released: EventTable | Sequences, original: EventTable) -> list[AttributePair]:
    """List the symbol, or the quasi-identifiers that have a weight."""
    after = sequences_of(released)
    weights = attribute_weights(original)
    return [_attribute(name, weight, after, original) for name, weight in weights.items()]


def weighted_mean(attributes: Sequence[AttributePair], score: Callable[[AttributePair], float]) -> float:
    """Average over attributes by their weights; 0 where there are none."""
    total = sum(each.weight for each in attributes)
    return sum(each.weight * score(each) for each in attributes) / total if total else 0.0


def _attribute(name: str, weight: float, after: Sequences, original: EventTable) -> AttributePair:
    source = original.sequences
    # Symbol sequences without a schema may call their column as they like.
    own = name if name in after.columns else after.symbol
    books = source.codebooks[name], after.codebooks[own]
    tree = original.hierarchies.get(name) or _plain_tree(Codebook.of((*books[0].labels, *books[1].labels)))
    return AttributePair(
        name=name,
        weight=weight,
        tree=tree,
        before=tree.nodes(books[0].labels)[source.columns[name]],
        after=tree.nodes(books[1].labels)[after.columns[own]],
    )


def _plain_tree(book: Codebook) -> Hierarchy:
    """Return a tree of all labels below a root."""
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


def kl_values(released: EventTable | Sequences, *, original: EventTable) -> Score:
    """Return the Kullback-Leibler divergence, in bits, of the values in the release from the original.

    Events are counted per value, one is added to each count, and counts are divided by their sum. A released
    node counts in equal parts for the leaves below it; leaves that have no name are one value together.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "m": {}})
    >>> original = symbol_table(["cccd"], hierarchy=food)  # 4, 2 and 1 of 7; released 3, 3 and 1
    >>> released = Sequences.from_rows([["Snack"] * 4])
    >>> round(kl_values(released, original=original).value, 4)
    0.07

    References
    ----------
    Kullback, Leibler (1951); for items, Gwadera, Gkoulalas-Divanis, Loukides (2013).
    """
    attributes = attributes_of(released, original)
    return Score(
        value=weighted_mean(attributes, _divergence),
        bounds=(0, None),
        means="Kullback-Leibler divergence, in bits, of how often each value of "
        f"{', '.join(each.name for each in attributes)} occurs in the release, as a recipient would "
        "estimate it, from how often it occurs in the original; 0 is the same shares"
        f"{weights_text({each.name: each.weight for each in attributes})}.",
        formula="Σ over attributes of w_A · Σ over values of p log2(p / q) / Σ w_A; "
        "p, q = (events + 1) / their sum",
        reference="Kullback, Leibler (1951); for items, Gwadera, Gkoulalas-Divanis, Loukides (2013)",
    )


def _divergence(attribute: AttributePair) -> float:
    counts = [attribute.expect(attribute.before), attribute.expect(attribute.after)]
    if int(attribute.tree.leaves[0]) > len(counts[0]):
        totals = len(attribute.before), len(attribute.after)
        counts = [np.append(each, total - each.sum()) for each, total in zip(counts, totals, strict=True)]
    p, q = ((each + 1) / (each + 1).sum() for each in counts)
    # Rounding may leave a little less than nothing.
    return max(float((p * np.log2(p / q)).sum()), 0.0)


def length_distance(released: EventTable | Sequences, *, original: EventTable | Sequences) -> Score:
    """Return by how many events the numbers of events per person lie apart from the original, on average.

    Who has which number does not matter. A person who is not released has 0 events.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original, released = Sequences.from_rows(["abc", "a"]), Sequences.from_rows(["a", "ab"])
    >>> length_distance(released, original=original).value  # 1 and 3, then 1 and 2
    0.5
    """
    after, before = (
        np.diff(sequences_of(side).person_offsets).astype(np.float64) for side in (released, original)
    )
    units = units_of(original)
    return Score(
        value=wasserstein_distance(after, before),
        bounds=(0, None),
        means=f"By how many events the lengths of all {units.many} lie apart from those of the original, "
        "on average, regardless of who has which; 0 is the same lengths, and a "
        f"{units.one} that is not released has none.",
        formula="∫ |F(x) - F'(x)| dx; F, F' = shares of all persons with at most x events, before and after",
        reference="Vallender (1974), the first Wasserstein distance",
    )


def symbol_levels(released: EventTable | Sequences, *, original: EventTable) -> dict[str, Score]:
    """Return the share of events at each level: 0 as it was, one more for each step up, the root last.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "m": {}})
    >>> released = Sequences.from_rows([["Snack", "d", "*", "m"]])
    >>> scores = symbol_levels(released, original=symbol_table(["cdcm"], hierarchy=food))
    >>> {name: score.value for name, score in scores.items()}
    {'level_0': 0.5, 'level_1': 0.25, 'level_root': 0.25}
    """
    after, before = sequences_of(released), original.sequences
    column = before.symbol
    if after.n_events != before.n_events:
        msg = f"released must have the {before.n_events} events of original, there are {after.n_events}"
        raise ParameterError(msg)
    tree = original.hierarchies[column]
    from_depths = tree.depth[tree.nodes(before.codebooks[column].labels)][before.columns[column]]
    to_depths = tree.depth[tree.nodes(after.codebooks[after.symbol].labels)][after.columns[after.symbol]]
    steps = np.where(to_depths == 0, tree.height, from_depths - to_depths)
    counts = np.bincount(steps, minlength=tree.height + 1)
    total = max(after.n_events, 1)
    names = [f"level_{level}" for level in range(tree.height)] + ["level_root"]
    words = ["as they were", *(f"{level} up" for level in range(1, tree.height)), "as the root"]
    return {
        name: Score(
            value=float(count) / total,
            goal="maximize" if not level else "minimize",
            means=f"Share of the events whose symbol is released {said}.",
            formula="events whose symbol is released so many steps up / events; root: released as *",
            reference="Bonomi, Fan, Jin (2016), generalization along a taxonomy",
        )
        for level, (name, said, count) in enumerate(zip(names, words, counts, strict=True))
    }


def rank_correlation(released: EventTable | Sequences, *, original: EventTable) -> Score:
    """Return the rank correlation (Spearman) of how often each symbol occurs, before and after.

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
    >>> round(rank_correlation(released, original=original).value, 3)
    0.949
    """
    (symbol,) = attributes_of(released, original)
    return Score(
        value=spearman(symbol.expect(symbol.before), symbol.expect(symbol.after)),
        goal="maximize",
        bounds=(-1, 1),
        means="Rank correlation of how often each symbol occurs in the original and, as a recipient "
        "would estimate it, in the release; 1 is the same order.",
        formula="correlation of the ranks of symbols by expected number of events, before and after",
        reference="Spearman (1904)",
    )


def spearman(left: Numbers, right: Numbers) -> float:
    """Return Spearman's correlation, equal numbers sharing their mean rank.

    Examples
    --------
    >>> spearman(np.array([3.0, 1.0, 2.0]), np.array([30.0, 10.0, 20.0]))
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
