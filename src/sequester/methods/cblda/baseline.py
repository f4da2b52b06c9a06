"""The comparator of the thesis: as CBLDA, but events are paired at random instead of aligned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sequester.methods.cblda.kc_method import KCMethod
from sequester.release.purpose import BEST, Suitability


@dataclass(frozen=True, kw_only=True)
class CBLDABaseline(KCMethod):
    """(K,C)-privacy by suppressing random events of the longer history and pairing the rest one by one.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> frame = pl.DataFrame({"who": list("aab"), "n": [1, 2, 1], "stay": ["1", "30", "1"]})
    >>> schema = Schema(person="who", order="n", quasi={"stay": Hierarchy.flat()})
    >>> CBLDABaseline(k=2, c=1).apply(EventTable(frame, schema)).frame.height
    2

    References
    ----------
    Sehatkar (2014), section 6.3.
    """

    name: ClassVar[str] = "cblda-baseline"
    paper: ClassVar[str] = "Sehatkar (2014), section 6.3"
    promise: ClassVar[str] = (
        "An adversary who knows anything about a person's quasi-identifiers, even all of them, matches at "
        "least k persons who are alike in all of them, or none, and at most the share c of those who are "
        'alike show a protected value (with reading = "each": the same one).'
    )
    changes: ClassVar[str] = (
        "As cblda, but which events of the longer history are left out is left to chance."
    )
    use_when: ClassVar[str] = "To see what the alignment of cblda is worth; otherwise never."
    aligns: ClassVar[bool] = False
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"few", "all"}),
        keeps={"yardstick": (BEST, "it leaves out events at random, which shows what alignment is worth")},
    )
