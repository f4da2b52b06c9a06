"""Prefix pruning: release only the sequences that end where enough persons pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sequester.methods.p2ka.prefix_method import PrefixMethod
from sequester.release.purpose import BEST, FAIR, Suitability

ABSENT = (
    "Persons with rare sequences are absent: counts are too low, and somebody who is known to be in the data "
    "and fits no record had a rare sequence."
)


@dataclass(frozen=True, kw_only=True)
class PrefixPruning(PrefixMethod):
    """Sequence k-anonymity by leaving out every person with a rare sequence.

    The first half of BF-P2kA, without reconstruction: what re-attachment gains shows beside it.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> rows = ["ADEF", "ADEF", "DEJF", "BK", "BK", "BKS"]
    >>> events = [(f"s{n}", place, item) for n, row in enumerate(rows) for place, item in enumerate(row)]
    >>> frame = pl.DataFrame(events, schema=["user", "step", "page"], orient="row")
    >>> table = EventTable(frame, Schema(person="user", order="step", symbol="page"))
    >>> release = PrefixPruning(k=2).apply(table, seed="a sentence nobody guesses")
    >>> sorted("".join(row) for row in release.table.sequences.to_rows())
    ['ADEF', 'ADEF', 'BK', 'BK']

    References
    ----------
    Pensa, Monreale, Pinelli, Pedreschi (2008), Algorithm 4, repeated until nothing is left to prune.
    """

    name: ClassVar[str] = "prefix-pruning"
    paper: ClassVar[str] = "Pensa, Monreale, Pinelli, Pedreschi (2008), without reconstruction"
    promise: ClassVar[str] = (
        "Every part of a released sequence, in order and with any gaps, occurs in the released sequences of "
        "at least k persons, and occurred in the original ones of at least k."
    )
    changes: ClassVar[str] = (
        "Leaves out every person whose sequence is rare; the others are released as they are."
    )
    use_when: ClassVar[str] = (
        "Released records must be true, and the rare ones may be lost; or to see what p2ka gains."
    )
    reattaches: ClassVar[bool] = False
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"few", "all"}),
        keeps={
            "records": (BEST, "who is released is released as they are"),
            "times": (FAIR, "who is released keeps the order in which things happened"),
            "patterns": (FAIR, "common sequences stay as they are, and others are missing"),
            "yardstick": (BEST, "it only leaves out, which shows what moving to another path is worth"),
        },
        more={"all": "whatever part of a sequence is known, all of it included, it fits k persons or nobody"},
    )

    @property
    def limits(self) -> tuple[str, ...]:
        """What is not promised, whatever the data."""
        return (*super().limits, ABSENT)
