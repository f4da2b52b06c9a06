"""Sequence k-anonymity: nothing anybody can know of a record is rarer than k persons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sequester._validation import at_least
from sequester.errors import InputError
from sequester.mining.support import sequences_of, supports_of_codes
from sequester.privacy.model import K_MEANING, N_WITNESSES, ONE_SYMBOL, Verdict, linkage_bound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.data.table import EventTable, SequenceData
    from sequester.engine import Engine
    from sequester.privacy.model import AdversaryLike, Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceKAnonymity:
    """Every subsequence of a released record is contained in the released records of at least `k` persons.

    Where a person has several records, such as trips, persons are counted and not records, as long as the
    data says whose each is. Released files do not: there the records are counted, and the claim says so.

    Checked with the original beside it, every subsequence of the release also has at least `k` supporters
    there, which is Definition 1 of the paper. With ``strict=False`` only that second half is promised; it
    says nothing about how many *released* records hold what is known.

    It is enough to count the supporters of each distinct released record. Whoever contains a record contains
    each of its subsequences, because containment is transitive; so no subsequence has fewer supporters than
    the record it was taken from, and the record is a subsequence of itself. The smallest support among the
    distinct records is therefore the smallest among all subsequences, in the release as in the original.

    A person without events is no record. A release without records keeps the promise, for there is nobody to
    find; it reaches the level asked for. (A method that would release nothing raises instead.)

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original = Sequences.from_rows(["AB", "ABXYZ", "CXYZ", "CXYZ"])
    >>> released = Sequences.from_rows(["AB", "CXYZ", "CXYZ", "CXYZ"])
    >>> SequenceKAnonymity(k=2).check(released)
    Verdict(holds=False, achieved={'k': 1}, witnesses=(('A', 'B'),))
    >>> SequenceKAnonymity(k=2, strict=False).check(released, original=original)
    Verdict(holds=True, achieved={'k': 2}, witnesses=())

    References
    ----------
    Pensa, Monreale, Pinelli, Pedreschi (2008), Definition 1; the strict half is what its 1/k needs.
    """

    layouts: ClassVar[tuple[Layout, ...]] = (ONE_SYMBOL,)
    needs_hierarchies: ClassVar[bool] = False
    level_meanings: ClassVar[Mapping[str, str]] = {"k": K_MEANING}
    attacks: ClassVar[str] = "whole sequences"

    k: int
    """Persons who match whatever is known of anybody, at least."""
    strict: bool = True
    """Count supporters among the released records, and not only among the original ones."""
    trips: bool = False
    """A released record is a trip; several may be of one person, which only the publisher can tell."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", at_least("k", self.k, 2))  # A certificate may hold anything.

    @property
    def needs_original(self) -> bool:
        """The strict promise can be checked from the released files alone, the other cannot."""
        return not self.strict

    def about(self, table: EventTable) -> SequenceKAnonymity:
        """Return the promise, which takes from a table whether its sequences are trips."""
        return replace(self, trips=table.owners is not None)

    def bound(self, adversary: AdversaryLike) -> float | None:
        """Return the largest risk that the promise leaves to an adversary; None where it bounds none."""
        # Each candidate has the items in some order, and k released records have them in this order. How many
        # events there are, what stands side by side and what is not there is not part of the promise.
        is_covered = adversary.kind in ("ordered", "anywhere", "generalized", "mixed")
        if self.strict and adversary.goal == "linkage" and is_covered:
            return linkage_bound(adversary, self.k)
        return None

    def check(
        self, released: SequenceData, *, original: SequenceData | None = None, engine: Engine | None = None
    ) -> Verdict:
        """Count the supporters of every distinct released record.

        ``achieved["k"]`` is the smallest number of supporters, in the release or (where it is given) in the
        original, whichever is smaller. `violations` counts distinct released records with fewer than `k`
        supporters; the witnesses are the first five of them, shortest first, then in label order.

        Parameters
        ----------
        released
            The released table or sequences.
        original
            What they were made from.
        engine
            Where to count; threads of this process by default.

        Returns
        -------
        Verdict
            Whether the promise holds, the best level that holds, and witnesses where it does not.
        """
        if original is None and self.needs_original:
            msg = "SequenceKAnonymity with strict = false compares with the original, and none was given"
            raise InputError(msg)
        sequences = sequences_of(released)
        book, records = sequences.codebook, sequences.distinct()
        sides = [(records, book)] if self.strict else []
        if original is not None:
            source = sequences_of(original)
            sides.append((source.distinct(), source.codebook))
        smallest = np.min(
            [supports_of_codes(records.items, records.offsets, book, *side, engine=engine) for side in sides],
            axis=0,
        )
        counted = np.flatnonzero(records.lengths)
        if not counted.size:
            return Verdict(holds=True, achieved={"k": self.k})
        violating = counted[smallest[counted] < self.k]
        # Distinct records are in label order, which a stable sort by length keeps among equals.
        shown = violating[np.argsort(records.lengths[violating], kind="stable")][:N_WITNESSES]
        return Verdict(
            holds=not violating.size,
            achieved={"k": int(smallest[counted].min())},
            witnesses=tuple(
                tuple(book.decode(records.items[records.offsets[row] : records.offsets[row + 1]]))
                for row in shown
            ),
            violations=int(violating.size),
        )

    def claim(self) -> dict[str, object]:
        """Return the parameters a recipient needs to check the promise."""
        return {"k": self.k, "strict": self.strict, **({"trips": True} if self.trips else {})}

    def in_words(self) -> str:
        """Return the promise in a sentence for people."""
        record = "trip" if self.trips else "sequence"
        words = f"Every part of a released {record}, in order and with any gaps, "
        original = f"occurred in the original {record}s of at least {self.k:,} persons"
        if not self.strict:
            return f"{words}{original}; how many released {record}s contain it is not promised."
        words += f"occurs in the released {record}s of at least {self.k:,} persons, and {original}."
        if not self.trips:
            return words
        return (
            f"{words} Every trip has a pseudonym of its own: the files alone show at least {self.k:,} trips, "
            f"and that they are those of {self.k:,} persons was checked with the original."
        )
