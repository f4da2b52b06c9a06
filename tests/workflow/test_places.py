"""Places and trips from the configuration to a verified release, and the same bytes again."""

from __future__ import annotations

import tomllib

import pytest

from sequester.datasets import trips
from sequester.errors import InputError
from sequester.workflow.config import Config
from sequester.workflow.protect import protect
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
    done = protect(config, seed="a sentence nobody guesses")
    assert done.release.trips
    assert done.release.unit == "trips"
    assert "displacement_without_nearness" in done.release.utility
    folder = tmp_path / "out" / "release"
    assert verify_release(folder)
    heard = []
    assert verify_release(folder, original=config, warn=heard.append)
    assert not any("pseudonyms" in line for line in heard)
    again = tmp_path / "out" / "internal" / "release.toml"
    written = tomllib.loads(again.read_text())
    assert written["method"]["nearness"] == {"metres": 2000, "minutes": 30}
    assert written["data"]["trip"] == {"gap": "30min"}
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    protect(again, out=tmp_path / "again")
    after = {path.name: path.read_bytes() for path in (tmp_path / "again" / "release").iterdir()}
    assert after == before


def test_one_number_of_metres_is_enough(config):
    config.write_text(TOML.replace("{ metres = 2000, minutes = 30 }", "500"))
    assert Config.load(config).method().parameters()["nearness"] == {"metres": 500}
    config.write_text(TOML.replace("{ metres = 2000, minutes = 30 }", "{ miles = 3 }"))
    with pytest.raises(InputError, match=r"method\.nearness must be"):
        Config.load(config)
