"""The log of activities has a routine, and the taxonomy covers it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sequester.datasets import activities
from sequester.errors import ParameterError


@pytest.fixture(scope="module")
def made() -> pl.DataFrame:
    return activities.make(days=364, seed="shape")


def entropy(log):
    """Bits of the next activity, given this one."""
    pairs = log.select("activity", then=pl.col("activity").shift(-1)).drop_nulls()
    counts = pairs.group_by("activity", "then").len()
    share = counts["len"] / counts["len"].sum()
    given = counts.select(pl.col("len") / pl.col("len").sum().over("activity"))["len"]
    return -(share * given.log(2)).sum()


def test_columns_and_length(made):
    assert made.schema == {"user": pl.String, "at": pl.Datetime("us"), "activity": pl.String}
    assert made.null_count().sum_horizontal().item() == 0
    assert made["user"].unique().to_list() == ["u1"]
    assert made["at"].dt.date().n_unique() >= 364
    assert 14 < len(made) / 364 < 20


def test_times_rise(made):
    assert (made["at"].diff().drop_nulls() > pl.Series([0]).cast(pl.Duration)).all()


def test_a_day_begins_in_the_morning_and_ends_with_sleep(made):
    nights = made.filter(pl.col("activity") == "sleep")
    assert len(nights) == 364
    after = made.with_columns(was=pl.col("activity").shift()).filter(pl.col("was") == "sleep")
    assert after["at"].dt.hour().is_between(4, 10).all()
    workdays = after.filter(pl.col("at").dt.weekday() <= 5)["at"].dt.hour().mean()
    assert workdays < after.filter(pl.col("at").dt.weekday() > 5)["at"].dt.hour().mean() - 1


def test_work_and_therapy_have_their_days(made):
    by_day = made.group_by("activity", day=pl.col("at").dt.weekday()).len()
    desk = by_day.filter(pl.col("activity") == "desk")
    assert set(desk["day"]) == {1, 2, 3, 4, 5}
    therapy = by_day.filter(pl.col("activity") == "therapy")
    assert therapy["day"].to_list() == [2]
    # 52 Tuesdays, nine in ten.
    assert abs(therapy["len"].item() - 0.9 * 52) < 5 * np.sqrt(52 * 0.9 * 0.1)


@pytest.mark.parametrize("pattern", activities.SENSITIVE)
def test_sensitive_patterns_occur_and_not_every_day(made, pattern):
    names = made["activity"].to_list()
    near = sum(names[i] == pattern[0] and pattern[1] in names[i + 1 : i + 11] for i in range(len(names)))
    assert 20 < near < 200


def test_the_taxonomy_covers_the_log_and_the_log_the_taxonomy():
    tree = activities.taxonomy()
    leaves = {tree.labels[node] for node in tree.leaf_nodes}
    log = activities.make(persons=30, days=60, regularity=0.3)
    assert set(log["activity"]) == leaves
    assert tree.height == 3
    assert (tree.depth[tree.leaf_nodes] == 3).all()


def test_regularity_makes_the_next_activity_easier_to_guess():
    loose, usual, strict = (
        entropy(activities.make(days=300, regularity=share, seed="routine")) for share in (0.0, 0.85, 1.0)
    )
    assert loose > usual > strict


def test_persons_have_routines_of_their_own():
    log = activities.make(persons=12, days=40, regularity=1, seed="own")
    commutes = log.filter(pl.col("activity").is_in(["bus", "bicycle", "walk"]))
    usual = commutes.group_by("user").agg(pl.col("activity").mode().sort().first())["activity"]
    assert usual.n_unique() > 1
    assert log["user"].n_unique() == log["user"].rle_id().n_unique() == 12


def test_the_seed_repeats_the_table():
    assert activities.make(days=9, seed="a").equals(activities.make(days=9, seed="a"))
    assert not activities.make(days=9, seed="a").equals(activities.make(days=9, seed="b"))


def test_long_logs_are_made_in_parts(monkeypatch):
    monkeypatch.setattr(activities, "_DAYS_AT_ONCE", 8)
    log = activities.make(persons=3, days=21)
    assert log.filter(pl.col("activity") == "sleep").group_by("user").len()["len"].to_list() == [21] * 3
    assert log.select((pl.col("at").diff().over("user").drop_nulls() > pl.duration()).all()).item()


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"persons": 0}, "persons must be between 1 and 10,000,000, got 0"),
        ({"persons": 1_000_000}, "persons times days must be between 1 and 10,000,000, got 180,000,000"),
        ({"days": 0}, "days must be at least 1, got 0"),
        ({"regularity": 1.5}, "regularity must be between 0 and 1, got 1.5"),
    ],
)
def test_parameters_outside_their_range_are_refused(wrong, line):
    with pytest.raises(ParameterError) as refused:
        activities.make(**wrong)
    assert refused.value.lines == (line,)
