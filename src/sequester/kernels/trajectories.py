"""Points of trajectories: those that cannot be, the cells between them, and runs of one symbol."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.kernels.rows import ensure_capacity, find_slot

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Reals = npt.NDArray[np.float64]

EARTH = 6_371_008.8
"""Mean radius of the earth in metres."""
COLUMN_BITS = 32
"""A cell's row is above these bits of its number, its column in them."""


@njit
def metres_between(lat: float, lon: float, other_lat: float, other_lon: float) -> float:
    """Return the length of the great circle between two places in degrees, in metres."""
    north, other_north = math.radians(lat), math.radians(other_lat)
    half_north = math.sin((other_north - north) / 2)
    half_east = math.sin(math.radians(other_lon - lon) / 2)
    chord = half_north * half_north + math.cos(north) * math.cos(other_north) * half_east * half_east
    return 2 * EARTH * math.asin(min(1.0, math.sqrt(chord)))


@njit
def mark_jumps(lat: Reals, lon: Reals, micros: Counts, offsets: Offsets, max_speed: float) -> Mask:
    """Mark each point that cannot be reached at `max_speed`, in m/s, from the last one that can.

    `micros` are microseconds; the first point of a sequence is taken to be right.
    """
    is_jump = np.zeros(lat.size, np.bool_)
    for sequence in range(offsets.size - 1):
        last = offsets[sequence]
        for i in range(last + 1, offsets[sequence + 1]):
            metres = metres_between(lat[last], lon[last], lat[i], lon[i])
            if metres > max_speed * 1e-6 * (micros[i] - micros[last]):
                is_jump[i] = True
            else:
                last = i
    return is_jump


@njit
def count_crossed(x: Reals, y: Reals, offsets: Offsets, longest: float) -> int:
    """Count the cells that `cross_cells` lists, at most."""
    n_touched = 0
    for sequence in range(offsets.size - 1):
        for i in range(offsets[sequence], offsets[sequence + 1]):
            n_touched += 1
            if i > offsets[sequence] and abs(x[i] - x[i - 1]) <= longest:
                n_touched += abs(math.floor(x[i]) - math.floor(x[i - 1]))
                n_touched += abs(math.floor(y[i]) - math.floor(y[i - 1]))
    return n_touched


@njit
def cross_cells(
    x: Reals, y: Reals, offsets: Offsets, longest: float
) -> tuple[Counts, Counts, Reals, Offsets]:
    """List the cells that the straight lines between points run through, in order, points' cells included.

    Cell ``(row, column)`` holds what lies in ``[column, column + 1) x [row, row + 1)``. Returns the cells,
    for each the point that its line starts at and how far along the line it is entered, 0 to 1, and where
    each sequence starts. There is no line between points that are more than `longest` columns apart. Requires
    coordinates of 0 or more.
    """
    n_touched = count_crossed(x, y, offsets, longest)
    cells = np.empty(n_touched, np.int64)
    points = np.empty(n_touched, np.int64)
    shares = np.zeros(n_touched, np.float64)
    starts = np.zeros(offsets.size, np.int64)
    fill = 0
    for sequence in range(offsets.size - 1):
        for i in range(offsets[sequence], offsets[sequence + 1]):
            column, row = np.int64(math.floor(x[i])), np.int64(math.floor(y[i]))
            if i > offsets[sequence] and abs(x[i] - x[i - 1]) <= longest:
                fill = _cross_line((x[i - 1], y[i - 1]), (x[i], y[i]), i - 1, (cells, points, shares), fill)
            else:
                cells[fill] = (row << COLUMN_BITS) | column
                points[fill] = i
                fill += 1
        starts[sequence + 1] = fill
    return cells[:fill], points[:fill], shares[:fill], starts


