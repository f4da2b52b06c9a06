"""From points to trips and regions: what is invalid, what is counted, what is left out."""

from __future__ import annotations

import datetime as dt
import json
import math
import sys

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import trajectories as oracle
from sequester.data.places import DensityRegions, Gap, GridRegions, H3Regions, Place
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.data.trajectories import Lattice
from sequester.errors import HierarchyError, ParameterError, SchemaError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.methods import BFP2kA

NOON = dt.datetime(2024, 5, 13, 12, tzinfo=dt.UTC)
CELL = 1000.0
GRID = Lattice(CELL, 45)
SOUTH, WEST = 15_000, 15_000
"""A cell near latitude 45, so that its grid is the one below."""


def spot(row, column):
    """The middle of a cell, counted from the corner above."""
    ring = GRID.outline(SOUTH + row, SOUTH + row, WEST + column, WEST + column)
    return tuple(sum(corner[i] for corner in ring) / 4 for i in (0, 1))


def points(*rows):
    """Rows of person, minute, row and column of the cell, and any more columns."""
    return pl.DataFrame(
        {
            "user": [row[0] for row in rows],
            "at": [NOON + dt.timedelta(minutes=row[1]) for row in rows],
            "lat": [spot(*row[2:4])[0] for row in rows],
            "lon": [spot(*row[2:4])[1] for row in rows],
        }
    )


def table(frame, regions=None, **roles):
    place = {name: roles.pop(name) for name in ("time_of_day", "max_speed") if name in roles}
    schema = Schema(
        person="user",
        time="at",
        place=Place("lat", "lon", regions or GridRegions(CELL), **place),
        **roles,
    )
    return EventTable(frame, schema)


def refused(frame, regions=None, **roles):
    with pytest.raises(SchemaError) as caught:
        table(frame, regions, **roles)
    return list(caught.value.lines)


def test_a_run_in_a_cell_is_one_visit():
    made = table(points(("a", 0, 0, 0), ("a", 1, 0, 0), ("a", 2, 0, 1), ("a", 3, 0, 0)))
    (visits,) = made.sequences.to_rows()
    assert len(visits) == 3
    assert visits[0] == visits[2] != visits[1]
    assert made.rows.tolist() == [1, 3, 4]
    assert made.schema.symbol.column == "region"
    assert made.schema.place is None


def test_trips_by_gap_and_by_column():
    frame = points(("a", 0, 0, 0), ("a", 5, 0, 1), ("b", 0, 0, 0), ("a", 50, 0, 0))
    made = table(frame, trip=Gap("30min"))
    assert made.persons.to_list() == ["a", "a", "b"]
    assert made.owners.tolist() == [0, 0, 1]
    assert (made.n_persons, made.n_owners) == (3, 2)
    assert "2 persons, 3 trips" in repr(made)
    named = table(frame.with_columns(pl.Series("trip", ["x", "y", "x", "x"])), trip="trip")
    assert [len(row) for row in named.sequences.to_rows()] == [1, 1, 1]
    assert named.persons.to_list() == ["a", "a", "b"]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(1, 4))
def test_trips_by_gap_equal_definition(minutes, gap):
    minutes = sorted(minutes)
    frame = points(*(("a", minute, 0, place % 2) for place, minute in enumerate(minutes)))
    made = table(frame, trip=Gap(f"{gap}min"))
    assert [len(row) for row in made.sequences.to_rows()] == oracle.trips_by_gap(minutes, gap)


def test_symbols_may_have_trips_too():
    frame = pl.DataFrame({"user": list("aab"), "n": [1, 2, 1], "visit": ["x", "y", "x"], "page": list("pqp")})
    made = EventTable(frame, Schema(person="user", order="n", symbol="page", trip="visit"))
    assert made.sequences.to_rows() == [("p",), ("q",), ("p",)]
    assert made.owners.tolist() == [0, 0, 1]


