"""Trips stay on the streets, keep to plausible speeds and times, and every parameter moves what it names."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sequester.datasets import trips
from sequester.errors import ParameterError

SIZE = 12_000.0


@pytest.fixture(scope="module")
def made() -> pl.DataFrame:
    return in_metres(trips.make(persons=1_500, days=2, seed="shape"))


def in_metres(points, size=SIZE):
    """Add metres from the south-western corner."""
    lat, lon = trips.CENTRE
    east = trips.METRES_PER_DEGREE * np.cos(np.radians(lat))
    return points.with_columns(
        x=(pl.col("lon") - lon) * east + size / 2,
        y=(pl.col("lat") - lat) * trips.METRES_PER_DEGREE + size / 2,
    )


def off_line(metres, spacing):
    """Metres to the nearest of the parallel lines that are `spacing` apart."""
    return (metres - (metres / spacing).round() * spacing).abs()


def moves(points):
    """Seconds and metres between points of one trip."""
    step = [pl.col(name).diff().over("user", "trip") for name in ("at", "x", "y")]
    return points.select(
        seconds=step[0].dt.total_seconds(), metres=(step[1] ** 2 + step[2] ** 2).sqrt()
    ).drop_nulls()


def test_columns_and_persons(made):
    plain = made.drop("x", "y")
    assert plain.schema == {
        "user": pl.String,
        "trip": pl.Int64,
        "lat": pl.Float64,
        "lon": pl.Float64,
        "at": pl.Datetime("us"),
    }
    assert plain.null_count().sum_horizontal().item() == 0
    assert plain["user"].n_unique() == plain["user"].rle_id().n_unique() == 1_500


def test_trips_are_numbered_and_times_rise(made):
    numbers = made.group_by("user").agg(pl.col("trip").unique(maintain_order=True))["trip"]
    assert all(own.to_list() == list(range(1, len(own) + 1)) for own in numbers)
    assert made.select((pl.col("at").diff().over("user").drop_nulls() > pl.duration()).all()).item()
    assert made["at"].dt.date().n_unique() == 2


def test_speeds_are_those_of_a_city(made):
    steps = moves(made)
    assert steps["seconds"].max() == 60
    whole = steps.filter(pl.col("seconds") == 60)
    # The receiver errs by 4 metres at both ends, in both directions; six standard deviations are room enough.
    assert (whole["metres"] <= 60 * trips.FASTEST + 6 * 4 * 2).all()
    mean = whole["metres"].sum() / whole["seconds"].sum()
    assert 5 < mean < 13


def test_points_lie_on_streets_and_most_on_avenues(made):
    to_street = pl.min_horizontal(off_line(pl.col("x"), trips.STREET), off_line(pl.col("y"), trips.STREET))
    to_avenue = pl.min_horizontal(off_line(pl.col("x"), trips.AVENUE), off_line(pl.col("y"), trips.AVENUE))
    near = made.select(street=to_street < 6 * 4, avenue=to_avenue < 6 * 4)
    assert near["street"].all()
    # One street in five is an avenue.
    assert near["avenue"].mean() > 0.6


def test_corridors_are_shared(made):
    cells = made.select(
        "user", cell=pl.concat_str((pl.col("x") / 500).floor(), pl.lit(" "), (pl.col("y") / 500).floor())
    )
    crowd = cells.group_by("cell").agg(pl.col("user").n_unique())["user"].sort(descending=True)
    assert crowd[0] > 0.2 * 1_500
    assert crowd.median() < 0.05 * 1_500


def test_everybody_starts_and_ends_the_day_at_home(made):
    ends = made.group_by("user", pl.col("at").dt.date().alias("day"), maintain_order=True).agg(
        pl.col("x", "y").first().name.suffix("_first"), pl.col("x", "y").last().name.suffix("_last")
    )
    homes = pl.concat(
        ends.select("user", pl.col(f"x_{end}").alias("x"), pl.col(f"y_{end}").alias("y"))
        for end in ("first", "last")
    )
    spread = homes.group_by("user").agg(pl.col("x", "y").max() - pl.col("x", "y").min())
    assert spread.select(pl.max_horizontal("x", "y")).max().item() < 12 * 4


def test_hours_are_those_of_a_working_day(made):
    starts = made.group_by("user", "trip", maintain_order=True).agg(pl.col("at").first())
    hours = starts.filter(pl.col("trip") == 1)["at"].dt.hour()
    assert hours.is_between(5, 9).all()
    assert 7 <= hours.mean() <= 8
    assert made["at"].dt.hour().is_between(5, 23).all()


@pytest.mark.parametrize("errands", [0.0, 0.3, 1.0])
def test_errands_are_a_third_trip(errands):
    n = 2_000
    numbers = trips.make(persons=n, errands=errands).group_by("user").agg(pl.col("trip").max())["trip"]
    assert abs((numbers == 3).mean() - errands) <= 5 * np.sqrt(errands * (1 - errands) / n)
    assert (numbers >= 2).all()


def test_noise_is_the_receivers_error():
    exact, blurred = (
        in_metres(trips.make(persons=500, noise=noise, seed="noise")).select(
            off=pl.min_horizontal(off_line(pl.col("x"), trips.STREET), off_line(pl.col("y"), trips.STREET))
        )["off"]
        for noise in (0.0, 10.0)
    )
    # Coordinates have six decimals: a tenth of a metre.
    assert exact.max() < 0.15
    # Across the street the error is normal; near a crossing the other street may be closer.
    assert 0.6 * 10 * np.sqrt(2 / np.pi) < blurred.mean() < 10 * np.sqrt(2 / np.pi)


def test_every_and_size_move_the_number_of_points():
    few, many, far = (
        len(trips.make(persons=300, **kwargs))
        for kwargs in ({"every": 120}, {"every": 30}, {"size": 30_000.0})
    )
    assert many > 3 * few
    assert far > 3 * few
    steps = moves(in_metres(trips.make(persons=300, every=30)))
    assert steps["seconds"].max() == 30


def test_the_seed_repeats_the_table():
    assert trips.make(persons=40, seed="a").equals(trips.make(persons=40, seed="a"))
    assert not trips.make(persons=40, seed="a").equals(trips.make(persons=40, seed="b"))


def test_parts_are_one_table(monkeypatch):
    # The points of a trip depend on its own numbers only, apart from the error, which is drawn in order.
    whole = trips.make(persons=200, noise=0)
    monkeypatch.setattr(trips, "_TRIPS_AT_ONCE", 7)
    assert trips.make(persons=200, noise=0).equals(whole)


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"persons": 0}, "persons must be between 1 and 10,000,000, got 0"),
        ({"every": 0}, "every must be at least 1, got 0"),
        ({"errands": 1.1}, "errands must be between 0 and 1, got 1.1"),
        ({"size": 100}, "size must be between 2,000 and 40,000, got 100"),
        ({"noise": -1}, "noise must be at least 0, got -1"),
    ],
)
def test_parameters_outside_their_range_are_refused(wrong, line):
    with pytest.raises(ParameterError) as refused:
        trips.make(**wrong)
    assert refused.value.lines == (line,)


def test_the_largest_city_does_not_mix_days_up():
    made = trips.make(persons=300, days=3, size=40_000.0, every=600, errands=1)
    assert made.select((pl.col("at").diff().over("user").drop_nulls() > pl.duration()).all()).item()