@inner
def _cross_line(
    start: tuple[float, float],
    stop: tuple[float, float],
    point: int,
    crossed: tuple[Counts, Counts, Reals],
    fill: int,
) -> int:
    """Append the cells of a line but the first; the last one also where it is the first."""
    (x, y), (to_x, to_y), (cells, points, shares) = start, stop, crossed
    column, row = np.int64(math.floor(x)), np.int64(math.floor(y))
    columns, rows = np.int64(math.floor(to_x)) - column, np.int64(math.floor(to_y)) - row
    east, north = (1 if columns > 0 else -1), (1 if rows > 0 else -1)
    columns, rows = abs(columns), abs(rows)
    if columns + rows == 0:
        cells[fill] = (row << COLUMN_BITS) | column
        points[fill], shares[fill] = point, 1.0
        return fill + 1
    while columns + rows > 0:
        # How far along the line its next cell to the side, and its next one above or below, begins.
        aside = ((column + (east > 0)) - x) / (to_x - x) if columns > 0 else np.inf
        along = ((row + (north > 0)) - y) / (to_y - y) if rows > 0 else np.inf
        if aside <= along:
            column += east
            columns -= 1
        if along <= aside:
            row += north
            rows -= 1
        cells[fill] = (row << COLUMN_BITS) | column
        points[fill], shares[fill] = point, min(max(min(aside, along), 0.0), 1.0)
        fill += 1
    return fill


@njit
def collapse_runs(symbols: Codes, offsets: Offsets) -> tuple[Counts, Offsets]:
    """Keep the first of each run of one symbol in a row, negative ones left out beforehand.

    Returns the places of what is kept, and where each row starts among them.
    """
    kept = np.empty(symbols.size, np.int64)
    starts = np.zeros(offsets.size, np.int64)
    fill = 0
    for row in range(offsets.size - 1):
        last = -1
        for i in range(offsets[row], offsets[row + 1]):
            if symbols[i] >= 0 and symbols[i] != last:
                last = symbols[i]
                kept[fill] = i
                fill += 1
        starts[row + 1] = fill
    return kept[:fill].copy(), starts


FREE = -1
"""No cell, no number, no region."""
SOUTH, NORTH, WEST, EAST = range(4)
"""Sides of a rectangle: its first and last row, its first and last column."""
_TIGHT = 1 - 1e-12
"""A sum that equals the threshold but for the last bits of a float is not below it."""


@inner
def _enlarged(table: Counts, numbers: Codes) -> tuple[Counts, Codes]:
    """Copy a hash table of cells and their numbers into one of twice the size."""
    more, more_numbers = np.full(2 * table.size, FREE, np.int64), np.full(2 * table.size, FREE, np.int32)
    for slot in range(table.size):
        if table[slot] != FREE:
            to = find_slot(more, table[slot])
            more[to], more_numbers[to] = table[slot], numbers[slot]
    return more, more_numbers


class Grid(NamedTuple):
    """Cells by number, with what is known of each."""

    table: Counts
    """A hash table of cells; FREE where there is none."""
    numbers: Codes
    """The number of the cell in each of its places."""
    counts: Counts
    """How dense each cell is; those of further numbers have density 0."""
    regions: Codes
    """The region of each cell, or FREE."""


@inner
def _cell(side: int, along: int, across: int) -> int:
    """Return a cell of the row or column beside a rectangle; FREE where it is outside of the grid."""
    row, column = (along, across) if side >= WEST else (across, along)
    return (row << COLUMN_BITS) | column if row >= 0 and column >= 0 else FREE


@inner
def _beside(box: Counts, side: int) -> int:
    """Return the row or column beside a rectangle."""
    return int(box[side] + (1 if side % 2 else -1))


@inner
def _span(box: Counts, side: int) -> tuple[int, int]:
    """Return the first and the last cell of a side of a rectangle."""
    first = SOUTH if side >= WEST else WEST
    return box[first], box[first + 1]


@inner
def _add_strip(grid: Grid, box: Counts, side: int, low: int, high: int, least: float, strip: Counts) -> None:
    """Add cells `low` to `high` beside a rectangle to the strip of that side.

    A strip is its density, its dense cells, and its cells that belong to a region already.
    """
    for along in range(low, high + 1):
        cell = _cell(side, along, _beside(box, side))
        number = FREE if cell == FREE else grid.numbers[find_slot(grid.table, cell)]
        strip[2] += cell == FREE or (number != FREE and grid.regions[number] != FREE)
        if 0 <= number < grid.counts.size:
            strip[0] += grid.counts[number]
            strip[1] += grid.counts[number] >= least * _TIGHT


