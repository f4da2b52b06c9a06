"""Coordinates are found by name and range, and the block that turns them into regions works as it stands."""

from __future__ import annotations

import polars as pl
import pytest

from sequester.datasets import trips
from sequester.workflow.config import Config
from sequester.workflow.draft.column import Column
from sequester.workflow.draft.coordinates import find_coordinates
from sequester.workflow.init import init


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"lat": [45.1, -3.5], "lng": [9.5, 120.5]}, ("lat", "lng")),
        ({"Latitude": [45.1, -3.5], "Longitude": [9.5, 120.5]}, ("Latitude", "Longitude")),
        ({"lat": [45.1, 91.5], "lon": [9.5, 120.5]}, None),
        ({"lat": [45.1, 3.5], "lon": [9.5, 180.5]}, None),
        ({"lat": ["north", "south"], "lon": [9.5, 10.5]}, None),
        ({"lat": [4, 5], "lon": [9, 10]}, None),
        ({"lat": [45.1, 3.5], "x": [9.5, 120.5]}, None),
        ({"lat_from": [45.1, 3.5], "lat_to": [5.1, 3.5], "lon": [9.5, 120.5]}, None),
    ],
)
def test_a_pair_of_coordinates_is_found_or_none(columns, expected):
    assert find_coordinates(Column(name, pl.Series(values)) for name, values in columns.items()) == expected


def test_the_block_of_a_draft_turns_points_into_regions(tmp_path):
    trips.make(persons=100).write_csv(tmp_path / "gps.csv")
    out = tmp_path / "release.toml"
    init(tmp_path / "gps.csv", out).write()
    lines = out.read_text().splitlines()
    start = lines.index("#[data.place]")
    assert lines[start + 1 : start + 3] == ['#lat = "lat"', '#lon = "lon"']
    block = [line.removeprefix("#") for line in lines[start : start + 4]]
    first = next(number for number, line in enumerate(lines) if line.startswith("[data.quasi"))
    out.write_text(
        "\n".join([*lines[:first], 'trip = "trip"', *block, *lines[lines.index("[release]") :], ""])
    )
    table = Config.load(out).table()
    assert (table.n_owners, table.symbol) == (100, "region")
