"""Trajectories: equality with slow twins, then time and peak memory beside their bars, growth over sizes.

    python benchmarks/bench_trajectories.py                     all parts
    python benchmarks/bench_trajectories.py points --points 1e6 some of them: twin, regions, points; smaller

Each size of `points` runs in a process of its own, compiled beforehand. Exits 1 where answers differ or a bar
is missed.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from ledger import growth, note
from sequester import kernels
from sequester.data.places import DensityRegions, Place
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import trips

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from oracles import trajectories as oracle

N_POINTS, LONGEST_SECONDS, LARGEST_MEMORY = 10_000_000, 15.0, 3e9
SIDE, LONGEST_REGIONS = 1_000, 2.0
POINTS_PER_PERSON = 25.0
STEEPEST = 1.25
"""The power of the number of points that time may grow with; 1 is linear."""


def twin() -> bool:
    """Grow regions on small grids as the definition does, cell by cell."""
    draw = np.random.default_rng(7)
    same = True
    for _ in range(200):
        cells = draw.integers(0, 8, (30, 2))
        counts = {(int(r), int(c)): int(draw.integers(1, 9)) for r, c in cells}
        least = int(draw.integers(1, 8))
        same &= grown(counts, least) == oracle.density_regions(counts, least)
    return note("equality", "regions on 200 grids: their definition, cell by cell", same)


def grown(counts: dict[tuple[int, int], int], least: float) -> list[tuple[int, ...]]:
    ordered = sorted(counts)
    numbers = np.array([(row << 32) | column for row, column in ordered], np.int64)
    densities = np.array([counts[cell] for cell in ordered], np.int64)
    dense = np.flatnonzero(densities >= least)
    seeds = dense[np.argsort(-densities[dense], kind="stable")]
    _, boxes = kernels.trajectories.grow_regions(numbers, densities, seeds, float(least))
    return [tuple(box) for box in boxes.tolist()]


def regions() -> bool:
    """Grow regions on a full grid with hills of density."""
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    draw = np.random.default_rng(7)
    hills = np.zeros((SIDE, SIDE))
    for top_y, top_x, width in draw.integers(10, SIDE - 10, (60, 3)):
        hills += 100 * np.exp(-((x - top_x) ** 2 + (y - top_y) ** 2) / (2 * (5 + width / 40) ** 2))
    densities = (hills + draw.poisson(3, hills.shape)).astype(np.int64).reshape(-1)
    cells = ((y.astype(np.int64) << 32) | x).reshape(-1)
    met = True
    for least in (5.0, 20.0, 60.0):
        dense = np.flatnonzero(densities >= least)
        seeds = dense[np.argsort(-densities[dense], kind="stable")]
        kernels.trajectories.grow_regions(cells[:4], densities[:4], seeds[:0], least)
        start = time.perf_counter()
        _, boxes = kernels.trajectories.grow_regions(cells, densities, seeds, least)
        seconds = time.perf_counter() - start
        what = f"{SIDE:,} x {SIDE:,} cells, {len(dense):,} dense, {len(boxes):,} regions"
        met &= note("seconds", what, seconds, bar=LONGEST_REGIONS)
    return met


def schema(touch: str) -> Schema:
    place = Place("lat", "lon", DensityRegions(250, 0.02, touch), max_speed=60)  # type: ignore[arg-type]
    return Schema(person="user", time="at", trip="trip", place=place)


def one_size(n_points: int, touch: str) -> None:
    """Turn so many points into sequences; prints seconds and bytes of memory."""
    EventTable(trips.make(persons=50), schema(touch)).sequences.distinct()
    frame = trips.make(persons=max(int(n_points / POINTS_PER_PERSON), 2)).head(n_points)
    start = time.perf_counter()
    table = EventTable(frame, schema(touch))
    n_events = table.sequences.n_events
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(frame.height, seconds, memory, table.n_persons, n_events, len(table.regions.labels))


def points(n_points: int) -> bool:
    met = True
    for touch in ("points", "segments"):
        sizes, times = [], []
        for size in (n_points // 4, n_points // 2, n_points):
            done = subprocess.run(
                [sys.executable, __file__, "one", "--points", str(size), "--touch", touch],
                check=True,
                capture_output=True,
                text=True,
            )
            height, seconds, memory, n_trips, n_events, n_regions = map(float, done.stdout.split())
            sizes.append(int(height))
            times.append(seconds)
            print(
                f"touch = {touch}: {height:,.0f} points to {n_trips:,.0f} trips, {n_events:,.0f} visits of "
                f"{n_regions:.0f} regions: {seconds:.1f} s"
            )
        what = f"{height:,.0f} points to sequences, touch = {touch}"
        met &= note("seconds", what, seconds, bar=LONGEST_SECONDS)
        met &= note("memory", f"{what}, with the points", memory, bar=LARGEST_MEMORY)
        what = f"{sizes[0]:,} to {sizes[-1]:,} points, touch = {touch}"
        met &= note("growth", what, growth(sizes, times), bar=STEEPEST)
    return met


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["twin", "regions", "points"])
    parser.add_argument("--points", type=float, default=N_POINTS)
    parser.add_argument("--touch", default="points")
    given = parser.parse_args()
    if given.parts == ["one"]:
        one_size(int(given.points), given.touch)
        return
    runs = {"twin": twin, "regions": regions, "points": lambda: points(int(given.points))}
    met = [runs[part]() for part in given.parts]
    if not all(met):
        sys.exit("an answer differs or a bar is missed")


if __name__ == "__main__":
    main()
