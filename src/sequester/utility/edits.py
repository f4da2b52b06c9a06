"""Sequences before and after: edit distances and invented items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.sequences import SYMBOL, Sequences
from sequester.data.text import Codebook
from sequester.engine.local import usable_cores
from sequester.errors import ParameterError
from sequester.hierarchies.labels import ROOT
from sequester.kernels.compiler import njit
from sequester.mining.support import sequences_of
from sequester.ragged import gather_rows, keep_values, offsets_of, owners_of
from sequester.utility.distributions import attributes_of
from sequester.utility.generalization import weights_text
from sequester.utility.score import Score, require_same_persons, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from sequester._typing import Counts
    from sequester.data.sequences import Distinct
    from sequester.data.table import EventTable, SequenceData

    Amounts = npt.NDArray[np.float64]
    from sequester._typing import Codes, Mask, Offsets
    from sequester.hierarchies.hierarchy import Hierarchy


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

    @property
    def n_persons(self) -> int:
        """Persons behind all pairs, those who are not released included."""
        return int(self.weights.sum())


def pair_sequences(released: SequenceData, original: SequenceData) -> SequencePairs:
    """Pair each person's sequences; both sides have the same persons in the same order.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> pairs = pair_sequences(Sequences.from_rows(["ab", "b", "ab"]), Sequences.from_rows(["ab", "a", "ab"]))
    >>> pairs.before_rows.tolist(), pairs.after_rows.tolist(), pairs.weights.tolist()
    ([0, 1], [1, 0], [1, 2])
    """
    after_side, before_side = sequences_of(released), sequences_of(original)
    require_same_persons(after_side, before_side)
    after, before = after_side.distinct(), before_side.distinct()
    after_book = after_side.codebook
    before_book = before_side.codebook
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
    )


SURROGATES = range(0xD800, 0xE000)
"""Code points that a text may not hold."""
MAX_CHARACTERS = 0x110000 - len(SURROGATES)
"""Symbols that can be written as one character each."""
EDIT_FORMULA = (
    "Σ over persons of L(t, t') / persons; L = fewest insertions, deletions and substitutions of events"
)
EDIT_REFERENCE = "Levenshtein (1966); Pensa, Monreale, Pinelli, Pedreschi (2008), Definition 4"


def edit_distance(released: SequenceData, *, original: SequenceData) -> Score:
    """Return the fewest insertions, deletions and substitutions per person's sequence, on average.

    Persons stand in the same order on both sides. A person who is not released counts with all of their
    items. Without persons the distance is 0.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original = Sequences.from_rows(["DEJF", "BK", "XY", "A"])
    >>> released = Sequences.from_rows(["ADEF", "BK", "", "A"])
    >>> edit_distance(released, original=original).value
    1.0

    References
    ----------
    Pensa, Monreale, Pinelli, Pedreschi (2008), Definition 4.
    """
    # Loaded here because few measures need it.
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415

    pairs = pair_sequences(released, original)
    distances = score_pairs(pairs, Levenshtein.distance)
    unit = unit_of(original)
    return Score(
        value=int(distances @ pairs.weights) / max(pairs.n_persons, 1),
        bounds=(0, None),
        means=f"How many items had to be inserted, deleted or substituted per {unit}, on average; "
        f"0 is unchanged, and a {unit} that is not released counts with all items.",
        formula=EDIT_FORMULA,
        reference=EDIT_REFERENCE,
    )


def score_pairs(pairs: SequencePairs, scorer: Callable[..., int]) -> Counts:
    """Return what a scorer of rapidfuzz says of each pair of an original and a released sequence."""
    # Loaded here because few measures need it.
    from rapidfuzz.process import cpdist  # noqa: PLC0415

    before, after = (_write_rows(side, pairs.n_symbols) for side in (pairs.before, pairs.after))
    scores: Counts = cpdist(
        [before[row] for row in pairs.before_rows],
        [after[row] for row in pairs.after_rows],
        scorer=scorer,
        dtype=np.int64,
        workers=usable_cores(),
    )
    return scores


def count_invented(pairs: SequencePairs) -> Counts:
    """Count, for each pair, the released items that the original sequence does not have."""
    had, got = (
        owners_of(offsets) * pairs.n_symbols + items
        for items, offsets in (
            gather_rows(pairs.before.items, pairs.before.offsets, pairs.before_rows),
            gather_rows(pairs.after.items, pairs.after.offsets, pairs.after_rows),
        )
    )
    strange = got[~np.isin(got, had)] // max(pairs.n_symbols, 1)
    return np.bincount(strange, minlength=len(pairs.weights)).astype(np.int64)


def _write_rows(rows: Distinct, n_symbols: int) -> Sequence[Sequence[object]]:
    """Write each row as a text with one character per item; as numbers where characters do not suffice."""
    bounds = list(pairwise(rows.offsets.tolist()))
    if n_symbols > MAX_CHARACTERS:
        return [rows.items[a:b].tolist() for a, b in bounds]
    points = np.where(rows.items < SURROGATES.start, rows.items, rows.items + len(SURROGATES))
    text = points.astype("<u4").tobytes().decode("utf-32-le")
    return [text[a:b] for a, b in bounds]


def expected_edits(released: SequenceData, *, original: EventTable) -> Score:
    """Return the least cost of insertions, deletions and substitutions of events per person, on average.

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
    >>> expected_edits(released, original=original).value  # c is coarse, m is deleted
    0.75
    """
    sequences, source = sequences_of(released), original.sequences
    require_same_persons(sequences, source)
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
    unit = unit_of(original)
    return Score(
        value=float(costs.sum()) / max(source.n_persons, 1),
        bounds=(0, None),
        means=f"How many events had to be inserted, deleted or substituted per {unit}, on average; "
        "a substitution counts by the probability that the released values of "
        f"{', '.join(each.name for each in attributes)} are not the original ones; 0 is unchanged, and a "
        f"{unit} that is not released counts with all events"
        f"{weights_text({each.name: each.weight for each in attributes})}.",
        formula=EDIT_FORMULA,
        reference=EDIT_REFERENCE,
    )


@njit
def least_edits(
    before: Codes,
    before_offsets: Offsets,
    after: Codes,
    after_offsets: Offsets,
    ends: Codes,
    shares: Amounts,
    above: Amounts,
    costs: Amounts,
) -> None:
    """Write for each person the least cost of insertions, deletions (1 each) and substitutions.

    Row ``e`` of `before` has the leaf of each attribute of an event, row ``e`` of `after` the node; the trees
    of all attributes are numbered together, `ends` leads from a node to the first one behind its subtree. A
    substitution costs 1 minus the `shares` of the nodes that lie at or above their leaf. `above` is room for
    one more than the events of the longest released history.
    """
    for p in range(before_offsets.size - 1):
        a, b = before_offsets[p], after_offsets[p]
        m = after_offsets[p + 1] - b
        for j in range(m + 1):
            above[j] = j
        for i in range(a, before_offsets[p + 1]):
            corner = above[0]
            above[0] = i - a + 1
            for j in range(m):
                cost = 1.0
                for attribute in range(before.shape[1]):
                    leaf, node = before[i, attribute], after[b + j, attribute]
                    if node <= leaf < ends[node]:
                        cost -= shares[node]
                swap = corner + cost
                corner = above[j + 1]
                above[j + 1] = min(swap, corner + 1.0, above[j] + 1.0)
        costs[p] = above[m]


def edit_work(released: SequenceData, original: EventTable) -> int:
    """Count the pairs of events that the measure looks at."""
    lengths = [np.diff(sequences_of(side).person_offsets) for side in (released, original)]
    return int(lengths[0] @ lengths[1]) * max(len(attributes_of(released, original)), 1)


def invented_items(released: SequenceData, *, original: SequenceData) -> Score:
    """Count the persons whose released sequence has an item that they never had.

    Persons stand in the same order on both sides. An item that a person had, but earlier, later or less
    often, is not invented; neither is anything about a person who is not released.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original = Sequences.from_rows(["DEJF", "BK", "XY", "A"])
    >>> released = Sequences.from_rows(["ADEF", "KB", "", "AA"])
    >>> invented_items(released, original=original).value
    1.0

    References
    ----------
    Pensa, Monreale, Pinelli, Pedreschi (2008), Fig. 1: DEJF is released as ADEF.
    """
    pairs = pair_sequences(released, original)
    return Score(
        value=float(pairs.weights[count_invented(pairs) > 0].sum()),
        bounds=(0, pairs.n_persons),
        means=f"How many of the {pairs.n_persons:,} {unit_of(original)}s got an item that they never had; "
        "0 says that no item was made up.",
        formula="number of persons whose released sequence has an item that is not in their original one",
        reference="Pensa, Monreale, Pinelli, Pedreschi (2008), Fig. 1",
    )


SEHATKAR_2014 = "Sehatkar (2014), section 2.2, suppression"


def suppression(
    released: SequenceData, *, original: EventTable, n_lost_events: int | None = None
) -> dict[str, Score]:
    """Return ``suppressed_events`` and ``suppressed_persons``: the shares that a recipient does not see.

    An event is lost if it is absent, deleted, or nothing but ``*``; where a person has got another sequence,
    if it is not in a longest common subsequence of both. Persons stand in the same order on both sides.
    `n_lost_events` are the lost events, where they have been counted before.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.testing import symbol_table
    >>> released = Sequences.from_rows([["a", "*"], [], ["b"], ["b"]])
    >>> scores = suppression(released, original=symbol_table(["ab", "aa", "b", "b"]))
    >>> {name: score.value for name, score in scores.items()}
    {'suppressed_events': 0.5, 'suppressed_persons': 0.25}
    """
    sequences, unit = sequences_of(released), unit_of(original)
    released_persons = int(np.count_nonzero(np.diff(sequences.person_offsets)))
    n_lost = count_losses(sequences, original).lost if n_lost_events is None else n_lost_events
    return {
        "suppressed_events": Score(
            value=n_lost / max(original.n_events, 1),
            means=f"Share of the {original.n_events:,} events that the release no longer shows: absent, "
            "deleted, nothing but *, or not in the record that the person has got instead; 0 is none.",
            formula="lost events / n; lost = absent, deleted, nothing but *, or not in the "
            "person's new record",
            reference=SEHATKAR_2014,
        ),
        "suppressed_persons": Score(
            value=1 - released_persons / original.n_persons if original.n_persons else 0.0,
            means=f"Share of the {original.n_persons:,} {unit}s without any released event; 0 is none.",
            formula="persons without a released event / persons",
            reference=SEHATKAR_2014,
        ),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """How many events of the input are lost, and how many released ones are not in their place."""

    lost: int
    """Events of the input that the release no longer shows."""
    moved: int = 0
    """Released items that the person had, but elsewhere in the order."""
    invented: int = 0
    """Released items that the person never had."""


def count_losses(released: Sequences, original: EventTable, *, permuted: bool = False) -> Losses:
    """Count the events that are lost, and the released items that are moved or invented.

    An event is still there if the release shows it for the same person, in order, as it was or coarser. It is
    lost if it is absent, nothing but ``*``, or its symbol is deleted. Where a person has another sequence
    than before, both are laid side by side along a longest common subsequence: what is in it is still there.

    Parameters
    ----------
    released
        Events of each person of the original, in its order; a person without events is not released.
    original
        What the release was made from.
    permuted
        A person's own events may be released in another order. Those are moved then, and not lost.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> count_losses(Sequences.from_rows(["ADEF", "", "BK"]), symbol_table(["DEJF", "XY", "KB"]))
    Losses(lost=4, moved=1, invented=1)
    >>> count_losses(Sequences.from_rows(["BK"]), symbol_table(["KB"]), permuted=True)
    Losses(lost=0, moved=1, invented=0)
    """
    if original.symbol is None:
        return Losses(lost=max(original.n_events - _n_shown(released, original), 0))
    require_same_persons(released, original.sequences)
    source = original.sequences
    book = Codebook.of((*released.codebook.labels, *source.codebook.labels))
    before, after = _recode(source, book), _recode(released, book)
    lengths = np.diff(after.person_offsets)
    is_shown = np.array([label != ROOT for label in book.labels], np.bool_)[after.codes]
    stays = _stay_in_place(before, after, is_shown, book, original.hierarchies.get(original.symbol))
    n_kept = int(np.count_nonzero(is_shown & np.repeat(stays, lengths)))
    others = np.flatnonzero(~stays & (lengths > 0))
    n_moved = n_invented = 0
    if others.size:
        items, offsets = keep_values(after.codes, after.person_offsets, is_shown)
        given = Sequences(offsets, {SYMBOL: items}, after.codebooks).take(others)
        n_common, n_invented = _align(before.take(others), given)
        n_kept += n_common
        n_moved = given.n_events - n_common - n_invented
    n_lost = original.n_events - n_kept - (n_moved if permuted else 0)
    return Losses(lost=n_lost, moved=n_moved, invented=n_invented)


def _recode(sequences: Sequences, book: Codebook) -> Sequences:
    """Return each person's symbols in codes that both sides share."""
    codes = book.encode(sequences.codebook.labels)[sequences.codes]
    return Sequences(sequences.person_offsets, {SYMBOL: codes}, {SYMBOL: book})


