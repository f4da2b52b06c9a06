"""Lost itemsets and divergences against their definitions."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import pattern_hiding as oracles
from sequester.data.sequences import Sequences
from sequester.errors import ParameterError
from sequester.utility import ItemsetSupports

rows = st.lists(st.text("abc", max_size=5), min_size=1, max_size=6)


def divergence(before, after):
    """KL of two lists of counts, each plus one, over their sums."""
    p = [(count + 1) / sum(each + 1 for each in before) for count in before]
    q = [(count + 1) / sum(each + 1 for each in after) for count in after]
    return sum(a * log2(a / b) for a, b in zip(p, q, strict=True))


@given(rows, rows, st.integers(1, 3), st.sampled_from([None, 2]))
def test_they_are_those_of_the_definition(released, original, min_support, max_length):
    scores = ItemsetSupports(min_support=min_support, max_length=max_length).score(
        Sequences.from_rows(released), original=Sequences.from_rows(original)
    )
    frequent = oracles.itemsets(original, min_support, max_length)
    now = {each: sum(each <= set(row) for row in released) for each in frequent}
    assert scores["lost_itemsets"].value == sum(count < min_support for count in now.values())
    assert scores["lost_itemsets"].bounds == (0, len(frequent))
    letters = sorted(set("".join(original)))
    items = [[sum(letter in row for row in side) for letter in letters] for side in (original, released)]
    assert scores["kl_items"].value == pytest.approx(divergence(*items), abs=1e-12)
    sets = divergence(list(frequent.values()), [now[each] for each in frequent])
    assert scores["kl_itemsets"].value == pytest.approx(sets, abs=1e-12)


def test_labels_that_are_new_do_not_disturb_the_order():
    original, released = Sequences.from_rows(["bd", "bd"]), Sequences.from_rows(["cbad", "ad"])
    scores = ItemsetSupports(min_support=2).score(released, original=original)
    assert scores["lost_itemsets"].value == 2  # b, and b with d


@pytest.mark.parametrize("name", ["min_support", "max_length", "max_itemsets"])
def test_numbers_below_one_are_refused(name):
    with pytest.raises(ParameterError, match=f"{name} must be at least 1, got 0"):
        ItemsetSupports(**{"min_support": 2, name: 0})
