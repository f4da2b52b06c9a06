"""A person counts when the release gives them an item that they never had."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.data.sequences import Sequences
from sequester.utility import InventedItems

persons = st.lists(st.tuples(st.text("abc", max_size=4), st.text("abc", max_size=4)), max_size=8)


def invented(released, original):
    return InventedItems().score(Sequences.from_rows(released), original=Sequences.from_rows(original)).value


@given(persons)
def test_the_count_equals_the_definition(pairs):
    released, original = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert invented(released, original) == sum(1 for after, before in pairs if set(after) - set(before))


@given(persons)
def test_a_part_of_the_original_invents_nothing(pairs):
    original = [before for _, before in pairs]
    assert invented([before[1::2] for before in original], original) == 0


@pytest.mark.parametrize(
    ("released", "original", "expected"),
    [
        ([], [], 0),
        ([""], ["abc"], 0),
        (["ADEF"], ["DEJF"], 1),
        (["aab"], ["ab"], 0),
        (["ba"], ["ab"], 0),
        (["xy", "xy"], ["ab", "ab"], 2),
    ],
    ids=["empty table", "not released", "the paper's DEJF", "an item repeated", "order", "other symbols"],
)
def test_edge_cases_have_a_stated_answer(released, original, expected):
    assert invented(released, original) == expected


def test_the_score_says_what_it_means():
    both = Sequences.from_rows(["ab", "a", "b"])
    score = InventedItems().score(both, original=both)
    assert (score.goal, score.bounds) == ("minimize", (0, 3))
    assert "of the 3 persons" in score.means
