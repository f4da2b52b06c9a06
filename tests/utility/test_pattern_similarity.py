"""SIM1 and SIM2 are the paper's formulas, with a stated answer where a collection is empty."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import sequences as oracles
from oracles import trajectories
from sequester.data.sequences import Sequences
from sequester.errors import ParameterError
from sequester.utility import PatternSimilarity

rows_of_text = st.lists(st.text("abc", max_size=4), max_size=6)

# Pensa 2008, Fig. 1.
TOY = ["ABCDEF"] * 3 + ["ADEF"] * 3 + ["BKS", "BK", "BK", "DEJF"]
TOY_RELEASED = ["ABCDEF"] * 3 + ["ADEF"] * 4 + ["BK"] * 3


def similarity(released, original, min_support, max_length=None):
    measure = PatternSimilarity(min_support=min_support, max_length=max_length)
    scores = measure.score(Sequences.from_rows(released), original=Sequences.from_rows(original))
    return scores["sim1"].value, scores["sim2"].value


@given(rows_of_text, rows_of_text, st.integers(1, 3), st.none() | st.integers(1, 3))
def test_both_equal_the_formulas(released, original, min_support, max_length):
    sim1, sim2 = similarity(released, original, min_support, max_length)
    assert sim1 == pytest.approx(float(oracles.sim1(released, original, min_support, max_length)))
    assert sim2 == pytest.approx(float(oracles.sim2(released, original, min_support, max_length)))


@given(rows_of_text, st.integers(1, 3))
def test_a_copy_is_fully_similar(rows, min_support):
    assert similarity(rows, rows, min_support) == (1.0, 1.0)


@given(rows_of_text, rows_of_text, st.integers(1, 3), st.permutations("abc"))
def test_renaming_changes_nothing(released, original, min_support, renamed):
    rename = str.maketrans("abc", "".join(renamed))
    again = similarity(
        [row.translate(rename) for row in released], [row.translate(rename) for row in original], min_support
    )
    assert again == pytest.approx(similarity(released, original, min_support))


@given(rows_of_text, rows_of_text, st.integers(1, 3))
def test_scores_stay_within_their_bounds(released, original, min_support):
    assert all(0 <= value <= 1 for value in similarity(released, original, min_support))


@given(rows_of_text, st.integers(1, 2))
def test_frequencies_are_relative(rows, min_support):
    # Everybody twice: the same shares, and at twice the threshold the same patterns.
    sim1, _ = similarity(rows * 2, rows, 2 * min_support)
    assert sim1 == 1.0


def test_pensa_2008_fig_1():
    sim1, sim2 = similarity(TOY_RELEASED, TOY, 2)
    # 65 patterns on both sides: the 63 of ABCDEF, K and BK. DEJF becomes ADEF: of the 15 subsequences of ADEF
    # the 8 with A rise from 6 to 7 supporters, the others had DEJF before.
    assert sim1 == pytest.approx((57 + 8 * 6 / 7) / 65)
    assert sim2 == 1.0


@pytest.mark.parametrize(
    ("released", "original", "expected"),
    [
        ([], [], (1.0, 1.0)),
        ([], ["ab", "ab"], (0.0, 0.0)),
        (["", ""], ["ab", "ab"], (0.0, 0.0)),
        (["a", "b"], ["c", "d"], (1.0, 1.0)),
        (["a", "a"], [], (0.0, 0.0)),
        (["a", "a"], ["b", "b"], (0.0, 1.0)),
        (["a", "a", ""], ["a", "a", "a"], (1.0, 1.0)),
        (["a", "a"], ["a", "b", "b", "b"], (0.25, 1.0)),
    ],
    ids=[
        "both empty",
        "nothing released",
        "nobody released",
        "nothing frequent",
        "nothing before",
        "other symbols",
        "one person left out",
        "frequent only in the release",
    ],
)
def test_edge_cases_have_a_stated_answer(released, original, expected):
    assert similarity(released, original, 2) == expected


def test_scores_say_what_they_mean():
    both = Sequences.from_rows(["ab"] * 7)
    scores = PatternSimilarity(min_support=7, max_length=3).score(both, original=both)
    for score in scores.values():
        assert (score.goal, score.bounds) == ("maximize", (0, 1))
        assert "at most 3 items" in score.means
        assert "at least 7 persons" in score.means


@pytest.mark.parametrize("name", ["min_support", "max_length", "max_patterns"])
def test_a_number_below_one_is_refused(name):
    with pytest.raises(ParameterError, match=f"{name} must be at least 1, got 0"):
        PatternSimilarity(**{"min_support": 1, name: 0})


def test_too_many_patterns_are_refused_aloud():
    both = Sequences.from_rows(["abcdefgh"] * 2)
    with pytest.raises(ParameterError, match="more than 9 patterns"):
        PatternSimilarity(min_support=2, max_patterns=9).score(both, original=both)


owned_rows = st.lists(
    st.tuples(st.integers(0, 2), st.text("ab", max_size=3), st.text("ab", max_size=3)), max_size=6
)


@given(owned_rows, st.integers(1, 3))
def test_a_person_with_many_trips_counts_once(given_rows, min_support):
    numbers = np.unique([owner for owner, _, _ in given_rows], return_inverse=True)[1].astype(np.int32)
    sides = [[(int(numbers[i]), row[side]) for i, row in enumerate(given_rows)] for side in (1, 2)]
    after, before = (replace(Sequences.from_rows([row for _, row in side]), owners=numbers) for side in sides)
    scores = PatternSimilarity(min_support=min_support).score(after, original=before)
    patterns = {"".join(each) for size in (1, 2, 3) for each in product("ab", repeat=size)}
    frequent = [
        {pattern for pattern in patterns if trajectories.person_support(pattern, side) >= min_support}
        for side in sides
    ]
    n_after, n_before = (len({owner for owner, row in side if row}) for side in sides)
    shares = []
    for pattern in frequent[0]:
        a = Fraction(trajectories.person_support(pattern, sides[0]), n_after)
        b = Fraction(trajectories.person_support(pattern, sides[1]), max(n_before, 1))
        shares.append(min(a, b) / max(a, b))
    expected = sum(shares) / len(shares) if shares else int(not frequent[1])
    assert scores["sim1"].value == pytest.approx(float(expected))
    sizes = sorted(map(len, frequent))
    assert scores["sim2"].value == pytest.approx(sizes[0] / sizes[1] if sizes[1] else 1)
    assert "each once however many trips they have" in scores["sim1"].means
