"""Bottom-Up: merge the patterns that are closest until the sequence is private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from sequester.methods.mutual_information.mutual_information_method import MutualInformationMethod
from sequester.methods.mutual_information.top_down import TopDown
from sequester.release.purpose import BEST, FAIR, Suitability


@dataclass(frozen=True, kw_only=True)
class BottomUp(MutualInformationMethod):
    """Each person's sequence, generalized from the leaves upwards until it tells little enough.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> shop = Hierarchy.from_tree({"Alcohol": ["Beer", "Wine"], "Snack": ["Chips", "Cookies"]})
    >>> days = ["Beer", "Chips", "Wine", "Cookies", "Beer", "Chips", "Cookies", "Wine"]
    >>> table = symbol_table([days], hierarchy=shop)
    >>> secret = [["Beer", "Chips"], ["Wine", "Cookies"]]
    >>> release = BottomUp(patterns=secret, window=1, max_leakage=0.8).apply(table)
    >>> release.table.sequences.to_rows()
    [('Alcohol', 'Snack', 'Alcohol', 'Snack', 'Alcohol', 'Snack', 'Snack', 'Alcohol')]

    References
    ----------
    Bonomi, Fan, Jin (2016), Algorithms 2 and 3.
    """

    name: ClassVar[str] = "bottom-up"
    way: ClassVar[Literal["top-down", "bottom-up"]] = "bottom-up"
    paper: ClassVar[str] = TopDown.paper
    promise: ClassVar[str] = TopDown.promise
    changes: ClassVar[str] = TopDown.changes
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"patterns"}),
        recipients=frozenset({"service"}),
        keeps={
            **{
                name: (FAIR, f"{why}; coarser than by top-down, and sooner where there are many labels")
                for name, (_, why) in TopDown.serves.keeps.items()
            },
            "yardstick": (BEST, "it merges the closest patterns, which shows what top-down gains"),
        },
    )
    use_when: ClassVar[str] = "As top-down, where the alphabet is large and a coarser answer is good enough."
