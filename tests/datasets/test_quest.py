"""Quest baskets and visits have the shape they promise, and every parameter moves what it names."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from sequester.datasets import quest
from sequester.datasets.hospital import PROTECTED, YEARS
from sequester.datasets.quest import PatternPool
from sequester.errors import ParameterError

PERSONS = 3_000
SMALL = PatternPool(items=300, itemsets=200, sequences=50)
WIDE = {"items": 3_000, "itemsets": 2_000, "sequences": 300}


def means(made):
    """Baskets per customer and items per basket."""
    baskets = made.group_by("customer", "basket").len()
    return len(baskets) / made["customer"].n_unique(), baskets["len"].mean()


@pytest.fixture(scope="module")
def made() -> pl.DataFrame:
    return quest.make(persons=PERSONS, seed="shape")


def test_columns_and_persons(made):
    assert made.schema == {"customer": pl.String, "basket": pl.Int64, "item": pl.String}
    assert made["customer"].n_unique() == PERSONS
    assert made.null_count().sum_horizontal().item() == 0
    assert made["item"].str.contains(r"^i\d{5}$").all()
    assert made["customer"].rle_id().n_unique() == PERSONS


def test_baskets_are_numbered_without_holes_and_hold_no_item_twice(made):
    numbers = made.group_by("customer", maintain_order=True).agg(pl.col("basket"))["basket"]
    for baskets in numbers.head(500):
        assert baskets.is_sorted()
        assert baskets.unique().sort().to_list() == list(range(1, baskets.max() + 1))
    assert made.is_unique().all()


def test_sizes_are_near_what_was_asked_for(made):
    # Empty baskets are left out, and a pattern that does not fit is dropped half the time.
    baskets, items = means(made)
    assert 8 < baskets < 10
    assert 2 < items < 3
    planned = made.group_by("customer").len()["len"].mean()
    assert 0.85 * 10 * 2.5 < planned < 1.05 * 10 * 2.5


def test_mean_baskets_and_mean_items_move_the_means():
    few = means(quest.make(persons=PERSONS, mean_baskets=4, mean_items=2, pool=SMALL))
    long = means(quest.make(persons=PERSONS, mean_baskets=12, mean_items=2, pool=SMALL))
    wide = means(quest.make(persons=PERSONS, mean_baskets=4, mean_items=6, pool=SMALL))
    assert long[0] > 2.5 * few[0]
    assert wide[1] > 1.8 * few[1]


def lift(made):
    """How much more often items follow each other than chance would have it, over the frequent pairs."""
    n = made["customer"].n_unique()
    held = made.group_by("customer", "item").agg(first=pl.col("basket").min(), last=pl.col("basket").max())
    held = held.with_columns(supporters=pl.len().over("item"))
    pairs = held.join(held, on="customer", suffix="_then").filter(
        pl.col("first") < pl.col("last_then"), pl.col("item") != pl.col("item_then")
    )
    counted = pairs.group_by("item", "item_then").agg(
        together=pl.len(), alone=pl.col("supporters").first() * pl.col("supporters_then").first() / n
    )
    frequent = counted.filter(pl.col("together") >= 0.01 * n)
    return (frequent["together"] / frequent["alone"]).mean()


def test_customers_share_patterns():
    made = quest.make(persons=PERSONS, pool=PatternPool(**WIDE), seed="shared")
    order = np.random.Generator(np.random.PCG64(1)).permutation(len(made))
    shuffled = made.with_columns(made["item"].gather(order)).unique(maintain_order=True)
    assert lift(shuffled) < 1
    assert lift(made) > 4


def test_confidence_keeps_patterns_whole():
    kept, torn = (
        quest.make(persons=PERSONS, pool=PatternPool(**WIDE, confidence=confidence, deviation=0))
        for confidence in (1.0, 0.3)
    )
    assert lift(kept) > 1.2 * lift(torn)


def test_correlation_makes_neighbours_alike():
    def alike(correlation):
        pool = PatternPool(correlation=correlation)
        chance = np.random.Generator(np.random.PCG64(7))
        weights = np.full(pool.items, 1 / pool.items)
        elements, offsets, _, _ = quest._patterns(chance, pool, 2_000, 8.0, weights)
        rows = [set(elements[a:b].tolist()) for a, b in pairwise(offsets)]
        return np.mean([len(a & b) / len(b) for a, b in pairwise(rows)])

    # Of b taken from a: correlation times an exponential of mean 1, cut off at the whole; 10,000 items hardly
    # ever meet by chance.
    assert alike(0.0) < 0.01
    assert 0.18 < alike(0.25) < 0.27
    assert alike(0.25) < alike(0.6)


def test_few_items_that_can_never_fill_the_baskets():
    made = quest.make(persons=50, mean_items=9, pool=PatternPool(items=2, itemsets=3, sequences=2))
    assert made["customer"].n_unique() == 50
    assert set(made["item"]) <= {"i1", "i2"}
    assert made.is_unique().all()


def test_patterns_that_are_always_corrupted_away_leave_one_item_each():
    pool = PatternPool(items=20, itemsets=5, sequences=5, confidence=0.0, deviation=0)
    made = quest.make(persons=40, pool=pool)
    assert made.group_by("customer").len()["len"].to_list() == [1] * 40
    assert made["basket"].to_list() == [1] * 40


@pytest.mark.parametrize("make", [quest.make, quest.longitudinal])
def test_the_seed_repeats_the_table(make):
    assert make(persons=60, seed="a").equals(make(persons=60, seed="a"))
    assert not make(persons=60, seed="a").equals(make(persons=60, seed="b"))


@pytest.mark.parametrize(("mean_events", "thesis"), [(3, 0.35), (5, 0.45), (10, 0.67)])
def test_longitudinal_shares_of_the_thesis(mean_events, thesis):
    persons = 4_000
    made = quest.longitudinal(persons=persons, mean_events=mean_events, seed="thesis")
    # Five standard errors of a mean of Poisson numbers, and of a share.
    assert abs(len(made) / persons - mean_events) < 5 * np.sqrt((mean_events - 1) / persons)
    protected = made.filter(pl.col("Disease").is_in(PROTECTED))["PID"].n_unique() / persons
    assert abs(protected - thesis) < 5 * np.sqrt(thesis * (1 - thesis) / persons)


def test_longitudinal_is_consistent_in_time():
    made = quest.longitudinal(persons=300, mean_events=6, n_quasi=4, seed="time")
    assert made.columns == ["PID", "VID", "AdmYr", "LOS", "DSFC", "ZIP", "Disease"]
    assert made.null_count().sum_horizontal().item() == 0
    assert set(made["AdmYr"]) == set(YEARS)
    for _, own in made.group_by("PID"):
        assert own["VID"].to_list() == list(range(1, len(own) + 1))
        assert own["AdmYr"].is_sorted()
        for _, of_year in own.group_by("AdmYr"):
            assert of_year["DSFC"][0] == 0
            assert of_year["DSFC"].is_sorted()
            assert of_year["DSFC"].is_between(0, 364).all()
    homes = made.group_by("PID").agg(pl.col("ZIP").n_unique())["ZIP"]
    assert (homes == 1).mean() > 0.85
    assert homes.max() == 2


def test_longitudinal_values_follow_patterns():
    made = quest.longitudinal(persons=4_000, mean_events=3, n_quasi=2, seed="patterns")
    visits = made.filter(pl.col("VID") == 1).group_by("AdmYr", "LOS").len()["len"].sort(descending=True)
    assert visits.head(20).sum() / visits.sum() > 2 * 20 / (len(YEARS) * 61)


def test_protected_share_is_a_parameter():
    made = quest.longitudinal(persons=4_000, protected_share=0.1, seed="share")
    protected = made.filter(pl.col("Disease").is_in(PROTECTED))["PID"].n_unique() / 4_000
    assert abs(protected - 0.1) < 5 * np.sqrt(0.1 * 0.9 / 4_000)


def test_nobody_has_more_visits_than_the_most():
    made = quest.longitudinal(persons=500, mean_events=6, most_events=7)
    assert made.group_by("PID").len()["len"].max() == 7
    assert made["PID"].n_unique() == 500


@pytest.mark.parametrize(
    ("make", "wrong", "line"),
    [
        (quest.make, {"persons": 0}, "persons must be between 1 and 10,000,000, got 0"),
        (quest.make, {"mean_items": 0.5}, "mean_items must be at least 1, got 0.5"),
        (quest.longitudinal, {"n_quasi": 5}, "n_quasi must be between 2 and 4, got 5"),
        (quest.longitudinal, {"protected_share": 2}, "protected_share must be between 0 and 1, got 2"),
        (quest.longitudinal, {"most_events": 0}, "most_events must be at least 1, got 0"),
        (PatternPool, {"items": 0}, "items must be at least 1, got 0"),
        (PatternPool, {"confidence": -0.1}, "confidence must be between 0 and 1, got -0.1"),
    ],
)
def test_parameters_outside_their_range_are_refused(make, wrong, line):
    with pytest.raises(ParameterError) as refused:
        make(**wrong)
    assert refused.value.lines == (line,)
