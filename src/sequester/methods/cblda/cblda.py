"""CBLDA: merge the two nearest clusters of histories, again and again, until everybody has company."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from sequester._validation import true_or_false
from sequester.errors import ParameterError
from sequester.methods.cblda.kc_method import KCMethod
from sequester.release.purpose import FAIR, GOOD, Suitability

if TYPE_CHECKING:
    from sequester.methods.cblda.solve import Plan


@dataclass(frozen=True, kw_only=True)
class CBLDA(KCMethod):
    """(K,C)-privacy by aligning similar histories and making those of a class look alike.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> frame = pl.DataFrame(
    ...     {
    ...         "who": ["a", "a", "b", "b", "c", "d"],
    ...         "n": [1, 2, 1, 2, 1, 1],
    ...         "stay": ["1", "30", "2", "31", "1", "1"],
    ...     }
    ... )
    >>> tree = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30", "31"]})
    >>> schema = Schema(person="who", order="n", quasi={"stay": tree})
    >>> release = CBLDA(k=2, c=0.5).apply(EventTable(frame, schema))
    >>> sorted(release.frame.group_by("person").agg("stay")["stay"].to_list())
    [['1'], ['1'], ['short', 'long'], ['short', 'long']]
    >>> release.verdict
    Verdict(holds=True, achieved={'k': 2, 'c': 0.0}, witnesses=())

    References
    ----------
    Sehatkar (2014), chapter 5: Algorithms 5.1 and 5.2. That nobody is dropped, blocks and splits are ours.
    """

    name: ClassVar[str] = "cblda"
    paper: ClassVar[str] = "Sehatkar (2014), chapter 5"
    promise: ClassVar[str] = (
        "An adversary who knows anything about a person's quasi-identifiers, even all of them, matches at "
        "least k persons who are alike in all of them, or none, and at most the share c of those who are "
        'alike show a protected value (with reading = "each": the same one).'
    )
    changes: ClassVar[str] = (
        "Puts similar histories into classes, makes their values coarser until they are the same, and leaves "
        "out events that have no counterpart: what is released is true of its person."
    )
    use_when: ClassVar[str] = (
        "Histories with several columns that others may know, all of them perhaps, and a diagnosis that "
        "nobody must learn."
    )
    aligns: ClassVar[bool] = True
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"few", "all"}),
        keeps={
            "records": (
                GOOD,
                "what is released is true of its person, as detailed as those who look alike are",
            ),
            "counts": (GOOD, "values are as detailed as their class allows, and counts can be estimated"),
            "patterns": (FAIR, "events stay in their order, but some are left out"),
            "times": (FAIR, "a time that is a quasi-identifier stays true, if coarser, for most events"),
        },
        more={"few": "it hides from those who know all values, and so from those who know a few"},
    )

    block: Literal["auto", False] | int = "auto"
    """Persons above whom neighbours are clustered block by block; "auto" is above 60,000, false is never."""
    split: bool = False
    """Divide finished classes of 2 k persons or more again where that loses less."""

    def __post_init__(self) -> None:
        super().__post_init__()
        block: object = self.block  # A configuration may hold anything.
        if block is not False and block != "auto":
            if isinstance(block, bool) or not hasattr(block, "__index__"):
                msg = f'block must be "auto", a number of persons, or false, got {block!r}'
                raise ParameterError(msg)
            number = operator.index(block)
            if number < 2 * self.k:
                msg = f"block must be at least 2 k = {2 * self.k}, got {number}"
                raise ParameterError(msg)
            object.__setattr__(self, "block", number)
        true_or_false("split", self.split)

    def plan(self) -> Plan:
        """What is asked for."""
        # Loaded here so that `sequester methods` need not wait for numpy and numba.
        from sequester.methods.cblda.solve import BLOCK, EXACT  # noqa: PLC0415

        if self.block == "auto":
            exact, block = EXACT, max(BLOCK, 2 * self.k)
        elif self.block is False:
            exact, block = None, BLOCK
        else:
            exact = block = self.block
        return replace(super().plan(), split=self.split, exact=exact, block=block)
