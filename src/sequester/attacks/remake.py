"""What somebody knows who has the program: what it makes of any table, and when records may be published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import polars as pl

    from sequester._typing import Counts
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable


class Remade(Protocol):
    """What a method makes of a table, before persons are shuffled."""

    @property
    def sequences(self) -> Sequences:
        """Events of each person of the table, in the table's order; who is not released has none."""
        ...

    @property
    def changes(self) -> pl.DataFrame:
        """Every changed cell, event or record, keyed by input row."""
        ...


Remake = Callable[["EventTable"], Remade]
"""Do with a table what was done with the original; raises `SequesterError` where that cannot be."""


@dataclass(frozen=True, slots=True)
class Stream:
    """When the records of an original came, and how much later they may be published."""

    homes: Counts
    """The number of the snapshot that each event came with."""
    labels: tuple[str, ...]
    """What each snapshot is called."""
    reach: int
    """Snapshots in which a record may be published, the one it came with included."""
