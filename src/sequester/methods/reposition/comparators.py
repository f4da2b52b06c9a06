"""What reposition is compared with: suppression alone, and coarser times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sequester.methods.reposition.limits import MERGED, SEVERAL, UNPUBLISHED
from sequester.methods.reposition.snapshot_method import SnapshotMethod
from sequester.release.purpose import BEST, FAIR, GOOD, Suitability


@dataclass(frozen=True, kw_only=True)
class SuppressOnly(SnapshotMethod):
    """l-eligible snapshots by leaving out records of frequent values.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"who": list("abc"), "day": [1, 1, 1], "ill": ["flu", "flu", "cold"]})
    >>> table = EventTable(frame, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> method = SuppressOnly(l=2, snapshot="order", then="none")
    >>> sorted(method.apply(table, seed="a sentence nobody guesses").frame["ill"])
    ['cold', 'flu']
    """

    name: ClassVar[str] = "suppress-only"
    changes: ClassVar[str] = "Leaves out records of sensitive values that are too frequent in their snapshot."
    use_when: ClassVar[str] = (
        "A record must be published when it came, or not at all; or to see what moving gains."
    )
    waits: ClassVar[bool] = False
    time_limit: ClassVar[str] = UNPUBLISHED
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"time"}),
        release=frozenset({"once", "repeated"}),
        keeps={
            "times": (BEST, "a record is published when it came, or not at all"),
            "records": (BEST, "a record is published as it is and when it came, or not at all"),
            "counts": (FAIR, "frequent values are counted too low"),
        },
        cautions={"repeated": SEVERAL},
    )


@dataclass(frozen=True, kw_only=True)
class MergeSnapshots(SnapshotMethod):
    """l-eligible spans of several snapshots, by leaving out records of values that are still too frequent.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"who": list("abcd"), "day": [1, 1, 2, 2], "ill": ["flu", "flu", "cold", "x"]})
    >>> table = EventTable(frame, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> method = MergeSnapshots(l=2, window=2, snapshot="order", then="none")
    >>> method.apply(table, seed="a sentence nobody guesses").frame["time"].unique().to_list()
    ['1/2']
    """

    name: ClassVar[str] = "merge-snapshots"
    changes: ClassVar[str] = (
        "Publishes as many snapshots together as the window has, and leaves out what is too frequent still."
    )
    use_when: ClassVar[str] = "Coarse times will do; or to see what reposition gains."
    time_limit: ClassVar[str] = MERGED
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"time"}),
        release=frozenset({"once", "repeated"}),
        keeps={
            "yardstick": (BEST, "it only makes times coarser, which shows what moving records is worth"),
            "records": (FAIR, "what a record says is true, at a span of several snapshots"),
            "counts": (GOOD, "counts are true for spans of several snapshots, frequent values too low"),
        },
        cautions={"repeated": SEVERAL},
    )

    @property
    def merged(self) -> int:
        """Snapshots that are published as one."""
        return self.window
