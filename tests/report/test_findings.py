"""How coarse released values are, counted level by level."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.hierarchies import Hierarchy
from sequester.release.plot import count_values
from sequester.report.findings import generalization_levels

TREE = Hierarchy.from_tree({"acute": {"cold": {}, "airways": ["flu", "croup"]}, "asthma": {}})


@given(st.lists(st.sampled_from(sorted(TREE.labels)), min_size=1, max_size=12))
def test_cells_are_counted_by_level(cells):
    values = {"ill": count_values(pl.Series(cells))}
    (found,) = generalization_levels(values, {"ill": TREE.above(cells)}, {"ill": TREE})
    assert found["levels"] == 3
    counted = {}
    for cell in cells:
        node = TREE.node(cell)
        # What stands for one value is as recorded, however short its branch.
        level = 0 if TREE.leaves[node] == 1 else 3 - int(TREE.depth[node])
        counted[level] = counted.get(level, 0) + 1
    assert {step["level"]: step["cells"] for step in found["released"]} == counted
    assert sum(step["share"] for step in found["released"]) == pytest.approx(1)
    assert [step["level"] for step in found["released"]] == sorted(counted)


def test_a_recipient_is_told_what_values_stand_for_and_not_how_deep_the_hierarchy_was():
    cells = ["acute", "acute", "acute", "*", "asthma"]
    values = {"ill": count_values(pl.Series(cells))}
    (found,) = generalization_levels(values, {"ill": TREE.above(cells)})
    assert [(step["title"], step["cells"], step["text"]) for step in found["released"]] == [
        ("as recorded", 1, "1 value, such as asthma"),
        ("coarser", 3, "acute, which stands for 3 values"),
        ("*, suppressed", 1, ""),
    ]


def test_columns_without_values_or_hierarchies_are_left_out():
    empty = count_values(pl.Series([], dtype=pl.String))
    assert generalization_levels({"ill": empty}, {"ill": TREE.above([])}) == []
    assert generalization_levels({}, {"ill": TREE.above([])}) == []
