"""SIM1 and SIM2 are the paper's formulas, with a stated answer where a collection is empty."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import pattern_hiding, trajectories
from oracles import sequences as oracles
from sequester.data.sequences import Sequences
from sequester.errors import ParameterError
from sequester.mining.frequent import as_sets, frequent, frequent_itemsets, mine_by_length
from sequester.utility import itemset_supports, pattern_similarity, side_effects
from sequester.utility.patterns import innocent_patterns

rows_of_text = st.lists(st.text("abc", max_size=4), max_size=6)

NOBODY = Sequences.from_rows([])
# Pensa 2008, Fig. 1.
TOY = ["ABCDEF"] * 3 + ["ADEF"] * 3 + ["BKS", "BK", "BK", "DEJF"]
TOY_RELEASED = ["ABCDEF"] * 3 + ["ADEF"] * 4 + ["BK"] * 3


def similarity(released, original, min_support, max_length=None):
    sides = Sequences.from_rows(released), Sequences.from_rows(original)
    scores = pattern_similarity(sides[0], original=sides[1], min_support=min_support, max_length=max_length)
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
    scores = pattern_similarity(both, original=both, min_support=7, max_length=3)
    for score in scores.values():
        assert (score.goal, score.bounds) == ("maximize", (0, 1))
        assert "at most 3 items" in score.means
        assert "at least 7 persons" in score.means


@pytest.mark.parametrize("name", ["min_support", "max_length", "max_patterns"])
def test_a_number_below_one_is_refused(name):
    with pytest.raises(ParameterError, match=f"{name} must be at least 1, got 0"):
        pattern_similarity(NOBODY, original=NOBODY, **{"min_support": 1, name: 0})


def test_too_many_patterns_are_refused_aloud():
    both = Sequences.from_rows(["abcdefgh"] * 2)
    with pytest.raises(ParameterError, match="more than 9 patterns"):
        pattern_similarity(both, original=both, min_support=2, max_patterns=9)


owned_rows = st.lists(
    st.tuples(st.integers(0, 2), st.text("ab", max_size=3), st.text("ab", max_size=3)), max_size=6
)


@given(owned_rows, st.integers(1, 3))
def test_a_person_with_many_trips_counts_once(given_rows, min_support):
    numbers = np.unique([owner for owner, _, _ in given_rows], return_inverse=True)[1].astype(np.int32)
    sides = [[(int(numbers[i]), row[side]) for i, row in enumerate(given_rows)] for side in (1, 2)]
    after, before = (replace(Sequences.from_rows([row for _, row in side]), owners=numbers) for side in sides)
    scores = pattern_similarity(after, original=before, min_support=min_support)
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


rows = st.lists(st.text("abc", max_size=5), min_size=1, max_size=6)
secrets = st.frozensets(st.text("abcx", min_size=1, max_size=2).map(tuple), max_size=2)


@given(rows, rows, secrets, st.integers(1, 3), st.sampled_from([None, 2]))
def test_side_effects_are_those_of_the_definition(released, original, secrets, min_support, max_length):
    after, before = Sequences.from_rows(released), Sequences.from_rows(original)
    lost, ghosts = pattern_hiding.side_effects(secrets, released, original, min_support, max_length)
    scores = side_effects(
        after, original=before, sensitive=secrets, min_support=min_support, max_length=max_length
    )
    assert {name: score.value for name, score in scores.items()} == {
        "lost_patterns": len(lost),
        "ghost_patterns": len(ghosts),
    }
    now, then = (innocent_patterns(side, secrets, min_support, max_length) for side in (after, before))
    assert (then - now, now - then) == (set(lost), set(ghosts))


def test_the_words_name_the_limits():
    data = Sequences.from_rows(["ab", "ab"])
    scores = side_effects(data, original=data, sensitive=frozenset(), min_support=2, max_length=4)
    assert "of the 3 patterns of at least 2 persons and at most 4 items" in scores["lost_patterns"].means
    assert scores["lost_patterns"].bounds == (0, 3)


def divergence(before, after):
    """KL of two lists of counts, each plus one, over their sums."""
    p = [(count + 1) / sum(each + 1 for each in before) for count in before]
    q = [(count + 1) / sum(each + 1 for each in after) for count in after]
    return sum(a * log2(a / b) for a, b in zip(p, q, strict=True))


@given(rows, rows, st.integers(1, 3), st.sampled_from([None, 2]))
def test_itemset_supports_are_those_of_the_definition(released, original, min_support, max_length):
    scores = itemset_supports(
        Sequences.from_rows(released),
        original=Sequences.from_rows(original),
        min_support=min_support,
        max_length=max_length,
    )
    frequent = pattern_hiding.itemsets(original, min_support, max_length)
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
    scores = itemset_supports(released, original=original, min_support=2)
    assert scores["lost_itemsets"].value == 2  # b, and b with d


@pytest.mark.parametrize("name", ["min_support", "max_length", "max_patterns"])
def test_numbers_below_one_are_refused(name):
    with pytest.raises(ParameterError, match=f"{name} must be at least 1, got 0"):
        itemset_supports(NOBODY, original=NOBODY, **{"min_support": 2, name: 0})


@given(rows=st.lists(st.text("abc", max_size=5), max_size=7), support=st.integers(1, 3))
def test_few_short_patterns_are_counted_as_they_are_mined(rows, support):
    data = Sequences.from_rows(rows)
    book, found = data.codebooks[data.symbol], data.distinct(data.symbol)
    counted = mine_by_length(found, book, support, 3, 1000, are_sets=False)
    assert list(counted.items()) == list(frequent(data, min_support=support, max_length=3).items())
    counted = mine_by_length(as_sets(found), book, support, 3, 1000, are_sets=True)
    assert list(counted.items()) == list(frequent_itemsets(data, min_support=support, max_length=3).items())


def test_many_candidates_are_left_to_the_miner(monkeypatch):
    data = Sequences.from_rows(["abcd", "abcd"])
    expected = pattern_similarity(data, original=data, min_support=2, max_length=3)
    monkeypatch.setattr(sys.modules["sequester.mining.frequent"], "MOST_CANDIDATES", 5)
    assert (
        mine_by_length(data.distinct(data.symbol), data.codebooks[data.symbol], 2, 3, 99, are_sets=False)
        is None
    )
    assert pattern_similarity(data, original=data, min_support=2, max_length=3) == expected