def test_bad_coordinates_are_refused_or_dropped_with_their_rows():
    frame = points(("a", 0, 0, 0), ("a", 1, 0, 1), ("a", 2, 0, 2), ("a", 3, 0, 3)).with_columns(
        pl.Series("lat", ["", "north", "91", "45.0"])
    )
    assert refused(frame) == [
        "column 'lat': latitude is missing (1 row: 1)",
        "column 'lat': 'north' is not a latitude from -90 to 90 (2 rows: 2, 3)",
    ]
    made = table(frame, invalid="drop")
    assert made.n_events == 1
    assert [problem.count for problem in made.problems] == [1, 2]
    assert "no row has both a person and a readable time and a place" in "".join(
        refused(frame.head(2), invalid="drop")
    )


def test_jumps_follow_invalid_and_points_are_sorted_by_time():
    frame = points(("a", 0, 0, 0), ("a", 2, 0, 1), ("a", 1, 0, 0), ("a", 3, 40, 0), ("a", 4, 0, 2))
    jump = "column 'at': point is reached only faster than max_speed = 50 m/s (1 row: 4)"
    assert refused(frame, max_speed=50) == [jump]
    made = table(frame, max_speed=50, invalid="drop")
    assert made.rows.tolist() == [1, 2, 5]
    assert made.reading.dropped == 1


