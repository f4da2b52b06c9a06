"""Cells and trajectories against their definitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import trajectories as oracle
from sequester import kernels
from sequester.data.trajectories import METRES_PER_DEGREE, Lattice, Touches

pytestmark = pytest.mark.kernel

cells = st.tuples(st.integers(0, 6), st.integers(0, 6))


def _numbers(given_cells):
    return np.array([(row << 32) | column for row, column in given_cells], np.int64)


def _grow(counts, least):
    ordered = sorted(counts)
    numbers = np.array([counts[cell] for cell in ordered], np.int64)
    dense = [i for i, cell in enumerate(ordered) if counts[cell] >= least]
    seeds = np.array(sorted(dense, key=lambda i: (-numbers[i], ordered[i])), np.int64)
    regions, boxes = kernels.trajectories.grow_regions(_numbers(ordered), numbers, seeds, float(least))
    return dict(zip(ordered, regions.tolist(), strict=True)), [tuple(box) for box in boxes.tolist()]


@given(st.dictionaries(cells, st.integers(1, 9)), st.integers(1, 8))
def test_regions_equal_definition(counts, least):
    regions, boxes = _grow(counts, least)
    assert boxes == oracle.density_regions(counts, least)
    for (row, column), region in regions.items():
        inside = [
            number
            for number, (south, north, west, east) in enumerate(boxes)
            if south <= row <= north and west <= column <= east
        ]
        assert inside == ([] if region < 0 else [region])


def test_a_rectangle_takes_empty_cells_in_and_others_keep_out():
    # 9 0 9 in the middle row: the hole has density 0, and the strip above must not run into it.
    counts = {(1, 1): 9, (1, 3): 9, (0, 1): 9, (0, 2): 9, (0, 3): 9, (2, 2): 5}
    _, boxes = _grow(counts, 5)
    assert boxes == oracle.density_regions(counts, 5)
    covered = [(r, c) for s, n, w, e in boxes for r in range(s, n + 1) for c in range(w, e + 1)]
    assert len(covered) == len(set(covered))


def test_large_tables_grow():
    generator = np.random.default_rng(7)
    counts = {
        (int(r), int(c)): int(n)
        for (r, c), n in zip(
            generator.integers(0, 70, (3000, 2)), generator.integers(1, 9, 3000), strict=True
        )
    }
    _, boxes = _grow(counts, 3)
    taken = sum((n - s + 1) * (e - w + 1) for s, n, w, e in boxes)
    assert taken == len({(r, c) for s, n, w, e in boxes for r in range(s, n + 1) for c in range(w, e + 1)})
    assert all(
        any(s <= r <= n and w <= c <= e for s, n, w, e in boxes) for (r, c), d in counts.items() if d >= 3
    )


@given(st.lists(st.lists(cells, max_size=8), max_size=6))
def test_densities_equal_definition(trajectories):
    flat = np.array([cell for each in trajectories for cell in each], np.float64).reshape(-1, 2)
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in trajectories])]).astype(np.int64)
    # Squares of one degree; the equator and the prime meridian are the lines 90 and 180.
    lattice = Lattice(METRES_PER_DEGREE, 0)
    touches = Touches.of(lattice, flat[:, 0] + 0.5, flat[:, 1] + 0.5, offsets, segments=False)
    names = [((int(cell) >> 32) - 90, (int(cell) & (2**32 - 1)) - 180) for cell in touches.cells]
    assert names == sorted(names)
    assert [names[number] for number in touches.numbers] == [cell for each in trajectories for cell in each]
    assert dict(zip(names, touches.densities().tolist(), strict=True)) == oracle.densities(trajectories)


quarters = st.integers(0, 24).map(lambda n: n / 4)
spots = st.tuples(quarters, quarters)


@given(st.lists(st.lists(spots, max_size=4), max_size=3))
def test_lines_cross_the_cells_of_their_pieces(trajectories):
    points = [spot for each in trajectories for spot in each]
    x, y = (np.array([point[i] for point in points], np.float64) for i in (0, 1))
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in trajectories])]).astype(np.int64)
    found, point, share, starts = kernels.trajectories.cross_cells(x, y, offsets, 100.0)
    for number, each in enumerate(trajectories):
        expected = [(int(each[0][1]), int(each[0][0]))] if each else []
        for start, end in pairwise(each):
            for cell in oracle.line_cells(start, end):
                if cell != expected[-1]:
                    expected.append(cell)
        here = found[starts[number] : starts[number + 1]].tolist()
        got = [(cell >> 32, cell & (2**32 - 1)) for cell in here]
        assert [cell for i, cell in enumerate(got) if i == 0 or got[i - 1] != cell] == expected
    assert ((share >= 0) & (share <= 1)).all()
    assert (np.diff(point) >= 0).all()


def test_there_is_no_line_the_long_way_round():
    x, y, offsets = np.array([0.5, 9.5, 8.5]), np.array([0.5, 0.5, 0.5]), np.array([0, 3])
    found, point, _, starts = kernels.trajectories.cross_cells(x, y, offsets, 5.0)
    assert (found & (2**32 - 1)).tolist() == [0, 9, 8]
    assert (point.tolist(), starts.tolist()) == ([0, 1, 1], [0, 3])
    assert kernels.trajectories.count_crossed(x, y, offsets, 5.0) == 4
    assert kernels.trajectories.count_crossed(x, y, offsets, 9.0) == 13


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 30)), max_size=8))
def test_jumps_equal_definition(points):
    spots = [(lat * 1e-3, lon * 1e-3, at) for lat, lon, at in sorted(points, key=lambda p: p[2])]
    lat, lon = (np.array([spot[i] for spot in spots], np.float64) for i in (0, 1))
    micros = np.array([spot[2] for spot in spots], np.int64) * 10**6
    marked = kernels.trajectories.mark_jumps(lat, lon, micros, np.array([0, len(spots)]), 17.0)
    assert np.flatnonzero(marked).tolist() == oracle.jumps(spots, 17.0)


@given(st.lists(st.lists(st.sampled_from([None, 0, 1, 2]), max_size=6), max_size=4))
def test_runs_collapse_over_what_is_outside(rows):
    symbols = np.array([-1 if each is None else each for row in rows for each in row], np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    kept, starts = kernels.trajectories.collapse_runs(symbols, offsets)
    got = [symbols[kept[a:b]].tolist() for a, b in pairwise(starts)]
    assert got == [oracle.collapsed(row) for row in rows]


@given(spots, spots)
def test_metres_equal_the_arc(a, b):
    got = kernels.trajectories.metres_between(a[0], a[1], b[0], b[1])
    assert got == pytest.approx(oracle.metres(a, b), abs=1e-3)