@inner
def _best_side(strips: Counts, total: int, box: Counts, least: float) -> int:
    """Return the side by which a rectangle grows; -1 where it does not."""
    width, height = box[EAST] - box[WEST] + 1, box[NORTH] - box[SOUTH] + 1
    best, best_mean = -1, 0.0
    for side in (WEST, EAST, SOUTH, NORTH):
        if strips[side, 1] == 0 or strips[side, 2] > 0:
            continue
        mean = (total + strips[side, 0]) / (width * height + (height if side >= WEST else width))
        if mean >= least * _TIGHT and mean > best_mean:
            best, best_mean = side, mean
    return best


@inner
def _take_in(grid: Grid, box: Counts, side: int, region: int, n_numbers: int) -> tuple[Grid, int]:
    """Add the cells beside a rectangle to its region; those without a number get the next ones."""
    table, numbers, counts, regions = grid
    low, high = _span(box, side)
    for along in range(low, high + 1):
        cell = _cell(side, along, _beside(box, side))
        slot = find_slot(table, cell)
        if table[slot] == FREE:
            regions = ensure_capacity(regions, n_numbers, n_numbers + 1)
            table[slot], numbers[slot] = cell, n_numbers
            n_numbers += 1
        regions[numbers[slot]] = region
        if 2 * n_numbers > table.size:
            table, numbers = _enlarged(table, numbers)
    return Grid(table, numbers, counts, regions), n_numbers


@njit
def grow_regions(cells: Counts, counts: Counts, seeds: Counts, least: float) -> tuple[Codes, Counts]:
    """Grow disjoint rectangles around dense cells, in the order of `seeds`, numbers of dense cells.

    A rectangle grows by the row or column beside it, west, east, south or north, as long as one of those
    holds a dense cell, touches no other region, and leaves the mean of the rectangle's cells at or above
    `least`; the one with the highest mean first. A cell of `cells` is as dense as `counts` says, any other
    has density 0. Returns the region of each cell, or -1, and for each region its first and last row and its
    first and last column. Requires distinct cells and a positive `least`.
    """
    size = 4096
    while size < 4 * cells.size:
        size *= 2
    table, numbers = np.full(size, FREE, np.int64), np.full(size, FREE, np.int32)
    for i in range(cells.size):
        slot = find_slot(table, cells[i])
        table[slot], numbers[slot] = cells[i], i
    # Cells without a trajectory get numbers behind the others when a rectangle takes them in.
    n_numbers, n_regions = cells.size, 0
    grid = Grid(table, numbers, counts, np.full(max(2 * cells.size, 16), FREE, np.int32))
    boxes = np.empty((max(seeds.size, 1), 4), np.int64)
    strips = np.zeros((4, 3), np.int64)
    for seed in seeds:
        if grid.regions[seed] != FREE:
            continue
        box = boxes[n_regions]
        box[SOUTH] = box[NORTH] = cells[seed] >> COLUMN_BITS
        box[WEST] = box[EAST] = cells[seed] & ((1 << COLUMN_BITS) - 1)
        grid.regions[seed] = n_regions
        total = counts[seed]
        strips[:] = 0
        for side in range(4):
            low, high = _span(box, side)
            _add_strip(grid, box, side, low, high, least, strips[side])
        best = _best_side(strips, total, box, least)
        while best >= 0:
            # Take the strip in. The strips across it get longer by a cell; the one beyond it is a new one.
            grid, n_numbers = _take_in(grid, box, best, n_regions, n_numbers)
            total += strips[best, 0]
            strips[best] = 0
            box[best] = _beside(box, best)
            low, high = _span(box, best)
            _add_strip(grid, box, best, low, high, least, strips[best])
            across = SOUTH if best >= WEST else WEST
            for side in (across, across + 1):
                _add_strip(grid, box, side, box[best], box[best], least, strips[side])
            best = _best_side(strips, total, box, least)
        n_regions += 1
    return grid.regions[: cells.size].copy(), boxes[:n_regions].copy()
