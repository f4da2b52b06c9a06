"""Points of trajectories: those that cannot be, the cells between them, and runs of one symbol."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Reals = npt.NDArray[np.float64]

EARTH = 6_371_008.8
"""Mean radius of the earth in metres."""
_COLUMN_BITS = 32


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

    Cell ``(row, column)`` holds what lies in ``[column, column + 1) x [row, row + 1)``. Gives the cells, for
    each the point that its line starts at and how far along the line it is entered, 0 to 1, and where each
    sequence starts. There is no line between points that are more than `longest` columns apart. Requires
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
                fill = _cross_line(x[i - 1], y[i - 1], x[i], y[i], i - 1, cells, points, shares, fill)
            else:
                cells[fill] = (row << _COLUMN_BITS) | column
                points[fill] = i
                fill += 1
        starts[sequence + 1] = fill
    return cells[:fill], points[:fill], shares[:fill], starts


@inner
def _cross_line(
    x: float,
    y: float,
    to_x: float,
    to_y: float,
    point: int,
    cells: Counts,
    points: Counts,
    shares: Reals,
    fill: int,
) -> int:
    """Append the cells of a line but the first; the last one also where it is the first."""
    column, row = np.int64(math.floor(x)), np.int64(math.floor(y))
    columns, rows = np.int64(math.floor(to_x)) - column, np.int64(math.floor(to_y)) - row
    east, north = (1 if columns > 0 else -1), (1 if rows > 0 else -1)
    columns, rows = abs(columns), abs(rows)
    if columns + rows == 0:
        cells[fill] = (row << _COLUMN_BITS) | column
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
        cells[fill] = (row << _COLUMN_BITS) | column
        points[fill], shares[fill] = point, min(max(min(aside, along), 0.0), 1.0)
        fill += 1
    return fill


@njit
def collapse_runs(symbols: Codes, offsets: Offsets) -> tuple[Counts, Offsets]:
    """Keep the first of each run of one symbol in a row, negative ones left out beforehand.

    Gives the places of what is kept, and where each row starts among them.
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
