"""A dry run of a part foretells the whole, and turns to the whole where a part cannot tell."""

from __future__ import annotations

import polars as pl
import pytest

from sequester.datasets import clicks, trips
from sequester.errors import UnattainableError
from sequester.workflow import protect as module
from sequester.workflow.protect import dry_run

TOML = """
[data]
path = "clicks.parquet"
person = "user"
time = "at"
symbol.column = "page"
[method]
name = "p2ka"
k = {k}
[release]
path = "out"
{more}
"""


def write(folder, frame, k, more=""):
    frame.write_parquet(folder / "clicks.parquet")
    (folder / "release.toml").write_text(TOML.format(k=k, more=more))
    return folder / "release.toml"


def test_a_large_table_is_tried_on_some_persons(tmp_path, monkeypatch):
    config = write(tmp_path, clicks.make(persons=2_000), 5)
    monkeypatch.setattr(module, "TRIAL_EVENTS", 4_000)
    forecast = dry_run(config)
    assert forecast.n_persons == 2_000
    assert 200 < forecast.trial.n_input_persons < 1_000
    assert not forecast.is_whole
    assert forecast.trial.verdict.holds
    assert forecast.seconds > 0
    assert forecast.warnings == ()
    assert {path.name for path in tmp_path.iterdir()} == {"clicks.parquet", "release.toml"}


def test_a_part_that_is_too_small_for_the_promise_decides_nothing(tmp_path, monkeypatch):
    config = write(tmp_path, clicks.make(persons=600), 150)
    monkeypatch.setattr(module, "TRIAL_EVENTS", 300)
    forecast = dry_run(config)
    assert forecast.is_whole
    assert forecast.trial.verdict.achieved["k"] >= 150


def test_what_the_whole_cannot_keep_is_unattainable(tmp_path, monkeypatch):
    config = write(tmp_path, clicks.make(persons=600), 590)
    monkeypatch.setattr(module, "TRIAL_EVENTS", 300)
    with pytest.raises(UnattainableError, match="k = 590 releases nothing"):
        dry_run(config)


def test_a_part_that_loses_too_much_decides_nothing(tmp_path, monkeypatch):
    # Of twelve persons of each kind a part has too few, and so loses them; the whole loses nobody.
    pages = pl.Series([f"page{i % 40}" for i in range(480)])
    users = pl.Series([f"u{i}" for i in range(480)])
    frame = pl.DataFrame({"user": users, "at": ["2024-01-01"] * 480, "page": pages})
    config = write(tmp_path, frame, 12, "max_suppressed = 0.01")
    monkeypatch.setattr(module, "TRIAL_EVENTS", 240)
    forecast = dry_run(config)
    assert forecast.is_whole
    assert forecast.trial.lost_share == 0


GPS = """
[data]
path = "gps.csv"
person = "user"
time = "at"
trip = "trip"
[data.place]
lat = "lat"
lon = "lon"
regions = { kind = "grid", cell = 3000 }
[method]
name = "p2ka"
k = 5
[release]
path = "out"
"""


@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_points_are_tried_on_all_points_of_some_persons(tmp_path, monkeypatch):
    frame = trips.make(persons=200)
    frame.write_csv(tmp_path / "gps.csv")
    (tmp_path / "release.toml").write_text(GPS)
    monkeypatch.setattr(module, "TRIAL_EVENTS", 800)
    forecast = dry_run(tmp_path / "release.toml")
    n_trips = frame.select("user", "trip").unique().height
    assert (forecast.n_persons, forecast.n_trips) == (200, n_trips)
    assert 20 < forecast.tried_persons < 180
    assert forecast.tried_persons < forecast.trial.n_input_persons < n_trips
    assert not forecast.is_whole
    document = forecast.to_json()
    assert (document["persons"], document["trips"]) == (200, n_trips)
    assert document["tried_persons"] == forecast.tried_persons


def test_rows_that_are_persons_are_tried_in_part(tmp_path, monkeypatch):
    pages = pl.Series([f"page{i % 4}" for i in range(400)])
    pl.DataFrame({"page": pages}).write_parquet(tmp_path / "clicks.parquet")
    toml = TOML.format(k=5, more="").replace('"user"', '"row"').replace('time = "at"\n', "")
    (tmp_path / "release.toml").write_text(toml)
    monkeypatch.setattr(module, "TRIAL_EVENTS", 200)
    forecast = dry_run(tmp_path / "release.toml")
    assert (forecast.n_persons, forecast.tried_persons) == (400, 200)
