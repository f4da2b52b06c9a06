"""Turn sorted points into sequences of regions on a grid, and split a person's events into trips."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester import kernels
from sequester.data.ordering import first_events, group_persons
from sequester.data.places import EARTH, REGION, DensityRegions, Gap, H3Regions, Regions, box, h3_regions
from sequester.data.problems import Problem
from sequester.data.sequences import take_owners
from sequester.data.text import as_text
from sequester.errors import SchemaError
from sequester.hierarchies.labels import counted, quoted

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets, RowNumbers
    from sequester.data.places import Place, Ring
    from sequester.data.schema import Schema

    Reals = npt.NDArray[np.float64]


_DAY = 24 * 3600 * 10**6
_HOUR = 3600 * 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedEvents:
    """The events of a table while it is taken in: sorted, and grouped into sequences."""

    frame: pl.DataFrame
    """One row per event."""
    keys: pl.DataFrame
    """The input row of each event (``row``), its order or time (``when``), and what its clock is ``ahead``.

    The clock is ahead of UTC, in microseconds; there is no such key where all times have no offset."""
    persons: pl.Series
    """The person of each sequence; one with several trips stands here several times."""
    offsets: Offsets
    """Sequence ``i`` has the events ``offsets[i]`` to ``offsets[i + 1]``."""
    owners: Codes | None = None
    """The number of each sequence's person; None where every person has one sequence."""

    @property
    def rows(self) -> RowNumbers:
        """The input row of each event."""
        return self.keys["row"].to_numpy()

    @property
    def micros(self) -> Counts:
        """The time of each event, in microseconds."""
        return self.keys["when"].to_physical().to_numpy()

    def take(self, events: Counts, offsets: Offsets) -> SortedEvents:
        """Keep some events, in this order; a sequence without any is left out."""
        present = np.flatnonzero(np.diff(offsets))
        return SortedEvents(
            frame=self.frame[events],
            keys=self.keys[events],
            persons=self.persons.gather(present),
            offsets=offsets[np.append(present, len(offsets) - 1)],
            owners=take_owners(self.owners, present),
        )

    def without(self, marked: Mask) -> SortedEvents:
        """Leave marked events out."""
        before = np.concatenate([[0], np.cumsum(~marked)])
        return self.take(np.flatnonzero(~marked), before[self.offsets])


def split_by_column(events: SortedEvents, column: str) -> SortedEvents:
    """Make a sequence of each person's events that have one value in `column`, in order of appearance."""
    owner = np.repeat(np.arange(len(events.persons), dtype=np.int64), np.diff(events.offsets))
    named = events.frame[column]
    # Whole numbers are told apart as they are, which is faster.
    named = named if named.dtype.is_integer() else as_text(named)
    trip = named.rank("dense").cast(pl.Int64).to_numpy()
    grouping = group_persons(pl.Series(owner * (int(trip.max(initial=0)) + 1) + trip))
    order = np.arange(len(owner)) if grouping.order is None else grouping.order
    split = events if grouping.order is None else events.take(order, events.offsets)
    owners = owner[order][grouping.offsets[:-1]].astype(np.int32)
    return replace(split, persons=events.persons.gather(owners), offsets=grouping.offsets, owners=owners)


def split_by_gap(events: SortedEvents, gap: Gap) -> SortedEvents:
    """Begin a new sequence where more than the gap passes between two events of a person."""
    micros = events.micros
    starts = first_events(events.offsets)
    starts[1:] |= np.diff(micros) > gap.micros
    places = np.flatnonzero(starts)
    owners = (np.searchsorted(events.offsets, places, side="right") - 1).astype(np.int32)
    return replace(
        events,
        persons=events.persons.gather(owners),
        offsets=np.append(places, len(micros)).astype(np.int64),
        owners=owners,
    )


