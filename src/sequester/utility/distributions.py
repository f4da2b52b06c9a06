"""Distances between the distributions of values and lengths in release and original."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester._validation import at_least
from sequester.data.text import Codebook
from sequester.errors import ParameterError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import ROOT
from sequester.mining.support import sequences_of
from sequester.ragged import gather_rows, offsets_of, owners_of
from sequester.utility.generalization import weights_text
from sequester.utility.score import Score, attribute_weights, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable, SequenceData

    Amounts = npt.NDArray[np.float64]
    Numbers = npt.NDArray[np.float64]
    from sequester._typing import Counts, Offsets


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


def distance_score(after: Amounts, before: Amounts, *, means: str, shares: str) -> Score:
    """Return the distance of two distributions as a score; `shares` says of what they are."""
    return Score(
        value=wasserstein_distance(after, before),
        bounds=(0, None),
        means=means,
        formula=f"∫ |F(x) - F'(x)| dx; F, F' = shares of {shares}",
        reference="Vallender (1974), the first Wasserstein distance",
    )


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


def attributes_of(released: SequenceData, original: EventTable) -> list[AttributePair]:
    """List the symbol, or the quasi-identifiers that have a weight."""
    after, source = sequences_of(released), original.sequences
    pairs = []
    for name, weight in attribute_weights(original).items():
        # Symbol sequences without a schema may call their column as they like.
        own = name if name in after.columns else after.symbol
        labels = source.codebooks[name].labels, after.codebooks[own].labels
        tree = original.hierarchies.get(name) or _plain_tree(Codebook.of((*labels[0], *labels[1])))
        pairs.append(
            AttributePair(
                name=name,
                weight=weight,
                tree=tree,
                before=tree.nodes(labels[0])[source.columns[name]],
                after=tree.nodes(labels[1])[after.columns[own]],
            )
        )
    return pairs


def weighted_mean(attributes: Sequence[AttributePair], score: Callable[[AttributePair], float]) -> float:
    """Average over attributes by their weights; 0 where there are none."""
    total = sum(each.weight for each in attributes)
    return sum(each.weight * score(each) for each in attributes) / total if total else 0.0


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


def kl_values(released: SequenceData, *, original: EventTable) -> Score:
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
    return kl_divergence(*counts)


def kl_divergence(before: Amounts | Counts, after: Amounts | Counts) -> float:
    """Return the Kullback-Leibler divergence, in bits, of two lists of counts, one added to each.

    Examples
    --------
    >>> kl_divergence(np.array([3, 1]), np.array([3, 1])), kl_divergence(np.array([]), np.array([]))
    (0.0, 0.0)
    """
    p, q = ((each + 1) / (each + 1).sum() for each in (before, after))
    # Rounding may leave a little less than nothing.
    return max(float((p * np.log2(p / q)).sum()), 0.0)


def length_distance(released: SequenceData, *, original: SequenceData) -> Score:
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
    unit = unit_of(original)
    return distance_score(
        after,
        before,
        means=f"By how many events the lengths of all {unit}s lie apart from those of the original, "
        "on average, regardless of who has which; 0 is the same lengths, and a "
        f"{unit} that is not released has none.",
        shares="all persons with at most x events, before and after",
    )


def symbol_levels(released: SequenceData, *, original: EventTable) -> dict[str, Score]:
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
    to_depths = tree.depth[tree.nodes(after.codebook.labels)][after.codes]
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


def rank_correlation(released: SequenceData, *, original: EventTable) -> Score:
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


TIE = 1e-9
"""Expected counts that differ by less than this share are equal."""
_MOST_CELLS = 2_000_000
MOST_LOOKS = 200_000_000
"""Values times nodes of a tree; beyond, only the most frequent values are compared."""


def transitions(
    released: SequenceData, *, original: EventTable, most_looks: int = MOST_LOOKS
) -> dict[str, Score]:
    """Return ``transition_distance`` and ``next_event_accuracy`` of what follows what in the release.

    Pairs are two events of one person, one right after the other. A released node counts in equal parts for
    the leaves below it. A value that is followed by nothing in the release is as far apart as can be, and
    what most often follows anything is guessed for it. Of guesses that are equally likely the first in the
    order of the tree is taken. Learned from the original itself the guesses are as good as such guesses can
    be.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.testing import symbol_table
    >>> original = symbol_table(["abab", "abc"])
    >>> released = Sequences.from_rows(["abab", "cab"])
    >>> scores = transitions(released, original=original)
    >>> {name: round(score.value, 2) for name, score in scores.items()}
    {'transition_distance': 0.2, 'next_event_accuracy': 0.8}

    References
    ----------
    First-order Markov chains; Esteban, Hyland, Rätsch (2017) for learning from the release.
    """
    at_least("most_looks", most_looks, 1)
    after, before = sequences_of(released), original.sequences
    attributes = attributes_of(released, original)
    found = {each.name: _compare(each, after, before, most_looks) for each in attributes}
    names = ", ".join(found)
    weights = weights_text({each.name: each.weight for each in attributes})
    left = sum(each.n_left for each in found.values())
    few = f"; the {left:,} rarest values are left aside" if left else ""
    best = weighted_mean(attributes, lambda each: found[each.name].best)
    return {
        "transition_distance": Score(
            value=weighted_mean(attributes, lambda each: found[each.name].distance),
            means=f"The share of next values of {names} that would have to change for the transition "
            "matrix of the release, as a recipient would estimate it, to be that of the original, rows "
            f"by how often they occur there; 0 is the same matrix{weights}{few}.",
            formula=(
                "Σ over attributes of w_A · Σ over values a of P(a) · ½ Σ over b of |P(b|a) - "
                "P'(b|a)| / Σ w_A"
            ),
            reference="Total variation of the rows of a first-order Markov chain; Norris (1997), section 1.1",
        ),
        "next_event_accuracy": Score(
            value=weighted_mean(attributes, lambda each: found[each.name].accuracy),
            goal="maximize",
            means=f"The share of next values of {names} in the original that are guessed right from the "
            "value before by a model that learned from the release; learned from the original it would "
            f"be {best:.3g}{weights}{few}.",
            formula=(
                "Σ over attributes of w_A · (original pairs a, b with b = argmax P'(·|a)) / "
                "(original pairs) / Σ w_A"
            ),
            reference="Esteban, Hyland, Rätsch (2017): train on the release, test on the original",
        ),
    }


class _Followers(NamedTuple):
    """What follows each of some nodes, in the order of nodes, and how often."""

    offsets: Offsets
    """Node ``i`` is followed by ``to[offsets[i]:offsets[i + 1]]``."""
    to: Codes
    counts: Counts

    @classmethod
    def of(cls, nodes: Codes, offsets: Offsets, size: int) -> _Followers:
        """Count the pairs of events of a person that follow each other directly, for every node."""
        has_next = np.ones(int(offsets[-1]), np.bool_)
        has_next[offsets[1:][np.diff(offsets) > 0] - 1] = False
        first = np.flatnonzero(has_next)
        keys, counts = np.unique(nodes[first].astype(np.int64) * size + nodes[first + 1], return_counts=True)
        starts = np.searchsorted(keys, np.arange(size + 1, dtype=np.int64) * size).astype(np.int64)
        return cls(starts, (keys % size).astype(np.int32), counts.astype(np.int64))

    def take(self, rows: Codes | Counts) -> _Followers:
        """Return what follows the numbered nodes."""
        to, offsets = gather_rows(self.to, self.offsets, rows)
        return _Followers(offsets, to, gather_rows(self.counts, self.offsets, rows)[0])

    @property
    def totals(self) -> Counts:
        """How often each node is followed by anything."""
        totals: Counts = np.diff(offsets_of(self.counts)[self.offsets])
        return totals


class _Compared(NamedTuple):
    """How transitions of one attribute differ, and how many values were left aside."""

    distance: float
    accuracy: float
    best: float
    n_left: int


def _compare(attribute: AttributePair, after: Sequences, before: Sequences, most_looks: int) -> _Compared:
    """Compare the transitions of one attribute."""
    tree = attribute.tree
    known = _Followers.of(attribute.after, after.person_offsets, len(tree))
    usual = 0
    if len(known.to):
        usual = int(tree.leaf_nodes[attribute.expect(np.repeat(known.to, known.counts)).argmax()])
    followers = _Followers.of(attribute.before, before.person_offsets, len(tree))
    rows = np.flatnonzero(np.diff(followers.offsets))
    followers = followers.take(rows)
    totals = followers.totals
    most = np.maximum.reduceat(followers.counts, followers.offsets[:-1]) if len(rows) else totals
    if tree.is_leaf[attribute.after].all():
        seen = np.arange(len(rows))
        gaps, hits = _compare_leaves(rows, followers, known, usual)
    else:
        seen = np.sort(np.argsort(-totals, kind="stable")[: max(most_looks // len(tree), 1)])
        gaps, hits = np.empty(len(seen)), np.empty(len(seen), np.int64)
        # What follows a value is spread over all nodes, for some values at a time.
        step = max(_MOST_CELLS // len(tree), 1)
        for first in range(0, len(seen), step):
            own = seen[first : first + step]
            place = slice(first, first + step)
            gaps[place], hits[place] = _compare_nodes(rows[own], followers.take(own), known, usual, tree)
    total = int(totals[seen].sum())
    return _Compared(
        distance=float(gaps @ totals[seen]) / total if total else 0.0,
        accuracy=float(hits.sum()) / total if total else 1.0,
        best=float(most[seen].sum()) / total if total else 1.0,
        n_left=len(rows) - len(gaps),
    )


def _compare_leaves(
    rows: Counts, followers: _Followers, known: _Followers, usual: int
) -> tuple[Amounts, Counts]:
    """Compare rows where both sides have leaves alone; otherwise as `_compare_nodes`."""
    size = len(known.offsets) - 1
    from_nodes = owners_of(known.offsets)
    mass = known.totals[rows]
    # Padded, so that a place behind the last has a count, too.
    keys, shares = np.append(from_nodes * size + known.to, -1), np.append(known.counts, 0)
    asked = rows[owners_of(followers.offsets)] * size + followers.to
    at = np.searchsorted(keys[:-1], asked)
    found = np.where(keys[at] == asked, shares[at], 0)
    likeliest = np.append(known.to[np.lexsort((known.to, -known.counts, from_nodes))], usual)
    guesses = np.where(mass > 0, likeliest[known.offsets[rows]], usual)
    return _compare_rows(followers, found, mass, guesses)


def _compare_nodes(
    rows: Counts, followers: _Followers, known: _Followers, usual: int, tree: Hierarchy
) -> tuple[Amounts, Counts]:
    """Return each row's distance from the original's, and how many of its events the likeliest guess hits.

    Leaf ``rows[i]`` is followed in the original by row ``i`` of `followers`; `known` says the same of all
    nodes of the release. A node stands for each of its leaves with the same probability. The distance is the
    total variation; a leaf of which the release says nothing is 1 apart, and `usual` is guessed. Among
    equally likely leaves the first is guessed.
    """
    places, shares = [np.empty(0, np.int64)], [np.empty(0)]
    numbers, nodes = np.arange(len(rows)), rows
    while len(nodes):
        own = known.take(nodes)
        owners = owners_of(own.offsets)
        places.append(numbers[owners] * len(tree) + own.to)
        shares.append(own.counts / tree.leaves[nodes][owners])
        numbers, nodes = numbers[nodes > 0], tree.parent[nodes[nodes > 0]].astype(np.int64)
    cells = np.bincount(np.concatenate(places), np.concatenate(shares), len(rows) * len(tree))
    chances: Amounts = cells.reshape(len(rows), len(tree)).astype(np.float64)
    mass = chances.sum(axis=1)
    chances /= tree.leaves
    for level in range(1, tree.height + 1):
        at = np.flatnonzero(tree.depth == level)
        chances[:, at] += chances[:, tree.parent[at]]
    leaves = chances[:, tree.leaf_nodes]
    likeliest = (leaves * (1 + TIE) >= leaves.max(axis=1, keepdims=True)).argmax(axis=1)
    guesses = np.where(mass > 0, tree.leaf_nodes[likeliest], usual)
    found = chances[owners_of(followers.offsets), followers.to]
    return _compare_rows(followers, found, mass, guesses)


def _compare_rows(
    followers: _Followers, found: Amounts | Counts, mass: Amounts | Counts, guesses: Codes | Counts
) -> tuple[Amounts, Counts]:
    """Return distances and hits, given how much is `found` of each entry, of so much `mass` in its row."""
    owners, n_rows = owners_of(followers.offsets), len(mass)
    estimates = found / np.where(mass > 0, mass, 1)[owners]
    apart = np.bincount(owners, np.abs(followers.counts / followers.totals[owners] - estimates), n_rows)
    missed = np.maximum(1 - np.bincount(owners, estimates, n_rows), 0)
    hits = np.bincount(owners, followers.counts * (followers.to == guesses[owners]), n_rows)
    return np.where(mass > 0, (apart + missed) / 2, 1.0), hits.astype(np.int64)
