"""Sequences before and after: edit distances, invented items, transitions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.text import Codebook
from sequester.engine.local import usable_cores
from sequester.errors import ParameterError
from sequester.mining.support import sequences_of
from sequester.ragged import gather_rows, offsets_of, owners_of
from sequester.utility._kernels import least_edits
from sequester.utility.distributions import attributes_of, weighted_mean
from sequester.utility.generalization import weights_text
from sequester.utility.score import Score, units_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.sequences import Distinct, Sequences
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.utility.distributions import Attribute

    Amounts = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SequencePairs:
    """Distinct pairs of an original and a released sequence, with the persons behind each."""

    before: Distinct
    """The distinct original sequences, in codes that both sides share."""
    after: Distinct
    """The distinct released sequences, in the same codes; an empty one is not released."""
    before_rows: Counts
    """For each pair the number of the original sequence."""
    after_rows: Counts
    """For each pair the number of the released sequence."""
    weights: Counts
    """Persons who have the pair."""
    n_symbols: int
    """How many codes both sides together use."""
    unit: str = "persons"
    """Whose sequences these are: ``persons``, or ``trips`` where a person has several."""

    @property
    def n_persons(self) -> int:
        """Persons behind all pairs, those who are not released included."""
        return int(self.weights.sum())


def pair_sequences(released: EventTable | Sequences, original: EventTable | Sequences) -> SequencePairs:
    """Pair each person's sequences; both sides have the same persons in the same order.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> pairs = pair_sequences(Sequences.from_rows(["ab", "b", "ab"]), Sequences.from_rows(["ab", "a", "ab"]))
    >>> pairs.before_rows.tolist(), pairs.after_rows.tolist(), pairs.weights.tolist()
    ([0, 1], [1, 0], [1, 2])
    """
    after_side, before_side = sequences_of(released), sequences_of(original)
    if after_side.n_persons != before_side.n_persons:
        msg = (
            "released and original must have the same persons, "
            f"there are {after_side.n_persons} and {before_side.n_persons}"
        )
        raise ParameterError(msg)
    after, before = after_side.distinct(after_side.symbol), before_side.distinct(before_side.symbol)
    after_book = after_side.codebooks[after_side.symbol]
    before_book = before_side.codebooks[before_side.symbol]
    both = Codebook.of((*after_book.labels, *before_book.labels))
    keys, weights = np.unique(
        before.row_of_person.astype(np.int64) * after.n_rows + after.row_of_person, return_counts=True
    )
    before_rows, after_rows = np.divmod(keys, max(after.n_rows, 1))
    return SequencePairs(
        before=replace(before, items=both.encode(before_book.labels)[before.items]),
        after=replace(after, items=both.encode(after_book.labels)[after.items]),
        before_rows=before_rows,
        after_rows=after_rows,
        weights=weights.astype(np.int64),
        n_symbols=len(both),
        unit="persons" if before_side.owners is None else "trips",
    )


SURROGATES = range(0xD800, 0xE000)
"""Code points that a text may not hold."""
MAX_CHARACTERS = 0x110000 - len(SURROGATES)
"""Symbols that can be written as one character each."""
EDIT_FORMULA = (
    "Σ over persons of L(t, t') / persons; L = fewest insertions, deletions and substitutions of events"
)
EDIT_REFERENCE = "Levenshtein (1966); Pensa, Monreale, Pinelli, Pedreschi (2008), Definition 4"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditDistance:
    """Fewest insertions, deletions and substitutions from a person's sequence to the released, on average.

    Persons stand in the same order on both sides. A person who is not released counts with all of their
    items. Without persons the distance is 0.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original = Sequences.from_rows(["DEJF", "BK", "XY", "A"])
    >>> released = Sequences.from_rows(["ADEF", "BK", "", "A"])
    >>> EditDistance().score(released, original=original).value
    1.0

    References
    ----------
    Pensa, Monreale, Pinelli, Pedreschi (2008), Definition 4.
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable | Sequences) -> Score:
        """Compare person by person, equal pairs once."""
        # Loaded here because only this measure needs it.
        from rapidfuzz.distance import Levenshtein  # noqa: PLC0415
        from rapidfuzz.process import cpdist  # noqa: PLC0415

        pairs = pair_sequences(released, original)
        before, after = written(pairs.before, pairs.n_symbols), written(pairs.after, pairs.n_symbols)
        distances: Counts = cpdist(
            [before[row] for row in pairs.before_rows],
            [after[row] for row in pairs.after_rows],
            scorer=Levenshtein.distance,
            dtype=np.int64,
            workers=usable_cores(),
        )
        unit = pairs.unit.removesuffix("s")
        return Score(
            value=int(distances @ pairs.weights) / max(pairs.n_persons, 1),
            goal="minimize",
            bounds=(0, None),
            means=f"How many items had to be inserted, deleted or substituted per {unit}, on average; "
            f"0 is unchanged, and a {unit} that is not released counts with all items.",
            formula=EDIT_FORMULA,
            reference=EDIT_REFERENCE,
        )