def _stay_in_place(
    before: Sequences, after: Sequences, is_shown: Mask, book: Codebook, tree: Hierarchy | None
) -> Mask:
    """Mark the persons whose record has all events in their places, as they were, coarser or ``*``."""
    own_lengths, lengths = (np.diff(side.person_offsets) for side in (before, after))
    alike = own_lengths == lengths
    places = np.repeat(alike, lengths)
    own, given = before.codes[np.repeat(alike, own_lengths)], after.codes[places]
    differs = (own != given) & is_shown[places]
    if tree is not None:
        suspects = np.flatnonzero(differs)
        pairs, which = np.unique(
            own[suspects].astype(np.int64) * len(book) + given[suspects], return_inverse=True
        )
        stands = [
            _covers(tree, book.labels[pair % len(book)], book.labels[pair // len(book)])
            for pair in pairs.tolist()
        ]
        differs[suspects] = ~np.array(stands, np.bool_)[which]
    owners = np.repeat(np.flatnonzero(alike), lengths[alike])
    stays: Mask = alike.copy()
    stays[owners[differs]] = False
    return stays


def _covers(tree: Hierarchy, node: str, label: str) -> bool:
    return node in tree and label in tree and tree.node(node) in tree.ancestors(tree.node(label))


def _align(before: Sequences, after: Sequences) -> tuple[int, int]:
    """Count the items that both sides have in order, and the released ones that the person never had."""
    # Loaded here because many releases need no alignment.
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415

    pairs = pair_sequences(after, before)
    common = score_pairs(pairs, LCSseq.similarity)
    return int(common @ pairs.weights), int(count_invented(pairs) @ pairs.weights)


def _n_shown(sequences: Sequences, original: EventTable) -> int:
    """Count the events that show something of a quasi-identifier."""
    names = [name for name in original.schema.quasi if name in sequences.columns]
    is_blank = np.ones(sequences.n_events, np.bool_)
    for name in names:
        is_root = np.array([label == ROOT for label in sequences.codebooks[name].labels], np.bool_)
        is_blank &= is_root[sequences.columns[name]]
    return int(np.count_nonzero(~is_blank)) if names else sequences.n_events
