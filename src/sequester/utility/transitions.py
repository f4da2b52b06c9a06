"""What follows what: how far transition matrices lie apart, and how well a release predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.errors import ParameterError
from sequester.mining.support import sequences_of
from sequester.utility.attributes import attributes_of, weighed_mean
from sequester.utility.cell_costs import weighed
from sequester.utility.score import Score

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.utility.attributes import Attribute

MOST_LOOKS = 200_000_000
"""Values times nodes of a tree; beyond, only the most frequent values are compared."""
DISTANCE_FORMULA = (
    "Σ over attributes of w_A · Σ over values a of P(a) · ½ Σ over b of |P(b|a) - P'(b|a)| / Σ w_A"
)
DISTANCE_REFERENCE = "Total variation of the rows of a first-order Markov chain; Norris (1997), section 1.1"
ACCURACY_FORMULA = (
    "Σ over attributes of w_A · (original pairs a, b with b = argmax P'(·|a)) / (original pairs) / Σ w_A"
)
ACCURACY_REFERENCE = "Esteban, Hyland, Rätsch (2017): train on the release, test on the original"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transitions:
    """Learns from the release which value follows which, and compares with the original.

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
    >>> scores = Transitions().score(released, original=original)
    >>> {name: round(score.value, 2) for name, score in scores.items()}
    {'transition_distance': 0.2, 'next_event_accuracy': 0.8}

    References
    ----------
    First-order Markov chains; Esteban, Hyland, Rätsch (2017) for learning from the release.
    """

    most_looks: int = MOST_LOOKS
    """Values times nodes of a tree that are looked at; beyond, only the most frequent values are."""

    def __post_init__(self) -> None:
        if self.most_looks < 1:
            msg = f"most_looks must be at least 1, got {self.most_looks}"
            raise ParameterError(msg)

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> dict[str, Score]:
        """Measure ``transition_distance`` and ``next_event_accuracy``."""
        after, before = sequences_of(released), original.sequences
        attributes = attributes_of(released, original)
        found = {each.name: self._compare(each, after, before) for each in attributes}
        names = ", ".join(found)
        weights = weighed({each.name: each.weight for each in attributes})
        left = sum(each.n_left for each in found.values())
        few = f"; the {left:,} rarest values are left aside" if left else ""
        best = weighed_mean(attributes, lambda each: found[each.name].best)
        return {
            "transition_distance": Score(
                value=weighed_mean(attributes, lambda each: found[each.name].distance),
                goal="minimize",
                bounds=(0, 1),
                means=f"The share of next values of {names} that would have to change for the transition "
                "matrix of the release, as a recipient would estimate it, to be that of the original, rows "
                f"by how often they occur there; 0 is the same matrix{weights}{few}.",
                formula=DISTANCE_FORMULA,
                reference=DISTANCE_REFERENCE,
            ),
            "next_event_accuracy": Score(
                value=weighed_mean(attributes, lambda each: found[each.name].accuracy),
                goal="maximize",
                bounds=(0, 1),
                means=f"The share of next values of {names} in the original that are guessed right from the "
                "value before by somebody who learned from the release; learned from the original it would "
                f"be {best:.3g}{weights}{few}.",
                formula=ACCURACY_FORMULA,
                reference=ACCURACY_REFERENCE,
            ),
        }

    def _compare(self, attribute: Attribute, after: Sequences, before: Sequences) -> _Compared:
        tree = attribute.tree
        starts, ends = _places(after.person_offsets)
        known = _rows(attribute.after[starts], attribute.after[ends], len(tree))
        usual = 0
        if len(ends):
            usual = int(tree.leaf_nodes[int(attribute.expect(attribute.after[ends]).argmax())])
        firsts, nexts = _places(before.person_offsets)
        rows, offsets, to, counts = _dense(
            *_rows(attribute.before[firsts], attribute.before[nexts], len(tree))
        )
        totals = np.add.reduceat(counts, offsets[:-1]) if len(rows) else counts
        most = np.maximum.reduceat(counts, offsets[:-1]) if len(rows) else counts
        seen = np.arange(len(rows))
        if tree.is_leaf[attribute.after].all():
            gaps, hits = kernels.transitions.compare_leaves(rows, offsets, to, counts, *known, usual)
        else:
            n_seen = max(self.most_looks // len(tree), 1)
            seen = np.sort(np.argsort(-totals, kind="stable")[:n_seen])
            to_seen, _ = kernels.distinct.gather_rows(to, offsets, seen)
            counts_seen, offsets_seen = kernels.distinct.gather_rows(counts, offsets, seen)
            gaps, hits = kernels.transitions.compare_nodes(
                rows[seen],
                offsets_seen,
                to_seen,
                counts_seen,
                *known,
                usual,
                tree.parent,
                tree.leaves,
                tree.subtree_end,
            )
        total = int(totals[seen].sum())
        return _Compared(
            distance=float(gaps @ totals[seen]) / total if total else 0.0,
            accuracy=float(hits.sum()) / total if total else 1.0,
            best=float(most[seen].sum()) / total if total else 1.0,
            n_left=len(rows) - len(gaps),
        )


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
    """Keep the nodes that are followed by something."""
    rows = np.flatnonzero(np.diff(offsets)).astype(np.int32)
    return rows, np.append(offsets[rows], offsets[-1]), to, counts
