"""Places and trips from the configuration to a verified release, and the same bytes again."""

from __future__ import annotations

import tomllib

import polars as pl
import pytest

from sequester.datasets import trips
from sequester.errors import InputError, UnattainableError
from sequester.workflow.config import Config
from sequester.workflow.hierarchy import build_hierarchy, lint_hierarchies, show_hierarchy
from sequester.workflow.protect import protect
from sequester.workflow.run import RunContext
from sequester.workflow.verify import verify_release

TOML = """
[data]
path = "gps.csv"
person = "user"
time = "at"
trip = { gap = "30min" }
drop = ["trip"]
[data.place]
lat = "lat"
lon = "lon"
regions = { kind = "density", cell = 500, threshold = 0.03 }
time_of_day = [6, 12, 18]
max_speed = 60
[method]
name = "p2ka"
k = 5
nearness = { metres = 2000, minutes = 30 }
[release]
path = "out"
"""


@pytest.fixture
def config(tmp_path):
    trips.make(persons=200).write_csv(tmp_path / "gps.csv")
    path = tmp_path / "release.toml"
    path.write_text(TOML)
    return path


def test_points_become_a_verified_release_that_can_be_repeated(config, tmp_path):
    done = protect(config, seed="a sentence nobody guesses", quick=True)
    assert done.release.trips
    assert done.release.unit == "trips"
    assert done.to_json()["trips"]["released"] == len(done.release.pseudonyms)
    assert "persons" not in done.to_json()
    assert "displacement_without_nearness" in done.release.utility
    assert "No attack was tried" not in (tmp_path / "out" / "internal" / "report.html").read_text()
    folder = tmp_path / "out" / "release"
    assert verify_release(folder)
    heard = []
    assert verify_release(folder, original=config, run=RunContext(warn=heard.append))
    assert not any("pseudonyms" in line for line in heard)
    again = tmp_path / "out" / "internal" / "release.toml"
    written = tomllib.loads(again.read_text())
    assert written["method"]["nearness"] == {"metres": 2000, "minutes": 30}
    assert written["data"]["trip"] == {"gap": "30min"}
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    protect(again, out=tmp_path / "again", quick=True)
    after = {path.name: path.read_bytes() for path in (tmp_path / "again" / "release").iterdir()}
    assert after == before


def test_the_tree_of_regions_is_linted_shown_and_written(config, tmp_path):
    (linted,) = lint_hierarchies(config)
    assert (linted.attribute, linted.findings) == ("region", ())
    shown = show_hierarchy(config, "region")
    assert shown.persons[0] == 200  # persons, and not their trips
    assert shown.events[0] == shown.to_json()["nodes"][0]["events"] > 200
    out = tmp_path / "region.csv"
    build_hierarchy(config, "region", out=out)
    leaves = {line.partition(";")[0] for line in out.read_text().splitlines()}
    assert len(leaves) == linted.n_values
    with pytest.raises(
        InputError, match="ATTRIBUTE must be a column with a hierarchy, one of 'region', got 'lat'"
    ):
        show_hierarchy(config, "lat")


def test_beside_other_quasi_identifiers_regions_are_linted_too(config, tmp_path):
    trips.make(persons=20).drop("trip").with_columns(sex=pl.lit("f")).write_csv(tmp_path / "gps.csv")
    text = TOML.replace('trip = { gap = "30min" }\ndrop = ["trip"]\n', "").partition("[method]")[0]
    config.write_text(text + '[data.quasi.sex]\nhierarchy = { kind = "flat" }\n')
    assert [each.attribute for each in lint_hierarchies(config)] == ["sex", "region"]


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (", threshold = 0.03", "", "data.place.regions.threshold is missing; it must be a number"),
        ("cell = 500", "cell = 0", "data.place.regions.cell must be a number above 0, got 0"),
        ("cell = 500", "cell = nan", "data.place.regions.cell must be a number above 0, got nan"),
        ('kind = "density"', 'kind = "hex"', "data.place.regions.kind must be one of density, grid, h3"),
        ('"30min"', '"0min"', "data.trip.gap must be a number of s, min, h or d such as"),
        ('"30min"', '"3 moons"', "data.trip.gap must be a number of s, min, h or d such as"),
        ("[6, 12, 18]", "[6]", "data.place.time_of_day must be at least two hours"),
        ("max_speed = 60", "max_speed = -1", "data.place.max_speed must be a number above 0, got -1"),
    ],
)
def test_senseless_settings_are_one_line(config, right, wrong, message):
    config.write_text(TOML.replace(right, wrong))
    with pytest.raises(InputError) as caught:
        Config.load(config).schema  # noqa: B018  (some are found only now)
    (line,) = caught.value.lines
    assert message in line


@pytest.mark.parametrize(
    ("lat", "lon", "messages"),
    [
        ("91", "9.0", ["column 'lat': '91' is not a latitude from -90 to 90 (2 rows: 1, 2)"]),
        ("45.0", "nan", ["column 'lon': 'nan' is not a longitude from -180 to 180 (2 rows: 1, 2)"]),
        ("north", "9.0", ["column 'lat': 'north' is not a latitude from -90 to 90 (2 rows: 1, 2)"]),
        ("", "9.0", ["column 'lat': latitude is missing (2 rows: 1, 2)"]),
    ],
)
def test_bad_points_are_one_line_each(config, tmp_path, lat, lon, messages):
    rows = "".join(f"u{user},1,{lat},{lon},2024-05-13T08:00\n" for user in "12")
    (tmp_path / "gps.csv").write_text(f"user,trip,lat,lon,at\n{rows}")
    with pytest.raises(InputError) as caught:
        protect(config)
    assert list(caught.value.lines) == messages


def test_everybody_at_one_place_and_nobody_else(config, tmp_path):
    config.write_text(TOML.replace("k = 5", "k = 2").replace("2000, minutes", "20, minutes"))
    rows = [f"u{user},1,45.0,9.0,2024-05-13T08:0{minute}" for user in "12" for minute in (0, 0, 1)]
    (tmp_path / "gps.csv").write_text("\n".join(["user,trip,lat,lon,at", *rows, ""]))
    assert protect(config, quick=True).release.frame["region"].to_list() == ["1@06-12"] * 2
    (tmp_path / "gps.csv").write_text("\n".join(["user,trip,lat,lon,at", rows[0], ""]))
    with pytest.raises(UnattainableError, match="k = 2 is more than the 1 person"):
        protect(config, force=True)


def test_one_number_of_metres_is_enough(config):
    config.write_text(TOML.replace("{ metres = 2000, minutes = 30 }", "500"))
    assert Config.load(config).method().parameters()["nearness"] == {"metres": 500}
    config.write_text(TOML.replace("{ metres = 2000, minutes = 30 }", "{ miles = 3 }"))
    with pytest.raises(InputError, match=r"method\.nearness must be"):
        Config.load(config)
