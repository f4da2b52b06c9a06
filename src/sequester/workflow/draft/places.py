"""Propose trips, and regions for coordinates: enough of them, and with few points outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.places import Place
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.workflow.draft.names import TRIP, words
from sequester.workflow.settings import DensitySettings, GridSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sequester.workflow.draft.columns import Column
    from sequester.workflow.draft.infer_time import EventOrder

REGIONS_PER_TRIP = 3
"""Regions that half of the trips cross at least, where regions are proposed."""
MOST_POINTS = 500_000
"""Points on which regions are measured, of some persons where there are more."""
_MOST_OUTSIDE = 0.3
"""Share of points in no region up to which density regions are proposed."""
_CELLS = (250, 500, 1000, 2000)
_THRESHOLDS = (0.02, 0.01)
_GRIDS = (5000, 2000, 1000, 500, 250, 100)


@dataclass(frozen=True, slots=True)
class RegionProposal:
    """Coordinates, the regions that they could become, and what that costs."""

    lat: str
    lon: str
    regions: DensitySettings | GridSettings
    why: str
    """Regions per trip and points that are lost, in one line."""


def find_trip(columns: Sequence[Column], person: str) -> Column | None:
    """Return the column that numbers the trips of persons; None where there is none."""
    named = [column for column in columns if {*words(column.name)} & TRIP and column.name != person]
    return next((column for column in named if column.rows_each >= 2 and not column.n_missing), None)


def propose_regions(
    frame: pl.DataFrame, person: str, when: EventOrder, trip: str | None, coordinates: tuple[str, str]
) -> RegionProposal:
    """Return density regions if trips cross enough of them and few points are lost; otherwise a grid.

    What points lose when they become regions is measured on the table.
    """
    lat, lon = coordinates
    used = dict.fromkeys((person, *when.columns, *((trip,) if trip else ()), lat, lon))
    points = frame.select(column for column in used if column in frame.columns)
    if points.height > MOST_POINTS and person in points.columns:
        points = points.filter(pl.col(person).hash() % (points.height // MOST_POINTS + 1) == 0)
    best: RegionProposal | None = None
    for regions in _kinds():
        schema = Schema(
            person=person,
            order=None if when.is_time else when.columns[0],
            time=None if not when.is_time else when.columns if len(when.columns) > 1 else when.columns[0],
            time_format=when.time_format,
            trip=trip,
            place=Place(lat, lon, regions.value()),
            invalid="drop",
            alike="keep",
        )
        try:
            table = EventTable(points, schema)
        except InputError:
            continue
        crossed = int(np.median(np.diff(table.person_offsets)))
        outside = table.reading.outside / points.height
        why = (
            f"half of the {'trips' if trip else 'persons'} cross {crossed} regions or more (at least "
            f"{REGIONS_PER_TRIP} are wanted); of the points, {outside:.1%} lie in no region and are lost"
        )
        found = RegionProposal(lat, lon, regions, why)
        if crossed >= REGIONS_PER_TRIP and outside <= _MOST_OUTSIDE:
            return found
        best = found
    return best or RegionProposal(
        lat, lon, GridSettings(kind="grid", cell=_GRIDS[-1]), "nothing was measured"
    )


def _kinds() -> Iterator[DensitySettings | GridSettings]:
    for threshold in _THRESHOLDS:
        for cell in _CELLS:
            yield DensitySettings(kind="density", cell=cell, threshold=threshold)
    for cell in _GRIDS:
        yield GridSettings(kind="grid", cell=cell)