def written(rows: Distinct, n_symbols: int) -> Sequence[Sequence[object]]:
    """Write each row as a text with one character per item; as numbers where characters do not suffice."""
    bounds = list(pairwise(rows.offsets.tolist()))
    if n_symbols > MAX_CHARACTERS:
        return [rows.items[a:b].tolist() for a, b in bounds]
    points = np.where(rows.items < SURROGATES.start, rows.items, rows.items + len(SURROGATES))
    text = points.astype("<u4").tobytes().decode("utf-32-le")
    return [text[a:b] for a, b in bounds]


def number_items(rows: Distinct, chosen: Counts, n_symbols: int) -> Counts:
    """Number the items of the chosen rows, so that equal items of one place in `chosen` are equal."""
    items, offsets = gather_rows(rows.items, rows.offsets, chosen)
    numbers: Counts = owners_of(offsets) * n_symbols + items
    return numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedEdits:
    """The least cost of insertions, deletions and substitutions of events per person, on average.

    An insertion or a deletion costs 1. A substitution costs, averaged over attributes by their weights, the
    probability that the released value is not the original one: 0 where it is the same, 1 - 1 / leaves for a
    node above it, 1 for any other. Where nothing is coarse and there is one attribute it is the edit
    distance.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "m": {}})
    >>> original = symbol_table(["cmd", "m"], hierarchy=food)
    >>> released = Sequences.from_rows([["Snack", "d"], ["m"]])
    >>> ExpectedEdits().score(released, original=original).value  # c is coarse, m is deleted
    0.75
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
        """Compare person by person."""
        sequences, source = sequences_of(released), original.sequences
        if sequences.n_persons != source.n_persons:
            msg = (
                "released and original must have the same persons, "
                f"there are {sequences.n_persons} and {source.n_persons}"
            )
            raise ParameterError(msg)
        attributes = attributes_of(sequences, original)
        if not attributes:
            msg = "edits need a symbol or a quasi-identifier with a weight, and there is none"
            raise ParameterError(msg)
        total = sum(each.weight for each in attributes)
        starts = offsets_of([len(each.tree) for each in attributes])[:-1].astype(np.int32)
        costs = np.empty(source.n_persons)
        least_edits(
            np.stack([each.before for each in attributes], axis=1) + starts,
            source.person_offsets,
            np.stack([each.after for each in attributes], axis=1) + starts,
            sequences.person_offsets,
            np.concatenate(
                [each.tree.subtree_end + start for each, start in zip(attributes, starts, strict=True)]
            ),
            np.concatenate([each.weight / total / each.tree.leaves for each in attributes]),
            np.empty(int(np.diff(sequences.person_offsets).max(initial=0)) + 1),
            costs,
        )
        units = units_of(original)
        return Score(
            value=float(costs.sum()) / max(source.n_persons, 1),
            goal="minimize",
            bounds=(0, None),
            means=f"How many events had to be inserted, deleted or substituted per {units.one}, on average; "
            "a substitution counts by the probability that the released values of "
            f"{', '.join(each.name for each in attributes)} are not the original ones; 0 is unchanged, and a "
            f"{units.one} that is not released counts with all events"
            f"{weights_text({each.name: each.weight for each in attributes})}.",
            formula=EDIT_FORMULA,
            reference=EDIT_REFERENCE,
        )


def edit_work(released: EventTable | Sequences, original: EventTable) -> int:
    """Count the pairs of events that the measure looks at."""
    lengths = [np.diff(sequences_of(side).person_offsets) for side in (released, original)]
    return int(lengths[0] @ lengths[1]) * max(len(attributes_of(released, original)), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class InventedItems:
    """The number of persons whose released sequence holds an item that they never had.

    Persons stand in the same order on both sides. An item that a person had, but earlier, later or less
    often, is not invented; neither is anything about a person who is not released.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original = Sequences.from_rows(["DEJF", "BK", "XY", "A"])
    >>> released = Sequences.from_rows(["ADEF", "KB", "", "AA"])
    >>> InventedItems().score(released, original=original).value
    1.0

    References
    ----------
    Pensa, Monreale, Pinelli, Pedreschi (2008), Fig. 1: DEJF is released as ADEF.
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable | Sequences) -> Score:
        """Count the persons who got an item they never had."""
        pairs = pair_sequences(released, original)
        had, got = (
            number_items(side, rows, pairs.n_symbols)
            for side, rows in ((pairs.before, pairs.before_rows), (pairs.after, pairs.after_rows))
        )
        is_invented = np.zeros(len(pairs.weights), np.bool_)
        is_invented[got[~np.isin(got, had)] // max(pairs.n_symbols, 1)] = True
        return Score(
            value=float(pairs.weights[is_invented].sum()),
            goal="minimize",
            bounds=(0, pairs.n_persons),
            means=f"How many of the {pairs.n_persons} {pairs.unit} got an item that they never had; "
            "0 says that no item was made up.",
            formula="number of persons whose released sequence has an item that is not in their original one",
            reference="Pensa, Monreale, Pinelli, Pedreschi (2008), Fig. 1",
        )


TIE = 1e-9
"""Expected counts that differ by less than this share are equal."""
_MOST_CELLS = 2_000_000
MOST_LOOKS = 200_000_000
"""Values times nodes of a tree; beyond, only the most frequent values are compared."""


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
        weights = weights_text({each.name: each.weight for each in attributes})
        left = sum(each.n_left for each in found.values())
        few = f"; the {left:,} rarest values are left aside" if left else ""
        best = weighted_mean(attributes, lambda each: found[each.name].best)
        return {
            "transition_distance": Score(
                value=weighted_mean(attributes, lambda each: found[each.name].distance),
                goal="minimize",
                bounds=(0, 1),
                means=f"The share of next values of {names} that would have to change for the transition "
                "matrix of the release, as a recipient would estimate it, to be that of the original, rows "
                f"by how often they occur there; 0 is the same matrix{weights}{few}.",
                formula=(
                    "Σ over attributes of w_A · Σ over values a of P(a) · ½ Σ over b of |P(b|a) - "
                    "P'(b|a)| / Σ w_A"
                ),
                reference="Total variation of the rows of a first-order Markov chain; "
                "Norris (1997), section 1.1",
            ),
            "next_event_accuracy": Score(
                value=weighted_mean(attributes, lambda each: found[each.name].accuracy),
                goal="maximize",
                bounds=(0, 1),
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
        if tree.is_leaf[attribute.after].all():
            seen = np.arange(len(rows))
            gaps, hits = _compare_leaves(rows, offsets, to, counts, known, usual)
        else:
            seen = np.sort(np.argsort(-totals, kind="stable")[: max(self.most_looks // len(tree), 1)])
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