def read_coordinates(frame: pl.DataFrame, place: Place) -> tuple[pl.DataFrame, list[tuple[str, str, Mask]]]:
    """Read both columns as degrees; null where there is none, with column, rule and rows of what is wrong."""
    read, wrong = {}, []
    for column, most, what in ((place.lat, 90.0, "latitude"), (place.lon, 180.0, "longitude")):
        given = frame[column]
        gaps = as_text(given) if given.dtype == pl.String else given
        degrees = gaps.cast(pl.Float64, strict=False)
        is_gap = gaps.is_null().to_numpy()
        if is_gap.any():
            wrong.append((column, f"{what} is missing", is_gap))
        values = degrees.fill_null(np.nan).to_numpy()
        outside = ~(np.abs(values) <= most) & ~is_gap
        if outside.any():
            example = quoted(str(gaps[int(outside.argmax())]))
            wrong.append((column, f"{example} is not a {what} from -{most:g} to {most:g}", outside))
        read[column] = pl.Series(column, np.where(outside | is_gap, np.nan, values)).fill_nan(None)
    return pl.DataFrame(read), wrong


def find_jumps(events: SortedEvents, place: Place, max_speed: float) -> tuple[str, Mask]:
    """Return the rule about points that could only be reached faster, and the points that break it."""
    lat, lon = _degrees(events.frame, place)
    jumps = kernels.trajectories.mark_jumps(lat, lon, events.micros, events.offsets, float(max_speed))
    return f"point is reached only faster than max_speed = {max_speed:g} m/s", jumps


def _degrees(frame: pl.DataFrame, place: Place) -> tuple[Reals, Reals]:
    return frame[place.lat].to_numpy(), frame[place.lon].to_numpy()


def into_regions(
    events: SortedEvents, schema: Schema, place: Place, problems: list[Problem]
) -> tuple[SortedEvents, Regions, int]:
    """Assign each event its region; where regions are the symbol, an event is a visit, runs collapsed.

    Also counts the points that no visit stands for because they lie in no region.
    """
    is_symbol = not (schema.quasi or schema.sensitive)
    codes, regions, touches, n_outside = _assign_regions(events, place, problems, is_symbol=is_symbol)
    codes = _with_parts(codes, events, place, touches if is_symbol else None)
    names = pl.Series(REGION, [*regions.symbols, None], dtype=pl.String)
    if not is_symbol:
        frame = events.frame.drop(place.lat, place.lon).with_columns(names.gather(codes % len(names)))
        if n_outside:
            what = "points lie in no region, and have the region (missing)"
            outside = codes < 0
            problems.append(Problem.at(what, REGION, outside, events.rows, severity="note"))
        return replace(events, frame=frame), regions, 0
    offsets = events.offsets if touches is None else touches.offsets
    kept, starts = kernels.trajectories.collapse_runs(codes, offsets)
    n_before = len(events.offsets) - 1
    points = kept if touches is None else touches.points[kept]
    visits = events.take(points, starts)
    n_none = n_before - len(visits.persons)
    if n_none:
        what = counted(n_none, "trajectory crosses", "trajectories cross")
        problems.append(Problem(f"of {n_before:,}, {what} no region: left out", REGION, severity="warning"))
    frame = visits.frame.drop(place.lat, place.lon).with_columns(names.gather(codes[kept]))
    return replace(visits, frame=frame), regions, n_outside


def _assign_regions(
    events: SortedEvents, place: Place, problems: list[Problem], *, is_symbol: bool
) -> tuple[Codes, Regions, Touches | None, int]:
    """Return the region of each touched cell or point, or -1, the regions, the cells, and points in none."""
    lat, lon = _degrees(events.frame, place)
    if isinstance(place.regions, H3Regions):
        codes, regions = h3_regions(lat, lon, place.regions.resolution, place.parts)
        return codes, regions, None, 0
    lattice = Lattice.around(lat, place.regions.cell)
    dense = place.regions if isinstance(place.regions, DensityRegions) else None
    segments = dense is not None and dense.touch == "segments"
    touches = Touches.of(lattice, lat, lon, events.offsets, segments=segments)
    if dense is None:
        of_cell, boxes = np.arange(len(touches.cells), dtype=np.int32), cell_boxes(touches.cells)
    else:
        of_cell, boxes = touches.dense_boxes(dense.threshold)
        if not len(boxes):
            most = int(touches.densities().max(initial=0)) / max(len(events.offsets) - 1, 1)
            what = (
                f"no cell is touched by a share of {dense.threshold:g} of the trajectories, "
                f"the densest by {most:.2g}: lower place.regions.threshold, or raise its cell"
            )
            problems.append(Problem(what))
    regions = grid_regions(lattice, boxes, place.parts, numbered=dense is not None)
    if not is_symbol and segments:
        # An event is one row of the input, wherever its person went until the next one.
        touches = Touches.of(lattice, lat, lon, events.offsets, segments=False)
        of_cell = _regions_of_cells(touches.cells, boxes)
    codes = of_cell[touches.numbers]
    own = of_cell[np.searchsorted(touches.cells, lattice.cells(lat, lon))] if segments else codes
    return codes, regions, touches, int(np.count_nonzero(own < 0))


