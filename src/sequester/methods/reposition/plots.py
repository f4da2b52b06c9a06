"""What a steward may want to see of a release of snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.release.outcome import Plot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester._typing import Codes, Counts, Mask

_MOST = 20


def distance_plot(distances: Counts, published: Mask) -> Plot:
    """Show by how many snapshots records were moved."""
    moved = np.bincount(distances[published], minlength=1)
    return Plot(
        title="Records by how many snapshots later they are published",
        unit="records",
        labels=tuple(map(str, range(len(moved)))),
        series={"records": tuple(moved.tolist())},
    )


def expired_plot(values: Codes, labels: Sequence[str]) -> Plot:
    """Show which values are not published; what is left out often is itself a bias."""
    counts = np.bincount(values, minlength=len(labels))
    order = np.argsort(-counts, kind="stable")[:_MOST]
    return Plot(
        title="Records that are not published, by sensitive value",
        unit="records",
        labels=tuple(labels[code] for code in order),
        series={"records": tuple(counts[order].tolist())},
    )
