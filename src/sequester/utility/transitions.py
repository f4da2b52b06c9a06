"""Transitions: which value follows which, as a recipient would learn it from the release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester._validation import at_least
from sequester.mining.support import sequences_of
from sequester.ragged import gather_rows, offsets_of, owners_of
from sequester.utility.distributions import attributes_of, weighted_mean
from sequester.utility.generalization import weights_text
from sequester.utility.score import Score

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.utility.distributions import AttributePair

    Amounts = npt.NDArray[np.float64]


TIE = 1e-9
"""Expected counts that differ by less than this share are equal."""
_MOST_CELLS = 2_000_000
MOST_LOOKS = 200_000_000
"""Values times nodes of a tree; beyond, only the most frequent values are compared."""


def transitions(
    released: EventTable | Sequences, *, original: EventTable, most_looks: int = MOST_LOOKS
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
            "value before by somebody who learned from the release; learned from the original it would "
            f"be {best:.3g}{weights}{few}.",
            formula=(
                "Σ over attributes of w_A · (original pairs a, b with b = argmax P'(·|a)) / "
                "(original pairs) / Σ w_A"
            ),
            reference="Esteban, Hyland, Rätsch (2017): train on the release, test on the original",
        ),
    }


def _compare(attribute: AttributePair, after: Sequences, before: Sequences, most_looks: int) -> _Compared:
    """Compare the transitions of one attribute."""
    tree = attribute.tree
    starts, ends = _places(after.person_offsets)
    known = _rows(attribute.after[starts], attribute.after[ends], len(tree))
    usual = 0
    if len(ends):
        usual = int(tree.leaf_nodes[int(attribute.expect(attribute.after[ends]).argmax())])
    firsts, nexts = _places(before.person_offsets)
    rows, offsets, to, counts = _dense(*_rows(attribute.before[firsts], attribute.before[nexts], len(tree)))
    totals = np.add.reduceat(counts, offsets[:-1]) if len(rows) else counts
    most = np.maximum.reduceat(counts, offsets[:-1]) if len(rows) else counts
    if tree.is_leaf[attribute.after].all():
        seen = np.arange(len(rows))
        gaps, hits = _compare_leaves(rows, offsets, to, counts, known, usual)
    else:
        seen = np.sort(np.argsort(-totals, kind="stable")[: max(most_looks // len(tree), 1)])
        gaps, hits = np.empty(len(seen)), np.empty(len(seen), np.int64)
        # What follows a value is spread over all nodes, for some values at a time.
        step = max(_MOST_CELLS // len(tree), 1)
        for first in range(0, len(seen), step):
            own = slice(first, first + step)
            to_own, _ = gather_rows(to, offsets, seen[own])
            counts_own, offsets_own = gather_rows(counts, offsets, seen[own])
            gaps[own], hits[own] = _compare_nodes(
                rows[seen[own]], offsets_own, to_own, counts_own, known, usual, tree
            )
    total = int(totals[seen].sum())
    return _Compared(
        distance=float(gaps @ totals[seen]) / total if total else 0.0,
        accuracy=float(hits.sum()) / total if total else 1.0,
        best=float(most[seen].sum()) / total if total else 1.0,
        n_left=len(rows) - len(gaps),
    )


def _compare_leaves(
    rows: Codes,
    offsets: Offsets,
    to: Codes,
    counts: Counts,
    known: tuple[Offsets, Codes, Counts],
    usual: int,
) -> tuple[Amounts, Counts]:
    """Compare rows where both sides have leaves alone; otherwise as `_compare_nodes`."""
    from_offsets, to_nodes, to_counts = known
    size = len(from_offsets) - 1
    from_nodes = owners_of(from_offsets)
    mass = np.diff(offsets_of(to_counts)[from_offsets])[rows]
    # Padded, so that a place behind the last has a count, too.
    keys, shares = np.append(from_nodes * size + to_nodes, -1), np.append(to_counts, 0)
    asked = rows.astype(np.int64)[owners_of(offsets)] * size + to
    at = np.searchsorted(keys[:-1], asked)
    found = np.where(keys[at] == asked, shares[at], 0)
    likeliest = np.append(to_nodes[np.lexsort((to_nodes, -to_counts, from_nodes))], usual)
    guesses = np.where(mass > 0, likeliest[from_offsets[rows]], usual)
    return _compare_rows(offsets, to, counts, found, mass, guesses)


def _compare_nodes(
    rows: Codes,
    offsets: Offsets,
    to: Codes,
    counts: Counts,
    known: tuple[Offsets, Codes, Counts],
    usual: int,
    tree: Hierarchy,
) -> tuple[Amounts, Counts]:
    """Return each row's distance from the original's, and how many of its events the likeliest guess hits.

    Row ``i`` of the original says how often leaf ``rows[i]`` is followed by ``to``, from ``offsets[i]`` on;
    `known` says the same of all nodes of the release. A node stands for each of its leaves with the same
    probability. The distance is the total variation; a leaf of which the release says nothing is 1 apart, and
    `usual` is guessed. Among equally likely leaves the first is guessed.
    """
    from_offsets, to_nodes, to_counts = known
    places, shares = [np.empty(0, np.int64)], [np.empty(0)]
    numbers, nodes = np.arange(len(rows)), rows.astype(np.int64)
    while len(nodes):
        followers, own_offsets = gather_rows(to_nodes, from_offsets, nodes)
        amounts, _ = gather_rows(to_counts, from_offsets, nodes)
        owners = owners_of(own_offsets)
        places.append(numbers[owners] * len(tree) + followers)
        shares.append(amounts / tree.leaves[nodes][owners])
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
    return _compare_rows(offsets, to, counts, chances[owners_of(offsets), to], mass, guesses)


def _compare_rows(
    offsets: Offsets,
    to: Codes,
    counts: Counts,
    found: Amounts | Counts,
    mass: Amounts | Counts,
    guesses: Codes,
) -> tuple[Amounts, Counts]:
    """Return distances and hits, given how much is `found` of each entry, of so much `mass` in its row."""
    owners, n_rows = owners_of(offsets), len(mass)
    totals = np.diff(offsets_of(counts)[offsets])
    estimates = found / np.where(mass > 0, mass, 1)[owners]
    apart = np.bincount(owners, np.abs(counts / totals[owners] - estimates), n_rows)
    missed = np.maximum(1 - np.bincount(owners, estimates, n_rows), 0)
    hits = np.bincount(owners, counts * (to == guesses[owners]), n_rows)
    return np.where(mass > 0, (apart + missed) / 2, 1.0), hits.astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Compared:
    """What one attribute says."""

    distance: float
    accuracy: float
    best: float
    n_left: int


def _places(offsets: Offsets) -> tuple[Counts, Counts]:
    """List the places that have another one of the same person after them, and those after them."""
    has_next = np.ones(int(offsets[-1]), np.bool_)
    lasts = offsets[1:][np.diff(offsets) > 0] - 1
    has_next[lasts] = False
    first = np.flatnonzero(has_next).astype(np.int64)
    return first, first + 1


def _rows(first: Codes, then: Codes, size: int) -> tuple[Offsets, Codes, Counts]:
    """Count pairs: for every node where its followers begin, the followers in order, and how often."""
    keys, counts = np.unique(first.astype(np.int64) * size + then, return_counts=True)
    offsets = np.searchsorted(keys, np.arange(size + 1, dtype=np.int64) * size).astype(np.int64)
    return offsets, (keys % size).astype(np.int32), counts.astype(np.int64)


def _dense(offsets: Offsets, to: Codes, counts: Counts) -> tuple[Codes, Offsets, Codes, Counts]:
    """Return the nodes that are followed by something."""
    rows = np.flatnonzero(np.diff(offsets)).astype(np.int32)
    return rows, np.append(offsets[rows], offsets[-1]), to, counts