def _regions_of_cells(cells: Counts, boxes: Counts) -> Codes:
    """Find the rectangle that each cell lies in, or -1."""
    rows, columns = cells >> 32, cells & ((1 << 32) - 1)
    found = np.full(len(cells), -1, np.int32)
    for number, (south, north, west, east) in enumerate(boxes.tolist()):
        found[(south <= rows) & (rows <= north) & (west <= columns) & (columns <= east)] = number
    return found


def _with_parts(codes: Codes, events: SortedEvents, place: Place, touches: Touches | None) -> Codes:
    """Make codes of a region and a part of the day, where the day has parts."""
    if not place.parts:
        return codes
    micros = events.micros
    at = micros if touches is None else micros[touches.points]
    if touches is not None and touches.shares is not None:
        following = micros[np.minimum(touches.points + 1, len(micros) - 1)]
        at = at + (touches.shares * (following - at)).astype(np.int64)
    if "ahead" in events.keys.columns:
        # The hour that people mean is the one on their clocks.
        ahead = events.keys["ahead"].to_numpy()
        at = at + (ahead if touches is None else ahead[touches.points])
    cuts = np.array(place.time_of_day, np.int64) * _HOUR
    part = (np.searchsorted(cuts, at % _DAY, side="right") - 1) % len(cuts)
    return np.where(codes < 0, np.int32(-1), codes * len(cuts) + part).astype(np.int32)


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
        """Return the grid for data of these latitudes."""
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
        """Columns on half of the way around the earth: a longer step crosses the date line."""
        return 180 / self._width

    def coordinates(self, lat: Reals, lon: Reals) -> tuple[Reals, Reals]:
        """Return columns and rows, with fractions: the whole part names the cell."""
        return (lon + 180) / self._width, (lat + 90) / self._height

    def cells(self, lat: Reals, lon: Reals) -> Counts:
        """Return the cell of each point, a row and a column in one number."""
        x, y = self.coordinates(lat, lon)
        cells: Counts = (y.astype(np.int64) << 32) | x.astype(np.int64)
        return cells

    def outline(self, south: int, north: int, west: int, east: int) -> Ring:
        """Return the corners of the rectangle from its first to its last row and column."""
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
        # A trajectory stays in a cell for a while: of each run, the first is enough.
        is_first = np.diff(cells, prepend=-1) != 0
        found, numbers = np.unique(cells[is_first], return_inverse=True)
        return cls(lattice, numbers.astype(np.int32)[np.cumsum(is_first) - 1], found, points, shares, offsets)

    def densities(self) -> Counts:
        """Count the trajectories that touch each cell, once each."""
        touched, _ = kernels.rows.list_symbols(self.numbers, self.offsets, len(self.cells))
        return np.bincount(touched, minlength=len(self.cells))

    def dense_boxes(self, threshold: float) -> tuple[Codes, Counts]:
        """Grow the regions of interest: the region of each cell, or -1, and the rectangle of each region."""
        counts = self.densities()
        least = threshold * (len(self.offsets) - 1)
        dense = np.flatnonzero(counts >= least * (1 - 1e-12))
        # The densest first; among equals the one furthest south, then west.
        seeds = dense[np.argsort(-counts[dense], kind="stable")]
        regions, boxes = kernels.trajectories.grow_regions(self.cells, counts, seeds, least)
        order = np.lexsort((boxes[:, 2], boxes[:, 0]))
        rank = np.full(len(boxes) + 1, -1, np.int32)
        rank[order] = np.arange(len(boxes), dtype=np.int32)
        return rank[regions], boxes[order]


def cell_boxes(cells: Counts) -> Counts:
    """Return the rectangle of each single cell: first row, last row, first column, last column."""
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
