"""GloGen: generalize whole columns until nothing gives anybody away; what HALT is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sequester.methods.halt.kcp_method import KCPMethod
from sequester.release.purpose import BEST, FAIR, Suitability


@dataclass(frozen=True, kw_only=True)
class GloGen(KCPMethod):
    """(K,C)^P-privacy by generalizing quasi-identifiers, and by nothing else.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> frame = pl.DataFrame({"who": list("abcd"), "n": [1] * 4, "stay": ["1", "1", "30", "31"]})
    >>> tree = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30", "31"]})
    >>> schema = Schema(person="who", order="n", quasi={"stay": tree})
    >>> release = GloGen(k=2, c=1, p=1).apply(EventTable(frame, schema))
    >>> sorted(release.frame["stay"])
    ['long', 'long', 'short', 'short']

    References
    ----------
    Sehatkar (2014), section 6.4: HALT with its suppression left out.
    """

    name: ClassVar[str] = "glogen"
    paper: ClassVar[str] = "Sehatkar (2014), section 6.4"
    promise: ClassVar[str] = (
        "An adversary who knows up to p quasi-identifier values of a person, in order, matches at least k "
        "persons or none, and no protected value is shown for more than the share c of them (with levels = "
        '"same": as long as the values of one column are known at one level throughout).'
    )
    changes: ClassVar[str] = "Makes whole columns coarser, the same for everybody, and nothing else."
    use_when: ClassVar[str] = (
        "No value may be missing where its neighbours are shown; or to see what halt gains by suppressing "
        "a few."
    )
    suppresses: ClassVar[bool] = False
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"few"}),
        keeps={
            "complete": (BEST, "columns become coarser for everybody, and no single value is missing"),
            "records": (FAIR, "what is released is true of its person, but coarser than it would have to be"),
            "counts": (
                FAIR,
                "columns are equally coarse for everybody, but coarser than they would have to be",
            ),
            "yardstick": (BEST, "it does nothing but generalize, which shows what suppression is worth"),
        },
    )
