"""Taxonomies for public data: every category once, and bins of ten."""

from __future__ import annotations

import pytest

from sequester.datasets import clicks
from sequester.datasets.taxonomies import areas, msnbc
from sequester.errors import ParameterError
from sequester.io import read_frame


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
