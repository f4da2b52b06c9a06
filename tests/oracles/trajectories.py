"""Regions, trips and nearness by their definitions, slowly; imports nothing of sequester."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

EARTH = 6_371_008.8


def metres(a, b):
    """Great circle between (lat, lon) pairs, by the spherical law of cosines in its stable form."""
    (lat, lon), (lat2, lon2) = ([math.radians(v) for v in p] for p in (a, b))
    x = [math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)]
    y = [math.cos(lat2) * math.cos(lon2), math.cos(lat2) * math.sin(lon2), math.sin(lat2)]
    cross = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    dot = sum(p * q for p, q in zip(x, y, strict=True))
    return EARTH * math.atan2(math.sqrt(sum(c * c for c in cross)), dot)


def jumps(points, max_speed):
    """Points (lat, lon, seconds) that cannot be reached from the last one that can."""
    found, last = [], None
    for number, (lat, lon, at) in enumerate(points):
        if last is not None and metres((lat, lon), last[:2]) > max_speed * (at - last[2]):
            found.append(number)
        else:
            last = (lat, lon, at)
    return found


def trips_by_gap(times, gap):
    """Lengths of trips: a new one begins where more than `gap` has passed."""
    lengths = [1] if times else []
    for before, at in pairwise(times):
        if at - before > gap:
            lengths.append(0)
        lengths[-1] += 1
    return lengths


def line_cells(start, end):
    """Cells (row, column) of a line: the ends, and every cell that a piece of it between grid lines is in."""
    (x, y), (x2, y2) = start, end
    cuts = {Fraction(0), Fraction(1)}
    for low, high in ((Fraction(x), Fraction(x2)), (Fraction(y), Fraction(y2))):
        for line in range(math.floor(min(low, high)), math.floor(max(low, high)) + 1):
            if low != high and 0 <= (share := (line - low) / (high - low)) <= 1:
                cuts.add(share)
    spots = [Fraction(0)]
    spots += [(a + b) / 2 for a, b in pairwise(sorted(cuts))]
    spots.append(Fraction(1))
    cells = []
    for share in spots:
        cell = tuple(
            math.floor(Fraction(a) + share * (Fraction(b) - Fraction(a))) for a, b in ((y, y2), (x, x2))
        )
        if not cells or cells[-1] != cell:
            cells.append(cell)
    return cells


def densities(trajectories):
    """Cell to the number of trajectories (lists of cells) that touch it, once each."""
    counts = {}
    for cells in trajectories:
        for cell in set(cells):
            counts[cell] = counts.get(cell, 0) + 1
    return counts


def density_regions(counts, least):
    """Rectangles (south, north, west, east): each grown greedily around the densest cell that is left."""
    least = Fraction(least)
    regions = []

    def inside(box):
        return {(row, column) for row in range(box[0], box[1] + 1) for column in range(box[2], box[3] + 1)}

    def mean(box):
        cells = inside(box)
        return Fraction(sum(counts.get(cell, 0) for cell in cells), len(cells))

    for seed in sorted((cell for cell in counts if counts[cell] >= least), key=lambda c: (-counts[c], c)):
        taken = set().union(*map(inside, regions)) if regions else set()
        if seed in taken:
            continue
        box = (seed[0], seed[0], seed[1], seed[1])
        while True:
            south, north, west, east = box
            choices = []
            for grown in (
                (south, north, west - 1, east),
                (south, north, west, east + 1),
                (south - 1, north, west, east),
                (south, north + 1, west, east),
            ):
                strip = inside(grown) - inside(box)
                if strip & taken or min(grown) < 0 or mean(grown) < least:
                    continue
                if any(counts.get(cell, 0) >= least for cell in strip):
                    choices.append(grown)
            if not choices:
                break
            box = max(choices, key=mean)
        regions.append(box)
    return regions


def collapsed(symbols):
    """Without what is None, and the first of each run."""
    here = [symbol for symbol in symbols if symbol is not None]
    return [symbol for i, symbol in enumerate(here) if i == 0 or here[i - 1] != symbol]


def near_common(sequence, path, weight):
    """The largest sum of weights of pairs matched in order."""
    best = [[0] * (len(path) + 1) for _ in range(len(sequence) + 1)]
    for i, a in enumerate(sequence, start=1):
        for j, b in enumerate(path, start=1):
            best[i][j] = max(best[i - 1][j], best[i][j - 1], best[i - 1][j - 1] + weight(a, b))
    return best[-1][-1]


def person_support(pattern, trips):
    """Distinct persons one of whose trips, (person, sequence) pairs, contains the pattern with gaps."""

    def contains(sequence):
        rest = iter(sequence)
        return all(item in rest for item in pattern)

    return len({person for person, sequence in trips if contains(sequence)})


def displacement(released, original, distance):
    """The least mean distance of released places to original ones, matched in order, repeats allowed."""
    costs = [0.0] * len(original)
    for place in released:
        least, row = math.inf, []
        for before, other in zip(costs, original, strict=True):
            least = min(least, before)
            row.append(least + distance(place, other))
        costs = row
    return min(costs) / len(released)