@given(st.permutations(range(6)))
def test_the_order_of_points_in_the_file_makes_no_difference(order):
    frame = points(*(("ab"[minute % 2], minute, 0, minute // 2 % 2) for minute in range(6)))
    by_person = dict(zip("ab", table(frame).sequences.to_rows(), strict=True))
    shuffled = table(frame[list(order)])
    assert dict(zip(shuffled.persons, shuffled.sequences.to_rows(), strict=True)) == by_person


def test_a_trajectory_that_crosses_no_region_is_counted_and_left_out():
    frame = points(*((user, 0, 0, 0) for user in "abc"), ("d", 0, 5, 5))
    made = table(frame, DensityRegions(CELL, 0.5))
    assert made.persons.to_list() == ["a", "b", "c"]
    assert [str(each) for each in made.problems] == ["of 4, 1 trajectory crosses no region: left out"]
    lines = refused(frame, DensityRegions(CELL, 0.9))
    assert lines[0].startswith(
        "no cell is touched by a share of 0.9 of the trajectories, the densest by 0.75"
    )


def test_segments_touch_what_lies_between_points():
    frame = points(*((user, minute, 0, 4 * minute) for user in "ab" for minute in (0, 1)))
    by_points = table(frame, DensityRegions(CELL, 1.0))
    by_lines = table(frame, DensityRegions(CELL, 1.0, "segments"))
    assert len(by_points.regions.labels) == 2
    assert len(by_lines.regions.labels) == 1  # the five cells of the line grow together
    assert by_lines.sequences.to_rows() == [("1",), ("1",)]


def test_data_is_cut_at_the_date_line():
    frame = points(*((user, minute, 0, 0) for user in "ab" for minute in (0, 1, 2))).with_columns(
        pl.Series("lon", [179.999, -179.999, 179.999] * 2)
    )
    for touch in ("points", "segments"):
        made = table(frame, DensityRegions(CELL, 1.0, touch))
        assert len(made.regions.labels) == 2
        assert made.sequences.to_rows() == [("2", "1", "2")] * 2


def test_lines_over_more_cells_than_fit_are_refused(monkeypatch):
    frame = points(("a", 0, 0, 0), ("a", 1, 0, 8))
    monkeypatch.setattr("sequester.data.trajectories.MOST_CROSSED", 9)
    with pytest.raises(SchemaError, match="the lines between points cross 10 cells, more than 9: raise"):
        table(frame, DensityRegions(CELL, 1.0, "segments"))
    assert table(frame, DensityRegions(CELL, 1.0)).n_events == 2


trajectories = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5), min_size=1, max_size=6
)


@given(trajectories, st.sampled_from([0.3, 0.5]))
def test_sequences_of_density_regions_equal_definition(given_cells, threshold):
    rows = [(str(n), i, *cell) for n, cells in enumerate(given_cells) for i, cell in enumerate(cells)]
    boxes = oracle.density_regions(oracle.densities(given_cells), threshold * len(given_cells))
    boxes.sort(key=lambda box: (box[0], box[2]))
    if not boxes:
        refused(points(*rows), DensityRegions(CELL, threshold))
        return

    def region(cell):
        inside = [
            n for n, (s, north, w, e) in enumerate(boxes) if s <= cell[0] <= north and w <= cell[1] <= e
        ]
        return str(inside[0] + 1) if inside else None

    expected = [tuple(oracle.collapsed(map(region, cells))) for cells in given_cells]
    made = table(points(*rows), DensityRegions(CELL, threshold))
    assert made.sequences.to_rows() == [row for row in expected if row]


def test_parts_of_the_day_are_in_the_symbol_and_in_the_tree():
    frame = points(("a", 0, 0, 0), ("a", 300, 0, 0), ("a", 720, 0, 1))
    made = table(frame, time_of_day=[6, 10, 16, 20])
    (visits,) = made.sequences.to_rows()
    assert [visit.partition("@")[2] for visit in visits] == ["10-16", "16-20", "20-06"]
    tree = made.hierarchies["region"]
    region = visits[0].partition("@")[0]
    assert tree.generalize(visits[0], 1) == f"{region}@06-16"
    assert tree.generalize(visits[0], 2) == region


def test_parts_of_the_day_are_those_of_the_clock_that_was_written():
    frame = points(("a", 0, 0, 0), ("a", 300, 0, 0), ("a", 720, 0, 0))

    def parts(at, **roles):
        made = table(frame.with_columns(pl.Series("at", at)), time_of_day=[6, 10, 16, 20], **roles)
        notes = [str(each) for each in made.problems]
        return [visit.partition("@")[2] for visit in made.sequences.to_rows()[0]], notes

    clocks = ["2024-05-13T08:30", "2024-05-13T15:59", "2024-05-13T20:00"]
    expected = ["06-10", "10-16", "20-06"]
    assert parts(clocks) == (expected, [])
    assert parts([f"{clock}+05:30" for clock in clocks]) == (expected, [])
    assert parts([f"{clock}:00.5-0800" for clock in clocks]) == (expected, [])
    zoned = pl.Series(clocks).str.to_datetime(time_zone="Australia/Sydney")
    assert parts(zoned) == (expected, [])
    note = "column 'at': times are written in UTC, so place.time_of_day counts hours of UTC"
    assert parts([f"{clock}Z" for clock in clocks]) == (expected, [note])
    told = [f"13.05.2024 {clock[11:]} +0900" for clock in clocks]
    assert parts(told, time_format="%d.%m.%Y %H:%M %z") == (expected, [])
    plain = [f"13.05.2024 {clock[11:]}" for clock in clocks]
    assert parts(plain, time_format="%d.%m.%Y %H:%M") == (expected, [])
    amid = [f"+0900 13.05.2024 {clock[11:]}" for clock in clocks]
    odd = frame.with_columns(pl.Series("at", amid))
    assert refused(odd, time_of_day=[6, 10], time_format="%z %d.%m.%Y %H:%M") == [
        "time_format '%z %d.%m.%Y %H:%M' must end in its offset for the time of day to be read"
    ]


def test_the_order_of_events_is_that_of_utc_and_their_hour_that_of_the_clock():
    frame = points(("a", 0, 0, 0), ("a", 1, 0, 1), ("b", 0, 0, 0)).with_columns(
        pl.Series("at", ["2024-05-13T09:00+02:00", "2024-05-13T08:00+00:00", "2024-05-13T11:00+02:00"])
    )
    made = table(frame, DensityRegions(CELL, 0.5, "segments"), time_of_day=[6, 10])
    assert made.sequences.to_rows()[0][0].endswith("@06-10")
    assert [row[0].partition("@")[2] for row in made.sequences.to_rows()] == ["06-10", "10-06"]
    dropped = table(
        frame.with_columns(pl.Series("lat", [None, 45.0, 45.0])), time_of_day=[6, 10], invalid="drop"
    )
    assert [row[0].partition("@")[2] for row in dropped.sequences.to_rows()] == ["06-10", "10-06"]


def test_an_odd_part_of_the_day_joins_nobody():
    made = table(points(("a", 0, 0, 0), ("a", 600, 0, 0)), time_of_day=[0, 8, 16])
    assert {node for node in made.hierarchies["region"] if "alone" in node} == {"r1c1@16-00 alone"}


def test_a_pyramid_lies_above_the_grid():
    made = table(points(*(("a", n, n // 4, n % 4) for n in range(16))))
    tree = made.hierarchies["region"]
    assert tree.height >= 2
    assert all(tree.depth[leaf] == tree.height for leaf in tree.leaf_nodes)
    sizes = [len(tree.level_labels(level)) for level in range(tree.height + 1)]
    assert sizes[0] == 16
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


def test_outlines_hold_their_points_and_nothing_else_is_written():
    frame = points(("a", 0, 0, 0), ("a", 1, 3, 3))
    made = table(frame)
    first, second = made.sequences.to_rows()[0]
    document = json.loads(made.regions.geojson([first, "*"]))
    (feature,) = document["features"]
    assert feature["properties"] == {"region": first}
    longitudes, latitudes = zip(*feature["geometry"]["coordinates"][0], strict=True)
    assert min(latitudes) < frame["lat"][0] < max(latitudes)
    assert min(longitudes) < frame["lon"][0] < max(longitudes)
    apart = made.regions.metres([first, second])
    assert apart[0, 1] == pytest.approx(oracle.metres(spot(0, 0), spot(3, 3)), rel=1e-3)


def test_beside_sensitive_columns_a_region_is_a_quasi_identifier():
    frame = points(("a", 0, 0, 0), ("a", 1, 0, 0), ("b", 0, 0, 0), ("c", 0, 9, 9)).with_columns(
        pl.Series("ill", ["flu", "hiv", "flu", "flu"])
    )
    for touch in ("points", "segments"):
        made = table(frame, DensityRegions(CELL, 0.6, touch), sensitive={"ill": ["hiv"]})
        assert made.frame["region"].to_list() == ["1", "1", "1", None]  # a visit each, and one elsewhere
        assert list(made.labels) == ["region", "ill"]
        assert "(missing)" in made.hierarchies["region"]


def test_roles_that_do_not_go_together():
    frame = points(("a", 0, 0, 0))
    named = frame.with_columns(pl.lit("x").alias("region"))
    assert "column 'region' has the name that the regions of place get: rename it" in refused(named)
    assert any("place and symbol are both given" in line for line in refused(named, symbol="region"))
    place = Place("lat", "lon", GridRegions(CELL), time_of_day=[6, 18], max_speed=9)
    with pytest.raises(SchemaError) as caught:
        EventTable(frame, Schema(person="user", order="at", trip=Gap("1h"), place=place))
    assert {line for line in caught.value.lines if line.endswith("needs a time column")} == {
        "trip = { gap } needs a time column",
        "place.time_of_day needs a time column",
        "place.max_speed needs a time column",
    }
    with pytest.raises(SchemaError, match='person is "row"'):
        EventTable(frame, Schema(person="row", time="at", drop=["user"], place=place))
    with_trip = frame.with_columns(pl.Series("trip", [None], dtype=pl.String))
    assert refused(with_trip, trip="trip") == ["column 'trip': trip is missing (1 row: 1)"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GridRegions(0), "cell must be a number above 0, got 0"),
        (lambda: GridRegions(0.5), "cell must be at least 1 metre, got 0.5"),
        (lambda: DensityRegions(9, 2), "threshold must be a share of the trajectories"),
        (lambda: DensityRegions(9, 0.1, "lines"), 'touch must be "points" or "segments"'),
        (lambda: H3Regions(16), "resolution must be from 0 to 15, got 16"),
        (lambda: Gap("0s"), "gap must be a number"),
        (lambda: Place("a", "b", GridRegions(9), [24]), "time_of_day must be whole hours"),
        (lambda: Place("a", "b", GridRegions(9), [6]), "time_of_day must be at least two hours"),
        (lambda: Place("a", "b", GridRegions(9), max_speed=0), "max_speed must be a number above 0"),
    ],
)
def test_senseless_parameters(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_h3_says_which_extra_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "h3", None)
    with pytest.raises(HierarchyError, match=r"h3 needs the extra geo.*sequester\[geo\]"):
        table(points(("a", 0, 0, 0)), H3Regions(8))
    with pytest.raises(HierarchyError, match="extra geo"):
        Hierarchy.h3([7, 5]).build(["8828308281fffff"], column="cell")


class Squares:
    """What h3 does, with squares: a cell has four children; its name is resolution, row and column."""

    @staticmethod
    def latlng_to_cell(lat, lng, res):
        return f"{res}.{math.floor(lat * 2**res)}.{math.floor(lng * 2**res)}"

    @staticmethod
    def get_resolution(cell):
        return int(cell.partition(".")[0])

    @staticmethod
    def is_valid_cell(cell):
        return cell.count(".") == 2

    @staticmethod
    def cell_to_parent(cell, res):
        fine, row, column = map(int, cell.split("."))
        return f"{res}.{row >> (fine - res)}.{column >> (fine - res)}"

    @staticmethod
    def cell_to_boundary(cell):
        res, row, column = map(int, cell.split("."))
        return tuple(((row + y) / 2**res, (column + x) / 2**res) for y, x in ((0, 0), (0, 1), (1, 1), (1, 0)))

    @classmethod
    def cell_to_latlng(cls, cell):
        (south, west), _, (north, east), _ = cls.cell_to_boundary(cell)
        return (south + north) / 2, (west + east) / 2


def test_cells_of_a_library_become_regions_under_their_parents(monkeypatch):
    monkeypatch.setitem(sys.modules, "h3", Squares)
    frame = points(*((user, minute, 2 * minute, 0) for user in "abc" for minute in (0, 1, 9)))
    made = table(frame, H3Regions(7), time_of_day=[6, 18])
    visits = made.sequences.to_rows()[0]
    places = frame.select("lat", "lon").head(3).rows()
    expected = [Squares.latlng_to_cell(*place, 7) for place in places]
    assert [visit.partition("@")[0] for visit in visits] == list(dict.fromkeys(expected))
    tree = made.hierarchies["region"]
    assert tree.generalize(visits[0], tree.height) == "*"
    assert any(
        tree.generalize(visits[0], level) == Squares.cell_to_parent(expected[0], 6)
        for level in range(tree.height)
    )
    release = BFP2kA(k=3).apply(made, seed="a sentence nobody guesses")
    assert release.table.sequences.to_rows() == [visits] * 3
    outlined = json.loads(release.regions.geojson(expected))
    assert {each["properties"]["region"] for each in outlined["features"]} == {*expected}
    built = Hierarchy.h3([5, 3]).build(expected, column="cell")
    assert built.generalize(expected[0], 1) == Squares.cell_to_parent(expected[0], 5)
    with pytest.raises(HierarchyError, match="no H3 cell: 'x'"):
        Hierarchy.h3([7]).build(["x"], column="cell")


def test_h3_resolutions_get_coarser():
    with pytest.raises(HierarchyError, match="resolutions must get coarser"):
        Hierarchy.h3([5, 7])
    with pytest.raises(HierarchyError, match="resolutions must be a whole number from 0 to 15, got 16"):
        Hierarchy.h3([16])


def test_h3_cells_and_their_parents():
    h3 = pytest.importorskip("h3")
    made = table(points(("a", 0, 0, 0), ("a", 1, 5, 5), ("a", 2, 90, 0)), H3Regions(8))
    (visits,) = made.sequences.to_rows()
    assert visits[0] == h3.latlng_to_cell(*spot(0, 0), 8)
    assert made.hierarchies["region"].generalize(visits[0], 1) == h3.cell_to_parent(visits[0], 7)
    tree = Hierarchy.h3([7, 5]).build(visits, column="cell")
    assert tree.generalize(visits[0], 2) == h3.cell_to_parent(visits[0], 5)
    with pytest.raises(HierarchyError, match="no H3 cell: 'x'"):
        Hierarchy.h3([7]).build(["x"], column="cell")
