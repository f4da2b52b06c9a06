"""Daily records have the shape they promise: skewed values, and days that are not eligible."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sequester.datasets import days
from sequester.errors import ParameterError


@pytest.fixture(scope="module")
def made() -> pl.DataFrame:
    return days.make(persons=30_000, days=60, seed="shape")


def largest_shares(records):
    """The share of the most frequent diagnosis, day by day."""
    counts = records.group_by("date", "diagnosis").len()
    return counts.group_by("date").agg(share=pl.col("len").max() / pl.col("len").sum()).sort("date")["share"]


def test_columns_and_persons(made):
    assert made.schema == {
        "patient": pl.String,
        "date": pl.Date,
        "sex": pl.String,
        "age": pl.Int64,
        "district": pl.String,
        "diagnosis": pl.String,
    }
    assert made["patient"].n_unique() == 30_000
    assert made.null_count().sum_horizontal().item() == 0
    assert made["age"].is_between(0, 99).all()
    assert made["district"].n_unique() == 24
    assert set(made["diagnosis"]) == set(days.DIAGNOSES)


def test_records_come_day_by_day_and_one_a_day(made):
    assert made["date"].is_sorted()
    assert made["date"].n_unique() == 60
    assert (made["date"].max() - made["date"].min()).days == 59
    assert made.select("patient", "date").is_unique().all()
    assert not made.filter(pl.col("date") == pl.col("date").min())["patient"].is_sorted()


def test_patients_stay_who_they_are(made):
    same = made.group_by("patient").agg(pl.col("sex", "age", "district").n_unique())
    assert same.select(pl.all_horizontal(pl.col("sex", "age", "district") == 1).all()).item()


def test_outbreaks_make_days_that_are_not_eligible(made):
    shares = largest_shares(made)
    # 0.6 to 0.9 of an outbreak is one value; a day has about 650 records, so the counts stray by 0.02.
    assert (shares > 1 / 2).sum() == 6
    assert shares.filter(shares > 1 / 2).is_between(0.5, 1).all()
    assert (shares > 1 / 3).sum() == 6
    assert (shares > 1 / 6).all()


@pytest.mark.parametrize("outbreaks", [0.0, 0.25, 1.0])
def test_outbreaks_are_a_share_of_the_days(outbreaks):
    shares = largest_shares(days.make(persons=30_000, days=40, outbreaks=outbreaks))
    assert (shares > 1 / 2).sum() == round(40 * outbreaks)


@pytest.mark.parametrize("skew", [0.0, 1.0, 2.0])
def test_skew_is_the_exponent_of_the_shares(skew):
    records = days.make(persons=40_000, outbreaks=0, skew=skew)
    weights = np.arange(1, len(days.DIAGNOSES) + 1.0) ** -skew
    expected = weights / weights.sum()
    counts = dict(records["diagnosis"].value_counts().iter_rows())
    seen = np.array([counts[name] for name in days.DIAGNOSES]) / len(records)
    assert (np.abs(seen - expected) < 5 * np.sqrt(expected * (1 - expected) / len(records))).all()


def test_mean_records(made):
    # 1 + Poisson(0.3); the chance that two of them meet on one of 60 days is about E[n (n - 1)] / 2 / 60.
    expected = 1.3 - (2 * 0.3 + 0.3**2) / 2 / 60
    assert abs(len(made) / 30_000 - expected) < 5 * np.sqrt(0.3 / 30_000) + 0.002
    assert len(days.make(persons=1_000, mean_records=1)) == 1_000


def test_mondays_are_busier_than_sundays(made):
    week = dict(made["date"].dt.weekday().value_counts().iter_rows())
    assert week[1] > 1.4 * week[7]


def test_the_seed_repeats_the_table():
    assert days.make(persons=40, seed="a").equals(days.make(persons=40, seed="a"))
    assert not days.make(persons=40, seed="a").equals(days.make(persons=40, seed="b"))


def test_one_person_one_day():
    assert len(days.make(persons=1, days=1, mean_records=5)) == 1


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"persons": 0}, "persons must be between 1 and 10,000,000, got 0"),
        ({"days": 0}, "days must be at least 1, got 0"),
        ({"mean_records": 0.9}, "mean_records must be at least 1, got 0.9"),
        ({"skew": -1}, "skew must be at least 0, got -1"),
        ({"outbreaks": 2}, "outbreaks must be between 0 and 1, got 2"),
    ],
)
def test_parameters_outside_their_range_are_refused(wrong, line):
    with pytest.raises(ParameterError) as refused:
        days.make(**wrong)
    assert refused.value.lines == (line,)
