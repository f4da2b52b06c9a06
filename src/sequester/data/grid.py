"""A square grid over the earth, its pyramid of coarser grids, and the regions that are made of its cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.data.regions import EARTH, Regions, box
from sequester.errors import SchemaError

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.regions import Ring

    Reals = npt.NDArray[np.float64]

METRES_PER_DEGREE = 2 * np.pi * EARTH / 360
"""Along a meridian; along a parallel it is this times the cosine of the latitude."""
MOST_CROSSED = 400_000_000
"""Cells that lines may cross: more than fit into some gigabytes are refused."""
_POLAR = 85
_COLUMN = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Lattice:
    """Squares of so many metres, counted from the south pole and the date line.

    Rows are everywhere as high as columns are wide at one latitude: that of the middle of the data, in whole
    degrees. So where the lines lie is nobody's place, and data of one city has square cells.
    """

    cell: float
    """Metres from one side of a cell to the other."""
    latitude: int
    """Where a cell is a square."""

    @classmethod
    def around(cls, lat: Reals, cell: float) -> Lattice:
        """Lay the grid for the data of these latitudes."""
        middle = round(float(np.median(lat))) if lat.size else 0
        return cls(cell, min(max(middle, -_POLAR), _POLAR))

    @property
    def _height(self) -> float:
        return self.cell / METRES_PER_DEGREE

    @property
    def _width(self) -> float:
        return self._height / float(np.cos(np.radians(self.latitude)))

    @property
    def half_turn(self) -> float:
        """Columns on half of the way around the earth: whoever goes further went across the date line."""
        return 180 / self._width

    def coordinates(self, lat: Reals, lon: Reals) -> tuple[Reals, Reals]:
        """Give columns and rows, with fractions: the whole part names the cell."""
        return (lon + 180) / self._width, (lat + 90) / self._height

    def cells(self, lat: Reals, lon: Reals) -> Counts:
        """Give the cell of each point, a row and a column in one number."""
        x, y = self.coordinates(lat, lon)
        cells: Counts = (y.astype(np.int64) << 32) | x.astype(np.int64)
        return cells

    def outline(self, south: int, north: int, west: int, east: int) -> Ring:
        """Give the corners of the rectangle from its first to its last row and column."""
        return box(
            max(south * self._height - 90, -90.0),
            max(west * self._width - 180, -180.0),
            min((north + 1) * self._height - 90, 90.0),
            min((east + 1) * self._width - 180, 180.0),
        )


@dataclass(frozen=True, slots=True)
class Touches:
    """The cells that trajectories touch, in order."""

    lattice: Lattice
    """What the cells are cells of."""
    numbers: Codes
    """The number of each touched cell."""
    cells: Counts
    """Number to cell, from south to north, then from west to east."""
    points: Counts
    """The point at which, or after which, the cell is touched."""
    shares: Reals | None
    """How far between this point and the next; None where only points touch cells."""
    offsets: Offsets
    """Trajectory ``t`` has the entries ``offsets[t]`` to ``offsets[t + 1]``."""

    @classmethod
    def of(cls, lattice: Lattice, lat: Reals, lon: Reals, offsets: Offsets, *, segments: bool) -> Touches:
        """Follow every trajectory through the grid."""
        points, shares = np.arange(lat.size, dtype=np.int64), None
        if segments:
            x, y = lattice.coordinates(lat, lon)
            n_crossed = kernels.trajectories.count_crossed(x, y, offsets, lattice.half_turn)
            if n_crossed > MOST_CROSSED:
                msg = (
                    f"the lines between points cross {n_crossed:,} cells, more than {MOST_CROSSED:,}: raise "
                    'place.regions.cell, give place.max_speed, or take touch = "points"'
                )
                raise SchemaError(msg)
            cells, points, shares, offsets = kernels.trajectories.cross_cells(
                x, y, offsets, lattice.half_turn
            )
        else:
            cells = lattice.cells(lat, lon)
        numbers, found = kernels.cells.number_cells(cells)
        order = np.argsort(found)
        rank = np.empty(len(found), np.int32)
        rank[order] = np.arange(len(found), dtype=np.int32)
        return cls(lattice, rank[numbers], found[order], points, shares, offsets)

    def densities(self) -> Counts:
        """Count the trajectories that touch each cell, once each."""
        counts: Counts = kernels.cells.count_touching(self.numbers, self.offsets, len(self.cells))
        return counts

    def dense_boxes(self, threshold: float) -> tuple[Codes, Counts]:
        """Grow the regions of interest: the region of each cell, or -1, and the rectangle of each region."""
        counts = self.densities()
        least = threshold * (len(self.offsets) - 1)
        dense = np.flatnonzero(counts >= least * (1 - 1e-12))
        # The densest first; among equals the one furthest south, then west.
        seeds = dense[np.argsort(-counts[dense], kind="stable")]
        regions, boxes = kernels.cells.grow_regions(self.cells, counts, seeds, least)
        order = np.lexsort((boxes[:, 2], boxes[:, 0]))
        rank = np.full(len(boxes) + 1, -1, np.int32)
        rank[order] = np.arange(len(boxes), dtype=np.int32)
        return rank[regions], boxes[order]


def cell_boxes(cells: Counts) -> Counts:
    """Give the rectangle of each single cell: first row, last row, first column, last column."""
    rows, columns = cells >> 32, cells & _COLUMN
    return np.stack([rows, rows, columns, columns], axis=1)


def grid_regions(lattice: Lattice, boxes: Counts, parts: tuple[str, ...], *, numbered: bool) -> Regions:
    """Name rectangles, and put them into coarser and coarser cells by where their middles are.

    Rectangles are `numbered`, or named by the row and column of their first cell; groups are named by the
    rows and columns that they span, counted from the south-western corner.
    """
    if not len(boxes):
        return Regions({}, {}, parts)
    middle = np.stack([boxes[:, 0] + boxes[:, 1], boxes[:, 2] + boxes[:, 3]], axis=1) // 2
    levels = 0
    while len(np.unique(middle >> levels, axis=0)) > 1:
        levels += 1
    corner = (middle.min(axis=0) >> levels) << levels
    wide = [len(str(size)) for size in (1 << levels, 1 << levels)]
    names = (
        [str(number) for number in range(1, len(boxes) + 1)]
        if numbered
        else [_named(place, place, corner, wide) for place in middle.tolist()]
    )
    outlines = {
        name: lattice.outline(*rectangle) for name, rectangle in zip(names, boxes.tolist(), strict=True)
    }
    groups: dict[str, list[str]] = {name: [] for name in names}
    n_before = len(boxes)
    for level in range(1, levels):
        places, owner = np.unique(middle >> level, axis=0, return_inverse=True)
        if len(places) == n_before:
            continue
        n_before, owner = len(places), owner.reshape(-1)
        first, last = places << level, (places << level) + (1 << level) - 1
        labels = [_named(*ends, corner, wide) for ends in zip(first.tolist(), last.tolist(), strict=True)]
        # A group is its own square, and what its members have beyond it.
        spans = np.stack([first[:, 0], last[:, 0], first[:, 1], last[:, 1]], axis=1)
        for side, widen in enumerate((np.minimum, np.maximum, np.minimum, np.maximum)):
            widen.at(spans[:, side], owner, boxes[:, side])
        outlines |= {
            label: lattice.outline(*span) for label, span in zip(labels, spans.tolist(), strict=True)
        }
        for name, number in zip(names, owner.tolist(), strict=True):
            groups[name].append(labels[number])
    return Regions(outlines, {name: tuple(above) for name, above in groups.items()}, parts)


def _named(first: list[int], last: list[int], corner: Counts, wide: list[int]) -> str:
    """Name a square by its rows and columns: ``r03c11``, or ``r01-04c09-12``."""
    text = ""
    for letter, low, high, start, width in zip("rc", first, last, corner.tolist(), wide, strict=True):
        text += f"{letter}{low - start + 1:0{width}}"
        if high > low:
            text += f"-{high - start + 1:0{width}}"
    return text
