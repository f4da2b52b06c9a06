"""Suppression: events and persons that are missing from a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.sequences import SYMBOL, Sequences
from sequester.data.text import Codebook
from sequester.hierarchies.labels import ROOT
from sequester.mining.support import sequences_of
from sequester.utility.edits import count_invented, pair_sequences, score_pairs
from sequester.utility.score import Score, require_same_persons, units_of

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy


SEHATKAR_2014 = "Sehatkar (2014), section 2.2, suppression"


def suppression(
    released: EventTable | Sequences, *, original: EventTable, n_lost_events: int | None = None
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
    sequences, units = sequences_of(released), units_of(original)
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
            means=f"Share of the {original.n_persons:,} {units.many} of which nothing is released; 0 is "
            "none.",
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
    book = Codebook.of((*released.codebooks[released.symbol].labels, *source.codebooks[source.symbol].labels))
    before, after = _Side.of(source, book), _Side.of(released, book)
    is_shown = np.array([label != ROOT for label in book.labels], np.bool_)[after.items]
    stays = _stay_in_place(before, after, is_shown, book, original.hierarchies.get(original.symbol))
    n_kept = int(np.count_nonzero(is_shown & np.repeat(stays, after.lengths)))
    others = ~stays & (after.lengths > 0)
    n_moved = n_invented = 0
    if others.any():
        given = after.only(others, is_shown)
        n_common, n_invented = _align(before.only(others), given)
        n_kept += n_common
        n_moved = len(given.items) - n_common - n_invented
    n_lost = original.n_events - n_kept - (n_moved if permuted else 0)
    return Losses(lost=n_lost, moved=n_moved, invented=n_invented)


@dataclass(frozen=True, slots=True)
class _Side:
    """Each person's symbols, in codes that both sides share."""

    items: Codes
    offsets: Offsets
    book: Codebook

    @classmethod
    def of(cls, sequences: Sequences, book: Codebook) -> _Side:
        name = sequences.symbol
        codes = book.encode(sequences.codebooks[name].labels)
        return cls(codes[sequences.columns[name]], sequences.person_offsets, book)

    @property
    def lengths(self) -> Counts:
        return np.diff(self.offsets)

    def only(self, persons: Mask, items: Mask | None = None) -> _Side:
        """Return the marked persons, with all of their items or with the marked ones."""
        taken = np.repeat(persons, self.lengths)
        if items is not None:
            taken &= items
        lengths = np.diff(np.concatenate([[0], np.cumsum(taken)])[self.offsets])[persons]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return _Side(self.items[taken], offsets, self.book)

    def sequences(self) -> Sequences:
        return Sequences(self.offsets, {SYMBOL: self.items}, {SYMBOL: self.book})


def _stay_in_place(
    before: _Side, after: _Side, is_shown: Mask, book: Codebook, tree: Hierarchy | None
) -> Mask:
    """Mark the persons whose record has all events in their places, as they were, coarser or ``*``."""
    alike = before.lengths == after.lengths
    places = np.repeat(alike, after.lengths)
    own, given = before.items[np.repeat(alike, before.lengths)], after.items[places]
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
    owners = np.repeat(np.flatnonzero(alike), after.lengths[alike])
    stays: Mask = alike.copy()
    stays[owners[differs]] = False
    return stays


def _covers(tree: Hierarchy, node: str, label: str) -> bool:
    return node in tree and label in tree and tree.node(node) in tree.ancestors(tree.node(label))


def _align(before: _Side, after: _Side) -> tuple[int, int]:
    """Count the items that both sides have in order, and the released ones that the person never had."""
    # Loaded here because many releases need no alignment.
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415

    pairs = pair_sequences(after.sequences(), before.sequences())
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
