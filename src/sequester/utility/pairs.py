"""What each person had and what is released of them, equal pairs folded into one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.codebook import Codebook
from sequester.errors import ParameterError
from sequester.mining.support import sequences_of

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.data.sequences import Distinct, Sequences
    from sequester.data.table import EventTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
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


def aligned(released: EventTable | Sequences, original: EventTable | Sequences) -> Pairs:
    """Pair each person's sequences; both sides have the same persons in the same order.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> pairs = aligned(Sequences.from_rows(["ab", "b", "ab"]), Sequences.from_rows(["ab", "a", "ab"]))
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
    return Pairs(
        before=replace(before, items=both.encode(before_book.labels)[before.items]),
        after=replace(after, items=both.encode(after_book.labels)[after.items]),
        before_rows=before_rows,
        after_rows=after_rows,
        weights=weights.astype(np.int64),
        n_symbols=len(both),
        unit="persons" if before_side.owners is None else "trips",
    )
