"""Minimality of snapshots: what came when, worked out from the fewest moves that can have been made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester.attacks.snapshots import Snapshots

    Amounts = npt.NDArray[np.float64]

_NONE = 1e-12


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What somebody believes who knows the program, and how many records came in each snapshot."""

    came: Amounts
    """Cell ``[t, s]``: records of value ``s`` that came in snapshot ``t``."""
    moved: Amounts
    """Cell ``[t, s]``: records of value ``s`` that are published in snapshot ``t`` and came earlier."""


def believe(snapshots: Snapshots) -> Arrivals:
    """Work out what came when.

    A program that changes only what it must takes records from a snapshot only where their value is as
    frequent there as any may be. So if a snapshot shows more records than came in it, those too many are of
    values that were held back in one of the snapshots before, within reach: as many of each as it is
    frequent here, from the latest first. If it shows fewer than came in it, and they are not accounted for
    by later snapshots, they are of the values that are most frequent in it, as many of each. Fractions of
    records are beliefs.

    Examples
    --------
    Flu came three times and HIV once, then cold and x. No value may have more than half of the records of a
    snapshot, so two of the three were published later.

    >>> import polars as pl
    >>> from sequester.attacks.remake import Stream
    >>> from sequester.attacks.snapshots import Snapshots
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> ills = ["flu", "flu", "flu", "HIV", "cold", "x"]
    >>> came = pl.DataFrame({"who": list("abcdef"), "day": [1, 1, 1, 1, 2, 2], "ill": ills})
    >>> table = EventTable(came, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> out = pl.DataFrame(
    ...     {"time": ["1", "1", "2", "2", "2", "2"], "ill": ["flu", "HIV", "cold", "x", "flu", "flu"]}
    ... )
    >>> stream = Stream(np.array([0, 0, 0, 0, 1, 1]), ("1", "2"), 2)
    >>> snapshots = Snapshots.of({"events": out}, table, stream, sensitive="ill")
    >>> snapshots.values, believe(snapshots).came[0].tolist()
    (('HIV', 'cold', 'flu', 'x'), [1.0, 0.0, 3.0, 0.0])
    """
    published, sizes = snapshots.published, snapshots.sizes
    totals = published.sum(axis=1)
    is_full = (published == published.max(axis=1, initial=0)[:, None]) & (published > 0)
    missing = np.maximum(sizes - totals, 0).astype(np.float64)
    excess = np.maximum(totals - sizes, 0).astype(np.float64)
    came, moved = published.astype(np.float64), np.zeros(published.shape)
    for slot in np.flatnonzero(excess).tolist():
        before = range(slot - 1, max(slot - snapshots.reach, -1), -1)
        room = _held_back(is_full, missing, before)
        here = np.minimum(published[slot], room) * (published[slot] > 0)
        suspected = published[slot] * (here > _NONE)
        if not suspected.any():
            continue
        taken = np.minimum(excess[slot] * suspected / suspected.sum(), here)
        for value in np.flatnonzero(taken > _NONE).tolist():
            left = float(taken[value])
            for home in before:
                part = min(left, float(missing[home])) if is_full[home, value] else 0.0
                came[home, value] += part
                missing[home] -= part
                left -= part
            amount = float(taken[value]) - left
            came[slot, value] -= amount
            moved[slot, value] += amount
    everything = published.sum(axis=0) / max(published.sum(), 1)
    for slot in np.flatnonzero(missing > _NONE).tolist():
        full = is_full[slot]
        came[slot] += missing[slot] * (full / full.sum() if full.any() else everything)
    return Arrivals(came, moved)


def _held_back(is_full: npt.NDArray[np.bool_], missing: Amounts, before: range) -> Amounts:
    """Give how many records of each value may have been held back in the snapshots before."""
    rows = list(before)
    if not rows:
        return np.zeros(is_full.shape[1])
    room: Amounts = missing[rows] @ is_full[rows]
    return room
