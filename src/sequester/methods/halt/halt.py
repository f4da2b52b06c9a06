"""HALT: generalize whole columns, suppress the values that still give somebody away, for the least loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from sequester._validation import one_of
from sequester.methods.halt.kcp_method import KCPMethod
from sequester.release.purpose import BEST, GOOD, Suitability


@dataclass(frozen=True, kw_only=True)
class HALT(KCPMethod):
    """(K,C)^P-privacy by generalizing quasi-identifiers and suppressing some of their values.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> stays = ["1", "1", "2", "2", "30", "31", "31"]
    >>> ill = ["flu"] * 6 + ["HIV"]
    >>> frame = pl.DataFrame({"who": list("abcdefg"), "n": [1] * 7, "stay": stays, "ill": ill})
    >>> tree = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30", "31"]})
    >>> schema = Schema(person="who", order="n", quasi={"stay": tree}, sensitive={"ill": ["HIV"]})
    >>> release = HALT(k=2, c=0.5, p=1).apply(EventTable(frame, schema))
    >>> sorted(release.frame["stay"])
    ['*', '*', '*', '1', '1', '2', '2']
    >>> release.verdict
    Verdict(holds=True, achieved={'k': 2, 'c': 0.3333333333333333}, witnesses=())

    The one stay of 30 days is suppressed; a star must not stand alone, so 31 goes, too.

    >>> release.changes.select("from", "to", "persons", "because").unique().sort("from").rows()
    [('30', '*', 1, 'stay = 30: 1 person'), ('31', '*', 2, 'stay = *: 1 person')]

    References
    ----------
    Sehatkar (2014), chapter 4: Algorithms 4.1 and 4.2. The check and repair of what is released are ours.
    """

    name: ClassVar[str] = "halt"
    paper: ClassVar[str] = "Sehatkar (2014), chapter 4"
    promise: ClassVar[str] = (
        "An adversary who knows up to p quasi-identifier values of a person, in order, matches at least k "
        "persons or none, and no protected value is shown for more than the share c of them (with levels = "
        '"same": as long as the values of one column are known at one level throughout).'
    )
    changes: ClassVar[str] = (
        "Makes whole columns coarser, the same for everybody, and replaces some values by *: what is "
        "released is true of its person."
    )
    use_when: ClassVar[str] = (
        "Histories with several columns that others may know in part, such as visits to hospitals, and a "
        "diagnosis that nobody must learn."
    )
    suppresses: ClassVar[bool] = True
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"few"}),
        keeps={
            "records": (BEST, "what is released is true of its person, and only values that give away are *"),
            "counts": (BEST, "columns are equally coarse for everybody, so that values can be counted"),
            "patterns": (GOOD, "all events stay in their order, at the level of their column"),
            "times": (GOOD, "a time that is a quasi-identifier stays true, if coarser"),
        },
    )

    stars: Literal["counted", "ignored"] = "counted"
    """Is a suppressed cell something that can be known ("counted"), or nothing."""
    search: Literal["greedy", "full"] = "greedy"
    """How levels are looked for: from the coarsest down ("greedy"), or among all combinations ("full")."""

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("stars", self.stars, ("counted", "ignored"))
        one_of("search", self.search, ("greedy", "full"))

    @property
    def counts_stars(self) -> bool:
        """A suppressed cell is an item of its own."""
        return self.stars == "counted"

    @property
    def searches_fully(self) -> bool:
        """The whole lattice is searched."""
        return self.search == "full"
