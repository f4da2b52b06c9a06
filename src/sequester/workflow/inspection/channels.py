"""How many minimal inference channels of each length a table has as it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sequester.engine import LocalEngine
from sequester.methods.halt.axes import Axes
from sequester.methods.halt.extraction import Demand, Extraction
from sequester.methods.halt.histories import Histories
from sequester.methods.halt.workload import Workload

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress

K, C = 5, 0.5
"""What makes a channel where nobody says."""
AFFORDABLE = 5e7
"""What all persons together have, in g-sequences, that is gone through: some seconds."""
PHASE = "counting channels"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelCounts:
    """Minimal channels by their number of items: what fits too few persons, or tells too much of them.

    A channel is minimal if nothing more general is one: neither fewer of its items, nor coarser ones.
    """

    k: int
    """Fewer persons than this are too few."""
    c: float
    """More than this share with one protected value is too much."""
    counts: tuple[int, ...]
    """Minimal channels of one item, of two, and so on; as far as there is not too much to count."""

    @classmethod
    def of(
        cls,
        table: EventTable,
        *,
        k: int = K,
        c: float = C,
        most: int,
        engine: Engine | None,
        progress: Progress,
    ) -> ChannelCounts | None:
        """Count the minimal channels of at most `most` items; none in a table without quasi-identifiers."""
        if not table.schema.quasi:
            return None
        axes = Axes.of(table)
        histories, _ = Histories.of(table, axes).fold()
        workload = Workload(histories, axes, mixed=True)
        finest = (0,) * len(axes)
        p = max((each for each in range(1, most + 1) if workload.at(finest, each) <= AFFORDABLE), default=0)
        counts = np.zeros(p, np.int64)
        if p:
            progress(0.0, PHASE)
            demand = Demand(k=k, c=c, p=p, mixed=True)
            extraction = Extraction(histories, axes, demand, LocalEngine() if engine is None else engine)
            for _, by_length in extraction:
                for channels in by_length:
                    counts[channels.items.shape[1] - 1] += len(channels.supports)
        return cls(k=k, c=c, counts=tuple(counts.tolist()))

    def to_json(self) -> dict[str, Any]:
        """Give what the document of ``inspect --json`` says about channels."""
        return {
            "k": self.k,
            "c": self.c,
            "minimal": [
                {"length": length, "count": count} for length, count in enumerate(self.counts, start=1)
            ],
        }
