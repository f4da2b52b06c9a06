"""Levels, ranks and top patterns of symbols, by their definitions."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.mutual_information import index_tuples, spelled
from sequester.data.sequences import Sequences
from sequester.errors import ParameterError
from sequester.hierarchies import Hierarchy
from sequester.testing import symbol_table
from sequester.utility import rank_correlation, symbol_levels, top_patterns
from sequester.utility.distributions import spearman
from sequester.utility.patterns import top_pairs

TREE = Hierarchy.from_tree({"A": ["a", "b"], "B": ["c", "d"]})


def test_levels_of_places():
    scores = symbol_levels(
        Sequences.from_rows([["a", "A", "*", "B"], ["*"]]),
        original=symbol_table(["abcd", "a"], hierarchy=TREE),
    )
    assert {name: score.value for name, score in scores.items()} == {
        "level_0": 0.2,
        "level_1": 0.4,
        "level_root": 0.4,
    }
    with pytest.raises(ParameterError, match="released must have the 2 events of original, there are 1"):
        symbol_levels(Sequences.from_rows(["a"]), original=symbol_table(["ab"], hierarchy=TREE))


@pytest.mark.parametrize(
    ("released", "value"),
    [
        (list("aaabbc"), 1.0),
        (["A"] * 5 + ["c"], 0.9487),
        (["*"] * 6, 0.0),  # nothing to order by
    ],
)
def test_ranks_of_symbols(released, value):
    score = rank_correlation(
        Sequences.from_rows([released]), original=symbol_table(["aaabbc"], hierarchy=TREE)
    )
    assert score.value == pytest.approx(value, abs=1e-4)


def test_ranks_where_all_are_equal_on_both_sides():
    same = symbol_table(["abcd"], hierarchy=TREE)
    assert rank_correlation(Sequences.from_rows(["abcd"]), original=same).value == 1


def test_rank_correlation_of_opposites():
    assert spearman(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])) == -1


@given(st.lists(st.text("abc", max_size=6), max_size=4), st.integers(1, 4))
def test_top_patterns_are_counted_by_index_pairs(rows, window):
    counted = Counter(spelled(row, each) for row in rows for each in index_tuples(len(row), 2, window))
    expected = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:3]
    assert top_pairs(Sequences.from_rows(rows), most=3, window=window) == expected


def test_the_share_of_top_patterns_that_stay():
    original = Sequences.from_rows(["abcabc"])
    measure = partial(top_patterns, most=2, window=1)
    assert measure(original, original=original).value == 1
    assert measure(Sequences.from_rows(["abXabX"]), original=original).value == 0.5
    nothing = Sequences.from_rows(["a"])
    assert measure(nothing, original=nothing).value == 1


@pytest.mark.parametrize("asked", [{"most": 0}, {"window": 0}])
def test_parameters_are_at_least_one(asked):
    with pytest.raises(ParameterError, match="must be at least 1, got 0"):
        top_pairs(Sequences.from_rows(["ab"]), **{"most": 1, "window": 1} | asked)
