"""Clicks have the shape they promise, and the seed repeats them."""

from __future__ import annotations

import polars as pl
import pytest

from sequester.datasets import clicks
from sequester.datasets.clicks import msnbc
from sequester.datasets.public import areas
from sequester.errors import ParameterError
from sequester.io import read_frame


@pytest.fixture(scope="module")
def made() -> pl.DataFrame:
    return clicks.make(persons=20_000, seed="shape")


def test_columns_and_persons(made):
    assert made.schema == {"user": pl.String, "at": pl.Datetime("us"), "page": pl.String}
    assert made["user"].n_unique() == 20_000
    assert set(made["page"]) == set(clicks.PAGES)
    assert made.null_count().sum_horizontal().item() == 0


def test_clicks_of_a_user_stand_together_in_order_without_ties(made):
    runs = made["user"].rle_id()
    assert runs.n_unique() == made["user"].n_unique()
    assert made.select((pl.col("at").diff().over("user") > pl.duration()).drop_nulls().all()).item()


def test_lengths_are_heavy_tailed(made):
    lengths = made.group_by("user").len()["len"]
    assert 0.35 < (lengths == 1).mean() < 0.39
    assert lengths.median() == 2
    assert 4.5 < lengths.mean() < 5.5
    assert lengths.quantile(0.99) > 30


def test_ways_through_the_site_repeat_but_not_all(made):
    ways = made.group_by("user").agg(pl.col("page"))["page"].value_counts()["count"]
    assert ways.max() > 1_000
    assert 4_000 < (ways == 1).sum() < 7_000
    stays = made.select((pl.col("page") == pl.col("page").shift().over("user")).mean()).item()
    assert 0.5 < stays < 0.75


def test_the_seed_repeats_the_table():
    assert clicks.make(persons=300, seed="a").equals(clicks.make(persons=300, seed="a"))
    assert not clicks.make(persons=300, seed="a").equals(clicks.make(persons=300, seed="b"))


def test_one_person():
    assert clicks.make(persons=1)["user"].unique().to_list() == ["u1"]


def test_no_person_and_too_many_are_refused():
    with pytest.raises(ParameterError, match="persons must be between 1 and 10,000,000, got 10,000,001"):
        clicks.make(persons=10_000_001)
    with pytest.raises(ParameterError, match="persons must be between 1 and 10,000,000, got 0"):
        clicks.make(persons=0)


def test_the_seventeen_categories_are_the_leaves():
    tree = msnbc()
    assert {tree.labels[node] for node in tree.leaf_nodes} == set(clicks.PAGES)
    assert {"Social", "Overview"} <= set(tree.labels)
    below = {
        label
        for label in clicks.PAGES
        if "Social" in map(tree.labels.__getitem__, tree.ancestors(tree.node(label)))
    }
    assert {"health", "sports"} <= below


@pytest.mark.real
def test_it_covers_the_public_file(shared_data):
    frame = read_frame(shared_data / "msnbc" / "msnbc990928.seq.gz")
    assert set(frame["symbol"].unique()) == {msnbc().labels[node] for node in msnbc().leaf_nodes}


def test_clicks_come_with_it():
    assert clicks.hierarchies() == {"page": msnbc()}


@pytest.mark.parametrize(
    ("n_areas", "sizes"), [(69, [10] * 6 + [9]), (20, [10, 10]), (21, [10, 10, 1]), (1, [1])]
)
def test_numbered_areas_are_binned_by_ten(n_areas, sizes):
    tree = areas(n_areas)
    assert sorted((int(tree.leaves[node]) for node in tree.children(0)), reverse=True) == sizes
    assert tree.leaves[0] == n_areas


def test_no_areas_and_bins_of_one_are_refused():
    with pytest.raises(ParameterError, match="n_areas must be at least 1"):
        areas(0)
    with pytest.raises(ParameterError, match="width must be at least 2"):
        areas(5, width=1)
